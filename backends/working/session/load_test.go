// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// Each message has ten tokens.
func TestLoad(t *testing.T) {
	const earlier = "user: [%d earlier messages of this conversation are not shown. They are kept under %s.]"
	notice := func(n int, ref string) string { return ref + " " + fmt.Sprintf(earlier, n, ref) }
	interrupted := "0 tool: [No result: the turn was interrupted before the tool answered, or it is still at work.]"
	for name, tc := range map[string]struct {
		log              []said
		summary          int64
		tokens, messages int
		want             []string
	}{
		"all": {
			log:  []said{user("a", 0, "hi"), reply("a", 1, "ho").end()},
			want: []string{"1 user: hi", "2 assistant: ho"},
		},
		"as many as there are tokens for": {
			log:    []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end()},
			tokens: 40,
			want:   []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C"},
		},
		"never the half of a turn": {
			log:    []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end()},
			tokens: 39,
			want:   []string{notice(4, "log-1-4"), "5 user: c", "6 assistant: C"},
		},
		"as many messages": {
			log:      []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end()},
			messages: 5,
			want:     []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C"},
		},
		"the newest turn is whole, however large": {
			log:    []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), calls("b", 1, "x"), result("b", 2, "x").sized(5000), reply("b", 3, "B").end()},
			tokens: 20,
			want:   []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: call x", "5 tool: result of x", "6 assistant: B"},
		},
		"one message behind a notice": {
			log:    []said{user("a", 0, "a"), user("b", 0, "b")},
			tokens: 1,
			want:   []string{notice(1, "log-1"), "2 user: b"},
		},
		"a failed turn stays": {
			log:  []said{user("a", 0, "a"), user("b", 0, "b"), reply("b", 1, "B").end()},
			want: []string{"1 user: a", "2 user: b", "3 assistant: B"},
		},
		"told in pieces that came out of order": {
			log:  []said{user("a", 0, "a"), reply("a", 10, "A").end(), result("a", 2, "x"), calls("a", 1, "x")},
			want: []string{"1 user: a", "4 assistant: call x", "3 tool: result of x", "2 assistant: A"},
		},
		"what only marks an end is left out": {
			log:      []said{user("a", 0, "a"), reply("a", 1, "A"), mark("a"), user("b", 0, "b"), reply("b", 1, "B"), mark("b")},
			messages: 4,
			want:     []string{"1 user: a", "2 assistant: A", "4 user: b", "5 assistant: B"},
		},
		"a late mark is not the newest turn": {
			log:    []said{user("a", 0, "a"), reply("a", 1, "A"), user("b", 0, "b"), reply("b", 1, "B").end(), mark("a")},
			tokens: 20,
			want:   []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B"},
		},
		"a window does not begin with a mark": {
			log:    []said{user("a", 0, "a"), user("b", 0, "b").end(), mark("a"), user("c", 0, "c"), reply("c", 1, "C").end()},
			tokens: 20,
			want:   []string{notice(3, "log-1-3"), "4 user: c", "5 assistant: C"},
		},
		"interrupted": {
			log:  []said{user("a", 0, "a"), calls("a", 1, "x", "y"), result("a", 2, "y"), user("b", 0, "b"), reply("b", 1, "B").end()},
			want: []string{"1 user: a", "2 assistant: call xcall y", interrupted, "3 tool: result of y", "4 user: b", "5 assistant: B"},
		},
		"interrupted, and resumed after another": {
			log: []said{
				user("a", 0, "a"), calls("a", 1, "x"), user("b", 0, "b"), reply("b", 1, "B").end(),
				result("a", 2, "x"), reply("a", 3, "A").end(), user("c", 0, "c"), reply("c", 1, "C").end(),
			},
			want: []string{"1 user: a", "2 assistant: call x", "5 tool: result of x", "6 assistant: A", "3 user: b", "4 assistant: B", "7 user: c", "8 assistant: C"},
		},
		"resumed, and begun before the window: left outside where that costs little": {
			log: []said{
				user("a", 0, "a"), calls("a", 1, "x"), user("b", 0, "b"), reply("b", 1, "B").end(),
				result("a", 2, "x").end(), user("c", 0, "c"), reply("c", 1, "C").end(), user("d", 0, "d"), reply("d", 1, "D").end(),
			},
			tokens: 70,
			want:   []string{notice(5, "log-1-5"), "6 user: c", "7 assistant: C", "8 user: d", "9 assistant: D"},
		},
		"resumed, and begun before the window: alone where that would cost much": {
			log: []said{
				user("a", 0, "a"), calls("a", 1, "x"), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end(),
				user("d", 0, "d"), reply("d", 1, "D").end(), result("a", 2, "x"), reply("a", 3, "A").end(), user("e", 0, "e"), reply("e", 1, "E").end(),
			},
			tokens: 100,
			want: []string{
				notice(2, "log-1-2"), "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C", "7 user: d", "8 assistant: D",
				"log-9 user: [Result of the tool \"find\", which was called before the messages shown here. It is kept under log-9.]\nresult of x",
				"10 assistant: A", "11 user: e", "12 assistant: E",
			},
		},
		"resumed last: from where it began": {
			log: []said{
				user("z", 0, "z"), reply("z", 1, "Z").end(), user("a", 0, "a"), calls("a", 1, "x"), user("b", 0, "b"), reply("b", 1, "B").end(), result("a", 2, "x"), reply("a", 3, "A").end(),
			},
			tokens: 20,
			want:   []string{notice(2, "log-1-2"), "3 user: a", "4 assistant: call x", "7 tool: result of x", "8 assistant: A", "5 user: b", "6 assistant: B"},
		},
		"a result that is told twice": {
			log: []said{user("a", 0, "a"), calls("a", 1, "x"), result("a", 2, "x"), result("a", 3, "x"), reply("a", 4, "A").end()},
			want: []string{
				"1 user: a", "2 assistant: call x", "3 tool: result of x",
				"log-4 user: [Result of the tool \"find\", which was called before the messages shown here. It is kept under log-4.]\nresult of x", "5 assistant: A",
			},
		},
		"results behind other things said, and ids used again": {
			log: []said{
				user("a", 0, "a"), calls("a", 1, "x"), reply("a", 2, "wait"), result("a", 3, "x"), calls("a", 4, "x"), result("a", 5, "x"), calls("a", 6, "y"), calls("a", 7, "y"), result("a", 8, "y"),
			},
			want: []string{
				"1 user: a", "2 assistant: call x", "4 tool: result of x", "3 assistant: wait", "5 assistant: call x", "6 tool: result of x",
				"7 assistant: call y", interrupted, "8 assistant: call y", "9 tool: result of y",
			},
		},
		"behind a summary": {
			log:     []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end()},
			summary: 2,
			want:    []string{"log-1-2 user: the gist", "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C"},
		},
		"a summary, a notice, a window": {
			log:     []said{user("a", 0, "a"), reply("a", 1, "A").end(), user("b", 0, "b"), reply("b", 1, "B").end(), user("c", 0, "c"), reply("c", 1, "C").end()},
			summary: 2, tokens: 20,
			want: []string{"log-1-2 user: the gist", notice(2, "log-3-4"), "5 user: c", "6 assistant: C"},
		},
		"a summary that ends in a turn": {
			log:     []said{user("a", 0, "a"), calls("a", 1, "x"), result("a", 2, "x"), reply("a", 3, "A").end()},
			summary: 3,
			want:    []string{"log-1-3 user: the gist", "4 assistant: A"},
		},
		"a summary of everything": {
			log:     []said{user("a", 0, "a"), reply("a", 1, "A").end()},
			summary: 2,
			want:    []string{"log-1-2 user: the gist"},
		},
		"the assistant began": {
			log:  []said{reply("a", 0, "welcome").end()},
			want: []string{"0 user: [The assistant began this conversation.]", "1 assistant: welcome"},
		},
		"ids of others": {
			log:  []said{{turn: "a", id: "one", msg: schema.UserMessage("a")}, {turn: "a", id: "a-x", msg: schema.AssistantMessage("A", nil)}},
			want: []string{"1 user: a", "2 assistant: A"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := onSQLite(t)
			w.say(ann, tc.log...)
			if tc.summary > 0 {
				w.clock.Advance(time.Hour) // past turns that may go on
				require.True(t, w.commit(ann, 0, tc.summary, "the gist"))
			}
			h := w.load(&session.LoadRequest{Scope: ann, Tokens: tc.tokens, Messages: tc.messages})
			assert.Equal(t, tc.want, brief(h.Messages))
			assert.NoError(t, transcript.Check(append(h.Messages, schema.UserMessage("and now?"))))
			assert.Equal(t, int64(len(tc.log)), h.Upto)
			assert.Equal(t, h.From-1-tc.summary, h.Earlier)
		})
	}
}

