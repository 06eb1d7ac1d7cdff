// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
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

func call(t *testing.T, code int, args ...string) (stdout, stderr string) {
	var out, errs bytes.Buffer
	require.Equal(t, code, run(context.Background(), args, &out, &errs), errs.String())
	return out.String(), errs.String()
}

func TestAuditOfAFile(t *testing.T) {
	path := file(t)
	out, _ := call(t, 0, "-db", path)
	require.Contains(t, out, "default/user/ann: 0 facts and 3 turns hold")
	require.Regexp(t, `duplicate \[[0-9a-f-]+\] "I like: TEA!"`, out)
	require.Contains(t, out, "default/agent/bot: 0 facts and 1 turns hold")
	require.Regexp(t, `junk +\[[0-9a-f-]+\] "\.\.\."`, out)

	out, _ = call(t, 0, "-db", path, "-namespace", "other")
	require.Empty(t, out)
}

func TestAuditRefusesWhatItCannotRead(t *testing.T) {
	_, errs := call(t, 2)
	require.Contains(t, errs, "-db")
	_, errs = call(t, 2, "-db", filepath.Join(t.TempDir(), "none.db"))
	require.Contains(t, errs, "none.db")
	_, errs = call(t, 1, "-db", file(t), "-namespace", "*")
	require.Contains(t, errs, "audit:")
	call(t, 2, "-nonsense")
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
	a.findings = nil
	require.Equal(t, &report{facts: 4, turns: 3, superseded: 1, retracted: 1, expired: 1}, a)
	_, err = look(ctx, b, backends.Scope{}, now)
	require.ErrorIs(t, err, backends.ErrNoScope)
}
