// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/transcript"
)

// shelf is the archive of a session, on a store that fails on demand.
type shelf struct {
	*archive.Archive
	store *testkit.Store
}

var ann = backends.Scope{UserID: "ann", SessionID: "s1"}

func newShelf(t testing.TB) *shelf { return shelfOn(t, testkit.SQLite(t)) }

func shelfOn(t testing.TB, db store.Store) *shelf {
	s := &shelf{store: testkit.Spy(db)}
	all, err := archive.New(&archive.Config{Sessions: s.store})
	require.NoError(t, err)
	s.Archive, err = all.Of(ann)
	require.NoError(t, err)
	return s
}

// puts returns how many blobs were written.
func (s *shelf) puts() (n int) {
	for _, method := range s.store.Calls() {
		if method == "PutBlob" {
			n++
		}
	}
	return n
}

// held returns what stands under the reference of m.
func (s *shelf) held(t require.TestingT, m *schema.Message) []*schema.Message {
	out, err := s.Restore(context.Background(), []*schema.Message{m})
	require.NoError(t, err)
	return out
}

// log appends messages to the session's log, and returns them as loading it does.
func (s *shelf) log(t testing.TB, messages ...*schema.Message) []*schema.Message {
	a, out := &store.Append{Scope: ann}, slices.Clone(messages)
	for i, m := range messages {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint("t-", i), Turn: "t", Message: m}})
		out[i] = einox.Mark{Seq: int64(i + 1)}.On(m)
	}
	p, err := ann.Speaker()
	require.NoError(t, err)
	_, err = s.store.Append(context.Background(), p, ann.SessionID, a)
	require.NoError(t, err)
	return out
}

// chars counts four characters a token, and four tokens a message.
var chars = compaction.Counter(func(s string) int { return (len([]rune(s)) + 3) / 4 })

// window is a budget of so many tokens with nothing reserved.
func window(tokens int) compaction.Budget {
	return compaction.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1, Counter: chars}
}

// compacted runs steps, and checks what is always so: providers take the result, the
// request is as it was, what is reported is true, and everything can be restored.
func compacted(t require.TestingT, tokens int, messages []*schema.Message, s *shelf, steps ...compaction.Step) (*compaction.Result, error) {
	return compactedWith(t, &compaction.Config{Budget: window(tokens), Steps: steps}, messages, s)
}

func compactedWith(t require.TestingT, cfg *compaction.Config, messages []*schema.Message, s *shelf) (*compaction.Result, error) {
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	before := said(messages, true)
	r := &compaction.Request{Messages: messages}
	if s != nil {
		r.Archive = s
	}
	out, failure := c.Compact(context.Background(), r)
	require.NotNil(t, out)
	require.Equal(t, before, said(messages, true), "the request was changed")
	full, err := cfg.Budget.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, full.Usage(out.Messages), out.After)
	require.NoError(t, transcript.Check(append(slices.Clone(out.Messages), user("?"))))
	if s != nil {
		roomy := *cfg
		roomy.Budget.Window = 1 << 40
		c, err := compaction.New(&roomy)
		require.NoError(t, err)
		repaired, err := c.Compact(context.Background(), &compaction.Request{Messages: messages})
		require.NoError(t, err)
		want, err := s.Restore(context.Background(), repaired.Messages)
		require.NoError(t, err)
		got, err := s.Restore(context.Background(), out.Messages)
		require.NoError(t, err)
		require.Equal(t, said(want, false), said(got, false), "not all of it comes back")
	}
	return out, failure
}

// said shows messages as JSON: all of them with their marks, or what anybody said.
func said(messages []*schema.Message, all bool) (out []string) {
	for _, m := range messages {
		if m == nil || !all && (m.Role == schema.System || einox.MarkOf(m).Kind == einox.Note || einox.MarkOf(m).Kind == einox.Core) {
			continue
		}
		bare := *m
		bare.Content = strings.ToValidUTF8(m.Content, "\uFFFD") // as stored
		if bare.Extra, bare.ResponseMeta = nil, nil; all {
			bare.Name += fmt.Sprint(m.Extra)
		}
		text, _ := json.Marshal(&bare)
		out = append(out, string(text))
	}
	return out
}

func user(text string) *schema.Message { return schema.UserMessage(text) }

func reply(text string) *schema.Message { return schema.AssistantMessage(text, nil) }

// calls is an assistant's message that calls the tool "look" under each id.
func calls(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: `{"at":"` + id + `"}`}})
	}
	return m
}

