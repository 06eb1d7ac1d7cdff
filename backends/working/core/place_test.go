// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
)

// Whoever shares the owner shares the text; nobody else sees it.
func isolation(t *testing.T, connect func(t testing.TB) store.Store, home backends.Scope) {
	b := blocksOn(t, connect(t))
	home.Workspace = "office"
	for _, block := range four {
		set(t, b, home, block.Name, "of "+block.Name)
	}
	for name, c := range map[string]struct {
		change func(*backends.Scope)
		want   []string // the blocks that are the same
	}{
		"itself":            {func(*backends.Scope) {}, []string{"persona", "human", "house_rules", "task"}},
		"another user":      {func(s *backends.Scope) { s.UserID = "bob" }, []string{"persona", "house_rules"}},
		"another agent":     {func(s *backends.Scope) { s.AgentID = "coder" }, []string{"human", "house_rules", "task"}},
		"another workspace": {func(s *backends.Scope) { s.Workspace = "home" }, []string{"persona", "human", "task"}},
		"another session":   {func(s *backends.Scope) { s.SessionID = "s2" }, []string{"persona", "human", "house_rules"}},
		"another namespace": {func(s *backends.Scope) { s.Namespace = "test" }, nil},
		"agent for user":    {func(s *backends.Scope) { s.UserID, s.AgentID = s.AgentID, s.UserID }, []string{"house_rules"}},
	} {
		s := home
		c.change(&s)
		texts := held(t, b, s)
		require.Len(t, texts, 4, name)
		for _, block := range four {
			text, same := texts[block.Name], false
			for _, w := range c.want {
				same = same || w == block.Name
			}
			assert.Equal(t, same, text == "of "+block.Name, "%s: %s", name, block.Name)
			events, err := b.History(t.Context(), s, block.Name)
			require.NoError(t, err)
			assert.Equal(t, same, len(events) > 0, "%s: history of %s", name, block.Name)
		}
	}
}

func TestBlocksWhoseOwnerIsNotNamedAreLeftOut(t *testing.T) {
	b := blocksOn(t, openStore(t))
	for _, c := range []struct {
		scope backends.Scope
		want  []string
	}{
		{backends.Scope{UserID: "ann"}, []string{"human"}},
		{backends.Scope{AgentID: "helper"}, []string{"persona"}},
		{backends.Scope{AgentID: "helper", SessionID: "s"}, []string{"persona", "task"}},
		{backends.Scope{Workspace: "office", SessionID: "s"}, []string{"house_rules"}},
		{backends.Scope{UserID: " ann ", AgentID: "helper", SessionID: "s", Workspace: "office"}, []string{"persona", "human", "house_rules", "task"}},
	} {
		values, err := b.Get(t.Context(), c.scope)
		require.NoError(t, err)
		var names []string
		for _, v := range values {
			names = append(names, v.Block.Name)
		}
		assert.Equal(t, c.want, names, "in the configured order")
	}
	for _, s := range []backends.Scope{{}, {SessionID: "s"}, {Namespace: "n"}} {
		_, err := b.Get(t.Context(), s)
		require.ErrorIs(t, err, backends.ErrNoScope)
		_, err = b.Message(t.Context(), s)
		require.ErrorIs(t, err, backends.ErrNoScope)
		_, err = b.Append(t.Context(), &core.AppendRequest{Scope: s, Block: "human", Text: "x"})
		require.ErrorIs(t, err, backends.ErrNoScope)
		_, err = b.History(t.Context(), s, "human")
		require.ErrorIs(t, err, backends.ErrNoScope)
		_, err = b.DeleteSession(t.Context(), s)
		require.ErrorIs(t, err, backends.ErrNoScope)
	}
	_, err := b.Get(t.Context(), backends.Scope{UserID: "*"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	for name, s := range map[string]backends.Scope{"persona": {UserID: "ann"}, "human": {AgentID: "helper"}, "house_rules": {UserID: "ann"}, "task": {UserID: "ann"}} {
		_, err := b.Set(t.Context(), &core.SetRequest{Scope: s, Block: name, Text: "x"})
		require.ErrorIs(t, err, backends.ErrNoScope, name)
		require.ErrorContains(t, err, "belongs to the")
	}
}

// Whatever a session is called, its block is its own and no other's.
func TestAnySessionHasABlockOfItsOwn(t *testing.T) {
	st := openStore(t)
	long := strings.Repeat("n", core.MaxName)
	blocks := []core.Block{{Name: "a", Owner: core.OwnerSession}, {Name: "a_b", Owner: core.OwnerSession}, {Name: "user"}, {Name: long, Owner: core.OwnerSession}}
	b := blocksOn(t, st, func(c *core.Config) { c.Blocks = blocks })
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		session := rapid.OneOf(
			rapid.StringMatching(`(a|a_b|/|core/user/user|:|\{|\}| x|安|😀){1,9}`),
			rapid.StringN(1, 64, backends.MaxScopePart)).Draw(t, "session")
		s, err := backends.Scope{UserID: fmt.Sprint("u", n), SessionID: session}.Normalize()
		if err != nil || s.SessionID == "" {
			t.Skip()
		}
		other := s
		other.SessionID = rapid.SampledFrom([]string{"x", "_b" + s.SessionID, "a/x", "b/" + s.SessionID, s.SessionID + "/", strings.Repeat("s", backends.MaxScopePart)}).Draw(t, "other")
		if _, err := other.Normalize(); err != nil || other.SessionID == s.SessionID {
			t.Skip()
		}
		for i, scope := range []backends.Scope{s, other} {
			for _, block := range blocks {
				if block.Owner != "" || i == 0 {
					_, err := b.Set(context.Background(), &core.SetRequest{Scope: scope, Block: block.Name, Text: fmt.Sprint(block.Name, i)})
					require.NoError(t, err, "nobody has written it")
				}
			}
		}
		for i, scope := range []backends.Scope{s, other} {
			values, err := b.Get(context.Background(), scope)
			require.NoError(t, err)
			for _, v := range values {
				if v.Block.Owner == core.OwnerSession {
					require.Equal(t, fmt.Sprint(v.Block.Name, i), v.Text)
				}
			}
		}
	})
}

