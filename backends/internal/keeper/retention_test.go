// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

const day = 24 * time.Hour

// counts are what a report counts.
type counts = map[backends.RetainReason]int

// retaining gives a keeper a retention by hand alone, with the clock, and changes it.
func retaining(clock *testkit.Clock, change func(*backends.Retention)) func(*keeper.Config, *recall.Config) {
	return func(c *keeper.Config, rc *recall.Config) {
		c.Clock, rc.Clock = clock.Now, clock.Now
		c.Retention = &backends.Retention{Every: -1}
		change(c.Retention)
	}
}

func rules(all ...backends.RetentionRule) func(*backends.Retention) {
	return func(r *backends.Retention) { r.Rules = all }
}

// manager returns what programs call, for users alone.
func (w *world) manager() *keeper.Manager {
	return w.NewManager(func(_ context.Context, s backends.Scope) ([]keeper.Place, error) {
		p, err := s.Speaker()
		return []keeper.Place{{Partition: p}}, err
	})
}

func (w *world) retain(change ...func(*backends.RetainRequest)) *backends.RetainReport {
	r := &backends.RetainRequest{}
	for _, f := range change {
		f(r)
	}
	report, err := w.manager().Retain(ctx, r)
	require.NoError(w.t, err)
	return report
}

func dry(r *backends.RetainRequest) { r.DryRun = true }

// held lists the ids of all records of a partition, in order.
func held(t require.TestingT, db store.Store, p backends.Partition) []string {
	page, err := db.Changes(ctx, p, "")
	require.NoError(t, err)
	ids := []string{}
	for i := range page.Records {
		ids = append(ids, page.Records[i].ID)
	}
	slices.Sort(ids)
	return ids
}

// drawn is a memory of any kind, age, use and state, as it was now.
func drawn(t *rapid.T, id string, now time.Time) *store.Record {
	ago := func(what string) time.Time { return now.Add(-time.Duration(rapid.IntRange(0, 6).Draw(t, what)) * day) }
	r := &store.Record{Memory: backends.Memory{ID: id, Text: id, Created: ago("created")}}
	r.Kind = rapid.SampledFrom([]backends.Kind{backends.KindFact, backends.KindTask, backends.KindEpisode, backends.KindCore}).Draw(t, "kind")
	r.Updated = r.Created
	if ended := ago("ended"); rapid.Bool().Draw(t, "is ended") {
		r.SupersededBy, r.Invalidated, r.Updated = "gone", now.Add(-99*day), ended
	}
	if rapid.Bool().Draw(t, "expires") {
		r.Expires = ago("expires").Add(time.Hour)
	}
	if n := rapid.IntRange(0, 3).Draw(t, "uses"); n > 0 {
		r.Metadata = map[string]any{backends.MetaUses: float64(n), backends.MetaLastUse: ago("used").Format(time.RFC3339)}
	}
	if m := rapid.IntRange(0, 3).Draw(t, "message"); m > 0 {
		r.Origin = backends.Origin{Session: "s", MessageIDs: []string{fmt.Sprint("m", m)}}
	}
	return r
}

// goes says by the words of the documentation whether a memory goes by a rule less AtMost.
func goes(r backends.RetentionRule, m *backends.Memory, now, since time.Time) backends.RetainReason {
	uses, used := m.Uses()
	ended, expired := m.SupersededBy != "", !m.Expires.IsZero() && !m.Expires.After(now)
	switch {
	case len(r.Kinds) > 0 && !slices.Contains(r.Kinds, m.Kind) || m.Kind == backends.KindCore:
		return ""
	case r.OlderThan > 0 && !m.Created.Add(r.OlderThan).After(now):
		return backends.RetainOlder
	case r.EndedFor > 0 && ended && !m.Updated.Add(r.EndedFor).After(now), r.EndedFor > 0 && !ended && expired && !m.Expires.Add(r.EndedFor).After(now):
		return backends.RetainEnded
	case ended || expired || r.UnusedFor == 0:
		return ""
	}
	for _, t := range []time.Time{m.Created, m.Updated, since, used} {
		if t.Add(r.UnusedFor).After(now) && (t != used || uses > 0) {
			return ""
		}
	}
	return backends.RetainUnused
}

