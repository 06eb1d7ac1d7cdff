// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reflection"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/rest"
)

const allergy = "Is allergic to feathers: needs foam pillows."

// world is a served memory with something of everything in it: two users, a workspace.
type world struct {
	ctx   context.Context
	url   string
	mem   *middleware.MemoryMiddleware
	store store.Store
	notes *rest.Notes
	tools *tool.Memory
	// instead, if it is set, may answer a request in the server's place. It is set before the page asks.
	instead atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool]
}

var (
	ann  = backends.Scope{UserID: "ann"}
	wen  = backends.Scope{UserID: "李雯"}
	desk = backends.Scope{Workspace: "support-desk"}
	noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

func newWorld(t *testing.T, keys []access.Key, change func(*rest.Config)) *world {
	t.Helper()
	w := &world{ctx: context.Background(), notes: rest.NewNotes(nil)}
	db := must(sqlitestore.Open(w.ctx, filepath.Join(t.TempDir(), "memory.db"), nil))
	embedder := &testkit.Embedder{Dim: 256}
	facts := must(mem0.New(w.ctx, &mem0.Config{Store: db, Embedder: embedder, EmbeddingModel: "hash",
		Retention: &backends.Retention{Every: -1, Rules: []backends.RetentionRule{{EndedFor: 1}}}})) // it is run dry
	experience := must(reme.New(w.ctx, &reme.Config{Store: db, NoPersonal: true, Embedder: embedder, EmbeddingModel: "hash"}))
	w.store, w.tools = db, experience.Tools()
	w.mem = must(middleware.New(w.ctx, &middleware.Config{
		Backend: backends.Join(facts, experience), OnNote: w.notes.Record,
		Window: &window.Config{Budget: compaction.Budget{Window: 16_000}},
		Core: &core.Config{Blocks: []core.Block{
			{Name: "persona", Description: "Who the agent is", Initial: "A patient travel planner.", ReadOnly: true},
			{Name: "human", Description: "What the agent knows about the user"},
		}},
	}))
	quiet := slog.New(slog.DiscardHandler)
	tidy := must(reflection.New(&reflection.Config{Backend: w.mem.Backend()}))
	cfg := &rest.Config{Reflector: tidy, Memory: w.mem, Store: db, Notes: w.notes, Log: quiet, Guard: must(access.New(&access.Config{Keys: keys, Log: quiet}))}
	if change != nil {
		change(cfg)
	}
	h := must(rest.New(cfg))
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(out http.ResponseWriter, r *http.Request) {
		if answer := w.instead.Load(); answer == nil || !(*answer)(out, r) {
			h.ServeHTTP(out, r)
		}
	})
	mux.Handle("/memory/", http.StripPrefix("/memory", h))
	s := httptest.NewServer(mux)
	w.url = s.URL
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, errors.Join(h.Close(w.ctx), w.mem.Close(w.ctx), facts.Close(w.ctx), experience.Close(w.ctx), db.Close()))
	})
	w.fill()
	return w
}

func (w *world) manager() backends.Manager {
	manager, _ := backends.As[backends.Manager](w.mem.Backend())
	return manager
}

// add stores a text as a memory of the message that it was, and returns its id.
func (w *world) add(s backends.Scope, kind backends.Kind, at time.Time, id, text string) string {
	out := must(w.mem.Backend().Add(w.ctx, &backends.AddRequest{Scope: s, Verbatim: true, Kind: kind, Author: "memory-model",
		Messages: []backends.Message{{ID: id, Time: at, Message: schema.UserMessage(text)}}}))
	return must(out.Items[0].Memory, out.Items[0].Err).ID
}

// says logs the messages of a session, those of the user and of the assistant by turns.
func (w *world) says(s backends.Scope, at time.Time, learnt bool, u store.SessionUpdate, texts ...string) {
	a := &store.Append{Scope: s, Learnt: learnt}
	for i, text := range texts {
		m := schema.UserMessage(text)
		if i%2 == 1 {
			m = schema.AssistantMessage(text, nil)
		}
		a.Entries = append(a.Entries, store.Entry{Done: i%2 == 1, Message: backends.Message{
			ID: s.SessionID + string(rune('a'+i)), Turn: s.SessionID, Time: at.Add(time.Duration(i) * time.Minute), Message: m}})
	}
	p := must(s.Speaker())
	must(w.store.Append(w.ctx, p, s.SessionID, a))
	u.Session = s.SessionID
	must(w.store.Update(w.ctx, p, &u))
}

// supersede makes one memory the successor of another.
func (w *world) supersede(s backends.Scope, old, by string) {
	p := must(s.Speaker())
	record := must(w.store.Get(w.ctx, p, by))[0]
	record.Supersedes = old
	must(w.store.Apply(w.ctx, p, &store.Batch{Mutations: []store.Mutation{store.Supersede(old, &record)}}))
}

func in(s backends.Scope, session string) backends.Scope { s.SessionID = session; return s }

func days(n int) time.Time { return noon.AddDate(0, 0, n) }

