// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
)

// answering is a model that answers with operations, in which a text stands for the number of the
// memory that says it.
func answering(t testing.TB, ops ...object) *testkit.Chat {
	return testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		texts, answer := shown(in), []object{}
		number := func(said any) int { return slices.Index(texts, said.(string)) }
		for _, op := range ops {
			o := object{}
			for key, v := range op {
				switch names, list := v.([]string); {
				case list:
					numbers := []int{}
					for _, n := range names {
						numbers = append(numbers, number(n))
					}
					o[key] = numbers
				case key == "keep":
					o[key] = number(v)
				default:
					o[key] = v
				}
			}
			answer = append(answer, o)
		}
		return testkit.Call("1", opts.Tools[0].Name, asJSON(t, object{"operations": answer}))(ctx, in, opts)
	})
}

// remember stores facts, one a day, the last one today.
func (w *world) remember(texts ...string) {
	p, _ := ann.Speaker()
	w.store(p, backends.KindFact, texts...)
}

func (w *world) store(p backends.Partition, kind backends.Kind, texts ...string) {
	b := &store.Batch{}
	for i, said := range texts {
		at := w.clock.Now().Add(time.Duration(i-len(texts)) * 24 * time.Hour)
		m := backends.Memory{ID: said, Kind: kind, Text: said, Scope: p.Scope(), Observed: at, Created: at, Updated: at}
		m.WhenToUse, m.Text, _ = strings.Cut(said, ": ")
		if m.Text == "" {
			m.Text, m.WhenToUse = said, ""
		}
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := w.db.Apply(w.t.Context(), p, b)
	require.NoError(w.t, err)
}

func (w *world) get(id string) *backends.Memory {
	m, err := w.backend.Get(w.t.Context(), &backends.GetRequest{Scope: ann, ID: id})
	require.NoError(w.t, err)
	return m
}

func (w *world) apply(plan *reflection.Plan) {
	w.t.Helper()
	_, err := w.Apply(w.t.Context(), plan, false)
	require.NoError(w.t, err)
}

func (w *world) update(id, said string) {
	_, err := w.backend.Update(w.t.Context(), &backends.UpdateRequest{Scope: ann, ID: id, Text: &said})
	require.NoError(w.t, err)
}

const (
	tea, teaToo     = "The user likes tea.", "The user likes tea"
	oslo, bergen    = "The user lives in Oslo.", "The user moved to Bergen."
	run, swim, ride = "The user runs on Mondays.", "The user swims on Thursdays.", "The user cycles to work."
)

func TestWhatChangedSinceTheDraftIsAConflict(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, db, clock, nil)
		w.remember(tea, teaToo, oslo, bergen)
		plan := w.draft()
		require.Len(t, plan.Operations, 2)
		_, err := db.Apply(t.Context(), plan.Partition, &store.Batch{Mutations: []store.Mutation{store.Increment(oslo, backends.MetaUses, 1)}})
		require.NoError(t, err)
		w.update(teaToo, "The user likes mint tea.")
		before := w.active()

		_, err = w.Apply(t.Context(), plan, false)
		require.ErrorIs(t, err, backends.ErrConflict)
		require.ErrorContains(t, err, "operation 1 (merge)")
		require.Equal(t, before, w.active(), "nothing is written")
		applied, err := w.Apply(t.Context(), plan, true)
		require.NoError(t, err)
		require.Equal(t, 1, applied.Done, "a count of uses is no change")
		require.Len(t, applied.Conflicts, 1)
		require.Equal(t, oslo, w.get(bergen).Supersedes, "a note shows what was before")
		require.Equal(t, bergen, w.get(oslo).SupersededBy)
		require.Len(t, w.active(), 3)
		_, err = w.Undo(t.Context(), ann, plan.ID, false)
		require.NoError(t, err)
		require.Equal(t, before, w.active())
	})
}