func result(id, text string) *schema.Message {
	return schema.ToolMessage(text, id, schema.WithToolName("look"))
}

func marked(text string, mark einox.Mark) *schema.Message { return mark.On(schema.UserMessage(text)) }

func thinks(m *schema.Message, reasoning string) *schema.Message {
	n := *m
	n.ReasoningContent = reasoning
	return &n
}

// long is a text of so many tokens.
func long(tokens int) string { return strings.Repeat("abc ", tokens) }

// rounds are so many, each with a question, a call and an answer of 40 tokens each.
func rounds(from, n int) (out []*schema.Message) {
	for i := from; i < from+n; i++ {
		id := fmt.Sprint("c", i)
		out = append(out, user(fmt.Sprintf("question %d", i)), calls(id), result(id, long(40)), reply(long(40)))
	}
	return out
}

// steps are so many calls of a running round, each with a result of n tokens.
func steps(from, count, n int) (out []*schema.Message) {
	for i := from; i < from+count; i++ {
		id := fmt.Sprint("c", i)
		out = append(out, calls(id), result(id, long(n)))
	}
	return out
}

// shapeOf shows a context in short: s, u, a, t for the roles, ids of calls and results, *
// for memory's own, ^ for a placeholder.
func shapeOf(messages []*schema.Message) string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = string(m.Role[0])
		if m.Role == schema.Tool {
			out[i] += ":" + m.ToolCallID
		}
		for n := range m.ToolCalls {
			out[i] += map[bool]string{true: ":", false: ","}[n == 0] + m.ToolCalls[n].ID
		}
		if einox.IsNote(m) {
			out[i] += "*"
		}
		if einox.MarkOf(m).Ref != "" {
			out[i] += "^"
		}
	}
	return strings.Join(out, " ")
}

