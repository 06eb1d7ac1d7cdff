// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ann   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

// world is an engine that goes by time, and a model that knows where people live.
type world struct {
	*reconcile.Engine
	asked []prompt
	err   error // of the model
}

// prompt is what one question shows.
type prompt struct {
	known, said []line
	earlier     int
}

type line struct {
	N     *int
	Index int
	Text  string
}

func open(t testing.TB, st store.Store, change ...func(*reconcile.Config)) *world {
	t.Helper()
	ranker, err := recall.New(t.Context(), &recall.Config{Records: st, Keys: keeper.Keys})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	k, err := keeper.New(&keeper.Config{Name: "test", Store: st, Ranker: ranker, Clock: func() time.Time { return start }})
	require.NoError(t, err)
	c := &reconcile.Config{Learner: learner.Learner{Keeper: k, Prompt: 2000}, Kind: backends.KindPersonal, Author: "model", Shown: 50, UsersOnly: true, ByTime: true}
	for _, f := range change {
		f(c)
	}
	return &world{Engine: reconcile.New(c)}
}

var (
	livesIn = regexp.MustCompile(`I (?:live in|moved to) (\w+)`)
	likes   = regexp.MustCompile(`I like (\w+)`)
)

// answer is what the model makes of a prompt: who says where they live supersedes the last
// place that is known, in the memory or in the same answer.
func (w *world) answer(_ context.Context, _ *ask.Run, q *ask.Question, check func([]reconcile.Operation) error) ([]reconcile.Operation, []ask.Bad, error) {
	p := read(q.User)
	w.asked = append(w.asked, p)
	if w.err != nil {
		return nil, nil, w.err
	}
	places := map[int]string{}
	home := reconcile.None
	for _, m := range p.known {
		if strings.HasPrefix(m.Text, "lives in") {
			home, places[m.Index] = m.Index, m.Text
		}
	}
	ops := []reconcile.Operation{}
	for _, m := range p.said {
		if m.N == nil {
			continue
		}
		for _, found := range likes.FindAllStringSubmatch(m.Text, -1) {
			ops = append(ops, reconcile.Operation{Verb: reconcile.Add, Index: reconcile.None, Text: "likes " + found[1], Messages: []int{*m.N}})
		}
		for _, found := range livesIn.FindAllStringSubmatch(m.Text, -1) {
			op := reconcile.Operation{Verb: reconcile.Supersede, Index: home, Text: "lives in " + found[1], Messages: []int{*m.N}}
			home = len(p.known) + len(ops)
			ops = append(ops, op)
		}
	}
	return ops, nil, check(ops)
}

func read(material string) (p prompt) {
	section := ""
	for s := range strings.Lines(material) {
		var l line
		switch {
		case strings.HasPrefix(s, "<"):
			section = strings.TrimSpace(s)
		case json.Unmarshal([]byte(s), &l) != nil:
		case section == "<existing_memories>":
			p.known = append(p.known, l)
		case section == "<new_messages>":
			p.said = append(p.said, l)
		default:
			p.earlier++
		}
	}
	return p
}

// said is what the user says some days after the start.
func said(days int, s string) backends.Message {
	return backends.Message{ID: fmt.Sprint(days, s[:min(len(s), 20)]), Turn: "t", Time: start.AddDate(0, 0, days), Message: schema.UserMessage(s)}
}

func (w *world) draft(t testing.TB, p backends.Partition, r *backends.AddRequest) (*reconcile.Call, error) {
	t.Helper()
	c, err := w.Begin(t.Context(), reconcile.Request{AddRequest: r, Scope: r.Scope, Partition: p})
	require.NoError(t, err)
	return c, c.Draft(t.Context(), func(ctx context.Context) error { return c.Reconcile(ctx, &reconcile.Question{Ask: w.answer}) })
}

func (w *world) learn(t testing.TB, p backends.Partition, messages ...backends.Message) *backends.AddResponse {
	t.Helper()
	c, err := w.draft(t, p, &backends.AddRequest{Messages: messages})
	require.NoError(t, err)
	resp, err := c.Store(t.Context())
	require.NoError(t, err)
	return resp
}

func outcomes(r *backends.AddResponse) (out []backends.Outcome) {
	for _, i := range r.Items {
		out = append(out, i.Outcome)
	}
	return out
}

