// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "hunter2Zq9"

var (
	ctx     = context.Background()
	team    = backends.Scope{Workspace: "team"}
	inTeam  = backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionWorkspace, ID: "team"}
	start   = testkit.NewClock().Now()
	errDown = fmt.Errorf("down: %w", backends.ErrUnavailable)
)

// rig is a memory on a store of its own, or on that of another rig.
type rig struct {
	*Memory
	store    *testkit.Store
	clock    *testkit.Clock
	embedder *testkit.Embedder
	redactor func(string) string
	limits   ask.Limits
	prompt   int
	lang     backends.Language
	report   func(context.Context, error) // by default into errs
	size     int                          // of the queue of a recorder
	pause    time.Duration                // of a recorder

	mu   sync.Mutex
	errs []error // that OnError reported
}

// newRig returns a memory whose model is m, if that is not nil.
func newRig(t testing.TB, m model.BaseChatModel, options ...func(*rig, *Config)) *rig {
	t.Helper()
	r, c := &rig{clock: testkit.NewClock(), prompt: 12_000}, &Config{}
	for _, o := range options {
		o(r, c)
	}
	if r.store == nil {
		r.store = testkit.Spy(testkit.SQLite(t))
	}
	rc := &recall.Config{Records: r.store, Keys: keeper.Keys, Clock: r.clock.Now}
	if r.embedder != nil {
		rc.Embedder, rc.EmbeddingModel = r.embedder, "hash"
	}
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	kc := &keeper.Config{Name: "test", Store: r.store, Ranker: ranker, Clock: r.clock.Now, Redact: r.redactor}
	k, err := keeper.New(kc)
	require.NoError(t, err)
	var asked *ask.Model
	if m != nil {
		asked, err = ask.New(&ask.Config{Name: "test", Model: m, Concurrency: 4})
		require.NoError(t, err)
	}
	if r.report == nil {
		r.report = func(_ context.Context, err error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errs = append(r.errs, err)
		}
	}
	r.Memory, err = New(*c, learning(learner.Learner{Keeper: k, Model: asked, Limits: r.limits, Prompt: r.prompt, Language: r.lang, OnError: r.report}))
	require.NoError(t, err)
	r.queue, r.backoff = cmp.Or(r.size, r.queue), cmp.Or(r.pause, r.backoff)
	return r
}

// beside has a rig use the store and the clock of another.
func beside(other *rig) func(*rig, *Config) {
	return func(r *rig, _ *Config) { r.store, r.clock = other.store, other.clock }
}

func (r *rig) record(t testing.TB, calls ...Call) *RecordResponse {
	t.Helper()
	resp, err := r.Record(ctx, &RecordRequest{Scope: team, Calls: calls})
	require.NoError(t, err)
	return resp
}

func (r *rig) tool(t testing.TB, name string) Tool {
	t.Helper()
	resp, err := r.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{name}, WithCalls: true, Last: maxLast})
	require.NoError(t, err)
	require.Len(t, resp.Tools, 1)
	return resp.Tools[0]
}

func (r *rig) force(t testing.TB, names ...string) *SummaryResponse {
	t.Helper()
	resp, err := r.Summarize(ctx, &SummaryRequest{Scope: team, Tools: names, Force: true})
	require.NoError(t, err)
	return resp
}

type object = map[string]any

// call is the nth call of a tool: all different, all useful.
func call(tool string, n int) Call {
	return Call{Tool: tool, Time: start.Add(time.Duration(n) * time.Second), Input: object{"q": fmt.Sprint("question ", n)}, Output: fmt.Sprint("answer ", n), Took: time.Second, Tokens: 10}
}

func calls(tool string, from, upto int) []Call {
	var out []Call
	for n := from; n < upto; n++ {
		out = append(out, call(tool, n))
	}
	return out
}