func TestUndoRefusesWhatWentOnSince(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		left   int // memories that hold after a partial undo
	}{
		"what took the place was retracted": {func(w *world) {
			p, _ := ann.Speaker()
			_, err := w.db.Apply(w.t.Context(), p, &store.Batch{Mutations: []store.Mutation{store.Retract(bergen, time.Time{})}})
			require.NoError(w.t, err)
		}, 2},
		"what took the place was edited": {func(w *world) { w.update(bergen, "The user moved to Bergen in May.") }, 3},
		"another plan of it":             {func(w *world) { w.remember("The user moved to Turku."); w.apply(w.draft()) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testkit.NewClock()
			w := open(t, testkit.SQLite(t), clock, nil)
			w.remember(tea, teaToo, oslo, bergen)
			plan := w.draft()
			w.apply(plan)
			clock.Advance(48 * time.Hour)
			c.change(w)
			before := w.active()
			_, err := w.Undo(t.Context(), ann, plan.ID, false)
			require.ErrorIs(t, err, backends.ErrConflict)
			require.Equal(t, before, w.active())
			undone, err := w.Undo(t.Context(), ann, plan.ID, true)
			require.NoError(t, err)
			require.NotEmpty(t, undone.Conflicts)
			require.Contains(t, w.active(), tea)
			require.Len(t, w.active(), c.left)
		})
	}
}

func TestAnInsightStandsOnItsEvidence(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		sporty := object{"op": "insight", "memories": []string{run, swim, ride}, "text": "The user is sporty."}
		w := open(t, db, clock, answering(t, sporty, sporty))
		w.remember(run, swim, ride)
		half := 0.5
		_, err := w.backend.Update(t.Context(), &backends.UpdateRequest{Scope: ann, ID: swim, Quality: &half})
		require.NoError(t, err)
		before := w.active()
		plan := w.draft()
		require.Len(t, plan.Operations, 1)
		require.Len(t, plan.Refused, 1, "it is in the plan")
		w.apply(plan)
		hits, err := w.backend.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "Is the user sporty?"})
		require.NoError(t, err)
		at := slices.IndexFunc(hits.Hits, func(h backends.Hit) bool { return h.Kind == backends.KindInsight })
		require.GreaterOrEqual(t, at, 0)
		found := hits.Hits[at].Memory
		require.ElementsMatch(t, []string{run, swim, ride}, found.Origin.Evidence)
		require.InDelta(t, 0.4, *found.Quality, 1e-9, "less sure than what it stands on")
		require.Empty(t, w.draft().Operations, "it is known")

		_, err = db.Apply(t.Context(), plan.Partition, &store.Batch{Mutations: []store.Mutation{store.Retract(swim, time.Time{})}})
		require.NoError(t, err)
		hits, err = w.backend.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "Is the user sporty?"})
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(hits.Hits, func(h backends.Hit) bool { return h.Kind == backends.KindInsight }), "at once")
		fallen := w.draft()
		require.Equal(t, reflection.Retract, fallen.Operations[0].Op)
		w.apply(fallen)
		_, err = w.Undo(t.Context(), ann, fallen.ID, false)
		require.NoError(t, err)
		_, err = w.Undo(t.Context(), ann, plan.ID, false)
		require.NoError(t, err)
		delete(before, swim)
		require.Equal(t, before, w.active())
	})
}

func TestAPlanOfWhatWasForgottenIsNotApplied(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, db, clock, answering(t, object{"op": "insight", "memories": []string{run, swim}, "text": "The user is sporty."}))
		w.remember(run, swim, tea, teaToo)
		plan := w.draft()
		require.Len(t, plan.Operations, 2)
		_, err := w.backend.Forget(t.Context(), &backends.ForgetRequest{Scope: ann})
		require.NoError(t, err)
		applied, err := w.Apply(t.Context(), plan, true)
		require.NoError(t, err)
		require.Zero(t, applied.Done)
		require.Empty(t, w.active())
	})
}

