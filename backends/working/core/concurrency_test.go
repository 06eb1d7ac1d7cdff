// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
)

// Of what 64 goroutines in eight processes append to one block, nothing is lost,
// nothing is there twice, and each one's lines keep their order.
func concurrentAppends(t *testing.T, connect func(t testing.TB) store.Store, user backends.Scope) {
	wide := func(c *core.Config) { c.Blocks = []core.Block{{Name: "human", Limit: core.MaxLimit}} }
	var processes []*core.Blocks
	for range 2 {
		st := connect(t)
		for range 4 {
			processes = append(processes, blocksOn(t, st, wide))
		}
	}
	const writers, lines = 64, 3
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range lines {
				if _, err := processes[w%len(processes)].Append(context.Background(), &core.AppendRequest{Scope: user, Block: "human", Text: fmt.Sprintf("w%d n%d", w, n)}); err != nil {
					t.Errorf("w%d n%d: %v", w, n, err)
				}
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	got := strings.Split(held(t, processes[0], user)["human"], "\n")
	require.Len(t, got, writers*lines)
	for _, line := range got {
		w, n, _ := strings.Cut(line, " ")
		require.Equal(t, fmt.Sprint("n", next[w]), n, "%s", line)
		next[w]++
	}
	events, err := processes[1].History(t.Context(), user, "human")
	require.NoError(t, err)
	require.Len(t, events, writers*lines)
	for i := 1; i < len(events); i++ {
		require.Equal(t, events[i-1].New, events[i].Old, "one after the other")
	}
}

// Two agents that edit one block between each other's reads and writes come to what
// one of the two orders makes of it, or are told that theirs cannot be made.
func TestTwoAgentsBetweenReadAndWrite(t *testing.T) {
	st := openStore(t)
	slow := &elsewhere{Records: st}
	one, two := blocksOn(t, slow), blocksOn(t, st)
	set(t, two, ann, "human", "likes tea")

	slow.between = func() {
		_, err := replaceIn(two, "human", "tea", "coffee")
		require.NoError(t, err)
	}
	_, err := replaceIn(one, "human", "tea", "water")
	var match *core.MatchError
	require.ErrorAs(t, err, &match, "its old text is gone")
	assert.Zero(t, match.Count)
	assert.Equal(t, "likes coffee", match.Text)

	slow.between = func() {
		_, err := appendTo(two, "human", "has a cat")
		require.NoError(t, err)
	}
	v, err := replaceIn(one, "human", "coffee", "water")
	require.NoError(t, err)
	assert.Equal(t, "likes water\nhas a cat", v.Text)

	before := v.Version
	slow.between = func() { set(t, two, ann, "human", "anew") }
	_, err = one.Set(t.Context(), &core.SetRequest{Scope: ann, Block: "human", Text: "mine", Version: before})
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.Equal(t, "anew", held(t, two, ann)["human"])

	slow.between = func() { set(t, two, ann, "task", strings.Repeat("x", 15)) }
	_, err = appendTo(one, "task", "123456")
	require.ErrorAs(t, err, new(*core.LimitError), "the room is gone")
}

// A store that always says conflict does not hold a caller for ever.
func TestGivesUp(t *testing.T) {
	st := &alwaysConflict{Records: openStore(t)}
	_, err := appendTo(blocksOn(t, st), "human", "x")
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.Greater(t, st.calls, 10)
	st.calls = 0
	ctx, cancel := context.WithCancel(t.Context())
	st.then = cancel
	_, err = blocksOn(t, st).Append(ctx, &core.AppendRequest{Scope: ann, Block: "human", Text: "x"})
	require.Error(t, err)
	assert.Equal(t, 1, st.calls)
}

type alwaysConflict struct {
	store.Records
	calls int
	then  func()
}

func (a *alwaysConflict) Apply(context.Context, backends.Partition, *store.Batch) (*store.Applied, error) {
	if a.calls++; a.then != nil {
		a.then()
	}
	return nil, backends.ErrConflict
}

// Whatever is edited in whatever order by several, the block is what a plain string
// is after the edits that succeeded, in the order of the history, and never longer
// than its limit.
func TestEditsAreThoseOfAString(t *testing.T) {
	st := openStore(t)
	user := 0
	rapid.Check(t, func(t *rapid.T) {
		user++
		s := backends.Scope{UserID: fmt.Sprint("u", user)}
		limit := rapid.IntRange(1, 30).Draw(t, "limit")
		cfg := &core.Config{Records: st, Clock: fixed, Blocks: []core.Block{{Name: "b", Limit: limit}}}
		agents := make([]*core.Blocks, 2)
		for i := range agents {
			var err error
			agents[i], err = core.New(cfg)
			require.NoError(t, err)
		}
		model, edits := "", 0
		piece := rapid.StringMatching(`[ab安<\n]{0,4}`)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				text := piece.Draw(t, "text")
				v, err := agents[rapid.IntRange(0, 1).Draw(t, "agent")].Append(context.Background(), &core.AppendRequest{Scope: s, Block: "b", Text: text})
				added := strings.Trim(text, "\n")
				want := model
				if want != "" && !strings.HasSuffix(want, "\n") {
					want += "\n"
				}
				want += added
				switch {
				case added == "":
					require.ErrorIs(t, err, backends.ErrInvalid)
				case len([]rune(want)) > limit:
					require.ErrorAs(t, err, new(*core.LimitError))
				default:
					require.NoError(t, err)
					require.Equal(t, want, v.Text)
					model = want
					edits++
				}
			},
			"replace": func(t *rapid.T) {
				old, text := piece.Draw(t, "old"), piece.Draw(t, "new")
				v, err := agents[rapid.IntRange(0, 1).Draw(t, "agent")].Replace(context.Background(), &core.ReplaceRequest{Scope: s, Block: "b", Old: old, New: text})
				var match *core.MatchError
				n := overlapping(model, old)
				want := strings.Replace(model, old, text, 1)
				switch {
				case old == "":
					require.ErrorIs(t, err, backends.ErrInvalid)
				case n != 1:
					require.ErrorAs(t, err, &match)
					require.Equal(t, n, match.Count)
				case len([]rune(want)) > limit && len([]rune(want)) >= len([]rune(model)):
					require.ErrorAs(t, err, new(*core.LimitError))
				default:
					require.NoError(t, err)
					require.Equal(t, want, v.Text)
					if want != model {
						edits++
					}
					model = want
				}
			},
			"": func(t *rapid.T) {
				values, err := agents[0].Get(context.Background(), s)
				require.NoError(t, err)
				require.Equal(t, model, values[0].Text)
				require.LessOrEqual(t, values[0].Size(), limit)
				events, err := agents[1].History(context.Background(), s, "b")
				require.NoError(t, err)
				require.Len(t, events, edits)
			},
		})
	})
}

