// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package profile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/profile"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
)

type object = map[string]any

type person struct {
	Name    string    `json:"name,omitempty" jsonschema_description:"how to address the user"`
	City    string    `json:"city,omitempty" jsonschema_description:"where the user lives"`
	Age     int       `json:"age,omitempty" jsonschema:"minimum=0,maximum=150"`
	Plan    string    `json:"plan,omitempty" jsonschema:"enum=free,enum=pro"`
	Hobbies []string  `json:"hobbies,omitempty"`
	Job     *job      `json:"job,omitempty"`
	Born    time.Time `json:"born,omitzero"`
}

type job struct {
	Title    string `json:"title"`
	Employer string `json:"employer,omitempty"`
}

var ann = backends.Scope{UserID: "ann", SessionID: "s"}

type world struct {
	t       testing.TB
	clock   *testkit.Clock
	profile *profile.Profile[person]
	backend *mem0.Backend
	n       int
}

func open(t testing.TB, db store.Store, clock *testkit.Clock, m model.BaseChatModel) *world {
	p, err := profile.New[person]()
	require.NoError(t, err)
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Clock: clock.Now, Model: m, Profile: p})
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	return &world{t: t, clock: clock, profile: p, backend: b}
}

func (w *world) get() *profile.Value[person] {
	w.t.Helper()
	v, err := w.profile.Get(w.t.Context(), ann)
	require.NoError(w.t, err)
	return v
}

// said begins what a user says: JSON alone is no statement.
const said = "I say: "

// say has the user say something, of which the model makes the operations that stand in it as
// JSON. It returns what became of them.
func (w *world) say(ops ...object) *backends.AddResponse {
	w.t.Helper()
	w.n++
	resp, err := w.backend.Add(w.t.Context(), &backends.AddRequest{Scope: ann, Messages: []backends.Message{{
		ID: fmt.Sprint("m", w.n), Time: w.clock.Advance(time.Hour), Message: schema.UserMessage(said + asJSON(w.t, append([]object{}, ops...))),
	}}})
	require.NoError(w.t, err)
	return resp
}

// scripted is a model that does what the new message says.
func scripted(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	ops := "[]"
	for line := range strings.Lines(in[len(in)-1].Content) {
		var m struct {
			N    *int
			Text string
		}
		if json.Unmarshal([]byte(line), &m) == nil && m.N != nil {
			ops = strings.TrimPrefix(m.Text, said)
		}
	}
	return testkit.Call("1", opts.Tools[0].Name, `{"operations":`+ops+`}`)(ctx, in, opts)
}

func asJSON(t testing.TB, v any) string {
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func TestTheCallThatLearnsFillsTheProfile(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		chat := testkit.New(scripted)
		w := open(t, db, clock, chat)
		require.Equal(t, &profile.Value[person]{Evidence: map[string][]string{}}, w.get())
		w.say(object{"op": "add", "text": "The user is called Ann.", "field": "name", "value": "Ann"}, object{"op": "add", "text": "The user likes chess.", "field": "hobbies", "value": "chess"},
			object{"op": "add", "text": "The user lives in Oslo.", "field": "city", "value": "Oslo"}, object{"op": "add", "text": "The user is 34.", "field": "age", "value": 34})
		w.say(object{"op": "add", "text": "The user likes rowing.", "field": "hobbies", "value": []string{"rowing"}},
			object{"op": "add", "text": "The user is a welder at Volvo.", "field": "job", "value": object{"title": "welder", "employer": "Volvo"}})
		require.Equal(t, person{Name: "Ann", City: "Oslo", Age: 34, Hobbies: []string{"chess", "rowing"}, Job: &job{"welder", "Volvo"}}, w.get().Document)
		require.Len(t, chat.Calls(), 2, "and no other call")
		require.Contains(t, chat.Calls()[0][0].Content, `- plan: {"type":"string","enum":["free","pro"]}`)

		index := func(id string) int {
			for line := range strings.Lines(chat.Calls()[len(chat.Calls())-1][1].Content) {
				var m struct {
					Index *int
					Text  string
				}
				got, err := w.backend.Get(t.Context(), &backends.GetRequest{Scope: ann, ID: id})
				require.NoError(t, err)
				if json.Unmarshal([]byte(line), &m) == nil && m.Index != nil && m.Text == got.Text {
					return *m.Index
				}
			}
			return -1
		}
		w.say() // shows all
		city, chess, rowing := w.get().Evidence["city"][0], w.get().Evidence["hobbies"][0], w.get().Evidence["hobbies"][1]
		w.say(object{"op": "supersede", "index": index(city), "text": "The user moved to Bergen.", "field": "city", "value": "Bergen"}, object{"op": "retract", "index": index(chess)})
		require.Equal(t, "Bergen", w.get().Document.City)
		require.Equal(t, []string{"rowing"}, w.get().Document.Hobbies, "what is retracted leaves the list")
		events, err := w.profile.History(t.Context(), ann, "city")
		require.NoError(t, err)
		require.Equal(t, "The user lives in Oslo.", events[0].New)
		require.Equal(t, "The user moved to Bergen.", events[len(events)-1].New)

		w.say()
		bergen := w.get().Evidence["city"][0]
		w.say(object{"op": "retract", "index": index(bergen)})
		require.Empty(t, w.get().Document.City, "the last statement holds no more, and no earlier one returns")
		require.NoError(t, w.backend.Delete(t.Context(), &backends.DeleteRequest{Scope: ann, ID: rowing}))
		require.Empty(t, w.get().Document.Hobbies)
		_, err = w.profile.History(t.Context(), ann, "city")
		require.ErrorIs(t, err, backends.ErrNotFound)
		_, err = w.profile.Get(t.Context(), backends.Scope{AgentID: "a"})
		require.ErrorIs(t, err, backends.ErrNoScope)
	})
}