// answering is a model whose answers depend on the material; text hides that it can call
// tools.
func answering(think func(tool, user string) string) *testkit.Chat {
	return testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		if len(o.Tools) == 0 {
			return schema.AssistantMessage(think("", in[1].Content), nil), nil
		}
		name := o.Tools[0].Name
		return testkit.Call("1", name, think(name, in[1].Content))(nil, nil, nil)
	})
}

// inside returns what stands between the marks of a prompt.
func inside(t testing.TB, user, mark string) string {
	t.Helper()
	_, rest, opened := strings.Cut(user, "<"+mark+">\n")
	body, _, closed := strings.Cut(rest, "\n</"+mark+">")
	require.True(t, opened && closed, mark)
	return body
}

func score(f float64) *float64 { return &f }

func TestACallIsStoredWithItsFields(t *testing.T) {
	r := newRig(t, nil)
	resp := r.record(t, Call{
		ID: "c1", Time: start, Tool: "search", Input: object{"q": "tea", "n": json.Number("2.0")}, Output: "two results", Took: 1500 * time.Millisecond, Tokens: 42,
		Score: score(1), Judge: "ann", Summary: "s", Evaluation: "e", Summarized: true, Metadata: object{"k": "v"},
	})
	assert.Equal(t, []RecordedCall{{ID: "c1", Tool: "search", Outcome: backends.OutcomeAdded}}, resp.Calls)
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageStore).Out)
	text, err := json.Marshal(r.tool(t, "search").Calls[0])
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"c1","create_time":"2026-03-07T12:00:00Z","tool_name":"search","input":{"q":"tea","n":2.0},"output":"two results","token_cost":42,"success":true,
		"time_cost":1.5,"summary":"s","evaluation":"e","score":1,"judged_by":"ann","is_summarized":true,"call_hash":"a831ae78-ef3f-8198-84f4-899b3646fcfc","metadata":{"k":"v"}}`, string(text))
	assert.Contains(t, string(text), `"n":2.0`)
}

func TestLinesOfReMeAreRead(t *testing.T) {
	var c Call
	require.NoError(t, json.Unmarshal([]byte(`{"tool_name":"x","input":"q","output":"o"}`), &c))
	assert.Equal(t, Call{Tool: "x", Input: "q", Output: "o", Tokens: -1}, c, "ReMe's defaults: success, tokens unknown")
	line := `{"create_time":"2026-03-01 10:11:12","tool_name":"x","input":{"a":1},"output":"o","token_cost":5,"success":false,"time_cost":0.25,"summary":"","evaluation":"","score":0.0,"is_summarized":false,"call_hash":"h","metadata":{}}`
	require.NoError(t, json.Unmarshal([]byte(line), &c))
	assert.Equal(t, Call{Time: time.Date(2026, 3, 1, 10, 11, 12, 0, time.UTC), Tool: "x", Input: object{"a": json.Number("1")}, Output: "o", Failed: true, Took: 250 * time.Millisecond, Tokens: 5, Score: score(0), Hash: "h"}, c)
	for _, bad := range []string{`{"create_time":"yesterday"}`, `{"success":"maybe"}`, `[]`, `{"score":"x"}`} {
		require.ErrorIs(t, json.Unmarshal([]byte(bad), &c), backends.ErrInvalid, bad)
	}
}

// The vectors were computed with ReMe.
func TestRepeatsHaveOneHash(t *testing.T) {
	first, again := hashOf(object{"a": json.Number("1"), "b": "x"}, "ok"), hashOf(object{"b": "x", "a": json.Number("1")}, "ok")
	assert.Equal(t, first, again)
	for _, other := range []string{hashOf(object{"a": json.Number("1"), "b": "x"}, "no"), hashOf("plain text", "ok"), hashOf("plain text", "out")} {
		assert.NotEqual(t, first, other)
		first = other
	}
}

func TestCallsOfTheContractAreConverted(t *testing.T) {
	for name, tc := range map[string]struct {
		in   backends.ToolCall
		want Call
	}{
		"an object": {backends.ToolCall{ID: "1", Tool: "x", Arguments: `{"n":1.50}`, Result: "ok", Time: start, Took: time.Second, Tokens: 3},
			Call{ID: "1", Tool: "x", Input: object{"n": json.Number("1.50")}, Output: "ok", Time: start, Took: time.Second, Tokens: 3}},
		"no object":     {backends.ToolCall{Tool: "x", Arguments: `[1]`, Result: "ok"}, Call{Tool: "x", Input: "[1]", Output: "ok"}},
		"no JSON":       {backends.ToolCall{Tool: "x", Arguments: `{"n":`, Result: "ok"}, Call{Tool: "x", Input: `{"n":`, Output: "ok"}},
		"two values":    {backends.ToolCall{Tool: "x", Arguments: `{} {}`, Result: "ok"}, Call{Tool: "x", Input: `{} {}`, Output: "ok"}},
		"a failure":     {backends.ToolCall{Tool: "x", Arguments: `q`, Error: "boom"}, Call{Tool: "x", Input: "q", Output: "boom", Error: "boom", Failed: true}},
		"half a result": {backends.ToolCall{Tool: "x", Arguments: `q`, Result: "half", Error: "boom"}, Call{Tool: "x", Input: "q", Output: "half", Error: "boom", Failed: true}},
		"no arguments":  {backends.ToolCall{Tool: "x", Result: "ok"}, Call{Tool: "x", Input: "", Output: "ok"}},
		"no result":     {backends.ToolCall{Tool: "x", Arguments: "{}"}, Call{Tool: "x", Input: object{}}},
	} {
		got := callOf(&tc.in)
		assert.Equal(t, tc.want, got, name)
		r := newRig(t, nil)
		r.record(t, got)
		assert.Len(t, r.tool(t, "x").Calls, 1, name)
	}
	big := callOf(&backends.ToolCall{Tool: "x", Arguments: `{"list":["` + strings.Repeat("x", 1<<20) + `"]}`, Result: strings.Repeat("长", 1<<20)})
	assert.LessOrEqual(t, len(readable(big.Input))+len(big.Output), 2*maxText+100, "what may wait in a queue is bounded")
}

// ReMe's own example is of October 2025: it must not disappear without a word.
func TestEachCallThatCannotBeStoredIsReportedAndTheOthersAreStored(t *testing.T) {
	r := newRig(t, nil)
	loop := object{}
	loop["me"] = loop
	bad := []Call{
		{Tool: "search", Input: "x", Time: time.Date(2025, 10, 21, 10, 30, 0, 0, time.UTC)}, {Tool: "search", Input: "x", Time: start.Add(25 * time.Hour)},
		{Input: "no name", Output: "x"}, {Tool: "  ", Input: "x"}, {Tool: "search"}, {Tool: "search", Input: ""}, {Tool: strings.Repeat("x", 2000), Input: "x"},
		{Tool: "search", Input: loop}, {Tool: "search", Input: func() {}}, {Tool: "search", Input: "x", Metadata: loop}, {Tool: "search", Input: "x", ID: strings.Repeat("x", 2000)},
		{Tool: "search", Input: object{"n": json.Number("abc")}}, {Tool: "search", Input: json.RawMessage("{")},
	}
	good := []Call{call("search", 1), {Tool: "fetch", Output: "only an output"}, {Tool: "fetch", Input: "only an input"}}
	resp := r.record(t, append(slices.Clone(bad), good...)...)
	require.Len(t, resp.Calls, len(bad)+len(good))
	for i, c := range resp.Calls[:len(bad)] {
		assert.Equal(t, backends.OutcomeFailed, c.Outcome, i)
		require.ErrorIs(t, c.Err, backends.ErrInvalid)
		assert.NotEmpty(t, c.Reason)
	}
	assert.Contains(t, resp.Calls[0].Reason, "the call of 2025-10-21T10:30:00Z is older than the 2160h0m0s for which calls are kept: raise Config.Keep")
	for _, c := range resp.Calls[len(bad):] {
		assert.Equal(t, backends.OutcomeAdded, c.Outcome)
		require.NoError(t, c.Err)
	}
	assert.Equal(t, len(bad), testkit.Stage(resp.Report, stageStore).Failed)
	assert.Len(t, r.tool(t, "fetch").Calls, 2)

	resp, err := r.Record(ctx, &RecordRequest{Scope: team, Calls: bad[:2]})
	require.ErrorIs(t, err, backends.ErrInvalid, "none of them")
	assert.Len(t, resp.Calls, 2)
	resp, err = r.Record(ctx, &RecordRequest{Scope: team})
	require.NoError(t, err, "of none")
	assert.Empty(t, resp.Calls)
}

func TestAnIDIsStoredOnceAndRepeatsUnderOthersAreCounted(t *testing.T) {
	r := newRig(t, nil)
	c := call("fetch", 0)
	c.ID, c.Input, c.Output, c.Error = "same", object{"url": "x"}, "", "timeout after 30s"
	r.record(t, c, c)
	r.record(t, c, call("fetch", 9))
	assert.Len(t, r.tool(t, "fetch").Calls, 2)
	for n := range 5 {
		c.ID, c.Time = "", start.Add(time.Duration(n)*time.Second)
		r.record(t, c)
	}
	s := r.tool(t, "fetch").Statistics
	assert.Equal(t, 7, s.Calls)
	assert.InDelta(t, 0.1429, s.SuccessRate, 0, "1 of 7: repeats are calls")
	assert.Equal(t, 5, s.Repeats)
	assert.Equal(t, 5, s.FailingRepeats)
}

func TestTextsAreShortenedAndRepeatsKnownAllTheSame(t *testing.T) {
	r := newRig(t, nil)
	big := strings.Repeat("天气", 100_000)
	first := Call{ID: "a", Time: start, Tool: "x", Input: object{"q": big, "n": 1}, Output: big, Error: big}
	again, other := first, first
	again.ID, other.ID, other.Output = "b", "c", big[:300_000]+"!"+big[300_000:]
	r.record(t, first, again, other, Call{Tool: "x", Time: start, Input: big, Output: "ok"},
		Call{Tool: "x", Time: start, Input: object{"list": strings.Split(strings.Repeat("word ", 5000), " ")}, Output: "ok"})
	got := r.tool(t, "x")
	for _, c := range got.Calls {
		text, err := json.Marshal(c)
		require.NoError(t, err)
		assert.Less(t, len([]rune(string(text))), 12<<10, c.ID)
		assert.Regexp(t, `\[…\d+…\]`, string(text))
		assert.NotContains(t, string(text), "\uFFFD")
	}
	require.IsType(t, object{}, got.Calls[0].Input, "an object stays one if its texts can be shortened")
	assert.Contains(t, got.Calls[0].Input, "n")
	assert.True(t, strings.HasPrefix(got.Calls[0].Output, "天气天气") && strings.HasSuffix(got.Calls[0].Output, "天气"))
	assert.Equal(t, 1, got.Statistics.Repeats, "repeats are known whatever was left out")
}

func TestOddNumbersOfCalls(t *testing.T) {
	r := newRig(t, nil)
	r.record(t, Call{Tool: "x", Input: "a", Tokens: -7, Took: -time.Second, Score: score(math.NaN())}, Call{Tool: "x", Input: "four words of text", Output: "b", Score: score(0.7)})
	got := r.tool(t, "x").Calls
	assert.Equal(t, -1, got[0].Tokens)
	assert.Zero(t, got[0].Took)
	assert.Zero(t, *got[0].Score)
	assert.InDelta(t, 1, *got[1].Score, 0, "0 or 1, as ReMe makes it")
	assert.Positive(t, got[1].Tokens, "an estimate")
}

func TestOddNamesAreToolsOfTheirOwn(t *testing.T) {
	r := newRig(t, nil)
	odd := []string{
		"a/b", "a%2Fb", "a b", "../../etc", "*", "a!b", "搜索", "тест", "😀", "a,b", "<tool_experience>", "x\ny", "a\x00b", `"; drop table`, "tool/x/2026-03", "A", "a", ".", "..",
		strings.Repeat("长", 26), strings.Repeat("长", 25) + "短", strings.Repeat("x", 240),
	}
	for i, name := range odd {
		r.record(t, call(name, i))
	}
	all, err := r.Retrieve(ctx, &RetrieveRequest{Scope: team, WithCalls: true})
	require.NoError(t, err)
	found := map[string]string{}
	for _, tool := range all.Tools {
		require.Len(t, tool.Calls, 1, tool.Name)
		found[tool.Name] = tool.Calls[0].Output
	}
	for i, name := range odd {
		assert.Equal(t, fmt.Sprint("answer ", i), found[name], name)
	}
	assert.Len(t, r.force(t).Tools, len(odd))
	sessions, err := r.store.List(ctx, store.SessionQuery{Partition: &inTeam})
	require.NoError(t, err)
	for _, s := range sessions.Sessions {
		assert.False(t, s.Pending(), "calls are no material for other backends: %s", s.ID)
		assert.False(t, s.Expires.IsZero(), "and expire")
	}
}