// known returns the texts of what holds, and of what does no more, in the order stored.
func (w *world) known(t testing.TB, p backends.Partition) (active, past []string) {
	t.Helper()
	all, err := w.Keeper.All(t.Context(), p)
	require.NoError(t, err)
	for _, m := range all {
		if m.Active() {
			active = append(active, m.Text)
		} else {
			past = append(past, m.Text)
		}
	}
	return active, past
}

func TestWhatWasSaidLastHolds(t *testing.T) {
	for name, c := range map[string]struct {
		requests     [][]backends.Message
		active, past []string
		outcomes     []backends.Outcome // of the last request
	}{
		"in two requests":            {[][]backends.Message{{said(0, "I live in Beijing")}, {said(1, "I moved to Shanghai")}}, []string{"lives in Shanghai"}, []string{"lives in Beijing"}, []backends.Outcome{"superseded"}},
		"in one, in any order":       {[][]backends.Message{{said(2, "I moved to Shanghai"), said(1, "I live in Beijing"), said(3, "I moved to Oslo")}}, []string{"lives in Oslo"}, []string{"lives in Beijing", "lives in Shanghai"}, []backends.Outcome{"added", "superseded", "superseded"}},
		"older than what is known":   {[][]backends.Message{{said(0, "I moved to Shanghai")}, {said(-30, "I live in Beijing"), said(-60, "I live in Tianjin")}}, []string{"lives in Shanghai"}, []string{"lives in Tianjin", "lives in Beijing"}, []backends.Outcome{"added", "superseded"}},
		"on both sides of it":        {[][]backends.Message{{said(0, "I moved to Shanghai")}, {said(-30, "I live in Beijing"), said(9, "I moved to Oslo")}}, []string{"lives in Oslo"}, []string{"lives in Shanghai", "lives in Beijing"}, []backends.Outcome{"added", "superseded"}},
		"moved back in one":          {[][]backends.Message{{said(0, "I live in Beijing"), said(1, "I moved to Shanghai"), said(2, "I live in Beijing")}}, []string{"lives in Beijing"}, []string{"lives in Beijing", "lives in Shanghai"}, []backends.Outcome{"added", "superseded", "superseded"}},
		"moved back from what holds": {[][]backends.Message{{said(0, "I live in Beijing")}, {said(1, "I moved to Shanghai"), said(2, "I live in Beijing")}}, []string{"lives in Beijing"}, []string{"lives in Beijing", "lives in Shanghai"}, []backends.Outcome{"superseded", "superseded"}},
		"said again":                 {[][]backends.Message{{said(0, "I live in Beijing")}, {said(5, "I live in Beijing")}}, []string{"lives in Beijing"}, nil, []backends.Outcome{"unchanged"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, testkit.SQLite(t))
			var last *backends.AddResponse
			for range 2 { // an import that is repeated changes nothing
				for _, r := range c.requests {
					resp := w.learn(t, ann, r...)
					if last == nil || !slices.Contains(outcomes(resp), backends.OutcomeUnchanged) {
						last = resp
					}
				}
				active, past := w.known(t, ann)
				assert.Equal(t, c.active, active)
				assert.Equal(t, c.past, past)
			}
			if name != "said again" {
				assert.Equal(t, c.outcomes, outcomes(last))
			}
			for i := range last.Items {
				stored, err := w.Keeper.Get(t.Context(), ann, last.Items[i].Memory.ID)
				require.NoError(t, err)
				stored.Updated = last.Items[i].Memory.Updated
				assert.Equal(t, *stored, last.Items[i].Memory, "the response says what is stored")
			}
		})
	}
}