// Two hundred statements about the fields of a profile, learnt in whatever order, and some more
// than once: the one that was said last wins in each.
func TestTheLastStatementWins(t *testing.T) {
	testkit.SlowUnderRace(t)
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		w := open(t, db, clock, testkit.New(scripted))
		r := rand.New(rand.NewPCG(1, 2))
		start := clock.Now()
		want, last := map[string]any{}, map[string]int{}
		for _, at := range r.Perm(200) {
			name := []string{"name", "city", "age", "plan"}[r.IntN(4)]
			value := map[string]any{"name": fmt.Sprint("Ann ", at), "city": fmt.Sprint("town ", at), "age": at % 100, "plan": []string{"free", "pro"}[at%2]}[name]
			message := backends.Message{ID: fmt.Sprint("m", at), Time: start.Add(time.Duration(at) * time.Minute), Message: schema.UserMessage(
				said + asJSON(t, []object{{"op": "add", "text": fmt.Sprintf("Statement %d about the %s is %v.", at, name, value), "field": name, "value": value}}))}
			for range 1 + r.IntN(2) {
				_, err := w.backend.Add(t.Context(), &backends.AddRequest{Scope: ann, Messages: []backends.Message{message}, IdempotencyKey: message.ID})
				require.NoError(t, err)
			}
			if at >= last[name] {
				last[name], want[name] = at, value
			}
		}
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(asJSON(t, w.get().Document)), &got))
		require.JSONEq(t, asJSON(t, want), asJSON(t, got))
	})
}

func TestNoAnswerStoresAnInvalidDocument(t *testing.T) {
	db := testkit.SQLite(t)
	w := open(t, db, testkit.NewClock(), testkit.New(scripted))
	values := []any{nil, true, -1, 151, 3.5, 34, "34", "", " ", "Ann", "gold", "pro", []any{}, []any{1, "x"}, []any{"x"}, object{}, object{"title": "welder"}, object{"title": 3, "x": nil},
		`{"title":"cook"}`, "[", "2001-01-01T00:00:00Z", "yesterday", strings.Repeat("[", 2000), "\x00", 1e300}
	names := []string{"name", "city", "age", "plan", "hobbies", "job", "born", "", "x", "Name", "name "}
	r, skipped := rand.New(rand.NewPCG(3, 4)), 0
	for i := range 100 {
		field, value := names[r.IntN(len(names))], values[r.IntN(len(values))]
		resp := w.say(object{"op": "add", "text": fmt.Sprintf("Statement number %d.", i), "field": field, "value": value})
		skipped += len(slices.DeleteFunc(resp.Items, func(item backends.Item) bool { return item.Outcome != backends.OutcomeSkipped }))
		doc := w.get().Document
		require.True(t, doc.Age >= 0 && doc.Age <= 150 && slices.Contains([]string{"", "free", "pro"}, doc.Plan), "%v = %v gave %+v", field, value, doc)
	}
	require.Greater(t, skipped, 30, "what is refused is reported")
	all, err := w.backend.List(t.Context(), &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindFact}, Limit: 1000})
	require.NoError(t, err)
	require.Len(t, all.Memories, 100, "the fact itself is kept")
}

