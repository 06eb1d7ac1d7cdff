// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/reme/tool"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/rest"
)

const allergy = "Is allergic to feathers: needs foam pillows."

// world is a served memory with something of everything in it: two users, a workspace.
type world struct {
	t     *testing.T
	ctx   context.Context
	url   string
	mem   *middleware.MemoryMiddleware
	store store.Store
	notes *rest.Notes
	tools *tool.Memory
}

var (
	ann  = backends.Scope{UserID: "ann"}
	wen  = backends.Scope{UserID: "李雯"}
	desk = backends.Scope{Workspace: "support-desk"}
	noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
)

func newWorld(t *testing.T, keys []access.Key, change func(*rest.Config)) *world {
	t.Helper()
	w := &world{t: t, ctx: context.Background(), notes: rest.NewNotes(nil)}
	db, err := sqlitestore.Open(w.ctx, filepath.Join(t.TempDir(), "memory.db"), nil)
	require.NoError(t, err)
	embedder := &testkit.Embedder{Dim: 256}
	facts, err := mem0.New(w.ctx, &mem0.Config{Store: db, Embedder: embedder, EmbeddingModel: "hash"})
	require.NoError(t, err)
	experience, err := reme.New(w.ctx, &reme.Config{Store: db, NoPersonal: true, Embedder: embedder, EmbeddingModel: "hash"})
	require.NoError(t, err)
	w.store, w.tools = db, experience.Tools()
	w.mem, err = middleware.New(w.ctx, &middleware.Config{
		Backend: backends.Join(facts, experience), OnNote: w.notes.Record,
		Window: &window.Config{Budget: compaction.Budget{Window: 16_000}},
		Core: &core.Config{Blocks: []core.Block{
			{Name: "persona", Description: "Who the agent is", Initial: "A patient travel planner.", ReadOnly: true},
			{Name: "human", Description: "What the agent knows about the user"},
		}},
	})
	require.NoError(t, err)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	guard, err := access.New(&access.Config{Keys: keys, Log: quiet})
	require.NoError(t, err)
	cfg := &rest.Config{Memory: w.mem, Store: db, Guard: guard, Notes: w.notes, Log: quiet}
	if change != nil {
		change(cfg)
	}
	h, err := rest.New(cfg)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.Handle("/memory/", http.StripPrefix("/memory", h))
	s := httptest.NewServer(mux)
	w.url = s.URL
	t.Cleanup(func() {
		s.Close()
		require.NoError(t, h.Close(w.ctx))
		require.NoError(t, w.mem.Close(w.ctx))
		require.NoError(t, facts.Close(w.ctx))
		require.NoError(t, experience.Close(w.ctx))
		require.NoError(t, db.Close())
	})
	w.fill()
	return w
}

// add stores a text as a memory of the message that it was, and returns its id.
func (w *world) add(s backends.Scope, kind backends.Kind, at time.Time, id, text string) string {
	w.t.Helper()
	out, err := w.mem.Backend().Add(w.ctx, &backends.AddRequest{Scope: s, Verbatim: true, Kind: kind, Author: "memory-model",
		Messages: []backends.Message{{ID: id, Time: at, Message: schema.UserMessage(text)}}})
	require.NoError(w.t, err)
	require.Len(w.t, out.Items, 1)
	require.NoError(w.t, out.Items[0].Err)
	return out.Items[0].Memory.ID
}

// says logs the messages of a session, those of the user and of the assistant by turns.
func (w *world) says(s backends.Scope, at time.Time, title string, learnt bool, texts ...string) {
	w.t.Helper()
	p, err := s.Speaker()
	require.NoError(w.t, err)
	a := &store.Append{Scope: s, Learnt: learnt}
	for i, text := range texts {
		m := schema.UserMessage(text)
		if i%2 == 1 {
			m = schema.AssistantMessage(text, nil)
		}
		a.Entries = append(a.Entries, store.Entry{Done: i%2 == 1, Message: backends.Message{
			ID: s.SessionID + string(rune('a'+i)), Turn: s.SessionID, Time: at.Add(time.Duration(i) * time.Minute), Message: m}})
	}
	_, err = w.store.Append(w.ctx, p, s.SessionID, a)
	require.NoError(w.t, err)
	w.update(s, &store.SessionUpdate{Session: s.SessionID, Title: &title})
}

func (w *world) update(s backends.Scope, u *store.SessionUpdate) {
	w.t.Helper()
	p, err := s.Speaker()
	require.NoError(w.t, err)
	_, err = w.store.Update(w.ctx, p, u)
	require.NoError(w.t, err)
}

// supersede makes one memory the successor of another.
func (w *world) supersede(s backends.Scope, old, by string) {
	w.t.Helper()
	p, err := s.Speaker()
	require.NoError(w.t, err)
	records, err := w.store.Get(w.ctx, p, by)
	require.NoError(w.t, err)
	records[0].Supersedes = old
	_, err = w.store.Apply(w.ctx, p, &store.Batch{Mutations: []store.Mutation{store.Supersede(old, &records[0])}})
	require.NoError(w.t, err)
}

func in(s backends.Scope, session string) backends.Scope { s.SessionID = session; return s }

func days(n int) time.Time { return noon.AddDate(0, 0, n) }

