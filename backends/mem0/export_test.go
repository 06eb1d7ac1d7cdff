// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/testkit"
)

func TestDumpAndLoadKeepTheChain(t *testing.T) {
	from := open(t, with(resident(t)), embedded(&testkit.Embedder{Dim: 16}))
	add(t, from, ann, user("I live in Beijing")...)
	last := add(t, from, ann, user("I moved to Shanghai")...).Items[0].Memory
	var dump strings.Builder
	n, err := from.Dump(ctx, ann, &dump)
	require.NoError(t, err)
	require.Equal(t, 4, n, "two facts, two turns")
	require.Equal(t, 4, strings.Count(dump.String(), "\n"))

	to := open(t, embedded(&testkit.Embedder{Dim: 32}))
	bob := backends.Scope{UserID: "bob", Namespace: "elsewhere"}
	kept := add(t, to, bob, user("I was here before")...).Items[0].Memory
	n, err = to.Load(ctx, bob, strings.NewReader(dump.String()+"\n"))
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, []string{"The user lives in Shanghai."}, facts(t, to, bob))
	require.Contains(t, list(t, to, bob), kept.Text)
	got, err := to.Get(ctx, &backends.GetRequest{Scope: bob, ID: last.ID})
	require.NoError(t, err)
	require.Equal(t, backends.Scope{Namespace: "elsewhere", UserID: "bob", SessionID: "s1"}, got.Scope, "it is bob's now")
	require.Equal(t, last.Created, got.Created)
	require.Equal(t, last.Supersedes, got.Supersedes)
	events, err := to.History(ctx, &backends.HistoryRequest{Scope: bob, ID: last.ID})
	require.NoError(t, err)
	require.Len(t, events, 2, "both links of the chain")
	require.Equal(t, "The user lives in Shanghai.", search(t, to, backends.SearchRequest{Scope: bob, Query: "Shanghai", Kinds: []backends.Kind{backends.KindFact}})[0])

	text := "changed by hand"
	_, err = to.Update(ctx, &backends.UpdateRequest{Scope: bob, ID: last.ID, Text: &text})
	require.NoError(t, err)
	n, err = to.Load(ctx, bob, strings.NewReader(dump.String()))
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, []string{text}, facts(t, to, bob), "what exists is left as it is")
}

func TestLoadAllOrNothing(t *testing.T) {
	good, err := json.Marshal(backends.Memory{ID: "1", Kind: backends.KindFact, Text: "fine"})
	require.NoError(t, err)
	for name, bad := range map[string]string{
		"no JSON": "{", "no id": `{"kind":"fact","text":"x"}`, "blank": `{"id":"2","kind":"fact","text":" "}`, "no kind": `{"id":"2","text":"x"}`,
		"twice": string(good), "time": `{"id":"2","kind":"fact","text":"x","created":"yesterday"}`, "scope": `{"id":"2","kind":"fact","text":"x","scope":{"session_id":"*"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t)
			_, err := b.Load(ctx, ann, strings.NewReader(string(good)+"\n\n"+bad+"\n"))
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.ErrorContains(t, err, "line 3")
			require.Empty(t, list(t, b, ann))
		})
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

var errBroken = errors.New("broken pipe")

func TestDumpReportsAWriteError(t *testing.T) {
	b := open(t)
	add(t, b, ann, user("tea")...)
	_, err := b.Dump(ctx, ann, brokenPipe{})
	require.ErrorIs(t, err, errBroken)
}

func TestC1_08_HistoryOfACycleEnds(t *testing.T) {
	b := open(t)
	_, err := b.Load(ctx, ann, strings.NewReader(
		`{"id":"1","kind":"fact","text":"A","supersedes":"2","superseded_by":"2"}`+"\n"+
			`{"id":"2","kind":"fact","text":"B","supersedes":"1","superseded_by":"1"}`+"\n"+
			`{"id":"3","kind":"fact","text":"C","supersedes":"3"}`))
	require.NoError(t, err)
	for id, want := range map[string]int{"1": 2, "2": 2, "3": 1} {
		events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		require.Len(t, events, want)
	}
}
