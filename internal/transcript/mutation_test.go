// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

// mutations break a list that has calls, each in its own way. i is the place of an
// assistant's message with calls; its results follow.
var mutations = map[string]func(l list, i int) list{
	"leave a result out":      func(l list, i int) list { return slices.Delete(l, i+1, i+2) },
	"leave the calls out":     func(l list, i int) list { return slices.Delete(l, i, i+1) },
	"give a result twice":     func(l list, i int) list { return slices.Insert(l, i+1, l[i+1]) },
	"speak before the result": func(l list, i int) list { return slices.Insert(l, i+1, user("wait")) },
	"begin with a result":     func(l list, _ int) list { return slices.Insert(l, 0, result("nobody")) },
	"end with a call":         func(l list, _ int) list { return append(l, calls("new")) },
	"say nothing":             func(l list, i int) list { return slices.Insert(l, i, answer("")) },
	"ask nothing":             func(l list, i int) list { return slices.Insert(l, i, user("")) },
	"put a nil in":            func(l list, i int) list { return slices.Insert(l, i, nil) },
	"swap calls and result":   func(l list, i int) list { l[i], l[i+1] = l[i+1], l[i]; return l },
	"call twice with one id": func(l list, i int) list {
		c := *l[i]
		c.ToolCalls = append(slices.Clone(c.ToolCalls), c.ToolCalls[0])
		l[i] = &c
		return l
	},
	"answer another call": func(l list, i int) list {
		c := *l[i+1]
		c.ToolCallID += "'"
		l[i+1] = &c
		return l
	},
	"change the role of the result": func(l list, i int) list {
		c := *l[i+1]
		c.Role = schema.Assistant
		l[i+1] = &c
		return l
	},
}

// Whatever is broken in a history that providers take, is noticed.
func TestMutationsAreRefused(t *testing.T) {
	for name, mutate := range mutations {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				l := transcript.New(drawn.Source(t), nil).Messages
				var at []int
				for i, m := range l {
					if len(m.ToolCalls) > 0 {
						at = append(at, i)
					}
				}
				if len(at) == 0 {
					t.Skip("nothing is called")
				}
				i := at[rapid.IntRange(0, len(at)-1).Draw(t, "place")]
				require.Error(t, transcript.Check(mutate(l, i)))
			})
		})
	}
}