// A turn that is resumed after fifty others is looked for as far back as there may
// be messages.
func TestLoadOfATurnResumedLate(t *testing.T) {
	w := onSQLite(t)
	w.say(ann, user("a", 0, "a"), calls("a", 1, "x"))
	w.turns(ann, 1, 50)
	w.say(ann, result("a", 2, "x"), reply("a", 3, "A").end())
	h := w.load(&session.LoadRequest{Scope: ann, Tokens: 20})
	assert.EqualValues(t, 1, h.From)
	assert.Equal(t, []string{"1 user: a", "2 assistant: call x", "103 tool: result of x", "104 assistant: A"}, brief(h.Messages[:4]))
	assert.Len(t, h.Messages, 104)
	h = w.load(&session.LoadRequest{Scope: ann, Tokens: 20, Messages: 40})
	assert.EqualValues(t, 103, h.From)
	assert.Len(t, h.Messages, 3)
	assert.NoError(t, transcript.Check(h.Messages))
}

// A turn may count as less than it has, and those before it are loaded.
func TestALargeTurnCountsAsNoMoreThanItMay(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 3) // 20 tokens each
	w.say(ann, user("big", 0, "go"), reply("big", 1, "much").sized(5000), reply("big", 2, "more").sized(5000).end())
	for _, tc := range []struct{ tokens, turn, loaded int }{
		{100, 0, 3},   // the newest is whole, and all there is room for
		{100, 40, 9},  // 40 and three times 20
		{99, 40, 7},   // one less
		{100, 60, 7},  // 60 and twice 20
		{100, 100, 3}, // it fills the room
		{10, 10, 3},
		{0, 10, 9}, // any number
	} {
		h := w.load(&session.LoadRequest{Scope: ann, Tokens: tc.tokens, TurnTokens: tc.turn})
		turns := slices.DeleteFunc(h.Messages, einox.IsSummary)
		assert.Len(t, turns, tc.loaded, "%+v", tc)
	}
	_, err := w.Load(t.Context(), &session.LoadRequest{Scope: ann, TurnTokens: -1})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestLoadMarksMessages(t *testing.T) {
	w := onSQLite(t)
	said := &schema.Message{Role: schema.User, Name: "Ann", Content: "hi", Extra: map[string]any{"mine": "x"}}
	w.turns(ann, 1, 2)
	entry := user("t-3", 4, "")
	entry.msg = said
	w.say(ann, entry)
	require.True(t, w.commit(ann, 0, 2, "the gist"))
	h := w.load(&session.LoadRequest{Scope: ann, Tokens: 1})
	require.Len(t, h.Messages, 3)
	sum, notice, last := h.Messages[0], h.Messages[1], h.Messages[2]
	for _, m := range []*schema.Message{sum, notice} {
		assert.True(t, einox.IsSummary(m))
		assert.Equal(t, "working_memory", m.Name)
		assert.Equal(t, schema.User, m.Role)
	}
	assert.EqualValues(t, 2, einox.SeqOf(sum))
	assert.EqualValues(t, 4, einox.SeqOf(notice))
	assert.Equal(t, "log-3-4", einox.RefOf(notice))
	index, ok := einox.IndexOf(last)
	assert.True(t, ok)
	assert.Equal(t, 4, index)
	assert.EqualValues(t, 5, einox.SeqOf(last))
	assert.Equal(t, "t-3", einox.TurnOf(last))
	assert.Equal(t, "Ann", last.Name)
	assert.False(t, einox.IsNote(last))
	assert.Equal(t, map[string]any{"mine": "x"}, einox.Unmark(last).Extra)
	assert.Equal(t, int64(5), h.From)
	assert.Equal(t, "the gist", h.Session.Summary)
}