func TestOneReadAPartition(t *testing.T) {
	st := &elsewhere{Records: openStore(t)}
	b := blocksOn(t, st)
	_, err := b.Get(t.Context(), backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s", Workspace: "w"})
	require.NoError(t, err)
	assert.Equal(t, 3, st.reads)
	st.reads = 0
	_, err = b.Message(t.Context(), backends.Scope{UserID: "ann", SessionID: "s"})
	require.NoError(t, err)
	assert.Equal(t, 1, st.reads)
}

func TestARecordOfAnotherKindIsNoBlock(t *testing.T) {
	st := openStore(t)
	p, err := ann.Partition(backends.PartitionUser)
	require.NoError(t, err)
	_, err = st.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Put(&store.Record{Memory: backends.Memory{ID: "core/user/human", Kind: backends.KindFact, Text: "x"}})}})
	require.NoError(t, err)
	b := blocksOn(t, st)
	_, err = b.Get(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = appendTo(b, "human", "y")
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestDeleteSession(t *testing.T) {
	b := blocksOn(t, openStore(t))
	next := ann
	next.SessionID = "s2"
	for _, s := range []backends.Scope{ann, next} {
		set(t, b, s, "task", "of "+s.SessionID)
		set(t, b, s, "human", "stays")
	}
	n, err := b.DeleteSession(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, map[string]string{"persona": "I am helper.", "human": "stays", "task": ""}, held(t, b, ann))
	assert.Equal(t, "of s2", held(t, b, next)["task"])
	n, err = b.DeleteSession(t.Context(), ann)
	require.NoError(t, err)
	assert.Zero(t, n)
	events, err := b.History(t.Context(), ann, "task")
	require.NoError(t, err)
	require.Len(t, events, 2)
	assert.Equal(t, backends.EventDeleted, events[1].Type)
	_, err = b.Set(t.Context(), &core.SetRequest{Scope: ann, Block: "task", Text: "again"})
	require.NoError(t, err, "as if nobody had written it")

	without := blocksOn(t, openStore(t), func(c *core.Config) { c.Blocks = four[:1] })
	n, err = without.DeleteSession(t.Context(), ann)
	require.NoError(t, err)
	assert.Zero(t, n)
}

func TestHistoryTellsWhoAndWhen(t *testing.T) {
	b := blocksOn(t, openStore(t))
	_, err := appendTo(b, "human", "tea")
	require.NoError(t, err)
	nobody := ann
	nobody.AgentID = ""
	_, err = b.Replace(t.Context(), &core.ReplaceRequest{Scope: nobody, Block: "human", Old: "tea", New: "coffee"})
	require.NoError(t, err)
	_, err = replaceIn(b, "human", "coffee", "coffee")
	require.NoError(t, err, "and no event")
	set(t, b, ann, "human", "water")
	events, err := b.History(t.Context(), ann, "human")
	require.NoError(t, err)
	type told struct{ kind, before, after, actor, role string }
	var got []told
	for _, e := range events {
		got = append(got, told{string(e.Type), e.Old, e.New, e.Actor, e.Role})
		assert.Equal(t, noon, e.Time.UTC())
	}
	assert.Equal(t, []told{{"added", "", "tea", "helper", "assistant"}, {"updated", "tea", "coffee", "agent", "assistant"}, {"updated", "coffee", "water", "caller", ""}}, got)
	events, err = b.History(t.Context(), ann, "task")
	require.NoError(t, err)
	assert.Empty(t, events)
}
