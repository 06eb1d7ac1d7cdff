// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit"
)

// ann is the user for whom all tools of these tests work, unless a test says otherwise.
var ann = backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}

// kit is a configuration with everything to work on, for ann, on a store of its own.
type kit struct {
	toolkit.Config
	archives *archive.Archives // nil: none of their tools
	blocks   *core.Blocks      // likewise
	t        testing.TB
	db       *testkit.Store
	failures testkit.Failures
}

func newKit(t testing.TB, b backends.Backend) *kit {
	t.Helper()
	k := &kit{t: t, db: testkit.Spy(testkit.SQLite(t))}
	archives, err := archive.New(&archive.Config{Sessions: k.db})
	require.NoError(t, err)
	blocks, err := core.New(&core.Config{Records: k.db, Tools: true, Blocks: []core.Block{
		{Name: "persona", ReadOnly: true, Initial: "I am helper."},
		{Name: "human", Description: "What you know\nabout the user", Limit: 40},
		{Name: "shared", Owner: backends.PartitionWorkspace},
	}})
	require.NoError(t, err)
	k.archives, k.blocks = archives, blocks
	k.Config = toolkit.Config{
		Backend: b, Clock: testkit.NewClock().Now,
		ToolSetup: backends.ToolSetup{OnError: k.failures.Add, Scope: func(context.Context) (backends.Scope, error) { return ann, nil }},
	}
	_, managed := b.(backends.Manager)
	k.Update, k.Delete = managed, managed
	return k
}

func (k *kit) tools() map[string]tool.InvokableTool {
	k.t.Helper()
	return testkit.ByName(k.t, k.all())
}

// all returns the tools of everything that there is to work on.
func (k *kit) all() (tools []tool.BaseTool) {
	k.t.Helper()
	add := func(more []tool.BaseTool, err error) {
		require.NoError(k.t, err)
		require.Equal(k.t, len(more), cap(more), "appending must not write into another agent's tools")
		tools = append(tools, more...)
	}
	setup := &k.ToolSetup
	if k.Backend != nil {
		add(toolkit.New(k.t.Context(), &k.Config))
	}
	if k.archives != nil {
		add(k.archives.Tools(k.t.Context(), setup))
	}
	if k.blocks != nil {
		add(k.blocks.Tools(k.t.Context(), setup))
	}
	return tools
}

// call calls a tool, which must not end the agent's run.
func (k *kit) call(name, arguments string) string {
	k.t.Helper()
	return testkit.Use(k.t, k.t.Context(), k.tools()[name], arguments)
}

// say appends messages to ann's log.
func (k *kit) say(messages ...*schema.Message) {
	k.t.Helper()
	p, err := ann.Speaker()
	require.NoError(k.t, err)
	a := &store.Append{Scope: ann}
	for i, m := range messages {
		a.Entries = append(a.Entries, store.Entry{Message: backends.Message{ID: fmt.Sprint("t-", i), Turn: "t", Message: m}})
	}
	_, err = k.db.Append(k.t.Context(), p, ann.SessionID, a)
	require.NoError(k.t, err)
}