func (w *world) fill() {
	trip, tea := in(ann, "lisbon"), in(wen, "茶")
	w.says(trip, days(0), true, store.SessionUpdate{Title: ptr("A trip to Lisbon"), SummaryUpto: ptr(int64(4)),
		Summary: ptr("Ann plans a week in Lisbon in May with her sister. They like galleries, tiled houses and walks.")},
		"Hi! I'm planning a week in Lisbon with my sister.", "Lovely. When do you want to go, and what do you two enjoy?",
		"In May. We like small galleries, tiled houses and long walks.", "Then Graça and Alfama will suit you. Any needs for the room?",
		"I'm allergic to feathers, so no down pillows please.", "Noted: foam pillows. Shall I look at hotels with a lift?",
		"Yes. By the way, I moved from Porto to Braga in March.", "Congratulations! Then the train from Braga is the easiest way.")
	w.says(in(ann, "books"), days(-12), false, store.SessionUpdate{Title: ptr("Books and trains"), Failures: &[]store.Failure{
		{From: 1, Upto: 2, Attempts: 3, Reason: "the model's answer is no JSON", Time: days(-12)}}},
		"I restore old books for a living.", "How interesting! Paper or parchment?", "Both. And I like trains.", "Good to know.")
	w.says(tea, days(-1), true, store.SessionUpdate{Title: ptr("搬家与龙井")}, "我上个月搬到了杭州，现在每天喝龙井。", "杭州是个好地方！您喜欢明前茶还是雨前茶？",
		"明前的最好。对了，我对花生过敏。", "好的，我记住了：不含花生。")

	porto := w.add(trip, backends.KindFact, days(-40), "", "Lives in Porto, near the river.")
	braga := w.add(trip, backends.KindFact, days(0), "lisbong", "Lives in Braga since March 2026.")
	shanghai := w.add(tea, backends.KindFact, days(-200), "", "住在上海徐汇区。")
	hangzhou := w.add(tea, backends.KindFact, days(-1), "茶a", "2026 年 2 月搬到杭州，住在西湖区。")
	w.supersede(ann, porto, braga)
	w.supersede(wen, shanghai, hangzhou)
	w.add(trip, backends.KindFact, days(0), "lisbonc", "Likes small galleries, tiled houses and long walks.")
	w.add(trip, backends.KindFact, days(0), "lisbone", allergy)
	plan := w.add(trip, backends.KindFact, days(0), "lisbona", "Plans a week in Lisbon in May 2026 with her sister Clara.")
	must(w.manager().Update(w.ctx, &backends.UpdateRequest{Scope: ann, ID: plan, Metadata: map[string]any{backends.MetaEntities: []any{"Clara", "Lisbon"}}}))
	w.add(ann, backends.KindFact, days(-12), "", "Prefers trains to planes when the ride is under six hours.")
	w.add(ann, backends.KindFact, days(-12), "", "Works as a restorer of old books.")
	w.add(ann, backends.KindFact, days(-3), "", "Answers short messages faster than long ones.")
	w.add(ann, backends.KindEpisode, days(-20), "", "My sister Clara turns thirty on 9 May, I want to surprise her.")
	w.add(tea, backends.KindFact, days(-1), "茶c", "对花生过敏，点餐时要提醒。")
	w.add(tea, backends.KindFact, days(-1), "茶a", "每天喝龙井，最喜欢明前茶。")
	w.add(wen, backends.KindFact, days(-9), "", "养了一只叫“墨墨”的黑猫。")
	w.add(wen, backends.KindEpisode, days(-15), "", "五一想带父母去黄山看日出。")
	w.add(wen, backends.KindFact, days(-4), "", "喜欢先看结论，再看细节。")

	var calls []tool.Call
	for i := range 9 {
		calls = append(calls, tool.Call{Tool: "search_orders", Input: map[string]any{"order": i}, Output: "ok", Took: 320 * time.Millisecond})
		refund := tool.Call{Tool: "refund", Input: map[string]any{"order": i}, Output: "ok", Took: 1450 * time.Millisecond}
		if i%3 == 0 {
			refund.Output, refund.Error = "", "timeout after 5 s: the payment service did not answer"
		}
		calls = append(calls, refund)
	}
	must(w.tools.Record(w.ctx, &tool.RecordRequest{Scope: desk, Calls: calls}))
	must(w.tools.Summarize(w.ctx, &tool.SummaryRequest{Scope: desk}))

	for query, s := range map[string]backends.Scope{"Which pillows should the hotel have?": trip, "我喜欢喝什么茶？": tea} {
		hits := must(w.mem.Backend().Search(w.ctx, &backends.SearchRequest{Scope: s, Query: query, TopK: 3})).Hits
		w.notes.Record(w.ctx, hooks.Note{Scope: s, Query: query, Text: "What you remember of this user:\n- " + hits[0].Text, Hits: hits})
	}
}

// texts are those of the memories that hold.
func (w *world) texts(s backends.Scope) (out []string) {
	for _, m := range must(w.manager().List(w.ctx, &backends.ListRequest{Scope: s})).Memories {
		out = append(out, m.Text)
	}
	return out
}
