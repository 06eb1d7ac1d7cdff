// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

func (x *fixture) load(r *window.LoadRequest) *window.History {
	h, err := x.Sessions().Load(context.Background(), r)
	require.NoError(x.t, err)
	return h
}

// placed shows messages as lines: where they come from, who says what.
func placed(messages []*schema.Message) []string {
	out := plain(messages)
	for i, m := range messages {
		where := einox.MarkOf(m).Ref
		if where == "" {
			where = fmt.Sprint(einox.MarkOf(m).Seq)
		}
		out[i] = where + " " + out[i]
	}
	return out
}

// Each message has ten tokens.
func TestLoad(t *testing.T) {
	notice := func(n int, ref string) string {
		return fmt.Sprintf("%s user: [%d earlier messages of this conversation are not shown. They are kept under %s.]", ref, n, ref)
	}
	const interrupted = "0 tool: [No result: the turn was interrupted before the tool answered, or it is still at work.]"
	orphan := func(seq int) string {
		return fmt.Sprintf("log-%d user: [Result of the tool \"find\", which was called before the messages shown here.]\nresult of x", seq)
	}
	three := []string{"a-0 user a", "a-1! assistant A", "b-0 user b", "b-1! assistant B", "c-0 user c", "c-1! assistant C"}
	for name, tc := range map[string]struct {
		log              []string
		summary          int64
		tokens, messages int
		want             []string
	}{
		"all":                               {log: three[:2], want: []string{"1 user: a", "2 assistant: A"}},
		"as many as there are tokens for":   {log: three, tokens: 40, want: []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C"}},
		"never the half of a turn":          {log: three, tokens: 39, want: []string{notice(4, "log-1-4"), "5 user: c", "6 assistant: C"}},
		"as many messages":                  {log: three, messages: 5, want: []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B", "5 user: c", "6 assistant: C"}},
		"behind a summary":                  {log: three, summary: 4, want: []string{"log-1-4 user: the gist", "5 user: c", "6 assistant: C"}},
		"a summary, a notice, a turn":       {log: three, summary: 2, tokens: 20, want: []string{"log-1-2 user: the gist", notice(2, "log-3-4"), "5 user: c", "6 assistant: C"}},
		"a summary of everything":           {log: three, summary: 6, want: []string{"log-1-6 user: the gist"}},
		"one message behind a notice":       {log: []string{"a-0! user a", "b-0 user b"}, tokens: 1, want: []string{notice(1, "log-1"), "2 user: b"}},
		"a turn without an answer stays":    {log: []string{"a-0 user a", "b-0 user b", "b-1! assistant B"}, want: []string{"1 user: a", "2 user: b", "3 assistant: B"}},
		"the assistant began":               {log: []string{"a-0! assistant welcome"}, want: []string{"0 user: [The assistant began this conversation.]", "1 assistant: welcome"}},
		"ids of other writers":              {log: []string{"a-x user a", "a-y assistant A"}, want: []string{"1 user: a", "2 assistant: A"}},
		"a result that the log has twice":   {log: []string{"a-0 user a", "a-1 call x", "a-2 tool x", "a-3 tool x"}, want: []string{"1 user: a", "2 assistant: call x", "3 tool: result of x", orphan(4)}},
		"a summary that ends in a turn":     {log: []string{"a-0 user a", "a-1 call x", "a-2 tool x", "a-3! assistant A"}, summary: 3, want: []string{"log-1-3 user: the gist", "4 assistant: A"}},
		"parts that came out of order":      {log: []string{"a-0 user a", "a-10! assistant A", "a-2 tool x", "a-1 call x"}, want: []string{"1 user: a", "4 assistant: call x", "3 tool: result of x", "2 assistant: A"}},
		"a mark of an end is left out":      {log: []string{"a-0 user a", "a-1 assistant A", "a-done! assistant ", "b-0 user b", "b-1 assistant B", "b-done! assistant "}, messages: 4, want: []string{"1 user: a", "2 assistant: A", "4 user: b", "5 assistant: B"}},
		"a late mark is not the newest":     {log: []string{"a-0 user a", "a-1 assistant A", "b-0 user b", "b-1! assistant B", "a-done! assistant "}, tokens: 20, want: []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B"}},
		"it does not begin with a mark":     {log: []string{"a-0 user a", "b-0! user b", "a-done! assistant ", "c-0 user c", "c-1! assistant C"}, tokens: 20, want: []string{notice(3, "log-1-3"), "4 user: c", "5 assistant: C"}},
		"the newest is whole, if too large": {log: []string{"a-0 user a", "a-1! assistant A", "b-0 user b", "b-1 call x", "b-2 tool x", "b-3! assistant B"}, tokens: 20, want: []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: call x", "5 tool: result of x", "6 assistant: B"}},
		"interrupted": {
			log:  []string{"a-0 user a", "a-1 call x,y", "a-2 tool y", "b-0 user b", "b-1! assistant B"},
			want: []string{"1 user: a", "2 assistant: call x call y", "3 tool: result of y", interrupted, "4 user: b", "5 assistant: B"},
		},
		"interrupted, and resumed after another: where it ended": {
			log:  []string{"a-0 user a", "a-1 call x", "b-0 user b", "b-1! assistant B", "a-2 tool x", "a-3! assistant A", "c-0 user c", "c-1! assistant C"},
			want: []string{"3 user: b", "4 assistant: B", "1 user: a", "2 assistant: call x", "5 tool: result of x", "6 assistant: A", "7 user: c", "8 assistant: C"},
		},
		"resumed, and begun before the history: the part alone": {
			log:    []string{"a-0 user a", "a-1 call x", "b-0 user b", "b-1! assistant B", "a-2 tool x", "a-3! assistant A", "c-0 user c", "c-1! assistant C"},
			tokens: 60,
			want:   []string{notice(2, "log-1-2"), "3 user: b", "4 assistant: B", orphan(5), "6 assistant: A", "7 user: c", "8 assistant: C"},
		},
		"results behind other messages, and ids used again": {
			log: []string{"a-0 user a", "a-1 call x", "a-2 assistant wait", "a-3 tool x", "a-4 call x", "a-5 tool x", "a-6 call y", "a-7 call y", "a-8 tool y"},
			want: []string{
				"1 user: a", "2 assistant: call x", "4 tool: result of x", "3 assistant: wait", "5 assistant: call x", "6 tool: result of x",
				"7 assistant: call y", interrupted, "8 assistant: call y", "9 tool: result of y",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, 8000)
			x.say(ann, tc.log...)
			if tc.summary > 0 {
				x.clock.Advance(time.Hour) // past turns that may go on
				kept, err := x.Sessions().KeepSummary(t.Context(), ann, tc.summary, "the gist")
				require.NoError(t, err)
				require.True(t, kept)
			}
			h := x.load(&window.LoadRequest{Scope: ann, Tokens: tc.tokens, Messages: tc.messages})
			require.Equal(t, tc.want, placed(h.Messages))
			require.NoError(t, transcript.Check(append(h.Messages, schema.UserMessage("and now?"))))
			require.Equal(t, int64(len(tc.log)), h.Upto)
			require.Equal(t, tc.summary, h.Session.SummaryUpto)
		})
	}
}

func TestLoadMarksMessages(t *testing.T) {
	x := newFixture(t, 8000)
	x.say(ann, "a-0! user a")
	said := &schema.Message{Role: schema.User, Name: "Ann", Content: "hi", Extra: map[string]any{"mine": "x"}}
	x.add(ann, store.Entry{Message: backends.Message{ID: "c-4", Turn: "c", Message: said}})
	h := x.load(&window.LoadRequest{Scope: ann, Tokens: 1})
	require.Len(t, h.Messages, 2)
	notice, last := h.Messages[0], h.Messages[1]
	require.True(t, einox.MarkOf(notice).Kind == einox.Summary)
	require.Equal(t, "working_memory", notice.Name)
	require.EqualValues(t, 1, einox.MarkOf(notice).Seq)
	require.Equal(t, []any{int64(2), "c", 5, false}, []any{einox.MarkOf(last).Seq, einox.MarkOf(last).Turn, einox.MarkOf(last).Nth, einox.IsNote(last)})
	require.Equal(t, said, einox.Mark{}.On(last))
}

// What was appended without a count is counted; texts follow the conversation's language.
func TestLoadCountsAndSpeaks(t *testing.T) {
	x := newFixture(t, 8000, func(c *window.Config) {
		c.Budget.Counter = compaction.Counter(func(s string) int { return len(s) }) // a message costs four
	})
	for i, text := range []string{"1234567890", "你好"} {
		turn := fmt.Sprint("t", i)
		x.add(ann, store.Entry{Message: backends.Message{ID: turn + "-0", Turn: turn, Message: schema.UserMessage(text)}})
	}
	require.Len(t, x.load(&window.LoadRequest{Scope: ann, Tokens: 24}).Messages, 2)
	for _, tokens := range []int{23, 9} {
		require.Equal(t, []string{"log-1 user: [此对话较早的 1 条消息未显示，保存在 log-1 中。]", "2 user: 你好"}, placed(x.load(&window.LoadRequest{Scope: ann, Tokens: tokens}).Messages))
	}
}

func TestLoadOfASessionThatDoesNotExist(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		h := x.load(&window.LoadRequest{Scope: ann})
		require.Equal(t, &window.History{From: 1}, h)
		x.say(ann, "a-0 user a", "a-1! assistant A")
		for _, s := range []backends.Scope{{UserID: "bob", SessionID: "s1"}, {AgentID: "bot", SessionID: "s1"}, session("s2")} {
			require.Empty(t, x.load(&window.LoadRequest{Scope: s}).Messages)
		}
		require.NoError(t, x.Sessions().Expire(t.Context(), ann, time.Minute))
		require.Len(t, x.load(&window.LoadRequest{Scope: ann}).Messages, 2)
		x.clock.Advance(time.Minute)
		require.Equal(t, h, x.load(&window.LoadRequest{Scope: ann}), "expired")
		for _, r := range []*window.LoadRequest{nil, {Scope: ann, Tokens: -1}, {Scope: ann, Messages: -1}} {
			_, err := x.Sessions().Load(t.Context(), r)
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
	})
}

// Loading costs the same however long the session is: one look at the state and one page,
// more pages only while they fit. A read that fails is no empty session.
func TestLoadReadsWhatItReturns(t *testing.T) {
	x := newFixture(t, 8000)
	for n := range 700 {
		x.say(ann, fmt.Sprintf("t%d-0 user q", n), fmt.Sprintf("t%d-1! assistant a", n))
	}
	for _, tc := range []struct {
		r     window.LoadRequest
		reads int
		most  int // messages read
		want  int // messages loaded
	}{
		{window.LoadRequest{Messages: 40}, 1, 41, 40}, {window.LoadRequest{Tokens: 400}, 1, 100, 40}, {window.LoadRequest{}, 1, 1001, 1000},
		{window.LoadRequest{Tokens: 3000}, 3, 400, 300}, {window.LoadRequest{Tokens: 100_000}, 5, 1100, 1000},
	} {
		read, states := []int{}, 0
		x.db.Arm(func(c *testkit.StoreCall) error {
			if r, ok := c.Arg.(store.Range); ok {
				read = append(read, r.Limit)
			} else if c.Method == "Session" {
				states++
			}
			return nil
		})
		tc.r.Scope = ann
		require.Len(t, x.load(&tc.r).Messages, tc.want+1, "%+v", tc.r)
		require.Equal(t, 1, states)
		require.Len(t, read, tc.reads, "%+v", tc.r)
		total := 0
		for _, n := range read {
			total += n
		}
		require.LessOrEqual(t, total, tc.most, "%+v", tc.r)
		for n := range tc.reads + 1 {
			x.db.Arm(func(c *testkit.StoreCall) error {
				if c.N == n {
					return backends.ErrUnavailable
				}
				return nil
			})
			_, err := x.Sessions().Load(t.Context(), &tc.r)
			require.ErrorIs(t, err, backends.ErrUnavailable)
		}
	}
}

// The state and the log are read at the same time: whatever changes in between, nothing is
// missing without a word.
func TestLoadOfASessionThatChangesMeanwhile(t *testing.T) {
	// changing has the change happen when one of the two was read, and the other not.
	changing := func(x *fixture, first string, change func()) {
		changed := make(chan struct{})
		n := 0
		x.db.Arm(func(c *testkit.StoreCall) error {
			if c.Method == first && n == 0 {
				n++
				c.After = func() { change(); close(changed) }
			} else {
				c.Before = func() { <-changed }
			}
			return nil
		})
	}
	for _, first := range []string{"Session", "Read"} {
		x := newFixture(t, 8000)
		x.say(ann, "a-0 user a", "a-1! assistant A")
		changing(x, first, func() {
			x.say(ann, "b-0 user b", "b-1! assistant B", "c-0 user c", "c-1! assistant C")
			gist, upto := "the gist", int64(4)
			p, _ := ann.Speaker()
			_, err := x.db.Store.Update(t.Context(), p, &store.SessionUpdate{Session: "s1", Summary: &gist, SummaryUpto: &upto})
			require.NoError(t, err)
		})
		h := x.load(&window.LoadRequest{Scope: ann})
		require.GreaterOrEqual(t, h.Upto, h.Session.LastSeq, "the log is no older than the state")
		require.Equal(t, h.From, h.Session.SummaryUpto+1)

		x = newFixture(t, 8000)
		x.say(ann, "a-0 user a", "a-1! assistant A")
		changing(x, first, func() {
			p, _ := ann.Speaker()
			require.NoError(t, x.db.Store.Delete(t.Context(), p, "s1"))
		})
		h, err := x.Sessions().Load(t.Context(), &window.LoadRequest{Scope: ann})
		if err != nil {
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "deleted")
		} else {
			require.Empty(t, h.Messages)
		}
	}
}

// Whatever is in the log and whatever the limits: providers take the history, it begins with a
// turn, is within the limits unless it is one turn alone, and could not be longer. Every
// message is in it once, or named by the summary and the notice, which restore to it.
func TestPropertyOfAHistory(t *testing.T) {
	testkit.SlowUnderRace(t)
	db, n := testkit.Spy(testkit.SQLite(t, func(c *sqlitestore.Config) { c.Relaxed = true })), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		x := newFixtureOn(t, db, testkit.NewClock(), 8000)
		s := session(fmt.Sprint("s", n))
		x.add(s, interleaved(testkit.Drawn(t))...)
		log := x.entries(s)
		r := &window.LoadRequest{Scope: s, Tokens: rapid.IntRange(0, 1500).Draw(t, "tokens"), Messages: rapid.IntRange(0, 60).Draw(t, "messages")}
		if upto := rapid.Int64Range(0, int64(len(log))).Draw(t, "summary"); upto%2 == 1 {
			_, err := x.Sessions().KeepSummary(context.Background(), s, upto, "the gist")
			require.NoError(t, err)
		}
		h := x.load(r)
		require.NoError(t, transcript.Check(append(slices.Clone(h.Messages), schema.UserMessage("and now?"))))

		restored, err := x.Restore(context.Background(), s, h.Messages)
		require.NoError(t, err)
		found := map[int64]int{}
		for _, m := range restored {
			if seq := einox.MarkOf(m).Seq; seq > 0 {
				require.False(t, einox.IsNote(m))
				require.Equal(t, log[seq-1].Turn, einox.MarkOf(m).Turn)
				require.Equal(t, einox.Text(log[seq-1].Message.Message), einox.Text(m))
				found[seq]++
			}
		}
		var said []store.Entry // behind the summary
		for _, e := range log {
			if silent(&e) {
				continue
			}
			require.Equal(t, 1, found[e.Seq], "message %d of %d", e.Seq, len(log))
			if e.Seq > h.Session.SummaryUpto {
				said = append(said, e)
			}
		}

		exceeded := func(from int) bool {
			tokens := 0
			for _, e := range said[from:] {
				tokens += e.Tokens
			}
			return r.Tokens > 0 && tokens > r.Tokens || r.Messages > 0 && len(said)-from > r.Messages
		}
		begins := func(at int) bool { return at == 0 || said[at].Turn != said[at-1].Turn }
		from := slices.IndexFunc(said, func(e store.Entry) bool { return e.Seq >= h.From })
		require.True(t, from < 0 || begins(from), "it begins with a turn")
		for at := from + 1; from >= 0 && exceeded(from) && at < len(said); at++ {
			require.False(t, begins(at), "beyond the limits, but not one turn alone")
		}
		for at := from - 1; at >= 0; at-- {
			require.False(t, begins(at) && !exceeded(at), "a history from message %d fits", said[at].Seq)
		}
	})
}

// silent reports whether an entry says nothing that providers take.
func silent(e *store.Entry) bool {
	return strings.TrimSpace(e.Content) == "" && len(e.ToolCalls) == 0 && e.ToolCallID == "" && !einox.HasParts(e.Message.Message)
}