func TestLoadCountsTokens(t *testing.T) {
	w := onSQLite(t, func(c *session.Config) { c.Counter = perByte })
	w.say(ann, user("a", 0, "1234567890").sized(0), user("b", 0, "12345").sized(0))
	h := w.load(&session.LoadRequest{Scope: ann, Tokens: 9}) // a message costs four
	assert.Equal(t, []string{"2 user: 12345"}, brief(h.Messages[1:]), "what was not counted is")
	assert.Equal(t, perByte.Message(h.Messages[0])+9, h.Tokens)
	assert.Len(t, w.load(&session.LoadRequest{Scope: ann, Tokens: 23}).Messages, 2)
}

func TestLoadInChinese(t *testing.T) {
	w := onSQLite(t, func(c *session.Config) { c.Language = session.LanguageChinese })
	w.turns(ann, 1, 1)
	w.say(ann, user("b", 0, "b"), calls("b", 1, "x"))
	h := w.load(&session.LoadRequest{Scope: ann, Tokens: 20})
	assert.Equal(t, []string{
		"log-1-2 user: [此对话较早的 2 条消息未显示，保存在 log-1-2 中。]", "3 user: b", "4 assistant: call x", "0 tool: [无结果：本轮在工具返回之前中断，或工具仍在运行。]",
	}, brief(h.Messages))
}

