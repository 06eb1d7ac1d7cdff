// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// pair is mem0 for facts and reme for experience, behind one backend.
type pair struct {
	backends.Backend
	facts      *mem0.Backend
	experience *reme.Backend
	extractor  *testkit.Chat // the model of facts
	learner    *testkit.Chat // the model of experience
}

// newPair returns one on a single store, or on one for each half. How a turn went is known
// from the saw.
func newPair(t testing.TB, shared bool) *pair {
	t.Helper()
	db := testkit.SQLite(t)
	other := db
	if !shared {
		other = testkit.SQLite(t)
	}
	p := &pair{extractor: testkit.New(testkit.Learn), learner: testkit.New(testkit.Learn)}
	var err error
	p.facts, err = mem0.New(context.Background(), &mem0.Config{Store: db, Model: p.extractor})
	require.NoError(t, err)
	p.experience, err = reme.New(context.Background(), &reme.Config{Store: other, Model: p.learner, Verdict: reme.VerdictOf("saw", "passed")})
	require.NoError(t, err)
	p.Backend = backends.Join(p.facts, p.experience)
	t.Cleanup(func() { require.NoError(t, p.Close(context.Background())) })
	return p
}

func TestFactsAndExperienceBehindOneAgent(t *testing.T) {
	for _, shared := range []bool{true, false} {
		for _, mode := range []modes.Mode{modes.StaticControl, modes.AgentControl, modes.Both} {
			name := fmt.Sprint(mode, ", one store: ", shared)
			p := newPair(t, shared)
			w := &workshop{t: t, b: p.experience, mem: open(t, &middleware.Config{Backend: p.Backend, Mode: mode}), ran: map[string]int{}}
			testkit.Drain(agent(t, w.mem, sawing("oak"), w.saw()).Query(inLab, "Saw oak. FACT ann sells tea"))
			w.did(map[string]int{"saw": 1})
			require.Zero(t, p.learner.Asked("personal_statements"), "nothing is extracted twice")
			static := map[bool]int{true: 1}[mode != modes.AgentControl]
			require.Equal(t, static, p.extractor.Asked("remember"), name)

			manager := p.Backend.(backends.Manager)
			kinds := map[backends.Kind]int{}
			for _, m := range listed(t, manager, lab) {
				kinds[m.Kind]++
				got, err := manager.Get(t.Context(), &backends.GetRequest{Scope: lab, ID: m.ID})
				require.NoError(t, err)
				require.Equal(t, m.Text, got.Text)
			}
			want := map[backends.Kind]int{backends.KindTask: 1}
			if static == 1 {
				want[backends.KindFact], want[backends.KindEpisode] = 1, 2
			}
			require.Equal(t, want, kinds, name)

			_, m := ask(t, inLab, w.mem, "How to saw oak for tea?")
			shown := m.Calls()[0]
			notes := 0
			for _, s := range shown {
				notes += map[bool]int{true: 1}[s.Name == "memory"]
			}
			require.Equal(t, static, notes, name)
			text := fmt.Sprint(testkit.Lines(shown))
			require.Equal(t, static == 1, strings.Contains(text, "oak needs a fine saw") && strings.Contains(text, "ann sells tea"), text)
			if mode == modes.StaticControl {
				require.Empty(t, names(m))
			} else {
				require.Equal(t, []string{"search_memory", "add_memory"}, names(m))
			}
		}
	}
}

// What an agent notes down is a fact, and an outcome that comes later is experience.
func TestEachHalfOfAJoinedBackendLearnsWhatIsIts(t *testing.T) {
	p := newPair(t, true)
	mem := open(t, &middleware.Config{Backend: p.Backend, UpdateTool: true, DeleteTool: true})
	_, m := ask(t, inLab, mem, "Note it.", testkit.Call("c1", "add_memory", `{"thinking":"t","content":["FACT ann likes oak"]}`), testkit.Text("LESSON notes | write them down"))
	require.Equal(t, []string{"search_memory", "add_memory", "update_memory", "delete_memory"}, names(m))
	require.NoError(t, mem.Flush(t.Context()))
	require.Empty(t, listed(t, p.experience, middleware.Scope{Workspace: "lab"}))
	_, err := mem.RecordOutcome(inLab, &backends.OutcomeRequest{Score: 1})
	require.NoError(t, err)
	learnt := listed(t, p.experience, middleware.Scope{Workspace: "lab"})
	require.Len(t, learnt, 1)
	require.Equal(t, backends.KindTask, learnt[0].Kind)

	manager := p.Backend.(backends.Manager)
	var facts []backends.Memory
	for _, f := range listed(t, manager, lab) {
		if f.Kind == backends.KindFact {
			facts = append(facts, f)
		}
	}
	require.Len(t, facts, 1)
	n, err := manager.DeleteAll(t.Context(), &backends.DeleteAllRequest{Scope: lab})
	require.NoError(t, err)
	require.NotZero(t, n)
	require.Empty(t, listed(t, manager, lab), "and what the workspace has from them")
}

