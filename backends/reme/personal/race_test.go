// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
)

func TestR13TwoProcessesThatLearnTheSameStoreItOnce(t *testing.T) {
	path := t.TempDir() + "/memories.db"
	var processes []*world
	for range 2 {
		st, err := sqlitestore.Open(ctx, path, &sqlitestore.Config{Clock: fixed})
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		processes = append(processes, open(t, on(st)))
	}
	processes[0].summarize(t, ann, said(0, "I live in Beijing"))
	messages := []backends.Message{said(1, "I moved to Shanghai"), said(2, "I like tea"), said(3, "I like rice")}
	written := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			resp, err := processes[i%2].Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: messages})
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range resp.Items {
				if item.Outcome != backends.OutcomeUnchanged {
					written[item.Memory.Text]++
				}
			}
		})
	}
	all.Wait()
	active, past := processes[1].known(t, ann)
	assert.Equal(t, []string{"user lives in Shanghai.", "user likes tea.", "user likes rice."}, active)
	assert.Equal(t, []string{"user lives in Beijing."}, past)
	assert.Equal(t, map[string]int{"user lives in Shanghai.": 1, "user likes tea.": 1, "user likes rice.": 1}, written)
}

func TestDEF10WhatChangedMeanwhileIsComparedAgain(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	beijing := w.summarize(t, ann, said(0, "I live in Beijing")).Items[0].Memory
	d, err := w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(5, "I moved to Shanghai")}})
	require.NoError(t, err)
	require.Len(t, d.Memories(), 1)
	w.summarize(t, ann, said(9, "I moved to Shenzhen")) // another process
	compared := m.calls(relations)
	resp, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, compared+1, m.calls(relations))
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Shenzhen."}, active)
	assert.Equal(t, []string{"user lives in Beijing.", "user lives in Shanghai."}, past)

	resp, err = w.Store(ctx, d) // again
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(resp))

	d, err = w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(20, "I moved to Rome")}})
	require.NoError(t, err)
	require.NoError(t, w.keeper.Delete(ctx, partitionOf(t, ann), &backends.DeleteRequest{ID: w.all(t, partitionOf(t, ann))[1].ID}))
	resp, err = w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp), "there is nothing to replace any more")
	_ = beijing
}

func TestDEF10WhatWasAddedMeanwhileIsCompared(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	draft := func(day int, text string) *personal.Draft {
		d, err := w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(day, text)}})
		require.NoError(t, err)
		return d
	}
	rome, tea := draft(5, "I live in Rome"), draft(5, "I like tea")
	w.summarize(t, ann, said(9, "I live in Oslo")) // another session
	resp, err := w.Store(ctx, rome)
	require.NoError(t, err)
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Oslo."}, active)
	assert.Equal(t, []string{"user lives in Rome."}, past)
	_, err = w.Store(ctx, tea)
	require.NoError(t, err)
	compared := m.calls(relations)
	assert.Equal(t, 2, compared, "one for each draft that something was added beside")
	resp, err = w.Store(ctx, draft(6, "I like tea"))
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, compared, m.calls(relations), "nothing is new about what is known")
}

func TestR13AModelThatIsAwayWhenComparedAgainStoresNothing(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.summarize(t, ann, said(0, "I live in Beijing"))
	d, err := w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(5, "I moved to Shanghai")}})
	require.NoError(t, err)
	w.summarize(t, ann, said(9, "I moved to Shenzhen"))
	m.fail = func(string) error { return errDown }
	resp, err := w.Store(ctx, d)
	require.ErrorIs(t, err, errDown)
	assert.Equal(t, []backends.Outcome{backends.OutcomeFailed}, outcomes(resp))
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Shenzhen."}, active)
}

// contested is a store whose batches lose every race.
type contested struct {
	store.Store
	applied atomic.Int64
}

