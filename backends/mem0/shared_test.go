// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func inTeam(user, team string) backends.Scope {
	return backends.Scope{UserID: user, AgentID: user + "'s agent", Workspace: team, SessionID: "s1"}
}

func sharing(c *mem0.Config) { c.Shared = true }

// note stores a fact of a person, and returns its id.
func note(t testing.TB, b *mem0.Backend, s backends.Scope, fact string) string {
	t.Helper()
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: user(fact), Verbatim: true, Kind: backends.KindFact})
	require.NoError(t, err)
	return resp.Items[0].Memory.ID
}

// seen returns the texts that a search for "tea" finds.
func seen(t testing.TB, b *mem0.Backend, s backends.Scope, change ...func(*backends.SearchRequest)) []string {
	t.Helper()
	r := &backends.SearchRequest{Scope: s, Query: "tea"}
	for _, f := range change {
		f(r)
	}
	resp, err := b.Search(ctx, r)
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	out := []string{}
	for _, h := range resp.Hits {
		out = append(out, h.Text)
	}
	return out
}

func TestAPromotedFactIsFoundInItsWorkspace(t *testing.T) {
	db := openStore(t)
	b, plain := open(t, on(db), sharing), open(t, on(db))
	id := note(t, b, inTeam("ann", "lab"), "The tea room closes at five")
	note(t, b, inTeam("ann", "lab"), "Ann hides her tea in the drawer")
	note(t, b, inTeam("bob", "lab"), "Bob brings tea")
	require.Equal(t, []string{"Bob brings tea"}, seen(t, b, inTeam("bob", "lab")), "nothing is shared by learning")

	m, err := b.Promote(ctx, inTeam("ann", "lab"), id)
	require.NoError(t, err)
	again, err := b.Promote(ctx, inTeam("ann", "lab"), id)
	require.NoError(t, err)
	require.Equal(t, m, again)
	const shared = "The tea room closes at five"
	byAgent := func(r *backends.SearchRequest) {
		f := backends.Eq("agent_id", r.Scope.AgentID)
		r.Filter = &f
	}
	for name, c := range map[string]struct {
		b      *mem0.Backend
		scope  backends.Scope
		change func(*backends.SearchRequest)
		want   []string
	}{
		"a colleague":             {b, inTeam("bob", "lab"), nil, []string{"Bob brings tea", shared}},
		"a colleague's agent":     {b, inTeam("bob", "lab"), byAgent, []string{"Bob brings tea", shared}},
		"one who knows nothing":   {b, inTeam("cleo", "lab"), nil, []string{shared}},
		"the workspace alone":     {b, backends.Scope{Workspace: "lab"}, nil, []string{shared}},
		"facts by name":           {b, inTeam("cleo", "lab"), func(r *backends.SearchRequest) { r.Kinds = []backends.Kind{backends.KindFact} }, []string{shared}},
		"episodes by name":        {b, inTeam("cleo", "lab"), func(r *backends.SearchRequest) { r.Kinds = []backends.Kind{backends.KindEpisode} }, []string{}},
		"one place":               {b, inTeam("bob", "lab"), func(r *backends.SearchRequest) { r.TopK = 1 }, []string{"Bob brings tea"}},
		"ann herself":             {b, inTeam("ann", "lab"), nil, []string{"Ann hides her tea in the drawer", shared}},
		"another workspace":       {b, inTeam("bob", "shop"), nil, []string{"Bob brings tea"}},
		"another namespace":       {b, backends.Scope{Namespace: "other", UserID: "bob", Workspace: "lab"}, nil, []string{}},
		"no workspace":            {b, backends.Scope{UserID: "bob"}, nil, []string{"Bob brings tea"}},
		"a backend without teams": {plain, inTeam("bob", "lab"), nil, []string{"Bob brings tea"}},
	} {
		var change []func(*backends.SearchRequest)
		if c.change != nil {
			change = append(change, c.change)
		}
		require.ElementsMatch(t, c.want, seen(t, c.b, c.scope, change...), name)
	}

	found, err := b.Search(ctx, &backends.SearchRequest{Scope: inTeam("cleo", "lab"), Query: "tea"})
	require.NoError(t, err)
	got := found.Hits[0].Memory
	require.Equal(t, "ann", got.Origin.Speaker, "who said it stays visible")
	require.Equal(t, []string{"ann", "lab"}, []string{got.Scope.UserID, got.Scope.Workspace})
	require.Equal(t, []string{"m0"}, got.Origin.MessageIDs)
	require.Equal(t, start, got.Observed)
	own, err := b.Get(ctx, &backends.GetRequest{Scope: inTeam("ann", "lab"), ID: id})
	require.NoError(t, err, "the person's own stays")
	require.True(t, own.Active())
}

func TestTheCopyOfAFactThatChangedStays(t *testing.T) {
	learner := func(operations string) testkit.Reply {
		return testkit.Call("1", "remember", `{"operations":[`+operations+`]}`)
	}
	m := testkit.New(learner(`{"op":"add","text":"Tea is at five","messages":[0]}`),
		learner(`{"op":"supersede","index":0,"text":"Tea is at six","messages":[0]}`), learner(`{"op":"supersede","index":0,"text":"Tea is at seven","messages":[0]}`))
	b := open(t, with(m), sharing, factsOnly)
	s, bob := inTeam("ann", "lab"), inTeam("bob", "lab")
	var ids []string
	for i, text := range []string{"Tea is at five", "Tea is at six", "Tea is at seven"} {
		resp := add(t, b, s, backends.Message{ID: text, Turn: text, Time: start.AddDate(0, 0, i), Message: user(text)[0].Message})
		ids = append(ids, resp.Items[len(resp.Items)-1].Memory.ID)
		if i == 0 {
			_, err := b.Promote(ctx, s, ids[0])
			require.NoError(t, err)
		}
	}
	require.Equal(t, []string{"Tea is at five"}, seen(t, b, bob), "nothing follows by itself")
	require.Equal(t, []string{"Tea is at seven"}, seen(t, b, s), "but she is not shown what she replaced")
	_, err := b.Promote(ctx, s, ids[1])
	require.ErrorIs(t, err, backends.ErrInvalid, "it holds no more")
	_, err = b.Promote(ctx, s, ids[2])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"Tea is at five", "Tea is at seven"}, seen(t, b, bob), "the program deletes it")
}