func TestAUserIsForgottenInTheStoresOfBothHalves(t *testing.T) {
	p := newPair(t, false)
	w := &workshop{t: t, b: p.experience, mem: open(t, &middleware.Config{Backend: p.Backend}), ran: map[string]int{}}
	testkit.Drain(agent(t, w.mem, sawing("oak"), w.saw()).Query(inLab, "Saw oak. FACT ann sells tea"))
	require.NoError(t, w.mem.Flush(t.Context()))
	manager := p.Backend.(backends.Manager)
	require.Len(t, listed(t, manager, lab), 4)
	require.Len(t, listed(t, p.experience, lab), 1)

	_, err := w.mem.Export(t.Context(), middleware.Scope{UserID: lab.UserID}, io.Discard)
	require.ErrorIs(t, err, backends.ErrInvalid, "an export of one store would not be whole")
	receipt, err := w.mem.Forget(t.Context(), middleware.Scope{UserID: lab.UserID})
	require.NoError(t, err)
	require.Equal(t, 3, receipt.Memories, "%+v", receipt)
	require.Len(t, receipt.Elsewhere, 1)
	require.Equal(t, 1, receipt.Elsewhere[0].Memories, "%+v", receipt)
	require.Empty(t, listed(t, manager, lab))
	require.Empty(t, listed(t, p.experience, lab))
	_, m := ask(t, inLab, w.mem, "How to saw oak for tea?")
	require.NotContains(t, fmt.Sprint(testkit.Lines(m.Calls()[0])), "oak needs")
}

// The log repeats what one half could not learn. The other half does nothing then.
func TestAHalfThatIsDownForAWhileLosesNothing(t *testing.T) {
	p := newPair(t, true)
	down := true
	p.Backend = backends.Join(p.facts, &unreachable{Backend: p.experience, down: &down})
	mem := open(t, &middleware.Config{Backend: p.Backend, OnError: (&testkit.Failures{}).Add, Sessions: p.facts.Sessions()})
	w := &workshop{t: t, b: p.experience, mem: mem, ran: map[string]int{}}
	testkit.Drain(agent(t, mem, sawing("oak"), w.saw()).Query(inLab, "Saw oak. FACT ann sells tea"))
	require.ErrorIs(t, mem.Flush(t.Context()), backends.ErrUnavailable)
	require.Len(t, listed(t, p.facts, lab), 3)
	down = false
	_, err := mem.Working().Consolidate(t.Context(), lab)
	require.NoError(t, err)
	require.Equal(t, 1, p.extractor.Asked("remember"))
	require.Len(t, listed(t, p.facts, lab, backends.KindFact, backends.KindEpisode), 3)
	require.Len(t, listed(t, p.experience, lab, backends.KindTask), 1)
	_, err = mem.Working().Consolidate(t.Context(), lab)
	require.NoError(t, err)
	require.Equal(t, 1, p.extractor.Asked("remember"), "nothing is left to learn")
}

func TestWhatAModelIsShownCountsAsUsed(t *testing.T) {
	db, counts := testkit.SQLite(t), &backends.Retention{Rules: []backends.RetentionRule{{AtMost: 1000}}}
	facts, err := mem0.New(t.Context(), &mem0.Config{Store: db, FactsOnly: true, Retention: counts})
	require.NoError(t, err)
	experience, err := reme.New(t.Context(), &reme.Config{Store: db, NoPersonal: true, Retention: counts})
	require.NoError(t, err)
	both := backends.Join(facts, experience)
	_, err = facts.Remember(t.Context(), lab, "ann sells tea in the market")
	require.NoError(t, err)
	_, err = facts.Remember(t.Context(), lab, "ann collects stamps")
	require.NoError(t, err)
	_, err = both.Add(t.Context(), &backends.AddRequest{Scope: lab, Kind: backends.KindTask, Verbatim: true, Messages: testkit.User("To sell tea in the market come early")})
	require.NoError(t, err)
	_, err = facts.Search(t.Context(), &backends.SearchRequest{Scope: lab, Query: "ann"}) // a program's own search
	require.NoError(t, err)

	mem := open(t, &middleware.Config{Backend: both, WholeTokens: -1})
	_, m := ask(t, middleware.WithScope(t.Context(), lab), mem, "How does one sell tea in the market?", testkit.Call("1", "search_memory", `{"keywords":["tea"]}`), testkit.Text("ok"))
	require.Contains(t, noteIn(m.Calls()[0]), "ann sells tea")
	require.NoError(t, mem.Close(context.Background()))
	require.NoError(t, both.Close(context.Background()))
	uses := map[string]int{}
	reader, err := reme.New(t.Context(), &reme.Config{Store: db}) // of both places
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, reader.Close(context.Background())) })
	for _, held := range listed(t, reader, lab) {
		uses[held.Text], _ = held.Uses()
	}
	require.Equal(t, 2, uses["ann sells tea in the market"], "in the note, and by the tool")
	require.Zero(t, uses["ann collects stamps"])
	require.Equal(t, 2, uses["To sell tea in the market come early"], "a half counts its own kinds once")
}

// A fact of a team says whose it is: "the user" would be the one who asks.
func TestATeamFactNamesWhoSaidIt(t *testing.T) {
	b, err := mem0.New(context.Background(), &mem0.Config{Store: testkit.SQLite(t), Shared: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close(context.Background())) })
	for _, author := range []string{"", "agent"} {
		resp, err := b.Add(t.Context(), &backends.AddRequest{Scope: lab, Author: author, Kind: backends.KindFact, Verbatim: true, Messages: testkit.User("The user sells tea" + author)})
		require.NoError(t, err)
		_, err = b.Promote(t.Context(), lab, resp.Items[0].Memory.ID)
		require.NoError(t, err)
	}
	mem := open(t, &middleware.Config{Backend: b})
	_, m := ask(t, middleware.WithScope(t.Context(), middleware.Scope{UserID: "bob", Workspace: "lab", SessionID: "s2"}), mem, "Who sells tea?")
	note := noteIn(m.Calls()[0])
	require.Contains(t, note, "ann: The user sells tea")
	require.Contains(t, note, "ann: The user sells teaagent")
}

// unreachable is a backend that learns nothing while it is down.
type unreachable struct {
	backends.Backend
	down *bool
}

func (u *unreachable) Add(ctx context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
	if *u.down {
		return nil, fmt.Errorf("the model does not answer: %w", backends.ErrUnavailable)
	}
	return u.Backend.Add(ctx, r)
}