func (w *world) fill() {
	trip, tea := in(ann, "lisbon"), in(wen, "茶")
	w.says(trip, days(0), "A trip to Lisbon", true,
		"Hi! I'm planning a week in Lisbon with my sister.", "Lovely. When do you want to go, and what do you two enjoy?",
		"In May. We like small galleries, tiled houses and long walks.", "Then Graça and Alfama will suit you. Any needs for the room?",
		"I'm allergic to feathers, so no down pillows please.", "Noted: foam pillows. Shall I look at hotels with a lift?",
		"Yes. By the way, I moved from Porto to Braga in March.", "Congratulations! Then the train from Braga is the easiest way.")
	w.says(in(ann, "books"), days(-12), "Books and trains", false,
		"I restore old books for a living.", "How interesting! Paper or parchment?", "Both. And I like trains.", "Good to know.")
	w.says(tea, days(-1), "搬家与龙井", true, "我上个月搬到了杭州，现在每天喝龙井。", "杭州是个好地方！您喜欢明前茶还是雨前茶？",
		"明前的最好。对了，我对花生过敏。", "好的，我记住了：不含花生。")
	upto, summary := int64(4), "Ann plans a week in Lisbon in May with her sister. They like galleries, tiled houses and walks."
	failed := []store.Failure{{From: 1, Upto: 2, Attempts: 3, Reason: "the model's answer is no JSON", Time: days(-12)}}
	w.update(ann, &store.SessionUpdate{Session: "lisbon", Summary: &summary, SummaryUpto: &upto})
	w.update(ann, &store.SessionUpdate{Session: "books", Failures: &failed})

	ids := map[string]string{}
	for _, m := range []struct {
		scope   backends.Scope
		day     int
		message string // that taught it
		text    string
	}{
		{trip, -40, "", "Lives in Porto, near the river."},
		{trip, 0, "lisbong", "Lives in Braga since March 2026."},
		{trip, 0, "lisbonc", "Likes small galleries, tiled houses and long walks."},
		{trip, 0, "lisbone", allergy},
		{trip, 0, "lisbona", "Plans a week in Lisbon in May 2026 with her sister Clara."},
		{ann, -12, "", "Prefers trains to planes when the ride is under six hours."},
		{ann, -12, "", "Works as a restorer of old books."},
		{ann, -3, "", "Answers short messages faster than long ones."},
		{tea, -200, "", "住在上海徐汇区。"},
		{tea, -1, "茶a", "2026 年 2 月搬到杭州，住在西湖区。"},
		{tea, -1, "茶c", "对花生过敏，点餐时要提醒。"},
		{tea, -1, "茶a", "每天喝龙井，最喜欢明前茶。"},
		{wen, -9, "", "在一家出版社做儿童书编辑。"},
		{wen, -9, "", "养了一只叫“墨墨”的黑猫。"},
		{wen, -4, "", "喜欢先看结论，再看细节。"},
	} {
		ids[m.text] = w.add(m.scope, backends.KindFact, days(m.day), m.message, m.text)
	}
	w.add(ann, backends.KindEpisode, days(-20), "", "My sister Clara turns thirty on 9 May, I want to surprise her.")
	w.add(wen, backends.KindEpisode, days(-15), "", "五一想带父母去黄山看日出。")
	w.supersede(ann, ids["Lives in Porto, near the river."], ids["Lives in Braga since March 2026."])
	w.supersede(wen, ids["住在上海徐汇区。"], ids["2026 年 2 月搬到杭州，住在西湖区。"])

	var calls []tool.Call
	for name, c := range map[string]struct{ n, failed, ms int }{"search_orders": {24, 1, 320}, "refund": {9, 3, 1450}, "track_parcel": {15, 0, 610}} {
		for i := range c.n {
			x := tool.Call{Tool: name, Input: map[string]any{"order": i}, Output: "ok", Took: time.Duration(c.ms) * time.Millisecond}
			if i < c.failed {
				x.Failed, x.Output, x.Error = true, "", "timeout after 5 s: the payment service did not answer"
			}
			calls = append(calls, x)
		}
	}
	_, err := w.tools.Record(w.ctx, &tool.RecordRequest{Scope: desk, Calls: calls})
	require.NoError(w.t, err)
	_, err = w.tools.Summarize(w.ctx, &tool.SummaryRequest{Scope: desk})
	require.NoError(w.t, err)

	for query, s := range map[string]backends.Scope{"Which pillows should the hotel have?": trip, "我喜欢喝什么茶？": tea} {
		out, err := w.mem.Backend().Search(w.ctx, &backends.SearchRequest{Scope: s, Query: query, TopK: 3})
		require.NoError(w.t, err)
		w.notes.Record(w.ctx, hooks.Note{Scope: s, Query: query, Text: "What you remember of this user:\n- " + out.Hits[0].Text, Hits: out.Hits})
	}
}

// texts are those of the memories that hold.
func (w *world) texts(s backends.Scope) (out []string) {
	w.t.Helper()
	manager, err := access.Manager(w.mem)
	require.NoError(w.t, err)
	list, err := manager.List(w.ctx, &backends.ListRequest{Scope: s})
	require.NoError(w.t, err)
	for _, m := range list.Memories {
		out = append(out, m.Text)
	}
	return out
}