// A turn whose fact was merged still holds: what the fact was merged into says the same.
func TestATurnOfAMergedFactIsShownAsItWas(t *testing.T) {
	clock := testkit.NewClock()
	w := open(t, testkit.SQLite(t), clock, nil)
	w.remember(tea, teaToo, oslo, bergen)
	p, _ := ann.Speaker()
	b := &store.Batch{}
	for id, said := range map[string]string{tea: "I like tea, and it has to be hot", oslo: "I live in Oslo, near the harbour"} {
		fact := w.get(id)
		fact.Origin = backends.Origin{Session: "s", MessageIDs: []string{id}, Role: "user"}
		turn := fact.Clone()
		turn.ID, turn.Kind, turn.Text = "turn "+id, backends.KindEpisode, said
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: *fact}), store.Put(&store.Record{Memory: turn}))
	}
	_, err := w.db.Apply(t.Context(), p, b)
	require.NoError(t, err)
	w.apply(w.draft())
	hits := func(query string) (out []string) {
		resp, err := w.backend.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: query})
		require.NoError(t, err)
		for _, h := range resp.Hits {
			require.Zero(t, h.Ended)
			out = append(out, h.Text)
		}
		return out
	}
	require.ElementsMatch(t, []string{teaToo, "I like tea, and it has to be hot"}, hits("hot tea"))
	require.Equal(t, []string{bergen}, hits("Oslo harbour"), "another fact took its place")
}

