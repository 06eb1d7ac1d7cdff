// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	testkit.RunChild(killedChild)
	goleak.VerifyTestMain(m)
}

var ann = backends.Scope{UserID: "ann", AgentID: "bot", SessionID: "s1"}

func session(id string) backends.Scope {
	return backends.Scope{UserID: ann.UserID, AgentID: ann.AgentID, SessionID: id}
}

// fixture is a window and its store.
type fixture struct {
	*window.Window
	t     require.TestingT
	db    *testkit.Store
	clock *testkit.Clock

	mu     sync.Mutex
	fits   []*compaction.Result
	stages []string
	errs   []error
}

func eachStore(t *testing.T, test func(t *testing.T, x *fixture)) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		test(t, newFixtureOn(t, testkit.Spy(db), clock, 8000))
	})
}

func newFixture(t testing.TB, tokens int, change ...func(*window.Config)) *fixture {
	clock := testkit.NewClock()
	db := testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = clock.Now })
	return newFixtureOn(t, testkit.Spy(db), clock, tokens, change...)
}

func newFixtureOn(t require.TestingT, db *testkit.Store, clock *testkit.Clock, tokens int, change ...func(*window.Config)) *fixture {
	x := &fixture{t: t, db: db, clock: clock}
	cfg := &window.Config{
		Budget: compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1}, Sessions: db, Clock: clock.Now,
		OnFit: func(_ context.Context, _ backends.Scope, r *compaction.Result) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.fits = append(x.fits, r)
		},
		OnError: func(_ context.Context, stage string, err error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.stages, x.errs = append(x.stages, stage), append(x.errs, err)
		},
	}
	for _, f := range change {
		f(cfg)
	}
	var err error
	x.Window, err = window.New(cfg)
	require.NoError(t, err)
	return x
}

// say appends to the log of a session what logOf makes.
func (x *fixture) say(s backends.Scope, lines ...string) { x.add(s, logOf(lines...)...) }

func (x *fixture) add(s backends.Scope, entries ...store.Entry) {
	for i := range entries {
		entries[i].Time = x.clock.Now()
	}
	p, err := s.Speaker()
	require.NoError(x.t, err)
	_, err = x.db.Store.Append(context.Background(), p, s.SessionID, &store.Append{Entries: entries, Scope: s})
	require.NoError(x.t, err)
}

// turn appends a complete turn of these messages, counted by estimate.
func (x *fixture) turn(id string, messages ...*schema.Message) {
	for i, m := range messages {
		entry := backends.Message{ID: fmt.Sprint(id, "-", i), Turn: id, Message: m}
		x.add(ann, store.Entry{Message: entry, Tokens: compaction.Estimate.Message(m), Done: i == len(messages)-1})
	}
}

// talk appends so many complete turns of a question and an answer, of so many words each.
func (x *fixture) talk(turns, words int) {
	for n := range turns {
		x.turn(fmt.Sprint("t", n), testkit.Turn(prose("question", n, words), prose("answer", n, words))...)
	}
}

// prose is a text of its own for every name and number.
func prose(name string, n, words int) string {
	return strings.TrimSpace(strings.Repeat(fmt.Sprintf("%s%dw ", name, n), words))
}

func (x *fixture) entries(s backends.Scope) []store.Entry {
	return testkit.Entries(x.t, x.db.Store, s)
}

func (x *fixture) history() []*schema.Message {
	h, err := x.History(context.Background(), ann)
	require.NoError(x.t, err)
	return h
}

func (x *fixture) restore(messages []*schema.Message) []*schema.Message {
	full, err := x.Restore(context.Background(), ann, messages)
	require.NoError(x.t, err)
	return full
}