func TestWhatSeveralKnowIsShownOnce(t *testing.T) {
	b := open(t, sharing)
	for _, name := range []string{"ann", "bob"} {
		_, err := b.Promote(ctx, inTeam(name, "lab"), note(t, b, inTeam(name, "lab"), "Tea is at five"))
		require.NoError(t, err)
	}
	note(t, b, inTeam("cleo", "lab"), "Tea is at five.")
	for _, name := range []string{"ann", "bob", "cleo", "dora"} {
		require.Len(t, seen(t, b, inTeam(name, "lab")), 1, name)
	}
}

func TestManyWhoPromoteAFactMakeOneCopy(t *testing.T) {
	b := open(t, sharing)
	id := note(t, b, inTeam("ann", "lab"), "Tea is at five")
	var all sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		all.Go(func() { _, errs[i] = b.Promote(ctx, inTeam("ann", "lab"), id) })
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	require.Len(t, list(t, b, backends.Scope{Workspace: "lab"}), 1)
}

// Facts of a workspace are managed by naming it alone. What other backends keep there is
// none of this one's.
func TestFactsOfAWorkspaceAreManaged(t *testing.T) {
	db := openStore(t)
	b := open(t, on(db), sharing)
	lab := backends.Scope{Workspace: "lab"}
	p, err := lab.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	task := &store.Record{Memory: backends.Memory{ID: "t1", Kind: backends.KindTask, Text: "Boil the tea first", Scope: lab}}
	_, err = db.Apply(ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(task)}})
	require.NoError(t, err)
	m, err := b.Promote(ctx, inTeam("ann", "lab"), note(t, b, inTeam("ann", "lab"), "Tea is at five, the key is sk-proj-"+"abcdefghijklmnopqrstuvwxyz0123456789"))
	require.NoError(t, err)
	require.Contains(t, m.Text, "Tea is at five")
	require.NotContains(t, m.Text, "abcdefgh", "secrets do not go to a workspace")
	require.Equal(t, []string{m.Text}, seen(t, b, lab))
	require.Equal(t, []string{m.Text}, list(t, b, lab))

	_, err = b.Get(ctx, &backends.GetRequest{Scope: inTeam("bob", "lab"), ID: m.ID})
	require.ErrorIs(t, err, backends.ErrNotFound, "a member does not change what a team shares by the way")
	err = b.Delete(ctx, &backends.DeleteRequest{Scope: inTeam("bob", "lab"), ID: m.ID})
	require.ErrorIs(t, err, backends.ErrNotFound)
	n, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: inTeam("ann", "lab")})
	require.NoError(t, err)
	require.Equal(t, 2, n, "who is forgotten is forgotten in the workspace, too")
	require.Empty(t, list(t, b, lab))
	held, err := db.Get(ctx, p, "t1")
	require.NoError(t, err)
	require.Len(t, held, 1)
	_, err = b.Add(ctx, &backends.AddRequest{Scope: lab, Messages: user("Tea is at six"), Verbatim: true})
	require.ErrorIs(t, err, backends.ErrNoScope, "nothing is learnt into a workspace")
}

func TestWhatCannotBePromoted(t *testing.T) {
	db := openStore(t)
	b := open(t, on(db), sharing)
	id := note(t, b, ann, "Tea is at five")
	episode, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("I like tea"), Verbatim: true})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		b     *mem0.Backend
		scope backends.Scope
		id    string
		want  error
	}{
		"not shared":      {open(t, on(db)), inTeam("ann", "lab"), id, backends.ErrInvalid},
		"no workspace":    {b, ann, id, backends.ErrNoScope},
		"no person":       {b, backends.Scope{Workspace: "lab"}, id, backends.ErrNoScope},
		"another person":  {b, inTeam("bob", "lab"), id, backends.ErrNotFound},
		"no such id":      {b, inTeam("ann", "lab"), "x", backends.ErrNotFound},
		"not a statement": {b, inTeam("ann", "lab"), episode.Items[0].Memory.ID, backends.ErrInvalid},
	} {
		_, err := c.b.Promote(ctx, c.scope, c.id)
		require.ErrorIs(t, err, c.want, name)
	}
	require.Empty(t, list(t, b, backends.Scope{Workspace: "lab"}))
}

// teamless is a store whose workspaces cannot be read.
type teamless struct{ store.Store }

func (s teamless) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if p.Kind == backends.PartitionWorkspace {
		return nil, backends.ErrUnavailable
	}
	return s.Store.Changes(ctx, p, cursor)
}

func TestAWorkspaceThatCannotBeReadLeavesThePersonsOwn(t *testing.T) {
	b := open(t, on(teamless{openStore(t)}), sharing)
	note(t, b, inTeam("ann", "lab"), "Tea is at five")
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: inTeam("ann", "lab"), Query: "tea"})
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	require.ErrorIs(t, resp.Degraded, backends.ErrUnavailable)
	_, err = b.Search(ctx, &backends.SearchRequest{Scope: backends.Scope{Workspace: "lab"}, Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
}