// put archives messages of a session.
func (k *kit) put(s backends.Scope, messages ...*schema.Message) string {
	k.t.Helper()
	x, err := k.archives.Of(s)
	require.NoError(k.t, err)
	id, err := x.Put(k.t.Context(), messages)
	require.NoError(k.t, err)
	return id
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	for want, change := range map[string]func(*toolkit.Config){
		"no Config.Backend": func(c *toolkit.Config) { c.Backend = nil },
		"no Scope":          func(c *toolkit.Config) { c.Scope = nil },
		"Config.Limit 51":   func(c *toolkit.Config) { c.Limit = 51 },
		"Config.Limit -1":   func(c *toolkit.Config) { c.Limit = -1 },
		`language "fr"`:     func(c *toolkit.Config) { c.Language = "fr" },
		"*testkit.Backend is no backends.Manager": func(c *toolkit.Config) { c.Delete = true },
		"leave Config.Update":                     func(c *toolkit.Config) { c.Update = true },
	} {
		k := newKit(t, &testkit.Backend{})
		change(&k.Config)
		_, err := toolkit.New(t.Context(), &k.Config)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	_, err := toolkit.New(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestTheToolsFollowFromWhatThereIsToWorkOn(t *testing.T) {
	memory := []string{"search_memory", "add_memory", "update_memory", "delete_memory"}
	working, edits := []string{"grep_working_memory", "read_working_memory"}, []string{"core_memory_append", "core_memory_replace"}
	for _, c := range []struct {
		change func(*kit)
		want   []string
	}{
		{func(*kit) {}, append(append(append([]string{}, memory...), working...), edits...)},
		{func(k *kit) { k.Update, k.Delete, k.archives, k.blocks = false, false, nil, nil }, memory[:2]},
		{func(k *kit) { k.Backend, k.blocks = nil, nil }, working},
		{func(k *kit) { k.Backend, k.archives = nil, nil }, edits},
		{func(k *kit) {
			readOnly, err := core.New(&core.Config{Records: testkit.SQLite(t), Blocks: []core.Block{{Name: "persona", ReadOnly: true}}})
			require.NoError(t, err)
			k.Backend, k.archives, k.blocks = nil, nil, readOnly
		}, nil},
	} {
		k := newKit(t, &managed{})
		c.change(k)
		var got []string
		for _, b := range k.all() {
			info, err := b.Info(t.Context())
			require.NoError(t, err)
			got = append(got, info.Name)
		}
		require.Equal(t, c.want, got)
	}
}

// The schemas, with every description that is there replaced by "*".
func TestTheSchemas(t *testing.T) {
	want := map[string]string{
		"search_memory": `{"keywords":{"type":"array","items":{"type":"string"},"description":"*"},
			"limit":{"type":"integer","minimum":1,"maximum":50,"default":7,"description":"*"}} ["keywords"]`,
		"add_memory": `{"thinking":{"type":"string","description":"*"},
			"content":{"type":"array","items":{"type":"string"},"description":"*"}} ["thinking","content"]`,
		"update_memory": `{"id":{"type":"string","description":"*"},"content":{"type":"string","description":"*"},"standing":{"type":"boolean","description":"*"},"delicate":{"type":"boolean","description":"*"}} ["id"]`,
		"delete_memory": `{"id":{"type":"string","description":"*"}} ["id"]`,
		"grep_working_memory": `{"pattern":{"type":"string","description":"*"},"regex":{"type":"boolean","description":"*"},
			"archives":{"type":"array","items":{"type":"string"},"description":"*"},
			"context_lines":{"type":"integer","minimum":0,"maximum":10,"default":0,"description":"*"},
			"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"*"},
			"case_sensitive":{"type":"boolean","description":"*"}} ["pattern"]`,
		"read_working_memory": `{"archive":{"type":"string","description":"*"},
			"line":{"type":"integer","minimum":1,"default":1,"description":"*"},"lines":{"type":"integer","minimum":1,"default":200,"description":"*"},
			"byte":{"type":"integer","minimum":0,"description":"*"},
			"bytes":{"type":"integer","minimum":1,"maximum":65536,"default":6000,"description":"*"}} ["archive"]`,
		"core_memory_append":  `{"block":{"type":"string","enum":["human","shared"],"description":"*"},"text":{"type":"string","description":"*"}} ["block","text"]`,
		"core_memory_replace": `{"block":{"type":"string","enum":["human","shared"],"description":"*"},"old_text":{"type":"string","description":"*"},"new_text":{"type":"string","description":"*"}} ["block","old_text","new_text"]`,
	}
	for _, language := range []backends.Language{"", backends.LanguageAuto, backends.English, backends.Chinese} {
		k := newKit(t, &managed{})
		k.Limit, k.Language = 7, language
		for name, b := range k.tools() {
			info, err := b.Info(t.Context())
			require.NoError(t, err)
			isChinese := func(s string) bool {
				return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
			}
			require.Equal(t, language == backends.Chinese, isChinese(info.Desc), info.Desc)
			params, err := info.ToJSONSchema()
			require.NoError(t, err)
			for p := params.Properties.Oldest(); p != nil; p = p.Next() {
				require.NotEmpty(t, p.Value.Description, p.Key)
				require.Equal(t, language == backends.Chinese, isChinese(p.Value.Description), p.Key)
				p.Value.Description = "*"
			}
			properties, required, _ := strings.Cut(want[name], "} [")
			got, err := json.Marshal(params)
			require.NoError(t, err)
			require.JSONEq(t, `{"additionalProperties":false,"type":"object","properties":`+properties+`},"required":[`+required+`}`, string(got), name)
			if strings.HasPrefix(name, "core") {
				require.NotContains(t, info.Desc, "persona", "the agent cannot edit it")
				require.Contains(t, info.Desc, map[bool]string{false: "- human (at most 40 characters): What you know about the user\n", true: "- human（最多 40 个字符）：What you know about the user\n"}[language == backends.Chinese])
			}
		}
	}
}

// Tools that were renamed are never called by their own names: not in schemas and results,
// not in the texts of errors, and not to the program.
func TestTheToolsOfLongTermMemoryMayHaveOtherNames(t *testing.T) {
	own := []string{"search_memory", "add_memory", "update_memory", "delete_memory"}
	names := map[string]string{}
	for i, name := range own {
		names[name] = fmt.Sprintf("Tool-%d_x", i)
	}
	for _, language := range []backends.Language{backends.English, backends.Chinese} {
		m := &managed{}
		k := newKit(t, m)
		k.Language, k.ToolNames = language, names
		var read []string
		for name, b := range k.tools() {
			info, err := b.Info(t.Context())
			require.NoError(t, err)
			params, err := info.ToJSONSchema()
			require.NoError(t, err)
			schemas, err := json.Marshal(params)
			require.NoError(t, err)
			read = append(read, name, info.Desc, string(schemas), k.call(name, `{`))
		}
		for _, c := range [][2]string{
			{"Tool-0_x", `{"keywords":["tea"]}`}, {"Tool-1_x", `{"content":["tea"],"thinking":"t"}`}, {"Tool-2_x", `{"id":"x","content":"tea"}`}, {"Tool-3_x", `{"id":"x"}`},
		} {
			read = append(read, k.call(c[0], c[1]))
		}
		m.OnSearch = func(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
			return nil, backends.ErrNotFound
		}
		notFound := k.call("Tool-0_x", `{"keywords":["tea"]}`)
		require.Contains(t, notFound, "Tool-0_x", "texts name the tools that they have")
		read = append(read, notFound)
		k.Scope = func(context.Context) (backends.Scope, error) { return backends.Scope{}, backends.ErrNoScope }
		for i := range own {
			read = append(read, k.call(names[own[i]], `{"keywords":"a","content":"a","thinking":"t","id":"1"}`))
		}
		all := strings.Join(read, "\n")
		for i, name := range own {
			require.NotContains(t, all, name)
			require.NotContains(t, k.failures.Stages(), name)
			require.Contains(t, k.failures.Stages(), names[own[i]])
		}
	}
}

func TestNamesOfToolsThatCannotBe(t *testing.T) {
	for want, names := range map[string]map[string]string{
		"there is no such tool":        {"search": "recall"},
		`"grep_working_memory"`:        {"grep_working_memory": "grep"},
		"1 to 64 letters":              {"search_memory": ""},
		`"recall it"`:                  {"search_memory": "recall it"},
		`"回忆"`:                         {"search_memory": "回忆"},
		strings.Repeat("x", 65):        {"search_memory": strings.Repeat("x", 65)},
		"two tools have that name":     {"search_memory": "memory", "add_memory": "memory"},
		`"add_memory": invalid: two t`: {"search_memory": "add_memory"},
	} {
		k := newKit(t, &managed{})
		k.ToolNames = names
		_, err := toolkit.New(t.Context(), &k.Config)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "Config.ToolNames")
	}
}

// Without a legal scope every tool answers that there is no memory for this call, and the
// program gets the error.
func TestWithoutAScopeNothingIsDone(t *testing.T) {
	for name, scope := range map[string]func(context.Context) (backends.Scope, error){
		"an error":       func(context.Context) (backends.Scope, error) { return backends.Scope{}, backends.ErrNoScope },
		"an empty scope": func(context.Context) (backends.Scope, error) { return backends.Scope{}, nil },
		"not legal":      func(context.Context) (backends.Scope, error) { return backends.Scope{UserID: "*"}, nil },
		"a panic":        func(context.Context) (backends.Scope, error) { panic("who knows") },
	} {
		b := &managed{}
		k := newKit(t, b)
		k.Scope = scope
		for _, c := range [][3]string{
			{"search_memory", `{"keywords":["a"]}`, "Error retrieving memory"}, {"add_memory", `{"content":["a"]}`, "Error recording memory"},
			{"update_memory", `{"id":"1","content":"a"}`, "Error updating memory"}, {"delete_memory", `{"id":"1"}`, "Error deleting memory"},
			{"grep_working_memory", `{"pattern":"a"}`, "Error searching working memory"}, {"read_working_memory", `{"archive":"log-1"}`, "Error reading working memory"},
			{"core_memory_append", `{"block":"human","text":"a"}`, "Error editing core memory"}, {"core_memory_replace", `{"block":"human","old_text":"a","new_text":""}`, "Error editing core memory"},
		} {
			require.Contains(t, k.call(c[0], c[1]), c[2], name)
			require.Len(t, k.failures.At(c[0]), 1, name)
		}
		require.Empty(t, b.Searches(), name)
		require.Empty(t, b.Adds(), name)
	}
}

// A page that a model reads may ask it to look into another user's memory. No
// argument chooses whose memory a call is about.
func TestNoArgumentChoosesTheScope(t *testing.T) {
	const intruder = `"user_id":"bob","userId":"bob","scope":{"user_id":"bob"},"agent_id":"x","namespace":"other","workspace":"w","filter":{"user_id":"bob"},"run_id":"r"`
	b := &testkit.Backend{}
	k := newKit(t, b)
	k.call("search_memory", `{"keywords":["secret","user:bob","em:{default}:user:bob"],`+intruder+`}`)
	k.call("add_memory", `{"thinking":"t","content":["planted"],`+intruder+`}`)
	require.Len(t, b.Searches(), 3)
	require.Len(t, b.Adds(), 1)
	for _, s := range b.Searches() {
		require.Equal(t, ann, s.Scope)
		require.Nil(t, s.Filter)
	}
	require.Equal(t, ann, b.Adds()[0].Scope)
	require.Nil(t, b.Adds()[0].Metadata)
}

func TestArgumentsThatAreMissingOrCannotBeRead(t *testing.T) {
	k := newKit(t, &managed{})
	for _, c := range []struct{ name, arguments, want string }{
		{"search_memory", ``, "`keywords` is missing — nothing was done. Short and specific search texts"},
		{"search_memory", `{"keywords":["", "  "]}`, "`keywords` is missing"},
		{"add_memory", `{"thinking":"t","content":["  ",""]}`, "`content` is missing"},
		{"update_memory", `{"content":"x"}`, "`id` is missing — nothing was done. The id of the memory, as search_memory shows it in brackets."},
		{"update_memory", `{"id":"1","content":" "}`, "`content` is missing"},
		{"delete_memory", `null`, "`id` is missing"},
		{"grep_working_memory", `{"regex":true}`, "`pattern` is missing"},
		{"read_working_memory", `{"archive":null}`, "`archive` is missing"},
		{"core_memory_append", `{"text":"x"}`, "`block` is missing"},
		{"core_memory_append", `{"block":"human","text":" "}`, "`text` is missing"},
		{"core_memory_replace", `{"block":"human","new_text":"x"}`, "`old_text` is missing"},
		{"core_memory_replace", `{"block":"human","old_text":"x","new_text":null}`, "`new_text` is missing — nothing was done. The text in its place. An empty string deletes old_text."},
		{"search_memory", `{`, "The arguments of search_memory could not be read"},
		{"search_memory", `[]`, "could not be read"},
		{"search_memory", `{"keywords":{"a":1}}`, `could not be read: keywords: expected what its schema says, got {"a":1}`},
		{"search_memory", `{"keywords":[["a"]]}`, "could not be read"},
		{"search_memory", `{"keywords":["a"]} {}`, "Call it again with one JSON object"},
		{"delete_memory", `{"id":{}}`, "could not be read"},
		{"read_working_memory", "{\"archive\":{\"\x86\":1}}", "could not be read"},
	} {
		out := k.call(c.name, c.arguments)
		require.Contains(t, out, c.want, c.arguments)
		require.True(t, utf8.ValidString(out))
	}
	require.Empty(t, k.failures.Stages(), "a mistake of the model is no failure of memory")
}

// A call ends with its run, and otherwise with the timeout, also where the backend heeds
// neither.
func TestACallEnds(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	for name, wait := range map[string]func(context.Context){"heeds its context": func(ctx context.Context) { <-ctx.Done() }, "does not": func(context.Context) { <-forever }} {
		k := newKit(t, &testkit.Backend{OnSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
			wait(ctx)
			return nil, ctx.Err()
		}})
		k.Timeout = time.Nanosecond
		out := k.call("search_memory", `{"keywords":["a","b"]}`)
		require.Contains(t, out, "Error retrieving memory", name)
		require.Contains(t, out, "Memory is not available now. Continue without it", name)
		require.Contains(t, k.call("core_memory_append", `{"block":"human","text":"x"}`), "Core memory is not available now")
		require.Contains(t, k.call("grep_working_memory", `{"pattern":"x"}`), "Earlier messages cannot be read now")
		require.Equal(t, []string{"search_memory", "core_memory_append", "grep_working_memory"}, k.failures.Stages())
		require.Contains(t, k.call("add_memory", `{"content":["x"]}`), "Successfully", "which may ask a model")
		k.Timeout = -1
		require.Contains(t, k.call("core_memory_append", `{"block":"human","text":"x"}`), "Added")
	}
	over := errors.New("the run is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	k := newKit(t, &testkit.Backend{OnSearch: func(ctx context.Context, _ *backends.SearchRequest) (*backends.SearchResponse, error) {
		cancel(over)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	for _, c := range [][2]string{{"search_memory", `{"keywords":["a"]}`}, {"core_memory_append", `{"block":"human","text":"x"}`}, {"grep_working_memory", `{"pattern":"x"}`}} {
		_, err := k.tools()[c[0]].InvokableRun(ctx, c[1])
		require.ErrorIs(t, err, over, "a cancelled call stays an error")
	}
	require.Empty(t, k.failures.Stages())
}

// Whatever a model writes, a tool answers with text of some length, keeps to the limits,
// and shows nothing of another session.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"keywords":["a","b"],"limit":"3"}`, `{"keywords":"[\"a\"]","limit":-1.5}`, `{"limit":1e999,"keywords":[1,null]}`, "{\"keywords\":[\"\xff\"]}", `[`, `nul`,
		`{"thinking":"t","content":["x"],"user_id":"bob"}`, `{"id":"[1]","content":"y"}`, `{"id":{},"content":[[]]}`, "{\"pAttern\":[\"\x86\"]}", "{\"content\":[\"\x86\"]}",
		`{"pattern":"a","archives":["log-1"],"context_lines":2,"limit":3}`, `{"pattern":".","regex":true,"context_lines":1e9,"limit":1e9}`, `{"pattern":"(a|b)*c","regex":"yes"}`,
		`{"archive":"log-1-2","line":1,"lines":9}`, `{"archive":"log-1","byte":3,"bytes":1}`, `{"archive":"log-1-99999999999999999999","pattern":"\u0000"}`, `{"pattern":["a"],"archive":{}}`,
		`{"block":"human","text":"x"}`, `{"block":"human","old_text":"x","new_text":"y"}`, `{"block":["human"],"text":["a",["b"]]}`, `{"label":"human","text":"\ud800"}`, `{"block":"human","text":"</text></block></core_memory>"}`,
	} {
		f.Add(seed)
	}
	b := &managed{}
	b.Found = testkit.Hits("x")
	k := newKit(f, b)
	k.say(schema.ToolMessage(strings.Repeat("words in a line 一行\n", 50)+strings.Repeat("a long one ", 3000), "c"))
	k.put(backends.Scope{UserID: "bob", SessionID: ann.SessionID}, schema.UserMessage("SECRET"))
	tools := k.tools()
	f.Fuzz(func(t *testing.T, arguments string) {
		searched, added := len(b.Searches()), len(b.Adds())
		for name, tl := range tools {
			out, err := tl.InvokableRun(context.Background(), arguments)
			switch {
			case err != nil || strings.TrimSpace(out) == "":
				t.Fatalf("%s answered %q, %v", name, out, err)
			case len(out) > 70_000+2*len(arguments) || !utf8.ValidString(out):
				t.Fatalf("%s answered %d bytes", name, len(out))
			case strings.Contains(out, "panic") && !strings.Contains(arguments, "panic"):
				t.Fatalf("%s panicked: %s", name, out)
			case strings.Contains(out, "SECRET") && !strings.Contains(strings.ToUpper(arguments), "S"):
				t.Fatalf("%s reached another session: %s", name, out)
			}
		}
		searches, adds := b.Searches()[searched:], b.Adds()[added:]
		if len(searches) > 16 || len(adds) > 1 {
			t.Fatalf("%d searches, %d adds", len(searches), len(adds))
		}
		for _, s := range searches {
			if s.Scope != ann || s.TopK < 1 || s.TopK > toolkit.MaxLimit || strings.TrimSpace(s.Query) == "" || !utf8.ValidString(s.Query) {
				t.Fatalf("searched %+v", s)
			}
		}
		for _, a := range adds {
			if a.Scope != ann || strings.TrimSpace(a.Messages[0].Content) == "" || !utf8.ValidString(a.Messages[0].Content) {
				t.Fatalf("added %+v", a)
			}
		}
		values, err := k.blocks.Get(context.Background(), ann)
		require.NoError(t, err)
		for i := range values {
			if values[i].Size > values[i].Block.Limit {
				t.Fatalf("%+v", values[i])
			}
		}
		for _, err := range append(k.failures.At("core_memory_append"), k.failures.At("core_memory_replace")...) {
			require.ErrorIs(t, err, backends.ErrNoScope, "a block of a workspace that ann has none of")
		}
	})
}

// An error of a tool, or arguments that do not parse, end an agent's run: none of these tools'
// does.
func TestT11_AToolErrorEndsTheRunUnlessItBecomesText(t *testing.T) {
	down := errors.New("redis is down")
	k := newKit(t, finding(func(keyword string) (*backends.SearchResponse, error) {
		if keyword == "panic" {
			panic("boom")
		}
		return nil, down
	}))
	type query struct {
		Keywords []string `json:"keywords"`
	}
	bare := testkit.Tool(t, "search_memory", func(context.Context, query) (string, error) { return "", down })
	for _, arguments := range []string{`{"keywords":["tea"]}`, `{"keywords":["panic"]}`, `{"keywords":`, `{"keywords":{"a":1}}`} {
		run := func(search tool.BaseTool) []string {
			m := testkit.New(testkit.Call("c", "search_memory", arguments), testkit.Text("went on"))
			return testkit.Drain(testkit.Runner(testkit.Agent(t, "a", m, nil, search), false, nil).Query(t.Context(), "hi"))
		}
		testkit.Trap(t, !slices.Contains(run(bare), "assistant: went on"))
		require.Equal(t, "assistant: went on", testkit.Last(run(k.tools()["search_memory"])), arguments)
	}
}
