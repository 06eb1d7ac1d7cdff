// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/test/testkit"
)

// observations are the statements that LoCoMo's authors have about each conversation, as facts,
// each taught by the turns that it names.
func observations(t *testing.T, path string) [][]backends.Memory {
	var raw []struct {
		Of map[string]map[string][][2]any `json:"observation"`
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &raw))
	out := make([][]backends.Memory, len(raw))
	for i, conversation := range raw {
		for _, session := range slices.Sorted(maps.Keys(conversation.Of)) {
			for _, speaker := range slices.Sorted(maps.Keys(conversation.Of[session])) {
				for _, o := range conversation.Of[session][speaker] {
					sources := strings.FieldsFunc(fmt.Sprint(o[1]), func(r rune) bool { return strings.ContainsRune("[] ,", r) })
					m := backends.Memory{Kind: backends.KindFact, Text: o[0].(string), Origin: backends.Origin{MessageIDs: sources}}
					out[i] = append(out[i], m)
				}
			}
		}
	}
	return out
}

// What reflection merges leaves what answers a question where it was found, also by a model that
// merges too much: of facts and turns together recall@10 falls by half a point at most.
func TestReflectionKeepsWhatAnswers(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo")
	}
	conversations, err := trial.Conversations("locomo", path)
	require.NoError(t, err)
	facts := observations(t, path)
	s, err := place.SQLite(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Remove()) }()
	backend, err := mem0.New(t.Context(), &mem0.Config{Store: s})
	require.NoError(t, err)
	defer func() { require.NoError(t, backend.Close(t.Context())) }()
	stored, done := 0, 0
	for user, c := range conversations {
		b := &store.Batch{}
		said := map[string]*trial.Turn{}
		for i := range c.Turns {
			m := memoryOf(&c.Turns[i])
			said[m.ID], m.Origin.MessageIDs, m.Scope = &c.Turns[i], []string{m.ID}, userOf(user).Scope()
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
		}
		for i, m := range facts[user] {
			m.ID, m.Scope = fmt.Sprint("fact", i), userOf(user).Scope()
			if turn := said[m.Origin.MessageIDs[0]]; turn != nil {
				m.Observed, m.Origin.Session = turn.Time, turn.Session
			}
			b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
			stored++
		}
		_, err := s.Apply(t.Context(), userOf(user), b)
		require.NoError(t, err)
	}
	recall := func() (found float64) {
		n := 0.0
		for user, c := range conversations {
			for _, q := range c.Questions {
				if len(q.Evidence) == 0 || q.Category == trial.Adversarial {
					continue
				}
				resp, err := backend.Search(t.Context(), &backends.SearchRequest{Scope: userOf(user).Scope(), Query: q.Text, TopK: 10})
				require.NoError(t, err)
				hits := 0.0
				for _, turn := range q.Evidence {
					if slices.ContainsFunc(resp.Hits, func(h backends.Hit) bool { return slices.Contains(h.Origin.MessageIDs, turn) }) {
						hits++
					}
				}
				found, n = found+hits/float64(len(q.Evidence)), n+1
			}
		}
		return 100 * found / n
	}
	before := recall()
	r, err := reflection.New(&reflection.Config{Backend: backend, Model: eager(t)})
	require.NoError(t, err)
	for user := range conversations {
		plan, err := r.Draft(t.Context(), &reflection.Request{Scope: userOf(user).Scope()})
		require.NoError(t, err)
		applied, err := r.Apply(t.Context(), plan, false)
		require.NoError(t, err)
		done += applied.Done
	}
	after := recall()
	t.Logf("%d facts beside the turns, %d operations: recall@10 %.2f -> %.2f", stored, done, before, after)
	require.Greater(t, done, 50)
	require.Greater(t, after, before-0.5)
}

// eager is a model that takes for the same what shares half of its words, and infers something
// of the first three memories of each question.
func eager(t *testing.T) *testkit.Chat {
	words, err := recall.NewWords()
	require.NoError(t, err)
	return testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		var said []map[string]bool
		for line := range strings.Lines(in[len(in)-1].Content) {
			var m struct {
				Index *int
				Text  string
			}
			if json.Unmarshal([]byte(line), &m) == nil && m.Index != nil {
				said = append(said, words.Of(m.Text))
			}
		}
		ops := []map[string]any{{"op": "insight", "memories": []int{0, 1, 2}, "text": fmt.Sprint("They share much, such as this: ", len(said))}}
		for i := range said {
			for j := range i {
				shared := 0
				for w := range said[i] {
					if said[j][w] {
						shared++
					}
				}
				if 2*shared >= len(said[i])+len(said[j])-shared {
					ops = append(ops, map[string]any{"op": "merge", "memories": []int{j, i}})
				}
			}
		}
		raw, err := json.Marshal(map[string]any{"operations": ops})
		require.NoError(t, err)
		return testkit.Call("1", opts.Tools[0].Name, string(raw))(ctx, in, opts)
	})
}