func testLoadOfASessionThatDoesNotExist(t *testing.T, w *world) {
	h := w.load(&session.LoadRequest{Scope: w.ann})
	assert.Empty(t, h.Messages)
	assert.Nil(t, h.Session)
	w.turns(w.ann, 1, 1)
	other := w.ann
	other.UserID = "bob"
	assert.Empty(t, w.load(&session.LoadRequest{Scope: other}).Messages, "another user's session of that name")
	other.UserID = ""
	assert.Empty(t, w.load(&session.LoadRequest{Scope: other}).Messages, "the agent's own")
	require.NoError(t, w.Expire(t.Context(), w.ann, time.Minute))
	assert.Len(t, w.load(&session.LoadRequest{Scope: w.ann}).Messages, 2)
	w.clock.Advance(time.Minute)
	h = w.load(&session.LoadRequest{Scope: w.ann})
	assert.Empty(t, h.Messages, "expired")
	assert.Nil(t, h.Session)
}

func TestLoadRefuses(t *testing.T) {
	w := onSQLite(t)
	for name, r := range map[string]*session.LoadRequest{
		"nil": nil, "tokens": {Scope: ann, Tokens: -1}, "messages": {Scope: ann, Messages: -1}, "scope": {Scope: backends.Scope{UserID: "\x00", SessionID: "s"}},
	} {
		_, err := w.Load(t.Context(), r)
		assert.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := w.Load(t.Context(), &session.LoadRequest{Scope: backends.Scope{SessionID: "s1"}})
	assert.ErrorIs(t, err, backends.ErrNoScope)
}

// A read that fails is no empty session.
func TestLoadSaysWhatItCouldNotRead(t *testing.T) {
	for _, op := range []string{"session", "read"} {
		w := onSQLite(t)
		w.turns(ann, 1, 100)
		for n := 1; ; n++ { // the n-th call of its kind
			var left atomic.Int64
			left.Store(int64(n))
			w.log.before = func(c call) error {
				if c.op == op && left.Add(-1) == 0 {
					return fmt.Errorf("the line is cut: %w", backends.ErrUnavailable)
				}
				return nil
			}
			h, err := w.Load(t.Context(), &session.LoadRequest{Scope: ann, Tokens: 1100})
			if left.Load() > 0 {
				require.NoError(t, err)
				require.Greater(t, n, map[string]int{"session": 1, "read": 2}[op])
				break
			}
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.Nil(t, h)
		}
	}
}

// The usual load is one look at the state and one read.
func TestLoadReadsOnce(t *testing.T) {
	w := onSQLite(t)
	w.turns(ann, 1, 600)
	for _, r := range []*session.LoadRequest{{Scope: ann, Messages: 40}, {Scope: ann, Tokens: 300}, {Scope: ann}} {
		w.log.seen()
		w.load(r)
		ops := map[string]int{}
		for _, c := range w.log.seen() {
			ops[c.op]++
		}
		assert.Equal(t, map[string]int{"session": 1, "read": 1}, ops, "%+v", r)
	}
}

// The state and the log are read at the same time: whatever changes in between,
// a load is right.
func TestLoadOfASessionThatChangesMeanwhile(t *testing.T) {
	t.Run("begun", func(t *testing.T) {
		w := onSQLite(t)
		between(w, func() { w.turns(ann, 1, 1) })
		h := w.load(&session.LoadRequest{Scope: ann})
		assert.Equal(t, h.Session == nil, len(h.Messages) == 0)
	})
	t.Run("appended and summarised", func(t *testing.T) {
		w := onSQLite(t)
		w.turns(ann, 1, 3)
		between(w, func() {
			w.turns(ann, 4, 6)
			gist, upto := "the gist", int64(8)
			_, err := w.db.Update(t.Context(), partition(t, ann), &store.SessionUpdate{Session: "s1", Summary: &gist, SummaryUpto: &upto})
			require.NoError(t, err)
		})
		h := w.load(&session.LoadRequest{Scope: ann})
		assert.GreaterOrEqual(t, h.Upto, h.Session.LastSeq, "the log is no older than the state")
		assert.Equal(t, h.From, h.Session.SummaryUpto+1)
	})
	t.Run("deleted", func(t *testing.T) {
		w := onSQLite(t)
		w.turns(ann, 1, 100)
		between(w, func() { require.NoError(t, w.db.Delete(t.Context(), partition(t, ann), "s1")) })
		h, err := w.Load(t.Context(), &session.LoadRequest{Scope: ann})
		require.NoError(t, err)
		assert.Empty(t, h.Messages)
	})
	t.Run("deleted between pages", func(t *testing.T) {
		w := onSQLite(t)
		w.turns(ann, 1, 100)
		w.log.before = func(c call) error {
			if r, ok := c.arg.(store.Range); ok && r.Upto > 0 {
				return w.db.Delete(context.Background(), partition(t, ann), "s1")
			}
			return nil
		}
		_, err := w.Load(t.Context(), &session.LoadRequest{Scope: ann, Tokens: 1000})
		assert.ErrorIs(t, err, backends.ErrUnavailable)
	})
	t.Run("over and over", func(t *testing.T) {
		w := onSQLite(t)
		w.log.after = func(c call) error {
			if c.op == "session" {
				return w.db.Delete(context.Background(), partition(t, ann), "s1")
			}
			return nil
		}
		w.log.before = func(c call) error {
			if c.op == "session" {
				w.turns(ann, 1, 1)
			}
			return nil
		}
		h, err := w.Load(t.Context(), &session.LoadRequest{Scope: ann})
		assert.True(t, err == nil && h.Session == nil == (len(h.Messages) == 0) || errors.Is(err, backends.ErrUnavailable), "%v", err)
	})
}

// between calls change once, when the log was read and the state was not, or the
// other way round.
func between(w *world, change func()) {
	first := make(chan string, 1)
	changed := make(chan struct{})
	w.log.before = func(c call) error {
		select {
		case first <- c.op: // the first one goes ahead
			return nil
		default:
		}
		<-changed
		return nil
	}
	var once sync.Once
	w.log.behind = func(call) {
		once.Do(func() {
			change()
			close(changed)
		})
	}
}