// plain is what messages say: where they come from, who says what.
func plain(messages []*schema.Message) []string {
	out := []string{}
	for _, m := range messages {
		text := m.Content
		for _, c := range m.ToolCalls {
			text += " call " + c.ID
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s", m.Role, strings.TrimSpace(text))))
	}
	return out
}

func TestHistoryIsWhatTheSessionSaid(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		require.Empty(t, x.history(), "a session that does not exist yet")
		x.say(ann, "a-0 user hi", "a-1! assistant ho", "b-0 user and?", "b-1! assistant so on")
		require.Equal(t, []string{"user: hi", "assistant: ho", "user: and?", "assistant: so on"}, plain(x.history()))
		for i, m := range x.history() {
			require.EqualValues(t, i+1, einox.MarkOf(m).Seq)
		}
		for _, s := range []backends.Scope{{}, {UserID: "ann"}, {UserID: "bob", SessionID: "s1"}, {UserID: "ann", SessionID: "s2"}, {AgentID: "bot", SessionID: "s1"}} {
			h, err := x.History(t.Context(), s)
			require.NoError(t, err, "%+v", s)
			require.Empty(t, h, "%+v", s)
		}
		_, err := x.History(t.Context(), backends.Scope{SessionID: "s1"})
		require.ErrorIs(t, err, backends.ErrNoScope, "a session of no user")
		x.db.FailOn(backends.ErrUnavailable, "Read")
		_, err = x.History(t.Context(), ann)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "history")
	})
	x := newFixture(t, 8000, func(c *window.Config) { c.NoHistory = true })
	x.talk(2, 2)
	require.Empty(t, x.history())
}

// The default loads more than the window holds: what is large in it shrinks without a
// model. A large turn does not hide those before it.
func TestHistoryTokens(t *testing.T) {
	for _, tc := range []struct{ turns, words, limit, least, most int }{
		{60, 20, 0, 3000, 4000}, {60, 10, 600, 450, 600}, {1, 20, 1, 0, 300}, {5, 20, 1, 0, 300},
	} {
		x := newFixture(t, 1000, func(c *window.Config) { c.HistoryTokens = tc.limit })
		x.talk(tc.turns, tc.words)
		tokens := 0
		for _, m := range x.history() {
			if !einox.IsNote(m) {
				tokens += compaction.Estimate.Message(m)
			}
		}
		require.Greater(t, tokens, tc.least, "%+v", tc)
		require.LessOrEqual(t, tokens, tc.most, "%+v", tc)
	}
	x := newFixture(t, 1000, func(c *window.Config) { c.HistoryTokens = 1000 })
	x.talk(3, 10)
	x.turn("large", testkit.Turn("go", prose("page", 0, 3000))...)
	require.Len(t, x.history(), 8)
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	db, budget := testkit.SQLite(t), compaction.Budget{Window: 8000}
	for name, c := range map[string]*window.Config{
		"nothing":          nil,
		"no sessions":      {Budget: budget},
		"no window":        {Sessions: db},
		"nothing is left":  {Sessions: db, Budget: compaction.Budget{Window: 100, Answer: 100}},
		"negative history": {Sessions: db, Budget: budget, HistoryTokens: -1},
		"trigger above 1":  {Sessions: db, Budget: budget, Trigger: 2},
		"unknown language": {Sessions: db, Budget: budget, Language: "fr"},
	} {
		_, err := window.New(c)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, "context window", name)
	}
	cfg := &window.Config{Sessions: db, Budget: budget}
	w, err := window.New(cfg)
	require.NoError(t, err)
	require.Equal(t, &window.Config{Sessions: db, Budget: budget}, cfg, "the caller's is left as it is")
	require.Equal(t, 8000-1000-500, w.Usage(nil).Limit)
	require.Nil(t, w.Core())
}

func TestADeletedSessionLeavesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, x *fixture) {
		blocks, err := core.New(&core.Config{Records: x.db, Blocks: []core.Block{{Name: "task", Owner: core.OwnerSession}, {Name: "human", Initial: "Ann."}}})
		require.NoError(t, err)
		x = newFixtureOn(t, x.db, x.clock, 2000, func(c *window.Config) { c.Core = blocks })
		x.talk(2, 2)
		res, err := x.Fit(t.Context(), ann, task(30, 100))
		require.NoError(t, err)
		for block, text := range map[string]string{"task": "Read everything.", "human": "Likes tea."} {
			_, err = blocks.Append(t.Context(), &core.Edit{Scope: ann, Block: block, Text: text})
			require.NoError(t, err)
		}
		require.NoError(t, x.DeleteSession(t.Context(), ann))
		require.Empty(t, x.history())
		_, err = x.Restore(t.Context(), ann, res.Messages)
		require.ErrorIs(t, err, backends.ErrNotFound)
		res, err = x.Fit(t.Context(), ann, []*schema.Message{schema.UserMessage("hi")})
		require.NoError(t, err)
		require.NotContains(t, res.Messages[0].Content, "Read everything.")
		require.Contains(t, res.Messages[0].Content, "Likes tea.", "the user's block is the user's")
		x.talk(1, 2)
		require.Len(t, x.history(), 2, "and it may begin again")

		none := backends.Scope{UserID: "ann"} // what was said without a session is deleted, too
		x.say(none, "a-0! user hi")
		require.NoError(t, x.DeleteSession(t.Context(), none))
		require.Empty(t, x.entries(none))
		require.NoError(t, x.DeleteSession(t.Context(), none))
		require.ErrorIs(t, x.DeleteSession(t.Context(), backends.Scope{}), backends.ErrNoScope)
	})
}