func (c *contested) Apply(context.Context, backends.Partition, *store.Batch) (*store.Applied, error) {
	c.applied.Add(1)
	return nil, fmt.Errorf("test: %w", backends.ErrConflict)
}

func TestR13ARaceIsNotRunForEver(t *testing.T) {
	c := &contested{Store: openStore(t)}
	w := open(t, on(c))
	request := &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, "I like tea")}}
	resp, err := w.Summarize(ctx, request)
	require.ErrorIs(t, err, backends.ErrConflict)
	require.ErrorIs(t, resp.Report.Err(), backends.ErrConflict)
	assert.EqualValues(t, keeper.Attempts, c.applied.Load())

	p := partitionOf(t, ann)
	_, err = c.Append(ctx, p, "s", &store.Append{Entries: []store.Entry{{Message: said(0, "x")}}})
	require.NoError(t, err)
	s, err := c.Update(ctx, p, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "me", For: time.Minute}})
	require.NoError(t, err)
	request.Checkpoint = &backends.Checkpoint{Session: "s", Upto: 1, Token: s.Lease.Token}
	d, err := w.Draft(ctx, request)
	require.NoError(t, err)
	_, err = c.Update(ctx, p, &store.SessionUpdate{Session: "s", Token: s.Lease.Token, Release: true})
	require.NoError(t, err)
	c.applied.Store(0)
	_, err = w.Store(ctx, d)
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.EqualValues(t, 1, c.applied.Load(), "a lease that is lost stays lost")
}

// Whatever the order in which messages are learnt, and in whichever requests, the
// latest one holds, what is older never wins, nothing is stored twice, and learning it
// all again changes nothing. Who moves back does so in order: that a statement was
// repeated is not stored, and so not known to what is learnt between.
func TestDEF10TheLatestHoldsInWhateverOrderItIsLearnt(t *testing.T) {
	cities := []string{"Rome", "Oslo", "Paris", "Kyoto", "Lima", "Bern", "Cairo", "Delhi"}
	w, user := open(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		user++
		ann := backends.Scope{UserID: fmt.Sprint("ann", user)}
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		back := rapid.Bool().Draw(rt, "back")
		var messages []backends.Message
		for day := range n {
			city := cities[day]
			if back {
				city = rapid.SampledFrom(cities[:3]).Draw(rt, "city")
			}
			messages = append(messages, said(day, "I live in "+city))
		}
		learn := messages
		if !back {
			learn = rapid.Permutation(messages).Draw(rt, "order")
		}
		var requests [][]backends.Message
		for len(learn) > 0 {
			k := rapid.IntRange(1, len(learn)).Draw(rt, "request")
			requests, learn = append(requests, learn[:k]), learn[k:]
		}
		for _, r := range requests {
			w.summarize(t, ann, r...)
		}
		latest := messages[n-1].Content
		active, _ := w.known(t, ann)
		require.Equal(rt, []string{"user lives in " + latest[len("I live in "):] + "."}, active)
		all := w.all(t, partitionOf(t, ann))
		byID := map[string]*backends.Memory{}
		for _, m := range all {
			byID[m.ID] = m
		}
		for _, m := range all {
			if m.Active() {
				continue
			}
			require.False(rt, m.Invalidated.IsZero())
			require.False(rt, m.Invalidated.Before(m.Observed), "%+v", m)
			if m.SupersededBy != "" {
				next := byID[m.SupersededBy]
				require.NotNil(rt, next)
				require.True(rt, next.Observed.After(m.Observed), "what is older never wins")
			}
		}
		version := slices.MaxFunc(all, func(a, b *backends.Memory) int { return int(a.Version - b.Version) }).Version
		for _, r := range requests {
			for _, o := range outcomes(w.summarize(t, ann, r...)) {
				require.Equal(rt, backends.OutcomeUnchanged, o)
			}
		}
		for _, m := range w.all(t, partitionOf(t, ann)) {
			require.LessOrEqual(rt, m.Version, version, "nothing was written")
		}
	})
}