func TestEachMonthHasALogAndOldOnesAreNotRead(t *testing.T) {
	r := newRig(t, nil)
	old, older := call("x", 0), call("x", 0)
	old.Time, older.Time = start.AddDate(0, -1, 0), start.AddDate(0, -2, 0)
	old.Output, older.Output = "february", "january"
	r.record(t, call("x", 1), old, older)
	var ids []string
	sessions, err := r.store.List(ctx, store.SessionQuery{Partition: &inTeam})
	require.NoError(t, err)
	for _, s := range sessions.Sessions {
		ids = append(ids, s.ID)
	}
	assert.ElementsMatch(t, []string{"tool/x/2026-01", "tool/x/2026-02", "tool/x/2026-03"}, ids)
	got := r.tool(t, "x")
	require.Len(t, got.Calls, 3)
	assert.Equal(t, "january", got.Calls[0].Output)
	assert.EqualValues(t, 3, got.Statistics.Total)
	_, err = r.store.Append(ctx, inTeam, "tool/x/2026-03", &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: "m", Turn: "t", Time: start, Message: schema.UserMessage("not JSON")}}}, Learnt: true})
	require.NoError(t, err)
	assert.Len(t, r.tool(t, "x").Calls, 3, "messages of another program are left out")

	r.clock.Advance(200 * 24 * time.Hour)
	_, err = r.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{"x"}})
	require.ErrorIs(t, err, backends.ErrNotFound)
}

