// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reflection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

type object = map[string]any

var ann = backends.Scope{UserID: "ann"}

// corpus is a person's memories, and what is planted among them: see testdata.
type corpus struct {
	language string
	texts    []string
	planted  map[string]string // same, then, over, unused or stay
	pair     map[string]string // of same and then: the other one
	later    map[string]bool   // of then: the one that holds
}

func readCorpus(t testing.TB, language string) *corpus {
	raw, err := os.ReadFile("testdata/corpus_" + language + ".txt")
	require.NoError(t, err)
	c := &corpus{language: language, planted: map[string]string{}, pair: map[string]string{}, later: map[string]bool{}}
	var behind []string
	for line := range strings.Lines(string(raw)) {
		planted, said, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || planted == "#" {
			continue
		}
		a, b, two := strings.Cut(said, " | ")
		c.texts, c.planted[a] = append(c.texts, a), planted
		if two {
			behind = append(behind, b)
			c.planted[b], c.pair[a], c.pair[b], c.later[b] = planted, b, a, true
		}
	}
	c.texts = append(c.texts, behind...) // what is later is stored later
	require.Len(t, c.texts, 300)
	return c
}

// fill stores the corpus as facts, one a day; all but those that are planted as unused were
// shown to a model of late.
func (c *corpus) fill(t testing.TB, db store.Store, now time.Time) {
	p, _ := ann.Speaker()
	b := &store.Batch{}
	for i, said := range c.texts {
		at := now.Add(time.Duration(i-400) * 24 * time.Hour)
		m := backends.Memory{ID: fmt.Sprintf("m%03d", i), Kind: backends.KindFact, Text: said, Scope: ann, Observed: at, Created: at, Updated: at, Origin: backends.Origin{Role: "user"}}
		if c.planted[said] == "unused" {
			m.Created, m.Updated = now.Add(-300*24*time.Hour), now.Add(-300*24*time.Hour)
		} else {
			m.Metadata = object{backends.MetaUses: 2.0, backends.MetaLastUse: now.Add(-24 * time.Hour).Format(time.RFC3339)}
		}
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := db.Apply(t.Context(), p, b)
	require.NoError(t, err)
	mark, _ := json.Marshal(object{"since": now.Add(-290 * 24 * time.Hour)})
	require.NoError(t, db.PutBlob(t.Context(), p, "einomem/retention", "mem0", mark))
}

// shown are the memories of a prompt, by their numbers.
func shown(in []*schema.Message) (texts []string) {
	for line := range strings.Lines(in[len(in)-1].Content) {
		var m struct {
			Index *int
			Text  string
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.Index != nil {
			texts = append(texts, m.Text)
		}
	}
	return texts
}

// knowing is a model that knows what is planted, and sees it where a prompt shows all of it.
// In every answer it also says some that is wrong.
func (c *corpus) knowing(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	texts, ops := shown(in), []object{}
	for i, said := range texts {
		j := slices.Index(texts, c.pair[said])
		switch {
		case c.planted[said] == "over":
			ops = append(ops, object{"op": "stale", "memories": []int{i}, "reason": "over"})
		case j < i || c.pair[said] == "":
		case c.planted[said] == "same":
			ops = append(ops, object{"op": "merge", "memories": []int{i, j}, "keep": j})
		case c.planted[said] == "then":
			ops = append(ops, object{"op": "supersede", "memories": []int{i}, "keep": j, "reason": "it changed"})
		}
	}
	wrong := []object{
		{"op": "merge", "memories": []int{0, 999}}, {"op": "merge", "memories": []int{0}}, {"op": "stale", "memories": []int{-1}}, {"op": "stale"},
		{"op": "insight", "memories": []int{0}, "text": "Alone."}, {"op": "insight", "memories": []int{0, 1}, "text": " "}, {"op": "erase", "memories": []int{0}},
		{"op": "supersede", "memories": []int{0}}, {"op": "field", "memories": []int{0}, "field": "city", "value": "Rome"}, {"op": "edit", "memories": []int{0}},
	}
	raw, err := json.Marshal(object{"operations": append(ops, wrong...)})
	if err != nil {
		return nil, err
	}
	return testkit.Call("1", opts.Tools[0].Name, string(raw))(context.Background(), in, opts)
}

// world is a backend on a store, and what reflects on it.
type world struct {
	t       testing.TB
	db      store.Store
	clock   *testkit.Clock
	backend *mem0.Backend
	*reflection.Reflector
}

func open(t testing.TB, db store.Store, clock *testkit.Clock, m model.BaseChatModel, change ...func(*reflection.Config)) *world {
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Clock: clock.Now, CountUses: true, Shared: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	cfg := &reflection.Config{Backend: b, Model: m}
	for _, f := range change {
		f(cfg)
	}
	r, err := reflection.New(cfg)
	require.NoError(t, err)
	return &world{t, db, clock, b, r}
}

// active returns what holds, each as JSON without its version.
func (w *world) active() map[string]string {
	p, _ := ann.Speaker()
	all, _, err := store.All(w.t.Context(), w.db, p, nil)
	require.NoError(w.t, err)
	out := map[string]string{}
	for id, r := range all {
		if m := r.Memory; m.Active() && !m.Expired(w.clock.Now()) && m.Kind != backends.KindCore {
			m.Version = 0
			raw, err := json.Marshal(&m)
			require.NoError(w.t, err)
			out[id] = string(raw)
		}
	}
	return out
}

func (w *world) version() int64 {
	p, _ := ann.Speaker()
	set, err := w.db.Changes(w.t.Context(), p, "")
	require.NoError(w.t, err)
	return set.Version
}

func (w *world) draft(change ...func(*reflection.Request)) *reflection.Plan {
	w.t.Helper()
	q := &reflection.Request{Scope: ann}
	for _, f := range change {
		f(q)
	}
	plan, err := w.Draft(w.t.Context(), q)
	require.NoError(w.t, err)
	return plan
}

// rightly counts the planted things that a plan proposes, and fails for any other operation.
func (c *corpus) rightly(t testing.TB, plan *reflection.Plan) (found int) {
	for i := range plan.Operations {
		o := &plan.Operations[i]
		for _, m := range o.Changes {
			found++
			switch o.Op {
			case reflection.Merge:
				require.Equal(t, "same", c.planted[m.Text], "%s", o)
				require.Equal(t, c.pair[m.Text], o.Stays.Text, "%s", o)
			case reflection.Supersede:
				require.Equal(t, "then", c.planted[m.Text], "%s", o)
				require.Equal(t, c.pair[m.Text], o.Stays.Text, "%s", o)
				require.True(t, c.later[o.Stays.Text], "%s", o)
			case reflection.Retract:
				require.Equal(t, "over", c.planted[m.Text], "%s", o)
			case reflection.Expire:
				require.Equal(t, "unused", c.planted[m.Text], "%s", o)
			default:
				require.Fail(t, "that was not planted", "%s", o)
			}
		}
	}
	return found
}

const inAll = 60 + 30 + 20

func TestWhatIsPlantedIsFoundAndNothingElse(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, language := range []string{"en", "zh"} {
		testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
			c := readCorpus(t, language)
			c.fill(t, db, clock.Now())
			chat := testkit.New(c.knowing)
			w := open(t, db, clock, chat)
			before, version := w.active(), w.version()

			byRules := c.rightly(t, open(t, db, clock, nil).draft())
			plan := w.draft()
			found := c.rightly(t, plan)
			t.Logf("%s: %d of %d with a model in %d calls, %d by rules alone", language, found, inAll, plan.Usage.ModelCalls, byRules)
			require.GreaterOrEqual(t, float64(found), 0.95*inAll)
			require.GreaterOrEqual(t, byRules, 30+10+8)
			require.LessOrEqual(t, len(chat.Calls()), 300/50)
			require.NotEmpty(t, plan.Refused)
			require.Equal(t, version, w.version(), "a draft writes nothing")
			require.Equal(t, before, w.active())
			for _, in := range chat.Calls() {
				require.LessOrEqual(t, text.Tokens(in[0].Content)+toolTokens(t, chat), 1500)
				require.LessOrEqual(t, len(shown(in)), 50)
			}

			raw, err := json.Marshal(plan)
			require.NoError(t, err)
			read := &reflection.Plan{}
			require.NoError(t, json.Unmarshal(raw, read))
			clock.Advance(time.Hour)
			applied, err := w.Apply(t.Context(), read, false)
			require.NoError(t, err)
			require.Equal(t, len(plan.Operations), applied.Done)
			require.Len(t, w.active(), 300-found)
			c.isReachable(t, w)
			again, err := w.Apply(t.Context(), read, false)
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Len(t, w.active(), 300-found)

			_, err = w.Undo(t.Context(), ann, plan.ID, false)
			require.NoError(t, err)
			require.Equal(t, before, w.active(), "byte for byte")
			_, err = w.Undo(t.Context(), ann, plan.ID, false)
			require.ErrorIs(t, err, backends.ErrNotFound)
		})
	}
}