// Random conversations are said turn by turn, each in a run of its own that loads, fits, and
// goes on from what it was shown. Every context is valid, and restores to every word that
// was ever said.
func TestPropertyWhateverIsSaidIsRestored(t *testing.T) {
	testkit.SlowUnderRace(t)
	seeds := 30
	if testkit.Long() {
		seeds = 2000
	}
	for seed := range seeds {
		h := transcript.New(transcript.Seed(uint64(seed)), &transcript.Shape{Rounds: 8, Tokens: 800, Plain: true})
		x := newFixture(t, 4000, func(c *window.Config) {
			c.HistoryTokens = 1 << 30
			if seed%2 == 1 {
				c.Model = testkit.New(summarise)
			}
		})
		var head, said, turn []*schema.Message
		for i, m := range h.Messages {
			said = append(said, m)
			if m.Role == schema.System {
				head = append(head, m)
				continue
			}
			turn = append(turn, m)
			if i+1 < len(h.Messages) && (h.Messages[i+1].Role != schema.User || m.Role == schema.User) {
				continue
			}
			now := append(append([]*schema.Message{}, head...), x.history()...)
			for _, m := range turn {
				now = append(now, m)
				if m.Role == schema.Tool || len(m.ToolCalls) > 0 {
					continue // the results of all calls come first
				}
				res, err := x.Fit(t.Context(), ann, now)
				if err != nil {
					require.ErrorAs(t, err, new(*compaction.OverError))
				}
				require.NoError(t, transcript.Check(res.Messages))
				now = res.Messages
			}
			require.ElementsMatch(t, plain(said), plain(x.restore(now)), "seed %d", seed)
			x.turn(fmt.Sprint("turn", i), turn...)
			turn = nil
		}
	}
}