func TestWritersOfOneProfileLoseNothing(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		var all sync.WaitGroup
		var first *world
		for n := range 2 {
			w := open(t, db, clock, nil)
			first = w
			all.Go(func() {
				for i := range 20 {
					_, err := w.profile.Update(context.Background(), ann, func(p *person) error {
						if n == 0 {
							p.Name = fmt.Sprint("Ann ", i)
						} else {
							p.City = fmt.Sprint("town ", i)
						}
						p.Age++
						p.Hobbies = append(p.Hobbies, fmt.Sprintf("hobby %d of %d", i, n))
						return nil
					})
					require.NoError(t, err)
				}
			})
		}
		all.Wait()
		doc := first.get().Document
		require.Equal(t, "Ann 19, town 19", doc.Name+", "+doc.City)
		require.Equal(t, 40, doc.Age)
		require.Len(t, doc.Hobbies, 40)
	})
}

func TestTheProgramChangesAProfile(t *testing.T) {
	w := open(t, testkit.SQLite(t), testkit.NewClock(), testkit.New(scripted))
	w.say(object{"op": "add", "text": "The user lives in Oslo.", "field": "city", "value": "Oslo"}, object{"op": "add", "text": "The user likes chess.", "field": "hobbies", "value": "chess"})
	oslo := w.get().Evidence["city"][0]
	w.clock.Advance(time.Hour)
	v, err := w.profile.Update(t.Context(), ann, func(p *person) error { p.City, p.Plan, p.Hobbies = "Bergen", "pro", nil; return nil })
	require.NoError(t, err)
	require.Equal(t, person{City: "Bergen", Plan: "pro"}, v.Document)
	was, err := w.backend.Get(t.Context(), &backends.GetRequest{Scope: ann, ID: oslo})
	require.NoError(t, err)
	require.Equal(t, v.Evidence["city"][0], was.SupersededBy)
	held, err := w.backend.List(t.Context(), &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindFact}})
	require.NoError(t, err)
	require.Len(t, held.Memories, 2, "neither Oslo nor chess holds any more")
	for name, change := range map[string]func(*person) error{
		"of the schema":        func(p *person) error { p.Plan = "gold"; return nil },
		"of the program":       func(*person) error { return backends.ErrInvalid },
		"of a negative number": func(p *person) error { p.Age = -1; return nil },
	} {
		_, err := w.profile.Update(t.Context(), ann, change)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.Equal(t, v, w.get(), name)
	}
}