// Whatever a tool is called and whenever it is called, its log is found again.
func TestLogsOfToolsAndMonths(t *testing.T) {
	r, seen := newRig(t, nil), map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		r.clock.Set(time.Unix(rapid.Int64Range(1.6e9, 2e9).Draw(t, "now"), 0))
		r.cfg.Keep = time.Duration(rapid.Int64Range(1, int64(maxKeep)).Draw(t, "keep"))
		all := r.months()
		require.True(t, slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }), "newest first")
		require.Len(t, slices.Compact(slices.Clone(all)), len(all))
		when := r.clock.Now().Add(-time.Duration(rapid.Int64Range(-int64(clockSkew), int64(r.cfg.Keep)).Draw(t, "age")))
		require.Contains(t, all, monthOf(when))

		name := rapid.StringN(1, 30, -1).Draw(t, "tool")
		id := logName(name, monthOf(when))
		require.NoError(t, store.ValidateSession(id), id)
		require.Contains(t, []string{"", name}, seen[id], "two tools share a log")
		seen[id] = name
		tool, month, ok := toolOfLog(id)
		require.True(t, ok)
		require.Equal(t, name, tool)
		require.Equal(t, monthOf(when), month)
	})
	for _, id := range []string{"", "x", "tool/x", "tool/x/2026", "tool/x/2026-13", "tool/x/y/2026-03", "tool/%zz/2026-03", "Tool/x/2026-03"} {
		_, _, ok := toolOfLog(id)
		assert.False(t, ok, id)
	}
}

