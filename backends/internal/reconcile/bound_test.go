// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// person returns a partition of a user who has such statements.
func (w *world) person(t testing.TB, name string, texts ...string) backends.Partition {
	t.Helper()
	p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: name}
	b := &store.Batch{}
	for i, s := range texts {
		at := start.AddDate(0, 0, -100+i)
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: backends.Memory{
			ID: fmt.Sprintf("%s-%02d", name, i), Kind: backends.KindPersonal, Text: s, Observed: at, Created: at, Updated: at,
		}}))
	}
	_, err := w.Keeper.Commit(t.Context(), p, b, nil)
	require.NoError(t, err)
	return p
}

// answering has the model answer with what f makes of a question.
func (w *world) answering(t testing.TB, p backends.Partition, r *backends.AddRequest, f func(prompt) []reconcile.Operation) (*backends.AddResponse, error) {
	t.Helper()
	c, err := w.Begin(t.Context(), reconcile.Request{AddRequest: r, Scope: r.Scope, Partition: p})
	require.NoError(t, err)
	return c.Learn(t.Context(), func(ctx context.Context) error {
		return c.Reconcile(ctx, &reconcile.Question{Ask: func(_ context.Context, _ *ask.Run, q *ask.Question, check func([]reconcile.Operation) error) ([]reconcile.Operation, []ask.Bad, error) {
			ops := f(read(q.User))
			return ops, nil, check(ops)
		}})
	})
}

// houses are ten statements that one message orders to change.
func houses() (out []string) {
	for i := range 10 {
		out = append(out, fmt.Sprintf("owns house number %d", i))
	}
	return out
}

func TestOneMessageEndsThreeStatements(t *testing.T) {
	one := func(int) []int { return []int{0} }
	for name, c := range map[string]struct {
		verbs    []reconcile.Verb
		messages func(i int) []int // that the operation on statement i names
		of       int               // messages
		author   string
		room     int
		ended    int
	}{
		"supersedes":                            {[]reconcile.Verb{reconcile.Supersede}, one, 1, "", 0, 3},
		"retracts":                              {[]reconcile.Verb{reconcile.Retract}, one, 1, "", 0, 3},
		"both":                                  {[]reconcile.Verb{reconcile.Supersede, reconcile.Retract}, one, 1, "", 0, 3},
		"messages that are not named":           {[]reconcile.Verb{reconcile.Supersede}, func(int) []int { return nil }, 4, "", 0, 3},
		"several messages of one operation":     {[]reconcile.Verb{reconcile.Supersede}, func(i int) []int { return []int{0, 1 + i%3} }, 4, "", 0, 3},
		"a message each":                        {[]reconcile.Verb{reconcile.Supersede, reconcile.Retract}, func(i int) []int { return []int{i} }, 10, "", 0, 10},
		"two messages":                          {[]reconcile.Verb{reconcile.Retract}, func(i int) []int { return []int{i % 2} }, 2, "", 0, 6},
		"a long message in several questions":   {[]reconcile.Verb{reconcile.Supersede}, one, 1, "", 64, 3},
		"notes of an agent are one message all": {[]reconcile.Verb{reconcile.Supersede}, func(i int) []int { return []int{i} }, 10, backends.AuthorAgent, 0, 3},
	} {
		for _, byTime := range []bool{true, false} {
			w := open(t, testkit.SQLite(t), func(cfg *reconcile.Config) {
				cfg.ByTime = byTime
				if c.room > 0 {
					cfg.Prompt = c.room
				}
			})
			p := w.person(t, "ann", houses()...)
			r := &backends.AddRequest{Author: c.author}
			for i := range c.of {
				words := "The houses burnt down"
				if c.room > 0 {
					words = strings.Repeat("The houses burnt down. ", 100)
				}
				r.Messages = append(r.Messages, said(i, fmt.Sprint(i, words)))
			}
			resp, err := w.answering(t, p, r, func(q prompt) (ops []reconcile.Operation) {
				for _, m := range q.known {
					var i int
					if _, err := fmt.Sscanf(m.Text, "owns house number %d", &i); err != nil {
						continue
					}
					op := reconcile.Operation{Verb: c.verbs[i%len(c.verbs)], Index: m.Index, Messages: c.messages(i)}
					if op.Verb == reconcile.Supersede {
						op.Text = fmt.Sprintf("lost house number %d", i)
					}
					ops = append(ops, op)
				}
				return ops
			})
			require.NoError(t, err, name)
			active, past := w.known(t, p)
			assert.Len(t, past, c.ended, name)
			for i := range 10 {
				old, changed := fmt.Sprintf("owns house number %d", i), fmt.Sprintf("lost house number %d", i)
				assert.NotEqual(t, slices.Contains(active, old), slices.Contains(past, old), name)
				if c.verbs[i%len(c.verbs)] == reconcile.Supersede {
					assert.Contains(t, active, changed, "%s: what is new is not lost", name)
				}
			}
			skipped := map[string]bool{}
			for _, item := range resp.Items {
				if item.Outcome == backends.OutcomeSkipped {
					skipped[item.Memory.Text] = true
					assert.ErrorContains(t, item.Err, "may end 3 memories")
					assert.True(t, item.Memory.Active())
				}
			}
			assert.Len(t, skipped, 10-c.ended, name)
		}
	}
}