func TestNewRefuses(t *testing.T) {
	for name, cfg := range map[string]*compaction.Config{
		"no config":        nil,
		"no window":        {},
		"nothing left":     {Budget: compaction.Budget{Window: 10, Answer: 10}},
		"a trigger of 2":   {Budget: window(10), Trigger: 2},
		"a trigger below":  {Budget: window(10), Trigger: -0.5},
		"no trigger":       {Budget: window(10), Trigger: math.NaN()},
		"a tiny trigger":   {Budget: window(10), Trigger: 0.01},
		"a nil step":       {Budget: window(10), Steps: []compaction.Step{nil}},
		"another language": {Budget: window(10), Language: "fr"},
		"no model":         {Budget: window(10), Steps: []compaction.Step{compaction.SummarizeRounds{}}},
	} {
		_, err := compaction.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	_, err := compaction.New(&compaction.Config{Budget: window(49), Trigger: 1.0 / 49})
	require.NoError(t, err, "a share that is a number of tokens is that number, though 1.0/49*49 is less than 1")

	cfg := &compaction.Config{Budget: window(100), Steps: []compaction.Step{compaction.DropDerived{}}}
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	require.Zero(t, cfg.Trigger)
	cfg.Steps[0], cfg.Budget.Window = nil, 0
	_, err = c.Compact(t.Context(), &compaction.Request{Messages: []*schema.Message{user(long(200))}})
	require.ErrorAs(t, err, new(*compaction.OverError), "the configuration was copied")
	_, err = c.Compact(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestCompactLeavesWhatFits(t *testing.T) {
	s := newShelf(t)
	in := append(rounds(0, 3), marked("n", einox.Mark{Kind: einox.Note}), user("now"))
	full, err := compacted(t, 1<<20, in, s)
	require.NoError(t, err)
	out, err := compacted(t, full.Before.Tokens, in, s)
	require.NoError(t, err)
	require.Equal(t, in, out.Messages)
	require.Empty(t, out.Steps)
	require.Equal(t, out.Before, out.After)
	require.Zero(t, s.puts())
	out.Messages[0] = nil
	require.NotNil(t, in[0], "the slice is the caller's own")
}

func TestCompactReportsByHowMuchItDoesNotFit(t *testing.T) {
	in := []*schema.Message{schema.SystemMessage(long(500)), user(long(100))}
	out, err := compacted(t, 400, in, newShelf(t))
	var over *compaction.OverError
	require.ErrorAs(t, err, &over)
	require.Equal(t, &compaction.OverError{Tokens: 608, Limit: 400}, over)
	require.Equal(t, in, out.Messages, "the best there is")
	var names []string
	for _, s := range out.Steps {
		names = append(names, s.Step)
	}
	require.Equal(t, []string{"drop_derived", "offload_tools", "offload_messages", "shorten_input", "archive_rounds", "archive_current"}, names)
	require.Equal(t, compaction.Free(), compaction.Default(nil))
	all := compaction.Default(testkit.New())
	require.Equal(t, compaction.Free(), slices.Concat(all[:3], []compaction.Step{compaction.ShortenInput{}}, all[6:]), "the summaries come before what archives")
}

// Above the trigger the steps run, down to it; between it and the limit that is no error.
func TestCompactGoesDownToTheTrigger(t *testing.T) {
	in := []*schema.Message{user("look"), calls("x"), result("x", long(3000)), user("look"), calls("y"), result("y", long(3000)), user("and now?")}
	for trigger, want := range map[float64]int{1: 0, 0.8: 1, 0.3: 2, 0.01: 2} {
		cfg := &compaction.Config{Budget: window(7000), Trigger: trigger, Steps: []compaction.Step{compaction.OffloadTools{}}}
		out, err := compactedWith(t, cfg, in, newShelf(t))
		require.NoError(t, err)
		require.Equal(t, want, strings.Count(shapeOf(out.Messages), "^"), trigger)
		require.Equal(t, 7000, out.After.Limit)
	}
}

func TestCompactStopsAtTheFirstStepThatSuffices(t *testing.T) {
	in := append([]*schema.Message{user("a"), marked(long(500), einox.Mark{Kind: einox.Note}), user("a"), thinks(reply("b"), long(500))}, append(rounds(0, 5), user("now"))...)
	out, err := compacted(t, 600, in, newShelf(t))
	require.NoError(t, err)
	require.Equal(t, []compaction.Report{{Step: "drop_derived", Replaced: 2, Saved: out.Before.Tokens - out.After.Tokens}}, out.Steps)
}

// nowhere is an archive that gives a reference without keeping anything.
type nowhere string

func (n nowhere) Put(context.Context, []*schema.Message) (string, error) { return string(n), nil }

func TestNothingIsReplacedWithoutAReference(t *testing.T) {
	in := append(append([]*schema.Message{user(long(3000)), thinks(reply("a"), long(100)), user("b")}, steps(0, 3, 3000)...), reply("c"))
	for _, step := range compaction.Free() {
		if _, shortens := step.(compaction.ShortenInput); shortens { // see TestAPasteThatIsKeptNowhere
			continue
		}
		out, err := compacted(t, 20, in, nil, step)
		require.ErrorAs(t, err, new(*compaction.OverError))
		require.Equal(t, in, out.Messages, "%T", step)
		require.ErrorContains(t, out.Steps[0].Err, "no archive", "%T", step)
		require.ErrorContains(t, out.Steps[0].Err, out.Steps[0].Step)

		c, err := compaction.New(&compaction.Config{Budget: window(20), Steps: []compaction.Step{step}})
		require.NoError(t, err)
		out, err = c.Compact(t.Context(), &compaction.Request{Messages: in, Archive: nowhere("")})
		require.ErrorAs(t, err, new(*compaction.OverError))
		require.Equal(t, in, out.Messages, "%T", step)
		require.ErrorIs(t, out.Steps[0].Err, backends.ErrInvalid, "%T", step)
		out, err = c.Compact(t.Context(), &compaction.Request{Messages: append(rounds(0, 3), user("go")), Archive: nowhere(strings.Repeat("x", 4000))})
		require.ErrorAs(t, err, new(*compaction.OverError))
		require.Equal(t, append(rounds(0, 3), user("go")), out.Messages, "%T: no placeholder is larger for its reference", step)

		out, err = compacted(t, 10, []*schema.Message{schema.SystemMessage(long(30)), user("b")}, nil, step)
		require.ErrorAs(t, err, new(*compaction.OverError))
		require.Equal(t, []compaction.Report{{Step: out.Steps[0].Step}}, out.Steps, "there was nothing to do")
	}
}

func TestCompactEndsWithItsContext(t *testing.T) {
	c, err := compaction.New(&compaction.Config{Budget: window(1000)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in := append(rounds(0, 20), calls("x"))
	out, err := c.Compact(ctx, &compaction.Request{Messages: in, Archive: newShelf(t)})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, out.Steps)
	require.Len(t, out.Messages, len(in)+1, "valid, if not small")
	out, err = c.Compact(ctx, &compaction.Request{Messages: in[:2]})
	require.NoError(t, err, "there was nothing to do")
	require.Len(t, out.Messages, 3)
}

func TestPlaceholdersSpeakTheLanguage(t *testing.T) {
	for name, tc := range map[string]struct {
		language backends.Language
		said     string
		want     string
	}{
		"as the user does": {"", "请帮我查一下 PDF", "无结果"},
		"english":          {backends.LanguageAuto, "look at 东京 for me", "No result"},
		"configured":       {backends.Chinese, "look", "无结果"},
		"the other":        {backends.English, "请帮我查一下", "No result"},
	} {
		out, err := compactedWith(t, &compaction.Config{Budget: window(1000), Language: tc.language}, []*schema.Message{user(tc.said), calls("x")}, nil)
		require.NoError(t, err)
		require.Contains(t, out.Messages[2].Content, tc.want, name)
	}
	out, err := compacted(t, 250, append(rounds(0, 5), user("现在呢？")), newShelf(t), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "已移入归档：较早的对话")
	require.Contains(t, out.Messages[0].Content, "调用过的工具：look × ")
}

// A result of a tool that does not fit leaves the context, and is found again.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	kept, err := archives.Of(backends.Scope{UserID: "ann", SessionID: "s1"})
	if err != nil {
		panic(err)
	}

	quarters := compaction.Counter(func(text string) int { return len(text) / 4 }) // a real tokenizer is better
	compactor, err := compaction.New(&compaction.Config{Budget: compaction.Budget{Window: 8000, Counter: quarters}, Steps: compaction.Free()})
	if err != nil {
		panic(err)
	}
	call := schema.ToolCall{ID: "c1", Function: schema.FunctionCall{Name: "read_log", Arguments: `{"day":"monday"}`}}
	result, err := compactor.Compact(ctx, &compaction.Request{Archive: kept, Messages: []*schema.Message{
		schema.UserMessage("When did the server stop?"),
		schema.AssistantMessage("", []schema.ToolCall{call}),
		schema.ToolMessage(strings.Repeat("10:00 all is well\n", 20_000), "c1"),
	}})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Before.Tokens, "tokens, now", result.After.Tokens, "of", result.After.Limit)
	fmt.Println(result.Messages[2].Content[:80])

	original, err := kept.Restore(ctx, result.Messages)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(original[2].Content), "bytes are kept")
	// Output:
	// 90024 tokens, now 184 of 6500
	// [Moved to the archive: the result of read_log({"day":"monday"}), about 90004 tok
	// 360000 bytes are kept
}

// The free steps alone, on a history with half a million tokens: without a store, and with
// the writes to SQLite (a file, synchronous=FULL).
func BenchmarkFree(b *testing.B) {
	// 600 messages of 30 to 200 bytes, with ten results of 50,000 tokens. No two seeds make the
	// same.
	reports := func(seed uint64) []*schema.Message {
		rnd := rand.New(rand.NewPCG(seed, 1))
		report := func(n int) string {
			var b strings.Builder
			for line := 1; b.Len() < n; line++ {
				fmt.Fprintf(&b, "%05d ship %04x berth %d, cargo of %d tonnes\n", line, rnd.IntN(1<<16), rnd.IntN(40), rnd.IntN(9000))
			}
			return b.String()[:n]
		}
		out := []*schema.Message{schema.SystemMessage("You are a helpful assistant.")}
		for i := range 300 {
			out = append(out, user(report(30+rnd.IntN(170))))
			if i%30 == 15 {
				out = append(out, calls(fmt.Sprint("call_", i)), result(fmt.Sprint("call_", i), report(200_000)))
			}
			out = append(out, reply(report(30+rnd.IntN(170))))
		}
		return append(out, user("Which ship was it?"))
	}
	compactor, err := compaction.New(&compaction.Config{Budget: compaction.Budget{Window: 20_000, Answer: -1, Tools: -1, Memories: -1}})
	require.NoError(b, err)
	db, err := sqlitestore.Open(b.Context(), filepath.Join(b.TempDir(), "em.db"), nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	for name, keep := range map[string]compaction.Archive{"memory": nowhere("a-aaaaaaaaaaaaaaaaaaaa"), "sqlite": shelfOn(b, db)} {
		b.Run(name, func(b *testing.B) {
			seed := uint64(0)
			for b.Loop() {
				b.StopTimer() // new content each time: what is stored already costs less
				seed++
				messages := reports(seed)
				b.StartTimer()
				out, err := compactor.Compact(b.Context(), &compaction.Request{Messages: messages, Archive: keep})
				if err != nil || out.Before.Tokens < 400_000 {
					b.Fatal(out.Before, out.After, errors.Join(err))
				}
			}
		})
	}
}
