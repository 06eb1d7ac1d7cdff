// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// entities renders the entities of a scope as "name × memories".
func entities(t testing.TB, b *mem0.Backend, s backends.Scope) []string {
	t.Helper()
	found, err := b.Entities(ctx, s)
	require.NoError(t, err)
	out := []string{}
	for _, e := range found {
		out = append(out, fmt.Sprint(e.Name, " × ", e.Memories))
	}
	return out
}

func about(op, text string, names ...string) string {
	return fmt.Sprintf(`{"op":%q,"text":%q,"messages":[0],"entities":["%s"]}`, op, text, strings.Join(names, `","`))
}

func TestTheModelThatExtractsFactsNamesWhomTheyAreAbout(t *testing.T) {
	clock := testkit.NewClock()
	m := answering(
		operations(about("add", "Ann works with Bob in 上海.", "Bob", "上海"), about("add", "Ann has a cat.")),
		operations(about("add", "BOB plays the cello.", "ＢＯＢ")))
	b := open(t, with(m), factsOnly, func(c *mem0.Config) { c.Clock = clock.Now })
	said := func(text string) backends.Message {
		u := user(text)[0]
		u.Time = clock.Advance(time.Hour)
		return u
	}
	first := said("I work with Bob in 上海, and have a cat")
	add(t, b, ann, first)
	second := said("Bob plays the cello")
	add(t, b, ann, second)
	require.Len(t, m.Calls(), 2, "no call of its own")

	found, err := b.Entities(ctx, ann)
	require.NoError(t, err)
	require.Equal(t, []backends.Entity{
		{Name: "ＢＯＢ", Memories: 2, First: first.Time, Last: second.Time},
		{Name: "上海", Memories: 1, First: first.Time, Last: first.Time},
	}, found)

	for filter, want := range map[string][]string{
		`bob`: {"Ann works with Bob in 上海.", "BOB plays the cello."},
		`上海`:  {"Ann works with Bob in 上海."},
		`cat`: nil,
	} {
		is := backends.Eq("entity", filter)
		require.ElementsMatch(t, want, search(t, b, backends.SearchRequest{Scope: ann, Query: "Bob cello cat work", Filter: &is}), filter)
	}
}

func TestEntitiesAreReadLeniently(t *testing.T) {
	for name, c := range map[string]struct{ given, want string }{
		"none":               {``, ``},
		"null":               {`,"entities":null`, ``},
		"empty":              {`,"entities":[]`, ``},
		"one text":           {`,"entities":"Bob"`, `Bob`},
		"another key":        {`,"entity":["Bob"]`, `Bob`},
		"objects":            {`,"entities":[{"name":"Bob","type":"person"},{"type":"place"}]`, `Bob`},
		"what is no name":    {`,"entities":[7,true,null,"","  ","—",["Bob"]]`, `Bob`},
		"the same twice":     {`,"entities":["Bob"," bob ","ＢＯＢ"]`, `Bob`},
		"the user":           {`,"entities":["user","The user","用户","Bob"]`, `Bob`},
		"one that is a text": {`,"entities":["Bob","` + strings.Repeat("long ", 50) + `"]`, `Bob`},
		"too many":           {`,"entities":["Bob","` + strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), `","`) + `"]`, `Bob,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o`},
	} {
		t.Run(name, func(t *testing.T) {
			m := answering(`{"operations":[{"op":"add","text":"Bob has a dog."` + c.given + `}]}`)
			b := open(t, with(m), factsOnly)
			resp := add(t, b, ann, user("Bob has a dog")...)
			require.Len(t, m.Calls(), 1)
			require.Len(t, resp.Items, 1)
			require.Equal(t, backends.OutcomeAdded, resp.Items[0].Outcome)
			require.Equal(t, c.want, strings.Join(resp.Items[0].Memory.Entities(), ","))
			kept, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: resp.Items[0].Memory.ID})
			require.NoError(t, err)
			require.Equal(t, resp.Items[0].Memory.Metadata, kept.Metadata)
		})
	}
}