// naive returns what goes, a rule and a memory at a time.
func naive(all []*store.Record, rules []backends.RetentionRule, now, since time.Time) map[string]backends.RetainReason {
	out := map[string]backends.RetainReason{}
	holds := func(m *store.Record) bool { return m.SupersededBy == "" && !m.Expired(now) }
	for _, r := range rules {
		for _, m := range all {
			if why := goes(r, &m.Memory, now, since); why != "" && out[m.ID] == "" {
				out[m.ID] = why
			}
		}
		for _, m := range all { // one goes if so many of its kind that stay come after it
			better := 0
			for _, o := range all {
				a, _ := m.Uses()
				b, _ := o.Uses()
				worse := cmp.Or(cmp.Compare(a, b), m.Created.Compare(o.Created), cmp.Compare(m.ID, o.ID)) < 0
				if worse && o.Kind == m.Kind && holds(o) && (out[o.ID] == "" || out[o.ID] == "now") {
					better++
				}
			}
			mine := len(r.Kinds) == 0 && m.Kind != backends.KindCore || slices.Contains(r.Kinds, m.Kind)
			if r.AtMost > 0 && mine && holds(m) && out[m.ID] == "" && better >= r.AtMost {
				out[m.ID] = "now"
			}
		}
		for id, why := range out {
			if why == "now" {
				out[id] = backends.RetainSurplus
			}
		}
	}
	for _, e := range all {
		taught, stays := false, false
		for _, m := range all {
			if e.Kind == backends.KindEpisode && m.Kind != backends.KindEpisode && m.Kind != backends.KindCore && len(e.Origin.MessageIDs) > 0 && slices.Equal(m.Origin.MessageIDs, e.Origin.MessageIDs) {
				taught = taught || out[m.ID] != "" && !holds(m)
				stays = stays || out[m.ID] == ""
			}
		}
		if taught && !stays && out[e.ID] == "" {
			out[e.ID] = backends.RetainEnded
		}
	}
	return out
}

func TestARetentionErasesWhatItsRulesSayAndADryRunSaysWhich(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		rapid.Check(t, func(rt *rapid.T) {
			p := backends.Partition{Namespace: backends.NewID(), Kind: rapid.SampledFrom([]backends.PartitionKind{"user", "agent", "workspace"}).Draw(rt, "partition"), ID: "p"}
			var all []*store.Record
			for i := range rapid.IntRange(1, 12).Draw(rt, "memories") {
				all = append(all, drawn(rt, fmt.Sprintf("m%02d", i), clock.Now()))
			}
			var chosen []backends.RetentionRule
			for range rapid.IntRange(1, 3).Draw(rt, "rules") {
				days := func(what string) time.Duration {
					return time.Duration(rapid.IntRange(0, 5).Draw(rt, what)) * day
				}
				r := backends.RetentionRule{OlderThan: 2 * days("older"), EndedFor: days("ended"), UnusedFor: days("unused"), AtMost: rapid.IntRange(0, 4).Draw(rt, "at most")}
				r.Kinds = rapid.SampledFrom([][]backends.Kind{nil, {backends.KindFact}, {backends.KindTask, backends.KindEpisode}}).Draw(rt, "kinds")
				if r.OlderThan+r.EndedFor+r.UnusedFor > 0 || r.AtMost > 0 {
					chosen = append(chosen, r)
				}
			}
			if len(chosen) == 0 {
				rt.Skip("no rule is no configuration")
			}
			w := open(t, on(db), retaining(clock, rules(chosen...)))
			w.t = rt
			b := &store.Batch{}
			for _, r := range all {
				b.Mutations = append(b.Mutations, store.Put(r))
			}
			_, err := db.Apply(ctx, p, b)
			require.NoError(rt, err)
			want := naive(all, chosen, clock.Now(), clock.Now())
			before, rulable := held(rt, db, p), len(slices.DeleteFunc(slices.Clone(all), func(r *store.Record) bool { return r.Kind == backends.KindCore }))

			found := w.retain(dry, func(r *backends.RetainRequest) { r.Namespace = p.Namespace })
			got := map[string]backends.RetainReason{}
			for _, item := range found.Items {
				require.Equal(rt, p, item.Partition)
				got[item.ID] = item.Reason
			}
			require.Equal(rt, want, got)
			require.Equal(rt, before, held(rt, db, p), "a dry run erases nothing")

			done := w.retain(func(r *backends.RetainRequest) { r.Namespace = p.Namespace })
			require.Equal(rt, found.Erased, done.Erased)
			require.Equal(rt, rulable, done.Memories)
			require.Equal(rt, slices.DeleteFunc(before, func(id string) bool { return want[id] != "" }), held(rt, db, p))
			for id := range want {
				events, err := db.History(ctx, p, id)
				require.NoError(rt, err)
				require.Empty(rt, events, "its history is erased")
			}
			require.Empty(rt, w.retain(func(r *backends.RetainRequest) { r.Namespace = p.Namespace }).Erased, "once is enough")
		})
	})
}