func TestRestoreReachesItsOwnSessionAlone(t *testing.T) {
	x := newFixture(t, 2000)
	in := task(3, 10)
	out, err := x.Restore(t.Context(), backends.Scope{}, in)
	require.NoError(t, err, "what nothing left needs no scope")
	require.Equal(t, in, out)
	require.Len(t, x.restore([]*schema.Message{nil, in[1]}), 2)
	require.Empty(t, x.restore(nil))

	res, err := x.Fit(t.Context(), ann, task(30, 100))
	require.NoError(t, err)
	for _, s := range []backends.Scope{{UserID: "bob", SessionID: "s1"}, session("s2"), {UserID: "ann"}} {
		_, err := x.Restore(t.Context(), s, res.Messages)
		require.ErrorIs(t, err, backends.ErrNotFound, "%+v", s)
	}
	_, err = x.Restore(t.Context(), backends.Scope{}, res.Messages)
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = x.Restore(t.Context(), ann, []*schema.Message{einox.Mark{Ref: "no such thing"}.On(schema.UserMessage("x"))})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Messages that a caller carries to another session are archived by what they say: the log
// of that session has something else at their numbers.
func TestMessagesCarriedToAnotherSessionKeepTheirWords(t *testing.T) {
	x := newFixture(t, 1000)
	x.talk(3, 60)
	x.say(session("s2"), "a-0 user one", "a-1! assistant two", "b-0 user three", "b-1! assistant four", "c-0 user five", "c-1! assistant six")
	loaded, err := x.Sessions().Load(t.Context(), &window.LoadRequest{Scope: ann})
	require.NoError(t, err)
	for _, said := range [][]*schema.Message{x.history(), loaded.Messages} {
		carried := append(said, schema.UserMessage(prose("question", 9, 200)))
		fitted, err := x.Fit(t.Context(), session("s2"), carried)
		require.NoError(t, err)
		require.Less(t, len(fitted.Messages), len(carried))
		restored, err := x.Restore(t.Context(), session("s2"), fitted.Messages)
		require.NoError(t, err)
		require.Equal(t, plain(carried), plain(restored))

		// In their own session they are in the log, and nothing is written.
		x.db.Arm(nil)
		fitted, err = x.Fit(t.Context(), ann, carried)
		require.NoError(t, err)
		require.Regexp(t, "^log-", einox.MarkOf(fitted.Messages[0]).Ref)
		require.NotContains(t, x.db.Calls(), "PutBlob")
		require.Equal(t, plain(carried), plain(x.restore(fitted.Messages)))
		_, err = x.Restore(t.Context(), session("s2"), fitted.Messages)
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
}

// A turn in parts, and one that was interrupted and is completed by another process.
func TestWhatWorkingMemoryWritesIsLoaded(t *testing.T) {
	x := newFixture(t, 8000)
	log := func() *working.Memory {
		m, err := working.New(t.Context(), &working.Config{Sessions: x.db, Backend: found(), Sweep: -1, Clock: x.clock.Now})
		require.NoError(t, err)
		return m
	}
	ask := []*schema.Message{schema.UserMessage("find it"), schema.AssistantMessage("", []schema.ToolCall{{ID: "x", Function: schema.FunctionCall{Name: "find", Arguments: "{}"}}})}
	rest := []*schema.Message{schema.ToolMessage("here", "x"), schema.AssistantMessage("found", nil)}
	one, other := log(), log()
	require.NoError(t, one.Append(t.Context(), &working.Turn{Scope: ann, ID: "a", Messages: ask}))
	require.NoError(t, one.Close(t.Context()))
	require.Len(t, x.history(), 3, "a result is made up")
	require.NoError(t, other.Append(t.Context(), &working.Turn{Scope: ann, ID: "b", Messages: testkit.Turn("and this?", "no"), Done: true}))
	require.NoError(t, other.Append(t.Context(), &working.Turn{Scope: ann, ID: "a", First: 2, Messages: rest}))
	require.NoError(t, other.Append(t.Context(), &working.Turn{Scope: ann, ID: "a", Messages: append(ask, rest...), Done: true}))
	require.NoError(t, other.Close(t.Context()))
	require.Equal(t, []string{"user: and this?", "assistant: no", "user: find it", "assistant: call x", "tool: here", "assistant: found"}, plain(x.history()))
}

// A session whose log outgrows the model's window: what is shown of it fits, and what is not
// shown can be put back.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()

	// What an agent said and read in an earlier run. Package working, hooks or middleware
	// write the log.
	page := strings.Repeat("The harbour is closed on Mondays. ", 500)
	ann := backends.Scope{UserID: "ann", SessionID: "harbour"}
	turns, err := working.New(ctx, &working.Config{Sessions: db, Backend: found()}) // any backends.Backend
	if err != nil {
		log.Fatal(err)
	}
	defer turns.Close(ctx)
	err = turns.Append(ctx, &working.Turn{Scope: ann, ID: "t1", Done: true, Messages: []*schema.Message{
		schema.UserMessage("When is the harbour closed?"),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "read", Arguments: `{"page":1}`}}}),
		schema.ToolMessage(page, "c1", schema.WithToolName("read")),
		schema.AssistantMessage("On Mondays.", nil),
	}})
	if err != nil {
		log.Fatal(err)
	}

	w, err := window.New(&window.Config{Sessions: db, Budget: compaction.Budget{Window: 1000}, HistoryTokens: 10_000})
	if err != nil {
		log.Fatal(err)
	}
	history, err := w.History(ctx, ann)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("loaded %d messages, too large: %v\n", len(history), w.Usage(history).Over() > 0)
	fitted, err := w.Fit(ctx, ann, append(history, schema.UserMessage("And on Tuesdays?")))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("shown %d messages, %d tokens at most: %v\n", len(fitted.Messages), fitted.After.Limit, fitted.After.Over() <= 0)
	full, err := w.Restore(ctx, ann, fitted.Messages)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("restored, word for word:", full[2].Content == page)
	// Output:
	// loaded 4 messages, too large: true
	// shown 5 messages, 813 tokens at most: true
	// restored, word for word: true
}
