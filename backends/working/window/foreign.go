// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window

import (
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Marks say where in a log a message is, and which archive it stands in for. Both
// mean something in one session alone, and a caller may carry messages from one
// session to another. So every such message says which session it is of, and in
// another one it is taken for what it says.

// tagged returns messages of which those that are tied to the session say so.
func tagged(messages []*schema.Message, tag string) []*schema.Message {
	return each(messages, func(m *schema.Message) *schema.Message {
		if einox.IsTied(m) && einox.SessionOf(m) == "" {
			return einox.MarkSession(m, tag)
		}
		return m
	})
}

// untied returns messages of which those of other sessions are tied to nothing.
func untied(messages []*schema.Message, tag string) []*schema.Message {
	return each(messages, func(m *schema.Message) *schema.Message {
		if foreign(m, tag) {
			return einox.Untie(m)
		}
		return m
	})
}

// foreign reports whether m is tied to another session.
func foreign(m *schema.Message, tag string) bool {
	s := einox.SessionOf(m)
	return s != "" && s != tag
}

// each returns messages with f applied: the same slice where nothing changes.
func each(messages []*schema.Message, f func(*schema.Message) *schema.Message) []*schema.Message {
	out, copied := messages, false
	for i, m := range messages {
		if m == nil {
			continue
		}
		n := f(m)
		if n == m {
			continue
		}
		if !copied {
			out, copied = append([]*schema.Message(nil), messages...), true
		}
		out[i] = n
	}
	return out
}