func TestTimeWithoutUsesCountsFromTheFirstRetentionOn(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, on(db), retaining(clock, rules(backends.RetentionRule{UnusedFor: 10 * day})))
		w.put(ann, fact("known", "old, and in use for a year"), fact("other", "never of use"))
		clock.Advance(365 * day)
		require.Empty(t, w.retain(dry).Erased)
		clock.Advance(11 * day)
		require.Empty(t, w.retain().Erased, "a dry run begins nothing")
		clock.Advance(9 * day)
		w.manager().Used(ctx, backends.Scope{UserID: "ann"}, []backends.Hit{{Memory: backends.Memory{ID: "known"}}})
		require.NoError(t, w.Close(ctx))
		clock.Advance(day)
		require.Equal(t, counts{backends.RetainUnused: 1}, w.retain().Erased)
		require.Equal(t, []string{"known"}, held(t, db, ann))
		clock.Advance(9 * day)
		require.Len(t, w.retain().Erased, 1)
		left, err := db.Partitions(ctx, "default", store.Page{})
		require.NoError(t, err)
		require.Empty(t, left.Partitions, "of a partition that is empty now no name stays")
	})
}

func TestUsesOfSeveralProcessesAddUpAndDisturbNobody(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		writer := open(t, on(db))
		writer.put(ann, fact("a", "tea"), fact("gone", "milk"))
		writer.put(shop, fact("b", "the till jams"))
		before := writer.get(ann, "a")
		shown := []backends.Hit{{Memory: backends.Memory{ID: "a"}}, {Memory: backends.Memory{ID: "b"}}, {Memory: backends.Memory{ID: "gone"}}, {}}
		scope := backends.Scope{UserID: "ann", Workspace: "shop"}
		writer.manager().Used(ctx, scope, shown) // it does not count
		var all sync.WaitGroup
		for range 4 {
			w := open(t, on(db), retaining(clock, rules(backends.RetentionRule{AtMost: 1000})))
			w.Start()
			all.Go(func() {
				for range 75 {
					w.manager().Used(ctx, scope, shown)
				}
				assert.NoError(t, w.Close(ctx))
				assert.NoError(t, w.Close(ctx), "nothing is stored twice")
			})
		}
		all.Go(func() { assert.NoError(t, writer.Delete(ctx, ann, &backends.DeleteRequest{ID: "gone"})) })
		all.Wait()
		n, last := writer.get(ann, "a").Uses()
		require.Equal(t, 300, n)
		require.Equal(t, clock.Now(), last)
		n, _ = writer.get(shop, "b").Uses()
		require.Equal(t, 300, n, "a workspace's memories count too")
		require.Equal(t, []string{"a"}, held(t, db, ann), "what is deleted stays so")
		require.Equal(t, before.Updated, writer.get(ann, "a").Updated)
		events, err := writer.History(ctx, ann, "a")
		require.NoError(t, err)
		require.Len(t, events, 1)
		require.Equal(t, []string{"a"}, testkit.IDs(writer.found(ann, "tea").Hits))
	})
}

func TestUsesThatCannotBeStoredAreReported(t *testing.T) {
	db := testkit.Spy(testkit.SQLite(t))
	w := open(t, on(db), retaining(testkit.NewClock(), rules(backends.RetentionRule{AtMost: 1000})))
	w.put(ann, fact("a", "tea"))
	db.FailOn(backends.ErrUnavailable, "Get")
	w.manager().Used(ctx, backends.Scope{UserID: "ann"}, []backends.Hit{{Memory: backends.Memory{ID: "a"}}})
	require.ErrorIs(t, w.Close(ctx), backends.ErrUnavailable)
	require.NoError(t, w.Close(ctx), "they hold up nothing")
}