func TestAWorkspaceAndARequestAreRequired(t *testing.T) {
	r := newRig(t, nil)
	_, err := r.Record(ctx, &RecordRequest{Scope: backends.Scope{UserID: "ann"}, Calls: calls("x", 0, 1)})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = r.Record(backends.WithScope(ctx, team), &RecordRequest{Calls: calls("x", 0, 1)})
	require.NoError(t, err, "the context's scope does, too")
	_, err = r.Retrieve(ctx, &RetrieveRequest{Scope: backends.Scope{Workspace: "other"}, Tools: []string{"x"}})
	require.ErrorIs(t, err, backends.ErrNotFound, "no workspace sees another's")
	_, noRecord := r.Record(ctx, nil)
	_, noSummary := r.Summarize(ctx, nil)
	_, noRetrieve := r.Retrieve(ctx, nil)
	_, last := r.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{"x"}, Last: -1})
	for _, err := range []error{noRecord, noSummary, noRetrieve, last} {
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	for _, c := range []Config{
		{Window: -1}, {Keep: -1}, {History: 10_001}, {Keep: 20 * 366 * 24 * time.Hour},
	} {
		_, err := New(c, learning(learner.Learner{Keeper: r.keeper, Prompt: 12_000}))
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	m, err := New(Config{}, learning(learner.Learner{Keeper: r.keeper, Prompt: 12_000}))
	require.NoError(t, err)
	assert.NotPanics(t, func() { m.notify(ctx, errDown) })
}

func TestNoSecretIsStoredOrShownToAModel(t *testing.T) {
	m := answering(func(_, user string) string {
		assert.NotContains(t, user, secret)
		return `{"guideline":"use password: ` + secret + ` for it"}`
	})
	r := newRig(t, m)
	for _, text := range []string{`{"password": "` + secret + `"}`, `Authorization: Bearer ` + secret, `postgres://ann:` + secret + `@db.example/x`, `密码是` + secret + `，请登录`} {
		c := Call{Tool: "login", Input: object{"q": text, "credentials": object{"user": "ann", "pin": 47110815}}, Output: text, Error: text, Metadata: object{"note": text, "secret": secret}, Judge: text}
		r.record(t, c)
		c.Input = text
		r.record(t, c)
	}
	r.record(t, callOf(&backends.ToolCall{Tool: "login", Arguments: `{"password":"` + secret + `","api_key":["` + secret + `"]}`, Result: "ok"}))
	got := r.force(t, "login").Tools[0]
	assert.Contains(t, got.Guideline, "[redacted:password]")
	stored := []any{got}
	entries, err := r.store.Read(ctx, inTeam, "tool/login/2026-03", store.Range{Limit: 100})
	require.NoError(t, err)
	for i := range entries {
		stored = append(stored, entries[i].Content)
	}
	text, err := json.Marshal(stored)
	require.NoError(t, err)
	assert.NotContains(t, string(text), secret)
	assert.NotContains(t, string(text), "47110815")
	last := r.tool(t, "login").Calls[8]
	assert.Equal(t, object{"password": "[redacted]", "api_key": "[redacted]"}, last.Input)
	assert.Equal(t, hashOf(last.Input, "ok"), last.Hash, "no hash of a secret either")
	assert.Equal(t, "password: [redacted:password]", r.redact("password: "+secret))
}

func TestARedactorThatPanicsIsAnError(t *testing.T) {
	on := ""
	m := answering(func(string, string) string { return `{"guideline":"a text"}` })
	r := newRig(t, m, func(r *rig, _ *Config) {
		r.redactor = func(s string) string {
			if on != "" && strings.Contains(s, on) {
				panic("boo")
			}
			return s
		}
	})
	r.record(t, call("a", 1))
	on = "a text"
	summary, err := r.Summarize(ctx, &SummaryRequest{Scope: team, Tools: []string{"a"}, Force: true})
	require.ErrorContains(t, err, "boo")
	assert.Equal(t, backends.OutcomeFailed, summary.Tools[0].Outcome)
	on = "answer 1"
	_, err = r.Retrieve(ctx, &RetrieveRequest{Scope: team, Tools: []string{"a"}})
	require.ErrorContains(t, err, "boo")
}

func TestAStoreThatFailsIsAnErrorAndLeavesAllValid(t *testing.T) {
	retrieve := func(q RetrieveRequest) func(r *rig) error {
		q.Scope = team
		return func(r *rig) error { _, err := r.Retrieve(ctx, &q); return err }
	}
	record := func(r *rig) error {
		_, err := r.Record(ctx, &RecordRequest{Scope: team, Calls: calls("new", 0, 12)})
		return err
	}
	summarize := func(r *rig) error {
		_, err := r.Summarize(ctx, &SummaryRequest{Scope: team, Force: true})
		return err
	}
	for name, tc := range map[string]struct {
		methods []string
		run     func(*rig) error
	}{
		"Record":            {[]string{"Append"}, record},
		"Summarize":         {[]string{"List", "Get", "Session", "Read", "Apply"}, summarize},
		"Retrieve by name":  {[]string{"Get", "Session", "Read"}, retrieve(RetrieveRequest{Tools: []string{"old"}})},
		"Retrieve by query": {[]string{"Changes", "Get", "Session", "Read"}, retrieve(RetrieveRequest{Query: "guideline of old"})},
		"Retrieve all":      {[]string{"List", "Changes", "Session"}, retrieve(RetrieveRequest{})},
	} {
		for _, method := range tc.methods {
			t.Run(name+" when "+method+" fails", func(t *testing.T) {
				plain := newRig(t, writer(t))
				plain.record(t, calls("old", 0, 12)...)
				plain.force(t)
				r := newRig(t, writer(t), beside(plain))
				r.store.FailOn(errDown, method)
				err := tc.run(r)
				require.ErrorIs(t, err, backends.ErrUnavailable)
				require.NotErrorIs(t, err, backends.ErrNotFound)
				r.store.Arm(nil)
				assert.Len(t, plain.tool(t, "old").Calls, 12, "what was there is there")
				assert.Equal(t, "guideline 1 of old", plain.tool(t, "old").Guideline)
				require.NoError(t, tc.run(r), "it works once the store does")
			})
		}
	}
}

func TestAPartlyStoredRequestSaysWhatIsStored(t *testing.T) {
	r := newRig(t, nil)
	old, recent := call("x", 0), call("x", 1)
	old.ID, old.Time, recent.ID = "old", start.AddDate(0, -1, 0), "recent"
	appends := 0
	r.store.Arm(func(c *testkit.StoreCall) error {
		if c.Method != "Append" {
			return nil
		}
		if appends++; appends == 1 {
			return nil
		}
		return errDown
	})
	req := &RecordRequest{Scope: team, Calls: []Call{recent, old}}
	resp, err := r.Record(ctx, req)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.ElementsMatch(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeFailed}, []backends.Outcome{resp.Calls[0].Outcome, resp.Calls[1].Outcome})
	require.Error(t, testkit.Failed(resp.Report))
	r.store.FailOn(errDown, "Get")
	req.Calls = append(req.Calls, calls("x", 0, 12)...)
	resp, err = r.Record(ctx, req)
	require.NoError(t, err, "that it is unknown what is due is no error of recording")
	assert.Empty(t, resp.Due)
	require.ErrorIs(t, testkit.Stage(resp.Report, stageDue).Err, backends.ErrUnavailable)
	r.store.Arm(nil)
	assert.Len(t, r.tool(t, "x").Calls, 14, "a repeat stores the rest")
}