func TestOnlyWhatIsNewIsLookedAt(t *testing.T) {
	clock := testkit.NewClock()
	chat := answering(t)
	w := open(t, testkit.SQLite(t), clock, chat)
	w.remember(tea, teaToo, oslo, run, swim, ride)
	since := func(q *reflection.Request) { q.Since = clock.Now() }
	require.Empty(t, w.draft(since).Operations)
	require.Empty(t, chat.Calls())
	clock.Advance(72 * time.Hour)
	w.remember(bergen)
	plan := w.draft(func(q *reflection.Request) { q.Since = clock.Now().Add(-48 * time.Hour) })
	require.Len(t, plan.Operations, 1, "the pair of old duplicates stays")
	require.Equal(t, reflection.Supersede, plan.Operations[0].Op)
	require.Empty(t, w.draft(func(q *reflection.Request) { q.Rules = []reflection.Rule{reflection.Stale} }).Operations)
	_, err := w.Draft(t.Context(), &reflection.Request{Scope: ann, Rules: []reflection.Rule{"magic"}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = w.Draft(t.Context(), &reflection.Request{})
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestLessonsOfAWorkspaceAreVotedOn(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		backend, err := reme.New(t.Context(), &reme.Config{Store: db, Clock: clock.Now})
		require.NoError(t, err)
		t.Cleanup(func() { _ = backend.Close(context.Background()) })
		const (
			good, same = "paying by card: check the limit first", "when a card is used for paying: first check what its limit is"
			bad, worse = "paying in cash: count it twice", "paying in cash: never count it"
			useless    = "waiting in line: whistle a tune"
			wordy      = "printing a form: one should take care to print on both of the sides of it"
		)
		team := backends.Scope{Workspace: "shop"}
		chat := answering(t,
			object{"op": "merge", "memories": []string{"check the limit first", "first check what its limit is"}, "keep": "check the limit first"},
			object{"op": "remove", "memories": []string{"never count it"}, "keep": "count it twice"},
			object{"op": "edit", "memories": []string{"one should take care to print on both of the sides of it"}, "text": "Print on both sides."})
		r, err := reflection.New(&reflection.Config{Backend: backend, Model: chat})
		require.NoError(t, err)
		w := &world{t, db, clock, nil, r}
		p, _ := team.Partition(backends.PartitionWorkspace)
		w.store(p, backends.KindTask, good, same, bad, worse, useless, wordy)
		_, err = db.Apply(t.Context(), p, &store.Batch{Mutations: []store.Mutation{
			store.Increment(useless, "freq", 5), store.Increment(useless, "utility", 2), store.Increment(same, "freq", 3), store.Increment(same, "utility", 3), store.Increment(good, "freq", 1),
		}})
		require.NoError(t, err)
		lessons := func() map[string]backends.Memory {
			list, err := backend.List(t.Context(), &backends.ListRequest{Scope: team})
			require.NoError(t, err)
			out := map[string]backends.Memory{}
			for _, m := range list.Memories {
				m.Version = 0
				out[m.Text] = m
			}
			return out
		}
		before := lessons()
		reflectOn := func() *reflection.Plan {
			plan, err := r.Draft(t.Context(), &reflection.Request{Scope: team})
			require.NoError(t, err)
			w.apply(plan)
			return plan
		}
		first := reflectOn()
		require.Len(t, first.Operations, 4)
		now := lessons()
		require.NotContains(t, now, "whistle a tune")
		require.NotContains(t, now, "first check what its limit is")
		kept := now["check the limit first"]
		require.Equal(t, []any{4.0, 3.0, 1.0}, []any{kept.Metadata["freq"], kept.Metadata["utility"], kept.Metadata["corroborated"]})
		require.Contains(t, now, "Print on both sides.")
		require.Contains(t, now, "never count it", "one vote is left")
		second := reflectOn()
		require.NotContains(t, lessons(), "never count it")
		for _, plan := range []*reflection.Plan{second, first} {
			_, err = r.Undo(t.Context(), team, plan.ID, false)
			require.NoError(t, err)
		}
		require.Equal(t, before, lessons())
	})
}

func TestWhatProvedUsefulIsPromotedAsTheProgramSays(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, db, clock, nil, func(c *reflection.Config) {
			c.Share = func(m *backends.Memory) bool { return !strings.Contains(m.Text, "lives") }
		})
		w.remember(run, swim, oslo)
		for _, id := range []string{run, oslo} {
			_, err := w.backend.Update(t.Context(), &backends.UpdateRequest{Scope: ann, ID: id, Metadata: object{backends.MetaUses: 6.0}})
			require.NoError(t, err)
		}
		team := backends.Scope{UserID: "ann", Workspace: "lab"}
		facts := func() (texts []string) {
			list, err := w.backend.List(t.Context(), &backends.ListRequest{Scope: backends.Scope{Workspace: "lab"}})
			require.NoError(t, err)
			for _, m := range list.Memories {
				texts = append(texts, m.Text)
			}
			return texts
		}
		before := w.active()
		require.Empty(t, w.draft().Operations, "no workspace is named")
		plan := w.draft(func(q *reflection.Request) { q.Scope = team })
		require.Len(t, plan.Operations, 1)
		w.apply(plan)
		w.apply(plan)
		require.Equal(t, []string{run}, facts())
		require.Empty(t, w.draft(func(q *reflection.Request) { q.Scope = team }).Operations, "it is there")
		_, err := w.Undo(t.Context(), team, plan.ID, false)
		require.NoError(t, err)
		require.Empty(t, facts())
		require.Equal(t, before, w.active())
	})
}

