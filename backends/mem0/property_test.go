// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// world is what a partition must look like after any sequence of calls.
type world struct {
	b    *mem0.Backend
	said map[string]bool // every text that a call reported as stored
}

func (w *world) every(t require.TestingT, s backends.Scope) []backends.Memory {
	var all []backends.Memory
	r := &backends.ListRequest{Scope: s, IncludeSuperseded: true, IncludeExpired: true, Limit: 1000}
	page, err := w.b.List(ctx, r)
	require.NoError(t, err)
	all = append(all, page.Memories...)
	require.Empty(t, page.Next)
	return all
}

// check: nothing that was stored is lost, chains hold from both ends, and no two
// active facts say the same.
func (w *world) check(t require.TestingT, s backends.Scope) {
	all := w.every(t, s)
	byID, texts, active := map[string]*backends.Memory{}, map[string]bool{}, map[string]bool{}
	for i := range all {
		m := &all[i]
		byID[m.ID] = m
		texts[m.Text] = true
		if m.Active() && m.Kind == backends.KindFact {
			require.False(t, active[m.Text], "two active facts say %q", m.Text)
			active[m.Text] = true
		}
	}
	for text := range w.said {
		require.True(t, texts[text], "%q was stored and is gone", text)
	}
	for _, m := range byID {
		if m.SupersededBy != "" {
			require.NotNil(t, byID[m.SupersededBy])
			require.Equal(t, m.ID, byID[m.SupersededBy].Supersedes)
			require.False(t, m.Invalidated.IsZero())
		}
		if m.Supersedes != "" {
			require.Equal(t, m.ID, byID[m.Supersedes].SupersededBy)
		}
		events, err := w.b.History(ctx, &backends.HistoryRequest{Scope: s, ID: m.ID})
		require.NoError(t, err)
		require.Equal(t, backends.EventAdded, events[0].Type)
	}
}

// anyOperations draws an answer as a careless model might give it.
func anyOperations(t *rapid.T) string {
	n := rapid.IntRange(0, 6).Draw(t, "operations")
	ops := []map[string]any{}
	for range n {
		op := map[string]any{"op": rapid.SampledFrom([]string{"add", "supersede", "retract", "none", "UPDATE", "delete", "sing"}).Draw(t, "op")}
		if rapid.Bool().Draw(t, "has text") {
			op["text"] = rapid.SampledFrom([]string{"A", "B", "C", "D.", "D", " ", "用户住在上海"}).Draw(t, "text")
		}
		if rapid.Bool().Draw(t, "has index") {
			op["index"] = rapid.IntRange(-2, 12).Draw(t, "index")
		}
		if rapid.Bool().Draw(t, "has role") {
			op["said_by"] = rapid.SampledFrom([]string{"user", "assistant", "nobody"}).Draw(t, "role")
		}
		ops = append(ops, op)
	}
	out, err := json.Marshal(map[string]any{"operations": ops})
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestD2_NothingIsLostWhateverTheModelAnswers(t *testing.T) {
	for _, mode := range []mem0.Mode{mem0.Reconcile, mem0.Additive, mem0.TwoStep} {
		t.Run(string(mode), func(t *testing.T) {
			st := openStore(t)
			run := 0
			rapid.Check(t, func(rt *rapid.T) {
				run++
				scope := backends.Scope{UserID: fmt.Sprintf("user %d", run)}
				answer := ""
				b, err := mem0.New(ctx, &mem0.Config{Store: st, Clock: fixed, Mode: mode, Model: textual{thinking(t, func(shown) string { return answer })}})
				require.NoError(rt, err)
				w := &world{b: b, said: map[string]bool{}}
				for range rapid.IntRange(1, 5).Draw(rt, "calls") {
					answer = anyOperations(rt)
					resp, err := b.Add(ctx, &backends.AddRequest{Scope: scope, Messages: user("hello")})
					if err != nil {
						require.ErrorIs(rt, err, backends.ErrModel)
						continue
					}
					for _, i := range resp.Items {
						if i.Outcome != backends.OutcomeFailed && i.Memory.ID != "" {
							w.said[i.Memory.Text] = true
						}
						require.Equal(rt, i.Outcome == backends.OutcomeFailed, i.Err != nil)
						require.Equal(rt, i.Outcome == backends.OutcomeSuperseded, i.Previous != nil)
					}
				}
				w.check(rt, scope)
				require.NoError(rt, b.Close(ctx))
			})
		})
	}
}

func TestD1_ScopesNeverMeet(t *testing.T) {
	b := open(t)
	part := rapid.SampledFrom([]string{"", "ann", "Ann", "ann ", "a:b", "a/b", "{ann}", "安", "ann|user", "user/ann", "%2F"})
	held := map[string]map[string]bool{} // by partition
	rapid.Check(t, func(rt *rapid.T) {
		s := backends.Scope{Namespace: part.Draw(rt, "namespace"), UserID: part.Draw(rt, "user"), AgentID: part.Draw(rt, "agent"), SessionID: part.Draw(rt, "session")}
		p, err := s.Speaker()
		text := rapid.StringMatching(`fact [a-z]{3}`).Draw(rt, "text")
		_, addErr := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: user(text)})
		if err != nil {
			require.ErrorIs(rt, addErr, backends.ErrNoScope)
			return
		}
		require.NoError(rt, addErr)
		key := p.String()
		if held[key] == nil {
			held[key] = map[string]bool{}
		}
		held[key][text] = true
		page, err := b.List(ctx, &backends.ListRequest{Scope: s, Limit: 1000})
		require.NoError(rt, err)
		require.Len(rt, page.Memories, len(held[key]))
		for _, m := range page.Memories {
			require.True(rt, held[key][m.Text], "%s holds %q", key, m.Text)
		}
	})
}

func TestDumpRoundTrip(t *testing.T) {
	st := openStore(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		from, to := backends.Scope{UserID: fmt.Sprintf("from %d", run)}, backends.Scope{UserID: fmt.Sprintf("to %d", run)}
		b, err := mem0.New(ctx, &mem0.Config{Store: st, Clock: fixed})
		require.NoError(rt, err)
		var messages []backends.Message
		for _, text := range rapid.SliceOfN(rapid.String(), 0, 6).Draw(rt, "texts") {
			messages = append(messages, backends.Message{Message: schema.UserMessage(text)})
		}
		_, err = b.Add(ctx, &backends.AddRequest{Scope: from, Messages: messages, Metadata: map[string]any{"k": rapid.String().Draw(rt, "metadata")}})
		require.NoError(rt, err)
		var first, second strings.Builder
		n, err := b.Dump(ctx, from, &first)
		require.NoError(rt, err)
		loaded, err := b.Load(ctx, to, strings.NewReader(first.String()))
		require.NoError(rt, err)
		require.Equal(rt, n, loaded)
		_, err = b.Dump(ctx, to, &second)
		require.NoError(rt, err)
		normal := func(s, user string) []string {
			lines := strings.Split(strings.ReplaceAll(s, user, "USER"), "\n")
			for i, l := range lines {
				if k := strings.LastIndex(l, `,"version"`); k >= 0 {
					lines[i] = l[:k]
				}
			}
			return slices.Sorted(slices.Values(lines))
		}
		require.Equal(rt, normal(first.String(), from.UserID), normal(second.String(), to.UserID))
	})
}