// FuzzCall reads any line as a call: what is read is recorded or refused with a reason, and
// what was recorded reads back as it was written.
func FuzzCall(f *testing.F) {
	for _, s := range []string{
		`{"tool_name":"x","input":{"a":[1,2.0,{"b":null}]},"output":"o","success":false,"time_cost":1e300,"token_cost":-9,"score":7}`,
		`{"tool_name":"x","input":"","output":""}`, `{"tool_name":" ","input":1}`, `{"tool_name":"a/b!","input":[],"metadata":{"password":"hunter2"}}`,
		`{"create_time":"2026-03-05T10:00:00Z","tool_name":"长","input":"\ud800","call_hash":"\u0000"}`, `{"tool_name":"x","output":"Error: boom","id":"é"}`, `[]`, `{"input":1e999,"tool_name":"n"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var c Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return
		}
		r := newRig(t, nil)
		resp, err := r.Record(ctx, &RecordRequest{Scope: team, Calls: []Call{c}})
		require.Len(t, resp.Calls, 1)
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			require.NotEmpty(t, resp.Calls[0].Reason)
			return
		}
		got := r.tool(t, resp.Calls[0].Tool)
		require.Len(t, got.Calls, 1)
		text, err := json.Marshal(got.Calls[0])
		require.NoError(t, err)
		var back Call
		require.NoError(t, json.Unmarshal(text, &back))
		require.Equal(t, got.Calls[0], back)
		require.NotNil(t, back.Score)
		r.force(t, got.Name)
		require.NotEmpty(t, r.tool(t, got.Name).Guideline)
	})
}

// What is known equals what a plain list of calls says, whatever the order of requests.
func TestAMemoryKnowsWhatAListWould(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, nil)
		known, covered := map[string][]Call{}, map[string]int{}
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "tool")
			if rapid.IntRange(0, 3).Draw(rt, "what") == 0 && len(known[name]) > 0 {
				r.force(t, name)
				covered[name] = len(known[name])
				continue
			}
			var some []Call
			for range rapid.IntRange(1, 6).Draw(rt, "calls") {
				c := call(name, rapid.IntRange(0, 40).Draw(rt, "n"))
				c.ID = fmt.Sprint(c.Time.Unix())
				if rapid.Bool().Draw(rt, "failed") {
					c.ID, c.Output, c.Error = c.ID+"f", "", "timeout"
				}
				some = append(some, c)
				if !slices.ContainsFunc(known[name], func(k Call) bool { return k.ID == c.ID }) {
					known[name] = append(known[name], c)
				}
			}
			due := r.record(t, some...).Due
			require.Equal(rt, len(known[name])-covered[name] >= 10, slices.Contains(due, name))
		}
		for name, all := range known {
			got := r.tool(t, name)
			slices.SortStableFunc(all, byTime)
			want, failed := make([]string, 0), 0
			for i := range all {
				want = append(want, all[i].ID)
				if all[i].failed() {
					failed++
				}
			}
			var ids []string
			for i := range got.Calls {
				ids = append(ids, got.Calls[i].ID)
			}
			require.ElementsMatch(rt, want, ids)
			require.Equal(rt, failed, got.Statistics.Failed)
			require.EqualValues(rt, len(all)-covered[name], got.New)
			require.Equal(rt, covered[name] > 0, got.Guideline != "")
		}
	})
}

// learning returns a backend for New.
func learning(l learner.Learner) backends.Backend {
	return struct {
		backends.Backend
		*learner.Holder
	}{Holder: learner.Hold(l)}
}