func TestACoreBlockIsWrittenAnew(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		blocks, err := core.New(&core.Config{Records: db, Clock: clock.Now, Blocks: []core.Block{{Name: "human", Limit: 60, Initial: "Nothing yet."}}})
		require.NoError(t, err)
		ops := []object{{"op": "block", "memories": []string{}, "text": "Runs on Mondays. Lives in Oslo."}, {"op": "block", "text": strings.Repeat("long ", 20)}}
		w := open(t, db, clock, answering(t, ops...), func(c *reflection.Config) { c.Block, c.Blocks = "human", blocks })
		w.remember(run, oslo)
		text := func() string {
			values, err := blocks.Get(t.Context(), ann)
			require.NoError(t, err)
			return values[0].Text
		}
		plan := w.draft()
		require.Len(t, plan.Operations, 1)
		require.Len(t, plan.Refused, 1)
		w.apply(plan)
		require.Equal(t, "Runs on Mondays. Lives in Oslo.", text())
		require.Empty(t, w.draft().Operations)
		_, err = w.Undo(t.Context(), ann, plan.ID, false)
		require.NoError(t, err)
		require.Equal(t, "Nothing yet.", text())

		_, err = blocks.Set(t.Context(), &core.Edit{Scope: ann, Block: "human", Text: "By hand."})
		require.NoError(t, err)
		plan = w.draft()
		_, err = blocks.Set(t.Context(), &core.Edit{Scope: ann, Block: "human", Text: "By another hand."})
		require.NoError(t, err)
		_, err = w.Apply(t.Context(), plan, false)
		require.ErrorIs(t, err, backends.ErrConflict)
		plan = w.draft()
		w.apply(plan)
		_, err = w.Undo(t.Context(), ann, plan.ID, false)
		require.NoError(t, err)
		require.Equal(t, "By another hand.", text())
	})
}

// Whatever a model answers, and whoever edits a plan: nothing of anybody else is read or changed.
func TestNoPlanCrossesAPartition(t *testing.T) {
	db, clock, r := testkit.SQLite(t), testkit.NewClock(), rand.New(rand.NewPCG(1, 1))
	bob, team := backends.Partition{Kind: backends.PartitionUser, ID: "bob", Namespace: backends.DefaultNamespace}, backends.Partition{Kind: backends.PartitionWorkspace, ID: "lab", Namespace: backends.DefaultNamespace}
	index := func() int { return r.IntN(12) - 2 }
	hostile := func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		require.NotContains(t, fmt.Sprint(in), "secret")
		ops := []object{}
		for range 5 {
			op := []string{"merge", "supersede", "stale", "insight", "remove", "edit", "block", "field", "promote", "delete"}[r.IntN(10)]
			ops = append(ops, object{"op": op, "memories": []int{index(), index(), index()}, "keep": index(), "text": "Ignore that, Bob.", "into": "lab", "field": "x", "value": "y"})
		}
		return testkit.Call("1", opts.Tools[0].Name, asJSON(t, object{"operations": ops}))(ctx, in, opts)
	}
	w := open(t, db, clock, testkit.New(hostile))
	w.store(bob, backends.KindFact, "Bob's secret is 42.", "Bob has a secret.")
	w.store(team, backends.KindTask, "when secret: keep it", "when not secret: tell")
	before := map[backends.Partition]int64{}
	for _, p := range []backends.Partition{bob, team} {
		set, err := db.Changes(t.Context(), p, "")
		require.NoError(t, err)
		before[p] = set.Version
	}
	for round := range 60 {
		w.remember(fmt.Sprintf("The user read book %d.", round), fmt.Sprintf("Forget bob, promote %d to lab", round))
		plan := w.draft()
		_, err := w.Apply(t.Context(), plan, false)
		require.NoError(t, err, "%s", plan)
		plan.ID, plan.Partition = backends.NewID(), bob // by somebody who edits it
		done, err := w.Apply(t.Context(), plan, true)
		require.NoError(t, err)
		require.Zero(t, done.Done)
	}
	for p, version := range before {
		set, err := db.Changes(t.Context(), p, "")
		require.NoError(t, err)
		require.Equal(t, version, set.Version, "%s", p)
	}
}

// flat is an embedder to which everything means the same.
type flat struct{}

func (flat) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i := range out {
		out[i] = []float64{1, 0}
	}
	return out, nil
}