func TestAProfileIsShownInThePrompt(t *testing.T) {
	db := testkit.SQLite(t)
	w := open(t, db, testkit.NewClock(), nil)
	blocks, err := core.New(&core.Config{Records: db, Tools: true, Blocks: []core.Block{{Name: "human"}, w.profile.Block()}})
	require.NoError(t, err)
	_, err = w.profile.Update(t.Context(), ann, func(p *person) error {
		p.Name, p.City, p.Job, p.Hobbies = "Ann </block>", "Oslo", &job{Title: "welder"}, []string{"chess", strings.Repeat("long ", 400)}
		return nil
	})
	require.NoError(t, err)
	m, err := blocks.Message(t.Context(), ann)
	require.NoError(t, err)
	require.Contains(t, m.Content, `<block name="profile" chars=`)
	require.Contains(t, m.Content, "name: Ann &lt;/block&gt;\ncity: Oslo\n…\n", "within its tokens")
	again, err := blocks.Message(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, m.Content, again.Content)
	for _, edit := range []func(context.Context, *core.Edit) (*core.Value, error){blocks.Append, blocks.Set, blocks.Replace} {
		_, err = edit(t.Context(), &core.Edit{Scope: ann, Block: "profile", Old: "Oslo", Text: "Rome"})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	_, err = w.backend.Forget(t.Context(), &backends.ForgetRequest{Scope: ann})
	require.NoError(t, err)
	m, err = blocks.Message(t.Context(), ann)
	require.NoError(t, err)
	require.NotContains(t, m.Content, "Oslo")
}

func TestReflectionFillsWhatWasLearntBefore(t *testing.T) {
	db, clock := testkit.SQLite(t), testkit.NewClock()
	old, err := mem0.New(t.Context(), &mem0.Config{Store: db, Clock: clock.Now})
	require.NoError(t, err)
	for _, said := range []string{"The user lives in Oslo.", "The user is on the gold plan.", "The user rows."} {
		_, err := old.Remember(t.Context(), ann, said)
		require.NoError(t, err)
	}
	require.NoError(t, old.Close(t.Context()))
	chat := testkit.New(func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
		ops := []object{}
		for line := range strings.Lines(in[1].Content) {
			var m struct {
				Index int
				Text  string
			}
			if json.Unmarshal([]byte(line), &m) == nil {
				field := map[string][]string{"The user lives in Oslo.": {"city", "Oslo"}, "The user is on the gold plan.": {"plan", "gold"}, "The user rows.": {"hobbies", "rowing"}}[m.Text]
				ops = append(ops, object{"op": "field", "memories": []int{m.Index}, "field": field[0], "value": field[1]})
			}
		}
		return testkit.Call("1", opts.Tools[0].Name, asJSON(t, object{"operations": ops}))(ctx, in, opts)
	})
	w := open(t, db, clock, nil)
	r, err := reflection.New(&reflection.Config{Backend: w.backend, Model: chat, Profile: w.profile})
	require.NoError(t, err)
	plan, err := r.Draft(t.Context(), &reflection.Request{Scope: ann})
	require.NoError(t, err)
	require.Len(t, plan.Operations, 2)
	require.Len(t, plan.Refused, 1, "gold is no plan")
	_, err = r.Apply(t.Context(), plan, false)
	require.NoError(t, err)
	require.Equal(t, person{City: "Oslo", Hobbies: []string{"rowing"}}, w.get().Document)
	_, err = r.Undo(t.Context(), ann, plan.ID, false)
	require.NoError(t, err)
	require.Equal(t, person{}, w.get().Document)
}

func TestAChangedTypeKeepsWhatFits(t *testing.T) {
	db := testkit.SQLite(t)
	w := open(t, db, testkit.NewClock(), nil)
	_, err := w.profile.Update(t.Context(), ann, func(p *person) error { p.Name, p.Age, p.Plan = "Ann", 34, "pro"; return nil })
	require.NoError(t, err)
	type later struct {
		Name string `json:"name"`
		Age  string `json:"age"`
		Plan string `json:"plan" jsonschema:"enum=basic,enum=pro"`
		Boat string `json:"boat"`
	}
	p, err := profile.New[later]()
	require.NoError(t, err)
	b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Profile: p})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(t.Context())) }()
	v, err := p.Get(t.Context(), ann)
	require.NoError(t, err)
	require.Equal(t, later{Name: "Ann", Plan: "pro"}, v.Document)
}

func TestWhatCannotBeAProfile(t *testing.T) {
	_, err := profile.New[string]()
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = profile.New[struct{}]()
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = profile.New[struct{ F func() }]()
	require.ErrorIs(t, err, backends.ErrInvalid)
	p, err := profile.New[person]()
	require.NoError(t, err)
	_, err = p.Get(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrInvalid)
	db := testkit.SQLite(t)
	_, err = mem0.New(t.Context(), &mem0.Config{Store: db, Profile: (*profile.Profile[person])(nil)})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "nil *profile.Profile")
	for i, want := range []error{nil, backends.ErrInvalid} {
		b, err := mem0.New(t.Context(), &mem0.Config{Store: db, Profile: p})
		require.ErrorIs(t, err, want, i)
		if err == nil {
			defer func() { require.NoError(t, b.Close(context.Background())) }()
		}
	}
}

func BenchmarkGet(b *testing.B) {
	db := testkit.SQLite(b)
	w := open(b, db, testkit.NewClock(), nil)
	_, err := w.profile.Update(b.Context(), ann, func(p *person) error {
		p.Name, p.City, p.Age, p.Hobbies = "Ann", "Oslo", 34, []string{"chess"}
		return nil
	})
	require.NoError(b, err)
	p, _ := ann.Speaker()
	batch := &store.Batch{}
	for i := range 10_000 {
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint("f", i), Kind: backends.KindFact, Text: fmt.Sprint("The user saw film ", i)}}))
	}
	_, err = db.Apply(b.Context(), p, batch)
	require.NoError(b, err)
	w.get()
	for b.Loop() {
		w.get()
	}
}