// sweeping begins a sweep of a keeper, and returns what it reports.
func sweeping(t testing.TB, db store.Store, clock *testkit.Clock) (*world, chan *backends.RetainReport) {
	reports := make(chan *backends.RetainReport, 1)
	w := open(t, on(db), retaining(clock, func(r *backends.Retention) {
		r.Rules, r.Every = []backends.RetentionRule{{OlderThan: day}}, time.Hour
		r.OnSweep = func(_ context.Context, r *backends.RetainReport) { reports <- r }
	}))
	t.Cleanup(func() { require.NoError(t, w.Close(ctx)) })
	w.Start()
	return w, reports
}

// fill gives some users two memories, which are old then, and a core block, which stays.
func fill(t testing.TB, db store.Store, clock *testkit.Clock, users int) {
	w := open(t, on(db))
	for i := range users {
		p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprint("user", i)}
		w.put(p, fact("a", "tea"), fact("b", "milk"), core("core", "always there"))
	}
	clock.Advance(2 * day)
}

func TestProcessesShareASweep(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		fill(t, db, clock, 6)
		inside := make(chan struct{})
		held, release := context.WithCancel(ctx)
		defer release()
		slow := testkit.Spy(db)
		slow.Arm(func(c *testkit.StoreCall) error {
			if c.Method == "Changes" && inside != nil {
				began := inside
				inside = nil
				c.Before = func() { close(began); <-held.Done() }
			}
			return nil
		})
		began := inside
		_, first := sweeping(t, slow, clock)
		<-began // in the middle of a partition
		_, second := sweeping(t, db, clock)
		others := <-second
		require.Equal(t, 5, others.Partitions, "the one that the first is at is left to it")
		release()
		own := <-first
		require.Equal(t, 1, own.Partitions)
		require.Equal(t, 12, own.Erased[backends.RetainOlder]+others.Erased[backends.RetainOlder])
		_, third := sweeping(t, db, clock)
		require.Zero(t, (<-third).Partitions, "nothing is due")
	})
}

func TestProcessesThatSweepAtOnceEraseEachMemoryOnce(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		fill(t, db, clock, 8)
		var reports []chan *backends.RetainReport
		for range 4 {
			_, r := sweeping(t, db, clock)
			reports = append(reports, r)
		}
		erased := 0
		for _, r := range reports {
			erased += (<-r).Erased[backends.RetainOlder]
		}
		require.Equal(t, 16, erased)
	})
}

func TestASweepThatDiedIsTakenOver(t *testing.T) {
	for name, later := range map[string]time.Duration{"by the next one": time.Hour, "with a clock that jumped back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
				fill(t, db, clock, 3)
				dying, applied := testkit.Spy(db), 0
				dying.Arm(func(c *testkit.StoreCall) error { // it comes to one partition, and to the middle of the second
					if c.Method == "Apply" {
						applied++
					}
					if applied > 1 {
						return backends.ErrUnavailable
					}
					return nil
				})
				_, reports := sweeping(t, dying, clock)
				require.Equal(t, 2, (<-reports).Erased[backends.RetainOlder])
				_, reports = sweeping(t, db, clock)
				require.Equal(t, 1, (<-reports).Partitions, "the one that it had not come to")
				clock.Advance(later)
				_, reports = sweeping(t, db, clock)
				require.Equal(t, counts{backends.RetainOlder: 2}, (<-reports).Erased)
			})
		})
	}
}

func TestAMemoryThatIsUsedMeanwhileStays(t *testing.T) {
	db := testkit.Spy(testkit.SQLite(t))
	clock := testkit.NewClock()
	w := open(t, on(db), retaining(clock, rules(backends.RetentionRule{UnusedFor: day})))
	w.put(ann, fact("a", "tea"), fact("b", "milk"))
	w.retain()
	clock.Advance(2 * day)
	db.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Apply" && c.N < 9 {
			c.Before = func() {
				db.Arm(nil)
				w.manager().Used(ctx, backends.Scope{UserID: "ann"}, []backends.Hit{{Memory: backends.Memory{ID: "a"}}})
				require.NoError(t, w.Close(ctx))
			}
		}
		return nil
	})
	require.Equal(t, counts{backends.RetainUnused: 1}, w.retain().Erased)
	require.Equal(t, []string{"a"}, held(t, db, ann))
}