// What a message may not supersede it does not supersede by a second statement in its answer.
func TestABoundHoldsAlongTheChainsOfAnAnswer(t *testing.T) {
	w := open(t, testkit.SQLite(t))
	p := w.person(t, "ann", houses()...)
	_, err := w.answering(t, p, &backends.AddRequest{Messages: []backends.Message{said(0, "The houses burnt down"), said(1, "The houses were rebuilt")}}, func(q prompt) (ops []reconcile.Operation) {
		for _, m := range q.known {
			ops = append(ops, reconcile.Operation{Verb: reconcile.Supersede, Index: m.Index, Text: "lost " + m.Text, Messages: []int{0}})
		}
		for i, m := range q.known {
			ops = append(ops, reconcile.Operation{Verb: reconcile.Supersede, Index: len(q.known) + i, Text: "rebuilt " + m.Text, Messages: []int{0, 1}})
		}
		return ops
	})
	require.NoError(t, err)
	active, _ := w.known(t, p)
	left := slices.DeleteFunc(active, func(s string) bool { return !strings.HasPrefix(s, "owns") })
	require.Len(t, left, 7)
}

func TestConfirmAllowsMoreThanOneMessageMay(t *testing.T) {
	for answer, ended := range map[bool]int{true: 10, false: 3} {
		var asked []backends.Change
		w := open(t, testkit.SQLite(t), func(cfg *reconcile.Config) {
			cfg.Confirm = func(_ context.Context, c backends.Change) (bool, error) {
				asked = append(asked, c)
				return answer, nil
			}
		})
		p := w.person(t, "ann", houses()...)
		change := func(q prompt) (ops []reconcile.Operation) {
			for _, m := range q.known {
				ops = append(ops, reconcile.Operation{Verb: reconcile.Supersede, Index: m.Index, Text: "lost " + m.Text, Messages: []int{0}})
			}
			return ops
		}
		_, err := w.answering(t, p, &backends.AddRequest{Messages: []backends.Message{said(0, "The houses burnt down")}}, change)
		require.NoError(t, err)
		require.Len(t, asked, 1)
		require.Len(t, asked[0].Update, 7, "what is beyond the bound")
		_, past := w.known(t, p)
		require.Len(t, past, ended)
	}
}

// An agent that obeys a page calls its tool ten times in a turn.
func TestAllNotesOfATurnEndThreeStatements(t *testing.T) {
	w := open(t, testkit.SQLite(t))
	p := w.person(t, "ann", houses()...)
	for i := range 12 {
		m := said(0, fmt.Sprint("House burnt ", i))
		m.ID, m.Turn = fmt.Sprint("note", i), map[bool]string{true: "next", false: "t"}[i >= 10]
		_, err := w.answering(t, p, &backends.AddRequest{Author: backends.AuthorAgent, Messages: []backends.Message{m}}, func(q prompt) (ops []reconcile.Operation) {
			for _, known := range q.known {
				if strings.HasPrefix(known.Text, "owns") {
					return []reconcile.Operation{{Verb: reconcile.Supersede, Index: known.Index, Text: fmt.Sprint("lost a house, ", i), Messages: []int{0}}}
				}
			}
			return nil
		})
		require.NoError(t, err)
	}
	_, past := w.known(t, p)
	require.Len(t, past, 5, "three in one turn, two in the next")
}
