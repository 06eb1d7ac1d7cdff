// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// file returns a memory file in which Ann and an agent remember something.
func file(t *testing.T) string {
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "memory.db")
	db, err := sqlitestore.Open(ctx, path, nil)
	require.NoError(t, err)
	backend, err := mem0.New(ctx, &mem0.Config{Store: db})
	require.NoError(t, err)
	for scope, said := range map[backends.Scope][]string{
		{UserID: "ann"}:  {"I like tea", "I like: TEA!", "我住在杭州"},
		{AgentID: "bot"}: {"..."},
	} {
		var messages []backends.Message
		for _, s := range said {
			messages = append(messages, backends.Message{Message: schema.UserMessage(s)})
		}
		_, err := backend.Add(ctx, &backends.AddRequest{Scope: scope, Messages: messages})
		require.NoError(t, err)
	}
	require.NoError(t, backend.Close(ctx))
	require.NoError(t, db.Close())
	return path
}

func call(t *testing.T, args ...string) string {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out, io.Discard))
	return out.String()
}

func TestAuditOfAFile(t *testing.T) {
	path := file(t)
	out := call(t, "-db", path)
	require.Contains(t, out, "default/user/ann: 0 facts and 3 turns hold")
	require.Regexp(t, `duplicate \[[0-9a-f-]+\] "I like: TEA!"`, out)
	require.Contains(t, out, "default/agent/bot: 0 facts and 1 turns hold")
	require.Regexp(t, `junk +\[[0-9a-f-]+\] "\.\.\."`, out)

	out = call(t, "-db", path, "-namespace", "other")
	require.Empty(t, out)
}

func TestAuditRefusesWhatItCannotRead(t *testing.T) {
	for says, args := range map[string][]string{
		"-db": nil, "none.db": {"-db", filepath.Join(t.TempDir(), "none.db")}, "'*'": {"-db", file(t), "-namespace", "*"}, "nonsense": {"-nonsense"},
	} {
		require.ErrorContains(t, run(t.Context(), args, io.Discard, io.Discard), says)
	}
}

func TestFindings(t *testing.T) {
	ctx, now := context.Background(), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	b, err := mem0.New(ctx, &mem0.Config{Store: db, Clock: func() time.Time { return now }})
	require.NoError(t, err)
	ann := backends.Scope{UserID: "ann"}
	p, err := ann.Speaker()
	require.NoError(t, err)
	taught := backends.Origin{MessageIDs: []string{"m1"}, Author: "model"}
	put := func(id, text string, kind backends.Kind, o backends.Origin, at time.Time) store.Mutation {
		return store.Put(&store.Record{Memory: backends.Memory{ID: id, Kind: kind, Text: text, Origin: o, Created: at, Updated: at}})
	}
	expired := put("over", "had a cold", backends.KindFact, taught, now)
	expired.Record.Expires = now.Add(-time.Hour)
	_, err = db.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{
		put("1", "Likes green tea.", backends.KindFact, taught, now),
		put("2", "likes Green Tea", backends.KindFact, taught, now.Add(time.Second)),
		put("3", "likes green tea", backends.KindEpisode, taught, now), // a turn does not repeat a fact
		put("4", "…!", backends.KindEpisode, taught, now),
		put("5", "For context: [planner] said: step one.", backends.KindEpisode, taught, now),
		put("6", "lives in Rome", backends.KindFact, backends.Origin{}, now),
		put("8", "住在北京", backends.KindFact, taught, now),
		expired,
		put("9", "wrong", backends.KindFact, taught, now), store.Retract("9", now),
	}})
	require.NoError(t, err)
	_, err = db.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Supersede("8", put("10", "住在上海", backends.KindFact, taught, now).Record)}})
	require.NoError(t, err)

	a, err := look(ctx, b, ann, now)
	require.NoError(t, err)
	findings := a.findings
	slices.Sort(findings)
	require.Equal(t, []string{
		`duplicate [2] "likes Green Tea"`, `junk      [4] "…!"`, `junk      [5] "For context: [planner] said: step one."`, `unsourced [6] "lives in Rome"`,
	}, findings)
	require.Equal(t, map[string]int{"fact": 4, "turn": 3, "superseded": 1, "retracted": 1, "expired": 1}, a.count)
	_, err = look(ctx, b, backends.Scope{}, now)
	require.ErrorIs(t, err, backends.ErrNoScope)
}