// Whatever the order in which messages are learnt, and in whichever requests, the latest one
// holds, what is older never wins, and learning it all again changes nothing.
func TestTheLatestHoldsInWhateverOrderItIsLearnt(t *testing.T) {
	cities := []string{"Rome", "Oslo", "Paris", "Kyoto", "Lima", "Bern", "Cairo", "Delhi"}
	w, user := open(t, testkit.SQLite(t)), 0
	rapid.Check(t, func(rt *rapid.T) {
		user++
		p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprint("user", user)}
		n := rapid.IntRange(1, 8).Draw(rt, "n")
		back := rapid.Bool().Draw(rt, "back")
		var messages []backends.Message
		for day := range n {
			city := cities[day]
			if back { // who moves back says so in order
				city = rapid.SampledFrom(cities[:3]).Draw(rt, "city")
			}
			messages = append(messages, said(day, "I live in "+city))
		}
		learn := messages
		if !back {
			learn = rapid.Permutation(messages).Draw(rt, "order")
		}
		var requests [][]backends.Message
		for len(learn) > 0 {
			k := rapid.IntRange(1, len(learn)).Draw(rt, "request")
			requests, learn = append(requests, learn[:k]), learn[k:]
		}
		for _, r := range requests {
			w.learn(t, p, r...)
		}
		active, _ := w.known(t, p)
		require.Equal(rt, []string{"lives in " + messages[n-1].Content[len("I live in "):]}, active)
		all, err := w.Keeper.All(t.Context(), p)
		require.NoError(rt, err)
		byID := map[string]*backends.Memory{}
		for _, m := range all {
			byID[m.ID] = m
		}
		version := int64(0)
		for _, m := range all {
			version = max(version, m.Version)
			if m.SupersededBy != "" {
				require.True(rt, byID[m.SupersededBy].Observed.After(m.Observed), "what is older never wins")
				require.False(rt, m.Invalidated.Before(m.Observed))
			}
		}
		for _, r := range requests {
			for _, o := range outcomes(w.learn(t, p, r...)) {
				require.Equal(rt, backends.OutcomeUnchanged, o)
			}
		}
		all, err = w.Keeper.All(t.Context(), p)
		require.NoError(rt, err)
		for _, m := range all {
			require.LessOrEqual(rt, m.Version, version, "nothing was written")
		}
	})
}

// Between the answer of the model and the batch another process writes.
func TestWhatAnotherProcessStoresMeanwhileCounts(t *testing.T) {
	for name, c := range map[string]struct {
		other, want []string
		outcome     backends.Outcome
		asked       int
	}{
		"nothing":                  {nil, []string{"lives in Shanghai"}, "superseded", 1},
		"the same":                 {[]string{"I moved to Shanghai"}, []string{"lives in Shanghai"}, "unchanged", 2},
		"what holds later":         {[]string{"I moved to Oslo"}, []string{"lives in Oslo"}, "added", 2},
		"what was not compared":    {[]string{"I like tea"}, []string{"likes tea", "lives in Shanghai"}, "superseded", 2},
		"a change, and then again": {[]string{"I moved to Oslo", "I moved to Rome"}, []string{"lives in Rome"}, "added", 2},
	} {
		t.Run(name, func(t *testing.T) {
			st := testkit.SQLite(t)
			w, other := open(t, st), open(t, st)
			other.learn(t, ann, said(0, "I live in Beijing"))
			d, err := w.draft(t, ann, &backends.AddRequest{Messages: []backends.Message{said(5, "I moved to Shanghai")}})
			require.NoError(t, err)
			for i, s := range c.other {
				day := 9 + i
				if c.outcome == backends.OutcomeUnchanged {
					day = 5
				}
				other.learn(t, ann, said(day, s))
			}
			resp, err := d.Store(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []backends.Outcome{c.outcome}, outcomes(resp))
			assert.Len(t, w.asked, c.asked)
			active, _ := w.known(t, ann)
			slices.Sort(active)
			assert.Equal(t, c.want, active)
		})
	}
}

func TestARaceThatIsLostAgainAndAgainIsAConflict(t *testing.T) {
	spy := testkit.Spy(testkit.SQLite(t))
	w := open(t, spy)
	spy.FailOn(fmt.Errorf("test: %w", backends.ErrConflict), "Apply")
	c, err := w.draft(t, ann, &backends.AddRequest{Messages: []backends.Message{said(0, "I like tea")}})
	require.NoError(t, err)
	_, err = c.Store(t.Context())
	require.ErrorIs(t, err, backends.ErrConflict)
	applied := slices.DeleteFunc(spy.Calls(), func(s string) bool { return s != "Apply" })
	assert.Len(t, applied, keeper.Attempts)

	spy.Arm(nil)
	_, err = spy.Append(t.Context(), ann, "s", &store.Append{Entries: []store.Entry{{Message: said(0, "x")}}})
	require.NoError(t, err)
	s, err := spy.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Acquire: &store.Acquire{Owner: "me", For: time.Minute}})
	require.NoError(t, err)
	c, err = w.draft(t, ann, &backends.AddRequest{Messages: []backends.Message{said(0, "I like tea")}, Checkpoint: &backends.Checkpoint{Session: "s", Upto: 1, Token: s.Lease.Token}})
	require.NoError(t, err)
	_, err = spy.Update(t.Context(), ann, &store.SessionUpdate{Session: "s", Token: s.Lease.Token, Release: true})
	require.NoError(t, err)
	spy.Arm(nil)
	_, err = c.Store(t.Context())
	require.ErrorIs(t, err, backends.ErrConflict)
}