func toolTokens(t testing.TB, chat *testkit.Chat) int {
	s, err := chat.Offered()[0].ToJSONSchema()
	require.NoError(t, err)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	return text.Tokens(string(raw))
}

// isReachable fails unless every text is in a memory that holds, or in the history of one.
func (c *corpus) isReachable(t testing.TB, w *world) {
	p, _ := ann.Speaker()
	all, _, err := store.All(t.Context(), w.db, p, nil)
	require.NoError(t, err)
	for id, r := range all {
		if r.Active() && !r.Expired(w.clock.Now()) {
			continue
		}
		events, err := w.backend.History(t.Context(), &backends.HistoryRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		if r.Active() {
			require.Equal(t, r.Text, events[len(events)-1].New, "what expired")
			continue
		}
		ended := slices.IndexFunc(events, func(e backends.Event) bool {
			return e.MemoryID == id && (e.Type == backends.OutcomeSuperseded || e.Type == backends.OutcomeRetracted) && e.Actor == "reflect"
		})
		require.GreaterOrEqual(t, ended, 0, "%s: %v", r.Text, events)
		require.Equal(t, r.SupersededBy, events[ended].By)
		if r.SupersededBy != "" {
			require.True(t, all[r.SupersededBy].Active())
		}
	}
	require.Len(t, all, 300)
}

func asJSON(t testing.TB, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
