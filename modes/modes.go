// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package modes says who is in charge of an agent's memory: the program, the agent itself, or both.
// A user writes a [Mode] in a configuration; the hooks follow its [Plan].
//
//	                      static_control      agent_control        both
//	before the reply      search, inject      -                    search, inject
//	after the reply       record, learn       only if the backend  record, learn
//	                                          always learns
//	the system prompt     -                   names the tools      names the tools
//	the tools             none                search, add          search, add
//
// The program's own control spares model calls and always looks. The agent's lets it look again
// with better words and write down what it judges worth keeping. Both is the default, because the
// two complement each other.
package modes

import (
	"fmt"

	"github.com/einomem/einomem/backends"
)

// Mode says who is in charge of memory. The zero value means [Both].
type Mode string

// The modes. Their texts are known to AgentScope's users.
const (
	Both          Mode = "both"           // the program recalls and records, and the agent has the tools
	StaticControl Mode = "static_control" // the program recalls and records; the agent is unaware of it
	AgentControl  Mode = "agent_control"  // the agent searches and adds by tools
)

// Plan says what each hook does. The zero value does nothing.
type Plan struct {
	Search bool // before a reply: search, and inject one note
	Record bool // after a reply: append the turn to the log and learn from it
	Tools  bool // the agent gets the memory tools, and the system prompt names them
}

// Parse returns the mode that s names, [Both] for an empty s, and [backends.ErrInvalid] for an
// unknown one.
func Parse(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Both, nil
	case Both, StaticControl, AgentControl:
		return m, nil
	}
	return "", fmt.Errorf("mode %q: %w: use %s, %s or %s", s, backends.ErrInvalid, Both, StaticControl, AgentControl)
}

// Plan returns what the hooks do under m for a backend, which may be nil, or [backends.ErrInvalid]
// for an unknown mode. A [backends.AlwaysLearner] learns from every reply in every mode.
func (m Mode) Plan(b backends.Backend) (Plan, error) {
	m, err := Parse(string(m))
	if err != nil {
		return Plan{}, err
	}
	_, always := backends.AlwaysLearning(b)
	static := m != AgentControl
	return Plan{Search: static, Record: static || always, Tools: m != StaticControl}, nil
}
