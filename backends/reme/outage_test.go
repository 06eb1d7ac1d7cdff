// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/testkit"
)

// long asks for the full sizes.
var long = os.Getenv("EINOMEM_LONG") == "1"

// disasters are the ways in which call n of the store goes wrong.
var disasters = map[string]func(n int) func(i int) (carriedOut, heard bool){
	"fails once":     func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i != n, true } },
	"is away":        func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i < n, true } },
	"loses a reply":  func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return true, i != n } },
	"loses all then": func(n int) func(int) (bool, bool) { return func(i int) (bool, bool) { return i <= n, i < n } },
}

// Whichever call of the store goes wrong, in whichever way: the error says what it
// is, nothing is half stored, and the repeat stores everything once.
func TestTheStoreFailsAtEachCallOfEachFlow(t *testing.T) {
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			want := outcomeOf(t, f)
			for disaster, fails := range disasters {
				if !long && !f.halves && disaster != "fails once" && (raced || disaster != "loses a reply") {
					continue
				}
				for n := 1; ; n++ {
					if !storeFails(t, f, fmt.Sprintf("%s, call %d", disaster, n), n, fails(n), want) {
						break
					}
				}
			}
		})
	}
}

// outcomeOf is the state after a flow of which nothing fails.
func outcomeOf(t *testing.T, f deed) []string {
	db := open(t)
	lived(t, db)
	b, _ := newBackend(t, db, reading)
	require.NoError(t, f.call(t.Context(), b))
	return state(t, db)
}

// reading configures verdicts and a time at which calls of tools are still kept, and
// tolerates what is told beside a call.
func reading(c *reme.Config) {
	c.Clock = func() time.Time { return annual.Add(time.Hour) }
	c.Task.Log = slog.New(slog.DiscardHandler)
	c.Verdict, c.OnError, c.Tools.NoRefresh = reme.VerdictOf("submit", "passed"), nil, true
}

// storeFails reports whether there was such a call.
func storeFails(t *testing.T, f deed, what string, n int, fails func(int) (bool, bool), want []string) bool {
	db := &faulty{Store: open(t)}
	lived(t, db)
	before := state(t, db)
	b, _ := newBackend(t, db, reading)
	db.arm(fails)
	err := f.call(t.Context(), b)
	if db.disarm() < n {
		require.NoError(t, err, what)
		return false
	}
	after := state(t, db)
	if err == nil {
		require.True(t, f.bears || slices.Equal(after, want), "%s: nobody was told", what)
	} else {
		require.ErrorIs(t, err, backends.ErrUnavailable, what)
		require.NotErrorIs(t, err, backends.ErrNotFound, what)
	}
	if !slices.Equal(after, want) && !f.halves && !f.bears {
		require.Equal(t, before, after, "%s: half stored", what)
	}
	if err != nil {
		require.NoError(t, f.call(t.Context(), b), "%s: the repeat", what)
	}
	require.Equal(t, want, state(t, db), "%s: after the repeat", what)
	return true
}

// moody is a model whose call n fails, or is answered by nothing of use.
type moody struct {
	*testkit.Learner
	count *int
	at    int
	say   func() (*schema.Message, error)
}

func (m *moody) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	inner, err := m.Learner.WithTools(tools)
	return &moodyTool{inner, m}, err
}

type moodyTool struct {
	model.ToolCallingChatModel
	mood *moody
}

func (m *moodyTool) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	if *m.mood.count++; m.mood.at > 0 && *m.mood.count >= m.mood.at {
		return m.mood.say()
	}
	return m.ToolCallingChatModel.Generate(ctx, in, opts...)
}

// Whichever call of the model fails, from then on: nothing is stored, and the repeat
// stores everything once.
func TestTheModelFailsAtEachCallOfEachFlow(t *testing.T) {
	moods := map[string]struct {
		say  func() (*schema.Message, error)
		want error
	}{
		"is away":     {func() (*schema.Message, error) { return nil, errors.New("503") }, backends.ErrUnavailable},
		"says hello":  {func() (*schema.Message, error) { return schema.AssistantMessage("Hello!", nil), nil }, backends.ErrModel},
		"is silent":   {func() (*schema.Message, error) { return schema.AssistantMessage("", nil), nil }, backends.ErrModel},
		"is no model": {func() (*schema.Message, error) { return nil, nil }, backends.ErrUnavailable},
	}
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			want := outcomeOf(t, f)
			for mood, say := range moods {
				if raced && !long && mood != "is away" {
					continue
				}
				for n := 1; ; n++ {
					what := fmt.Sprintf("%s from call %d on", mood, n)
					db := open(t)
					lived(t, db)
					before, count := state(t, db), 0
					m := &moody{Learner: &testkit.Learner{}, count: &count, at: n, say: say.say}
					b, _ := newBackend(t, db, func(c *reme.Config) {
						reading(c)
						c.Model, c.Limits.Concurrency = m, 1
					})
					err := f.call(t.Context(), b)
					if count < n {
						require.NoError(t, err, what)
						break
					}
					if err == nil {
						require.True(t, f.bears, "%s: nobody was told", what)
						continue
					}
					require.ErrorIs(t, err, say.want, what)
					if !f.halves || strings.HasPrefix(name, "Add") {
						require.Equal(t, before, state(t, db), "%s: half stored", what)
					}
					m.at = 0
					require.NoError(t, f.call(t.Context(), b), what)
					require.Equal(t, want, state(t, db), "%s: after the repeat", what)
				}
			}
		})
	}
}

// An embedder that fails stores nothing, and takes nothing away: words still find
// what is there, and the answer says what was missing.
func TestTheEmbedderFailsInEachFlow(t *testing.T) {
	for name, f := range deeds() {
		t.Run(name, func(t *testing.T) {
			e := &testkit.Embedder{Dim: 32}
			with := func(c *reme.Config) { reading(c); c.Embedder, c.EmbeddingModel = e, "hash" }
			db := open(t)
			lived(t, db)
			b, _ := newBackend(t, db, with)
			require.NoError(t, only(b.Reembed(t.Context(), ann)))
			before := state(t, db)
			e.Err = errors.New("429")
			err := f.call(t.Context(), b)
			if err == nil { // it embedded nothing, or does without
				e.Err = nil
				require.Equal(t, outcomeOf(t, f), state(t, db))
				return
			}
			require.ErrorIs(t, err, backends.ErrUnavailable)
			if !f.halves {
				require.Equal(t, before, state(t, db), "half stored")
			}
			e.Err = nil
			require.NoError(t, f.call(t.Context(), b))
			require.Equal(t, outcomeOf(t, f), state(t, db))
		})
	}
}

// What a dump says is whole: one that cannot be read, or written, is an error.
func TestADumpIsWholeOrAnError(t *testing.T) {
	db := &faulty{Store: open(t)}
	lived(t, db)
	for n := 1; ; n++ {
		b, _ := newBackend(t, db, reading)
		db.arm(disasters["is away"](n))
		var out bytes.Buffer
		_, err := b.Library().Dump(t.Context(), &reme.DumpRequest{Scope: ann}, &out)
		if db.disarm() < n {
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(out.String(), "\n"), "the lesson: nobody asked for guidelines")
			return
		}
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
}