func TestWhatIsKeptOfAChainAnswersWhenItsBeginningIsErased(t *testing.T) {
	clock := testkit.NewClock()
	w := open(t, retaining(clock, rules(backends.RetentionRule{Kinds: []backends.Kind{backends.KindFact}, EndedFor: day})))
	said := func(id, text, message string) *store.Record {
		r := fact(id, text)
		r.Origin = backends.Origin{Session: "s", MessageIDs: []string{message}}
		return r
	}
	old, other := said("e1", "I live in Beijing", "m1"), said("e2", "I moved to Shanghai and have a cat", "m2")
	old.Kind, other.Kind = backends.KindEpisode, backends.KindEpisode
	w.put(ann, old, other, said("f1", "lives in Beijing", "m1"), said("f2", "has a cat", "m2"))
	_, err := w.Commit(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Supersede("f1", said("f3", "lives in Shanghai", "m2"))}}, nil)
	require.NoError(t, err)
	clock.Advance(2 * day)
	require.Equal(t, counts{backends.RetainEnded: 2}, w.retain().Erased)
	require.Equal(t, []string{"e2", "f2", "f3"}, held(t, w.Store(), ann))
	require.Equal(t, "f1", w.get(ann, "f3").Supersedes)
	events, err := w.History(ctx, ann, "f3")
	require.NoError(t, err)
	require.Len(t, events, 1)
	require.NotContains(t, fmt.Sprint(events), "Beijing")
	require.NotContains(t, testkit.IDs(w.found(ann, "Beijing").Hits), "e1")
}

func TestARetentionReachesItsNamespaceAlone(t *testing.T) {
	clock := testkit.NewClock()
	w := open(t, retaining(clock, rules(backends.RetentionRule{OlderThan: day})))
	other := backends.Partition{Namespace: "other", Kind: backends.PartitionUser, ID: "ann"}
	w.put(ann, fact("a", "tea"), core("core", "always there"))
	w.put(shop, fact("a", "tea"))
	w.put(other, fact("a", "tea"))
	clock.Advance(2 * day)
	var seen []string
	w.retain(func(r *backends.RetainRequest) {
		r.Progress = func(p backends.Partition, r *backends.RetainReport) { seen = append(seen, fmt.Sprint(p, r.Partitions)) }
	})
	require.Len(t, seen, 2)
	require.Equal(t, []string{"core"}, held(t, w.Store(), ann))
	require.Empty(t, held(t, w.Store(), shop))
	require.Equal(t, []string{"a"}, held(t, w.Store(), other))
}

func TestAPartitionThatFailsDoesNotHoldUpTheOthers(t *testing.T) {
	db, clock := testkit.Spy(testkit.SQLite(t)), testkit.NewClock()
	fill(t, db, clock, 20)
	w := open(t, on(db), retaining(clock, rules(backends.RetentionRule{OlderThan: time.Hour})))
	changes := 0
	db.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Changes" {
			if changes++; changes == 1 {
				return backends.ErrUnavailable
			}
		}
		return nil
	})
	report, err := w.manager().Retain(ctx, &backends.RetainRequest{Namespace: "default"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "user/user")
	require.Equal(t, 19, report.Partitions)
	fill(t, db, clock, 20)
	db.FailOn(backends.ErrUnavailable, "Changes")
	_, err = w.manager().Retain(ctx, &backends.RetainRequest{Namespace: "default"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	reads := slices.DeleteFunc(db.Calls(), func(m string) bool { return m != "Changes" })
	require.Len(t, reads, 10, "then it gives up")
}

func TestARetentionThatCannotBeCarriedOutIsRefused(t *testing.T) {
	for name, r := range map[string]backends.Retention{
		"core blocks":    {Rules: []backends.RetentionRule{{Kinds: []backends.Kind{backends.KindCore}, OlderThan: day}}},
		"an empty rule":  {Rules: []backends.RetentionRule{{Kinds: []backends.Kind{backends.KindFact}}}},
		"a negative age": {Rules: []backends.RetentionRule{{OlderThan: -day, AtMost: 1}}},
		"less than none": {Rules: []backends.RetentionRule{{AtMost: -1, OlderThan: day}}},
		"no rule":        {},
		"all the time":   {Rules: []backends.RetentionRule{{AtMost: 1}}, Every: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			_, err := keeper.New(&keeper.Config{Name: "x", Store: w.Store(), Ranker: w.Ranker(), Retention: &r})
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	m := open(t).manager()
	_, err := m.Retain(ctx, &backends.RetainRequest{Namespace: "default"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "Config.Retention")
	_, err = m.Retain(ctx, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}
