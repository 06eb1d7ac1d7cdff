// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/testredis"
)

var ann = backends.Partition{Namespace: "n", Kind: backends.PartitionUser, ID: "ann"}

// long reports whether tests may take minutes.
func long() bool { return os.Getenv("EINOMEM_LONG") == "1" }

// several returns the larger number when tests may take minutes.
func several(short, full int) int {
	if long() {
		return full
	}
	return short
}

// said returns a message of one token.
func said(id string) store.Entry {
	return store.Entry{Message: backends.Message{ID: id, Message: schema.UserMessage("text of " + id)}, Tokens: 1}
}

// writers append to one session, each message by a call of its own.
type writers struct {
	stores         []*redisstore.Store // writers take turns in using them
	writers, count int                 // of messages of each
	// repeat a call that failed, as its caller would
	repeat bool
}

func (w *writers) id(writer, i int) string { return fmt.Sprintf("%d-%d", writer, i) }

// run runs them all at once.
func (w *writers) run(t *testing.T, p backends.Partition, session string) (repeats int64) {
	t.Helper()
	var all errgroup.Group
	again := make(chan int64, w.writers)
	for n := range w.writers {
		s := w.stores[n%len(w.stores)]
		all.Go(func() error {
			var mine int64
			defer func() { again <- mine }()
			for i := 0; i < w.count; i++ {
				_, err := s.Append(t.Context(), p, session, &store.Append{Entries: []store.Entry{said(w.id(n, i))}})
				switch {
				case w.repeat && errors.Is(err, backends.ErrUnavailable):
					mine++
					i--
				case err != nil:
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, all.Wait())
	for range w.writers {
		repeats += <-again
	}
	return repeats
}

// check reads the whole session by its numbers, and proves that each message is
// there once, and those of each writer in the order in which it wrote them.
func (w *writers) check(t *testing.T, s *redisstore.Store, p backends.Partition, session string) {
	t.Helper()
	st, err := s.Session(t.Context(), p, session)
	require.NoError(t, err)
	total := int64(w.writers * w.count)
	require.Equal(t, total, st.LastSeq)
	require.Equal(t, total, st.Tokens)
	next := make([]int, w.writers)
	for seq := int64(0); seq < total; {
		page, err := s.Read(t.Context(), p, session, store.Range{After: seq, Limit: 10_000})
		require.NoError(t, err)
		require.NotEmpty(t, page)
		for _, e := range page {
			seq++
			require.Equal(t, seq, e.Seq)
			var writer, i int
			_, err := fmt.Sscanf(e.ID, "%d-%d", &writer, &i)
			require.NoError(t, err)
			require.Equal(t, next[writer], i, "writer %d", writer)
			require.Equal(t, "text of "+e.ID, e.Content)
			next[writer]++
		}
	}
	for writer, n := range next {
		require.Equal(t, w.count, n, "writer %d", writer)
	}
}

// Many processes that talk in one session lose nothing and disturb no order.
func TestManyWritersAppendToOneSession(t *testing.T) {
	run := func(t *testing.T, count int, open func(testing.TB) redis.UniversalClient) {
		w := &writers{writers: 64, count: count}
		for range 8 {
			w.stores = append(w.stores, newStore(t, open(t), nil))
		}
		w.run(t, ann, "talk")
		w.check(t, w.stores[0], ann, "talk")
		t.Logf("%d writers, %d messages each, over %d clients", w.writers, w.count, len(w.stores))
	}
	testredis.Each(t, func(t *testing.T, open func(testing.TB) redis.UniversalClient) {
		count := several(200, 1000)
		if name := t.Name(); name[len(name)-len("miniredis"):] == "miniredis" || testing.Short() {
			count = 50
		}
		run(t, count, open)
	})
}