// Entities are of the memories that hold now: what ends them, moves them or forgets them does
// so with what they name.
func TestEntitiesGoWithTheirMemories(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		answer, target := "", "" // of which %d in the answer is the index
		m := thinking(t, func(s shown) string { return strings.ReplaceAll(answer, "%d", fmt.Sprint(s.indexOf(target))) })
		b := open(t, on(db), with(m), factsOnly, func(c *mem0.Config) {
			c.Clock = clock.Now
			c.Retention = &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{OlderThan: 30 * 24 * time.Hour}}}
		})
		learn := func(ops ...string) {
			answer = operations(ops...)
			message := user("x")
			message[0].Time = clock.Advance(time.Hour)
			add(t, b, ann, message...)
		}
		bob := backends.Scope{UserID: "bob"}
		learn(about("add", "Ann lives in Beijing with Carl.", "Beijing", "Carl"), about("add", "Ann works at Acme.", "Acme"))
		require.Equal(t, []string{"Acme × 1", "Beijing × 1", "Carl × 1"}, entities(t, b, ann))
		require.Empty(t, entities(t, b, bob), "nothing crosses a partition")

		target = "Beijing"
		learn(`{"op":"supersede","index":%d,"messages":[0],"text":"Ann lives in Shanghai with Carl.","entities":["Shanghai"]}`)
		require.Equal(t, []string{"Carl × 1", "Shanghai × 1", "Acme × 1"}, entities(t, b, ann), "what the new text names still")
		known := entities(t, b, ann)

		var out strings.Builder
		_, err := b.Export(ctx, ann, &out)
		require.NoError(t, err)
		moved := open(t, func(c *mem0.Config) { c.Clock = clock.Now })
		_, err = moved.Import(ctx, ann, strings.NewReader(out.String()), nil)
		require.NoError(t, err)
		require.Equal(t, known, entities(t, moved, ann))

		expires := clock.Now().Add(2 * time.Hour)
		answer = operations(about("add", "Dora visits.", "Dora"))
		_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Dora visits"), Expires: expires})
		require.NoError(t, err)
		require.Contains(t, entities(t, b, ann), "Dora × 1")
		clock.Set(expires)
		require.Equal(t, known, entities(t, b, ann))

		target = "Shanghai"
		learn(`{"op":"retract","index":%d}`, about("add", "Bob is ill.", "Bob"))
		require.Equal(t, []string{"Bob × 1", "Acme × 1"}, entities(t, b, ann))
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann})
		require.NoError(t, err)
		require.NoError(t, b.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: page.Memories[0].ID}))
		require.Equal(t, []string{"Bob × 1"}, entities(t, b, ann))

		clock.Advance(31 * 24 * time.Hour)
		_, err = b.Retain(ctx, &backends.RetainRequest{})
		require.NoError(t, err)
		require.Empty(t, entities(t, b, ann))
		learn(about("add", "Bob is well.", "Bob"))
		require.NotEmpty(t, entities(t, b, ann))
		_, err = b.Forget(ctx, &backends.ForgetRequest{Scope: ann})
		require.NoError(t, err)
		require.Empty(t, entities(t, b, ann))
	})
}

func TestProgramsNameEntitiesThemselves(t *testing.T) {
	b := open(t, with(answering(operations(about("add", "Bob is a nurse.", "Bob")))), factsOnly)
	named := func(v any) map[string]any { return map[string]any{backends.MetaEntities: v} }
	id := ""
	for _, c := range []struct {
		text string
		v    any
		want string
	}{
		{"We met in Oslo", []string{"Oslo"}, "Oslo"},
		{"Eve called", "Eve", "Eve"},
		{"Nobody", map[string]any{"own": true}, ""},
	} {
		resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user(c.text), Verbatim: true, Metadata: named(c.v)})
		require.NoError(t, err)
		require.Equal(t, c.want, strings.Join(resp.Items[0].Memory.Entities(), ","))
		id = resp.Items[0].Memory.ID
	}
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Bob"), Metadata: named([]string{"Team A"})})
	require.NoError(t, err)
	require.Equal(t, []string{"Team A", "Bob"}, resp.Items[0].Memory.Entities(), "the program's and the model's")
	require.Equal(t, []string{"Bob × 1", "Eve × 1", "Oslo × 1", "Team A × 1"}, entities(t, b, ann))
	_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Metadata: named([]string{"Eve"})})
	require.NoError(t, err)
	require.Equal(t, "Eve × 2", entities(t, b, ann)[0])

	other := open(t, with(answering(operations(about("add", "Bob is a nurse.", "Bob")))), factsOnly)
	own := named(map[string]any{"own": true})
	resp, err = other.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Bob"), Metadata: own})
	require.NoError(t, err)
	require.Equal(t, own, resp.Items[0].Memory.Metadata, "what a program keeps under the key stays")
}

func TestEntitiesAreRedactedAndOfTheWorkspaceThatIsNamedAlone(t *testing.T) {
	m := answering(operations(about("add", "Bob knows Secret.", "Bob", "Secret"), about("add", "Ann is shy.", "Ann")))
	b := open(t, with(m), factsOnly, func(c *mem0.Config) {
		c.Shared, c.Redact = true, strings.NewReplacer("Secret", "***").Replace
	})
	resp := add(t, b, ann, user("x")...)
	require.Equal(t, []string{"Ann × 1", "Bob × 1"}, entities(t, b, ann))
	_, err := b.Promote(ctx, backends.Scope{UserID: "ann", Workspace: "lab"}, resp.Items[0].Memory.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"Bob × 1"}, entities(t, b, backends.Scope{Workspace: "lab"}))
	require.Empty(t, entities(t, b, backends.Scope{UserID: "bob", Workspace: "lab"}), "whose own memory is empty")
	_, err = b.Entities(ctx, backends.Scope{})
	require.ErrorIs(t, err, backends.ErrNoScope)

	joined := backends.Join(b, &testkit.Backend{})
	lister, ok := backends.As[backends.EntityLister](joined)
	require.True(t, ok)
	require.Same(t, b, lister)
}
