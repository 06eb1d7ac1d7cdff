// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/internal/faultproxy"
	"github.com/einomem/einomem/internal/testredis"
)

// troubles are what may happen between a client and its Redis.
var troubles = map[string]struct{ begin, end func(p *faultproxy.Proxy) }{
	"loses a reply":     {func(p *faultproxy.Proxy) { p.LoseReplies(1, "evalsha", "eval") }, func(p *faultproxy.Proxy) { p.LoseReplies(0) }},
	"loses all replies": {func(p *faultproxy.Proxy) { p.LoseReplies(1<<30, "evalsha", "eval") }, func(p *faultproxy.Proxy) { p.LoseReplies(0) }},
	"refuses":           {func(p *faultproxy.Proxy) { p.Refuse(true); p.CutAll() }, func(p *faultproxy.Proxy) { p.Refuse(false) }},
	"cuts":              {func(p *faultproxy.Proxy) { p.CutRandomly(11, 4000) }, func(p *faultproxy.Proxy) { p.CutRandomly(11, 0) }},
}

// shortDeeds are those that are tried in the usual size.
var shortDeeds = []string{"Add", "RecordOutcome", "Task.Summarize", "Task.Record", "Personal.Summarize", "Tools.Record", "Library.Load"}

// Whatever happens between a backend and its Redis: the error says that it is not
// available, and the repeat stores everything once.
func TestOnRedisTroubleIsAnErrorAndTheRepeatStoresOnce(t *testing.T) {
	server := testredis.Need(t).Start(t)
	proxy := faultproxy.Start(t, server.Addr)
	admin := server.Client(t)
	seen := 0
	all := deeds()
	if !long {
		maps.DeleteFunc(all, func(name string, _ deed) bool { return !slices.Contains(shortDeeds, name) })
	}
	for name, f := range all {
		want := outcomeOf(t, f)
		for trouble, x := range troubles {
			what := fmt.Sprintf("%s, it %s", name, trouble)
			require.NoError(t, admin.FlushAll(t.Context()).Err())
			c := redis.NewClient(&redis.Options{Addr: proxy.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Minute, WriteTimeout: time.Minute})
			db, err := redisstore.New(t.Context(), c, &redisstore.Config{Retry: time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			lived(t, db)
			before := state(t, db)
			b, _ := newBackend(t, db, reading)
			x.begin(proxy)
			err = f.call(t.Context(), b)
			x.end(proxy)
			if err != nil {
				seen++
				require.ErrorIs(t, err, backends.ErrUnavailable, what)
				if after := state(t, db); !slices.Equal(after, want) && !f.halves && !f.bears {
					require.Equal(t, before, after, "%s: half stored", what)
				}
				require.NoError(t, f.call(t.Context(), b), "%s: the repeat", what)
			}
			require.Equal(t, want, state(t, db), what)
			require.NoError(t, b.Close(t.Context()))
			require.NoError(t, db.Close())
			require.NoError(t, c.Close())
		}
	}
	require.Greater(t, seen, len(all), "there was trouble")
}
