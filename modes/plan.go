// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package modes

// Plan is what each hook does. The zero value does nothing.
type Plan struct {
	Search   bool // before a reply: search, and inject one note
	Record   bool // after a reply: append the turn to the log and learn from it
	Instruct bool // the system prompt names the memory tools
	Tools    bool // the agent gets the memory tools
}

// Plan returns what the hooks do under m, or [backends.ErrInvalid] for a mode
// that does not exist. alwaysLearns is for backends that learn from every reply
// whoever is in charge (see [backends.AlwaysLearner]).
func (m Mode) Plan(alwaysLearns bool) (Plan, error) {
	m, err := Parse(string(m))
	if err != nil {
		return Plan{}, err
	}
	static, agent := m != AgentControl, m != StaticControl
	return Plan{Search: static, Record: static || alwaysLearns, Instruct: agent, Tools: agent}, nil
}