func TestAStoreThatFailsAtAnyStepStoresAllOrNothing(t *testing.T) {
	for step := 1; ; step++ {
		spy := testkit.Spy(testkit.SQLite(t))
		w := open(t, spy)
		w.learn(t, ann, said(0, "I live in Beijing"))
		_, err := spy.Append(t.Context(), ann, "s", &store.Append{Entries: []store.Entry{{Message: said(1, "x")}}})
		require.NoError(t, err)
		learn := func() (*backends.AddResponse, error) {
			c, err := w.Begin(t.Context(), reconcile.Request{Partition: ann, AddRequest: &backends.AddRequest{
				Messages: []backends.Message{said(1, "I moved to Shanghai"), said(1, "I like tea")}, IdempotencyKey: "k", Checkpoint: &backends.Checkpoint{Session: "s", Upto: 1},
			}})
			if err != nil {
				return nil, err
			}
			return c.Learn(t.Context(), func(ctx context.Context) error { return c.Reconcile(ctx, &reconcile.Question{Ask: w.answer}) })
		}
		spy.Arm(func(c *testkit.StoreCall) error {
			if c.N+1 == step {
				return fmt.Errorf("test: %w", backends.ErrUnavailable)
			}
			return nil
		})
		resp, err := learn()
		if err == nil {
			require.Greater(t, step, 6)
			require.True(t, resp.Checkpointed)
			return
		}
		require.ErrorIs(t, err, backends.ErrUnavailable, "step %d", step)
		spy.Arm(nil)
		active, past := w.known(t, ann)
		assert.Equal(t, []string{"lives in Beijing"}, active, "step %d", step)
		assert.Empty(t, past)
		resp, err = learn()
		require.NoError(t, err)
		assert.True(t, resp.Checkpointed)
		active, _ = w.known(t, ann)
		assert.ElementsMatch(t, []string{"lives in Shanghai", "likes tea"}, active)
	}
}

// Every message of a long conversation is asked about once and whole, whatever the room.
func TestEveryPassageIsAskedAboutOnceAndWhole(t *testing.T) {
	st := testkit.SQLite(t)
	rapid.Check(t, func(rt *rapid.T) {
		room := rapid.IntRange(64, 2000).Draw(rt, "room")
		w := open(t, st, func(c *reconcile.Config) { c.Prompt = room })
		var messages []backends.Message
		want := ""
		for i := range rapid.IntRange(0, 80).Draw(rt, "messages") {
			s := strings.TrimSpace(strings.Repeat(rapid.SampledFrom([]string{"word ", "天气很好。", "A sentence ends here. "}).Draw(rt, "text"), rapid.IntRange(1, 60).Draw(rt, "length")))
			m := said(i, s)
			if rapid.Bool().Draw(rt, "user") {
				want += s
			} else {
				m.Message = schema.AssistantMessage(s, nil)
			}
			messages = append(messages, m)
		}
		w.learn(t, ann, messages...)
		got := ""
		for _, p := range w.asked {
			require.LessOrEqual(rt, p.earlier, 10)
			numbered, size := 0, 0
			for _, l := range p.said {
				size += text.Tokens(l.Text)
				if l.N != nil {
					require.Equal(rt, numbered, *l.N)
					numbered++
					got += l.Text
				}
			}
			require.NotNil(rt, p.said[0].N)
			require.LessOrEqual(rt, numbered, 50)
			if len(p.said) > 1 {
				require.LessOrEqual(rt, size, room)
			}
		}
		require.Equal(rt, want, got)
	})
}

func TestStatementsOfOneQuestionAreKnownToTheNext(t *testing.T) {
	w := open(t, testkit.SQLite(t), func(c *reconcile.Config) { c.Prompt = 100 })
	messages := []backends.Message{said(0, "I live in Beijing")}
	for i := range 30 {
		messages = append(messages, said(1+i, fmt.Sprintf("I like thing%02d, and so on and so on and so on", i)))
	}
	w.learn(t, ann, append(messages, said(40, "I moved to Oslo"))...)
	assert.Greater(t, len(w.asked), 2)
	active, past := w.known(t, ann)
	assert.Len(t, active, 31)
	assert.Contains(t, active, "lives in Oslo")
	assert.Equal(t, []string{"lives in Beijing"}, past)
}

