// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// ownTools are memory's tools: their results were remembered before.
var ownTools = []string{
	"search_memory", "add_memory", "update_memory", "delete_memory", "forget_memory", "core_memory_append", "core_memory_replace",
	"grep_working_memory", "read_working_memory",
}

// returned are the tools whose results came before a message in its turn.
type returned struct {
	calls map[string]string // names by the ids of calls
	tools []string
}

// next notes a message, and returns the source of an assistant's message: the tools whose
// words it may repeat.
func (r *returned) next(m *schema.Message) string {
	switch m.Role {
	case schema.User:
		r.tools = nil
	case schema.Tool:
		if name := cmp.Or(m.ToolName, r.calls[m.ToolCallID], "result"); !slices.Contains(ownTools, name) && !slices.Contains(r.tools, name) {
			r.tools = append(r.tools, name)
		}
	case schema.Assistant:
		for _, call := range m.ToolCalls {
			if r.calls == nil {
				r.calls = map[string]string{}
			}
			r.calls[call.ID] = call.Function.Name
		}
		if len(r.tools) > 0 {
			return backends.TrustTool + " " + strings.Join(r.tools, ", ")
		}
	}
	return ""
}

// trace notes the source of a statement: an assistant that repeats a tool, or pasted text. Such
// a statement never counts as a user's word, whatever the answer claims.
func trace(m *backends.Memory, from []*Utterance) {
	for _, u := range from {
		m.Origin.Source = cmp.Or(m.Origin.Source, u.source)
	}
	if m.Origin.Source != "" {
		if m.Origin.Role == string(schema.User) {
			m.Origin.Role = ""
		}
		return
	}
	if len(from) > 0 && !slices.ContainsFunc(from, func(u *Utterance) bool {
		own, pasted, _ := divide(u.Text)
		return pasted == "" || share(m.Text, pasted) <= share(m.Text, own)
	}) {
		m.Origin.Source = backends.TrustDocument
	}
}