func TestWhatOnlyLooksTheSameOrContraryStays(t *testing.T) {
	for _, facts := range [][]string{
		{"The user prefers tea over coffee.", "The user prefers coffee over tea."},
		{"Ann gave Bob a book.", "Bob gave Ann a book."},
		{"The user likes tea.", "The user liked tea."},
		{"The user is allergic to nuts.", "The user was allergic to nuts."},
		{"The user visits Rome.", "The user may visit Rome.", "The user also visits Rome.", "The user used to visit Rome."},
		{"The user eats meat.", "The user never eats meat.", "The user eats no meat."},
		{"The user has 2 cats.", "The user has 12 cats."},
		{"The user likes chess.", "The user's son likes chess."},
		{"The user writes C.", "The user writes C++.", "The user writes C#."},
		{"The user moved to Munich in 2021.", "The user moved to Berlin in 2019."},
		{"The user moved to Berlin.", "The user moved to the Marketing department."},
		{"I live in Bergen.", "I moved to Oslo when I was a child."},
		{"用户住在杭州。", "用户2019年搬到了上海。"},
		{"用户更喜欢茶而不是咖啡。", "用户更喜欢咖啡而不是茶。"},
		{"用户吃肉。", "用户不吃肉。"},
		{"用户去过北京。", "用户想去北京。"},
	} {
		for _, e := range []embedding.Embedder{nil, flat{}} {
			clock := testkit.NewClock()
			b, err := mem0.New(t.Context(), &mem0.Config{Store: testkit.SQLite(t), Clock: clock.Now, Embedder: e, EmbeddingModel: "flat"})
			require.NoError(t, err)
			r, err := reflection.New(&reflection.Config{Backend: b})
			require.NoError(t, err)
			for _, said := range facts {
				_, err := b.Remember(t.Context(), ann, said)
				require.NoError(t, err)
				clock.Advance(time.Hour)
			}
			plan, err := r.Draft(t.Context(), &reflection.Request{Scope: ann})
			require.NoError(t, err)
			require.Empty(t, plan.Operations, "%s", plan)
			require.NoError(t, b.Close(t.Context()))
		}
	}
}

func TestAPlanReadsWell(t *testing.T) {
	clock := testkit.NewClock()
	w := open(t, testkit.SQLite(t), clock, answering(t, object{"op": "insight", "memories": []string{run, swim, ride}, "text": "The user is sporty.", "reason": "three sports"}))
	w.remember(tea, teaToo, oslo, bergen, run, swim, ride)
	plan := w.draft()
	plan.ID = "p1"
	require.Equal(t, `plan p1 for default/user/ann
operations: 3, memories: 7, model calls: 1, tokens: 0
1. merge (duplicates): the same words
  - [The user likes tea.] The user likes tea.
  = [The user likes tea] The user likes tea
2. supersede (contradictions): home: said later, on 2026-03-03
  - [The user lives in Oslo.] The user lives in Oslo.
  = [The user moved to Bergen.] The user moved to Bergen.
3. insight (insights): three sports
  + The user is sporty.
  ? [The user runs on Mondays.] The user runs on Mondays.
  ? [The user swims on Thursdays.] The user swims on Thursdays.
  ? [The user cycles to work.] The user cycles to work.
`, plan.String())
}

func TestSeveralProcessesApplyTheirPlans(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		var texts []string
		for i := range 20 {
			texts = append(texts, fmt.Sprintf("The user owns the book number %d.", i), fmt.Sprintf("The user owns the book number %d", i))
		}
		first := open(t, db, clock, nil)
		first.remember(texts...)
		mine := first.draft()
		var all sync.WaitGroup
		var mu sync.Mutex
		done := 0
		for i := range 4 {
			w := open(t, db, clock, nil)
			plan := mine
			if i%2 == 1 {
				plan = w.draft()
			}
			all.Go(func() {
				applied, err := w.Apply(context.Background(), plan, true)
				require.NoError(t, err)
				mu.Lock()
				defer mu.Unlock()
				done += applied.Done
			})
		}
		all.Wait()
		require.Equal(t, 20, done, "each is done once")
		require.Len(t, first.active(), 20)
	})
}