func TestARequestThatCannotBeAffordedCostsNothing(t *testing.T) {
	w := open(t, testkit.SQLite(t), func(c *reconcile.Config) { c.Limits = ask.Limits{Calls: 3} })
	messages := make([]backends.Message, 10_000)
	for i := range messages {
		messages[i] = said(i, fmt.Sprint("I like tea", i))
	}
	_, err := w.draft(t, ann, &backends.AddRequest{Messages: messages})
	require.ErrorIs(t, err, ask.ErrLimit)
	require.ErrorContains(t, err, "200 model calls")
	assert.Empty(t, w.asked)
}

// Where more is known than is shown, the best of each search are, and what shares a topic.
func TestCandidates(t *testing.T) {
	for name, byTime := range map[string]bool{"by time": true, "by the last change": false} {
		t.Run(name, func(t *testing.T) {
			w := open(t, testkit.SQLite(t), func(c *reconcile.Config) { c.Shown, c.ByTime = 4, byTime })
			put := func(id, s string, observed, created int) {
				at := start.AddDate(0, 0, created)
				r := &store.Record{Memory: backends.Memory{ID: id, Kind: backends.KindPersonal, Text: s, Observed: start.AddDate(0, 0, observed), Created: at, Updated: at}}
				_, err := w.Keeper.Commit(t.Context(), ann, &store.Batch{Mutations: []store.Mutation{store.Put(r)}}, nil)
				require.NoError(t, err)
			}
			put("old", "lives in Beijing", 10, -300)
			for i := range 6 {
				put(fmt.Sprint("found", i), "Shanghai has changed", -100, -100)
			}
			put("newest", "likes tea", -1, -1)
			w.learn(t, ann, said(10, "I moved to Shanghai"))
			var shown []string
			for _, m := range w.asked[0].known {
				shown = append(shown, m.Text)
			}
			assert.Len(t, shown, 4)
			assert.Contains(t, shown, "Shanghai has changed")
			assert.Contains(t, shown, "lives in Beijing", "a move may end it")
		})
	}
}

func TestAModelThatFailsStoresNothingAndLetsOthersLearn(t *testing.T) {
	w := open(t, testkit.SQLite(t))
	w.err = fmt.Errorf("test: %w", backends.ErrUnavailable)
	c, err := w.draft(t, ann, &backends.AddRequest{Messages: []backends.Message{said(0, "I like tea")}})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorIs(t, testkit.Stage(c.Run.Report(), reconcile.StageLearn).Err, backends.ErrUnavailable)
	w.err = nil
	c, err = w.draft(t, ann, &backends.AddRequest{Messages: []backends.Message{said(0, "I like tea")}})
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	second, err := w.Begin(ended, reconcile.Request{AddRequest: &backends.AddRequest{}, Partition: ann})
	require.NoError(t, err)
	require.ErrorIs(t, second.Draft(ended, nil), context.Canceled, "one call at a time learns for a partition")
	c.Release()
	active, _ := w.known(t, ann)
	assert.Empty(t, active, "what is released is not stored")
	w.learn(t, ann, said(0, "I like tea"))
}

// Two processes that learn the same at the same time store it once.
func TestTwoProcessesLearnOnce(t *testing.T) {
	path := t.TempDir() + "/memory.db"
	var all []*world
	for range 2 {
		st, err := sqlitestore.Open(t.Context(), path, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = st.Close() })
		all = append(all, open(t, st))
	}
	all[0].learn(t, ann, said(0, "I live in Beijing"))
	done := make(chan *backends.AddResponse)
	for _, w := range all {
		go func() {
			done <- w.learn(t, ann, said(1, "I moved to Shanghai"), said(2, "I like tea"), said(3, "I like rice"))
		}()
	}
	written := 0
	for range all {
		for _, o := range outcomes(<-done) {
			if o != backends.OutcomeUnchanged {
				written++
			}
		}
	}
	active, past := all[1].known(t, ann)
	assert.Equal(t, []string{"lives in Shanghai", "likes tea", "likes rice"}, active)
	assert.Equal(t, []string{"lives in Beijing"}, past)
	assert.Equal(t, 3, written)
}

