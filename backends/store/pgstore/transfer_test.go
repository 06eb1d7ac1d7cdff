// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testpostgres"
	"github.com/einomem/einomem/internal/test/testredis"
)

var today = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

func clock() time.Time { return today }

// memory opens a memory of words and vectors on a store.
func memory(t testing.TB, s store.Store) *mem0.Backend {
	t.Helper()
	m, err := mem0.New(t.Context(), &mem0.Config{Store: s, Clock: clock, Embedder: &testkit.Embedder{Dim: 64}, EmbeddingModel: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(t.Context())) })
	return m
}

// talk fills a store with a talk of 120 messages, and what it taught.
func talk(t testing.TB, s store.Store, whose backends.Scope) {
	t.Helper()
	m := memory(t, s)
	p, err := whose.Owner()
	require.NoError(t, err)
	for i := range 60 {
		said := fmt.Sprintf("My friend number %d keeps %d bees in Bergen, and likes tea.", i, i*7%13)
		if i%3 == 0 {
			said = fmt.Sprintf("我的第 %d 个朋友住在北京，喜欢喝茶。", i)
		}
		in := whose
		in.SessionID = fmt.Sprint("s", i%4)
		turn := []backends.Message{
			{ID: fmt.Sprint("u", i), Turn: fmt.Sprint(i), Time: today, Message: schema.UserMessage(said)},
			{ID: fmt.Sprint("a\x00", i), Turn: fmt.Sprint(i), Time: today, Message: schema.AssistantMessage("I see.", nil)}}
		_, err := s.Append(t.Context(), p, in.SessionID, &store.Append{Scope: in, Entries: []store.Entry{{Message: turn[0]}, {Message: turn[1], Done: true}}})
		require.NoError(t, err)
		_, err = m.Add(t.Context(), &backends.AddRequest{Scope: in, Messages: turn})
		require.NoError(t, err)
	}
	require.NoError(t, s.PutBlob(t.Context(), p, "s1", "page\x00", []byte("\x00\xff")))
}

// lines returns what a user's export says, without the numbers that each store assigns.
func lines(t testing.TB, s store.Store, p backends.Partition) string {
	t.Helper()
	var out, kept bytes.Buffer
	_, err := store.Export(t.Context(), s, p, &out)
	require.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		var value any
		require.NoError(t, json.Unmarshal([]byte(line), &value))
		strip(value)
		text, err := json.Marshal(value)
		require.NoError(t, err)
		kept.Write(append(text, '\n'))
	}
	return kept.String()
}

// strip removes what a transfer leaves to the target, as its comment says.
func strip(v any) {
	line, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, of := range []string{"memory", "session"} {
		if m, ok := line[of].(map[string]any); ok {
			delete(m, "version")
			if of == "session" {
				delete(m, "created")
				delete(m, "updated")
			}
		}
	}
	if events, ok := line["events"].([]any); ok {
		for _, e := range events {
			delete(e.(map[string]any), "version")
		}
	}
}

// rankings returns what questions find, with ids and scores.
func rankings(t testing.TB, s store.Store, whose backends.Scope) (all []string) {
	t.Helper()
	m := memory(t, s)
	for _, q := range []string{"Who keeps bees?", "tea in Bergen", "北京的朋友", "friend number 7", "喝茶"} {
		found, err := m.Search(t.Context(), &backends.SearchRequest{Scope: whose, Query: q, TopK: 20})
		require.NoError(t, err)
		require.NotEmpty(t, found.Hits, q)
		for _, h := range found.Hits {
			all = append(all, fmt.Sprintf("%s: %s %.9f", q, h.ID, h.Score))
		}
	}
	return all
}

// A user moves from SQLite to Postgres to Redis to SQLite.
func TestAUserMovesThroughAllStores(t *testing.T) {
	url := testpostgres.Need(t).URL
	ann := backends.Scope{Namespace: "test", UserID: "ann"}
	p, err := ann.Owner()
	require.NoError(t, err)
	sqlite := func() store.Store {
		s, err := sqlitestore.Open(t.Context(), sqlitestore.Memory, &sqlitestore.Config{Clock: clock})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		return s
	}
	all := []store.Store{sqlite(), open(t, url, &pgstore.Options{Schema: newSchema(), Clock: clock})}
	if flavours := testredis.Flavours(); len(flavours) > 0 {
		redis, err := redisstore.New(t.Context(), flavours[0].Start(t).Client(t), &redisstore.Config{Clock: clock})
		require.NoError(t, err)
		all = append(all, redis)
	} else {
		t.Log("without Redis: there is no server")
	}
	all = append(all, sqlite())
	talk(t, all[0], ann)
	wantLines, wantRankings := lines(t, all[0], p), rankings(t, all[0], ann)
	require.Greater(t, strings.Count(wantLines, "\n"), 180)
	for i, to := range all[1:] {
		done, err := store.Transfer(t.Context(), all[i], to, p)
		require.NoError(t, err)
		require.Equal(t, 4, done.Sessions)
		require.Equal(t, wantLines, lines(t, to, p), "%T", to)
		require.Equal(t, wantRankings, rankings(t, to, ann), "%T", to)
	}

	// The same by a file.
	var file bytes.Buffer
	_, err = store.Export(t.Context(), all[1], p, &file)
	require.NoError(t, err)
	imported := open(t, url, &pgstore.Options{Schema: newSchema(), Clock: clock})
	_, err = store.Import(t.Context(), imported, p, &file, nil)
	require.NoError(t, err)
	require.Equal(t, wantRankings, rankings(t, imported, ann))
	found, err := imported.Check(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
}