func overlapping(text, part string) int {
	n := 0
	for i := range len(text) {
		if part != "" && strings.HasPrefix(text[i:], part) {
			n++
		}
	}
	return n
}

// Keys make an append happen once, also when several repeat it at once.
func concurrentRepetitions(t *testing.T, connect func(t testing.TB) store.Store, user backends.Scope) {
	processes := []*core.Blocks{blocksOn(t, connect(t)), blocksOn(t, connect(t))}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			r := &core.AppendRequest{Scope: user, Block: "human", Text: fmt.Sprint("x", i/4), IdempotencyKey: fmt.Sprint("k", i/4)}
			if _, err := processes[i%2].Append(context.Background(), r); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	assert.ElementsMatch(t, []string{"x0", "x1", "x2", "x3"}, strings.Split(held(t, processes[0], user)["human"], "\n"))
}

// Whatever is appended at once to a block of whatever limit, it holds what was
// acknowledged and nothing else; the rest was refused for want of room, and there is
// too little of it left.
func TestWhatIsAcknowledgedIsThere(t *testing.T) {
	st := openStore(t)
	user := 0
	rapid.Check(t, func(t *rapid.T) {
		user++
		s := backends.Scope{UserID: fmt.Sprint("u", user)}
		cfg := &core.Config{Records: st, Clock: fixed, Blocks: []core.Block{{Name: "b", Limit: rapid.IntRange(1, 120).Draw(t, "limit")}}}
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-z安]{1,12}`), 2, 16).Draw(t, "texts")
		errs := make([]error, len(texts))
		var all sync.WaitGroup
		for i, text := range texts {
			b, err := core.New(cfg) // a process of its own
			require.NoError(t, err)
			all.Go(func() {
				_, errs[i] = b.Append(context.Background(), &core.AppendRequest{Scope: s, Block: "b", Text: text})
			})
		}
		all.Wait()
		b, err := core.New(cfg)
		require.NoError(t, err)
		values, err := b.Get(context.Background(), s)
		require.NoError(t, err)
		v := &values[0]
		var acknowledged []string
		for i, err := range errs {
			if err == nil {
				acknowledged = append(acknowledged, texts[i])
				continue
			}
			require.ErrorAs(t, err, new(*core.LimitError))
			require.Less(t, v.Room(), len([]rune(texts[i]))+1)
		}
		require.LessOrEqual(t, v.Size(), v.Block.Limit)
		require.ElementsMatch(t, acknowledged, strings.FieldsFunc(v.Text, func(r rune) bool { return r == '\n' }))
	})
}