// Whatever a model answers, about whichever statements, chains hold from both ends, what is
// older never wins, no two statements that hold say the same, and the response says what is
// stored.
func TestChainsHoldWhateverTheModelAnswers(t *testing.T) {
	verbs := []reconcile.Verb{reconcile.Add, reconcile.Supersede, reconcile.Retract, reconcile.Nothing}
	for _, byTime := range []bool{true, false} {
		w, user := open(t, testkit.SQLite(t), func(c *reconcile.Config) { c.ByTime = byTime }), 0
		rapid.Check(t, func(rt *rapid.T) {
			user++
			p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprint("user", user)}
			answer := func(_ context.Context, _ *ask.Run, _ *ask.Question, check func([]reconcile.Operation) error) ([]reconcile.Operation, []ask.Bad, error) {
				ops := []reconcile.Operation{}
				for range rapid.IntRange(1, 6).Draw(rt, "operations") {
					ops = append(ops, reconcile.Operation{
						Verb: rapid.SampledFrom(verbs).Draw(rt, "verb"), Text: rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(rt, "text"),
						Index: rapid.IntRange(-1, 6).Draw(rt, "index"), Messages: []int{rapid.IntRange(0, 2).Draw(rt, "message")},
					})
				}
				return ops, nil, check(ops)
			}
			for range rapid.IntRange(1, 4).Draw(rt, "calls") {
				var messages []backends.Message
				for range 3 {
					messages = append(messages, said(rapid.IntRange(0, 5).Draw(rt, "day"), "hello"))
				}
				c, err := w.Begin(t.Context(), reconcile.Request{AddRequest: &backends.AddRequest{Messages: messages}, Partition: p})
				require.NoError(rt, err)
				resp, err := c.Learn(t.Context(), func(ctx context.Context) error { return c.Reconcile(ctx, &reconcile.Question{Ask: answer}) })
				if err != nil {
					require.ErrorContains(rt, err, "number", "nothing of the answer could be used")
					continue
				}
				all, err := w.Keeper.All(t.Context(), p)
				require.NoError(rt, err)
				byID, holds := map[string]*backends.Memory{}, map[string]bool{}
				for _, m := range all {
					byID[m.ID] = m
					if m.Active() {
						require.False(rt, holds[m.Text], "%q holds twice", m.Text)
						holds[m.Text] = true
					}
				}
				for _, m := range all {
					if m.Supersedes != "" {
						require.Equal(rt, m.ID, byID[m.Supersedes].SupersededBy)
					}
					if next := byID[m.SupersededBy]; byTime && next != nil {
						require.False(rt, next.Observed.Before(m.Observed))
					}
				}
				for _, i := range resp.Items {
					if stored := byID[i.Memory.ID]; stored != nil {
						require.Equal(rt, stored.Active(), i.Memory.Active(), "%s %q", i.Outcome, i.Memory.Text)
						require.Equal(rt, stored.SupersededBy, i.Memory.SupersededBy)
						require.Equal(rt, stored.Supersedes, i.Memory.Supersedes)
					}
				}
			}
		})
	}
}

func TestWordsOfModels(t *testing.T) {
	for in, want := range map[string]string{"user": "user", "Human": "user", "助手": "assistant", "AI": "assistant", "bystander": "", "": ""} {
		assert.Equal(t, want, reconcile.RoleOf(in), in)
	}
	for in, want := range map[string]reconcile.Verb{"": reconcile.Add, "ADD": reconcile.Add, "update": reconcile.Supersede, "no-op": reconcile.Nothing, "Delete": reconcile.Retract} {
		got, err := reconcile.VerbOf(in)
		require.NoError(t, err)
		assert.Equal(t, want, got, in)
	}
	_, err := reconcile.VerbOf("sing")
	require.Error(t, err)
}

func TestARepeatedCallIsReplayed(t *testing.T) {
	w := open(t, testkit.SQLite(t))
	r := &backends.AddRequest{Messages: []backends.Message{said(0, "I live in Beijing"), said(1, "I moved to Shanghai")}, IdempotencyKey: "k", Metadata: map[string]any{"a": 1.0}}
	var first *backends.AddResponse
	for i := range 3 {
		c, err := w.draft(t, ann, r)
		require.NoError(t, err)
		resp, err := c.Store(t.Context())
		require.NoError(t, err)
		require.Equal(t, i > 0, resp.Replayed)
		if first == nil {
			first = resp
		}
		assert.Equal(t, outcomes(first), outcomes(resp))
	}
	assert.Len(t, w.asked, 1)
	for _, wrong := range []*backends.AddRequest{{Expires: start}, {Messages: []backends.Message{{Message: schema.UserMessage("\xff")}}}, {Context: []backends.Message{{Message: schema.UserMessage("\xff")}}}} {
		_, err := w.Begin(t.Context(), reconcile.Request{AddRequest: wrong, Partition: ann})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}
