// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestGrepShowsWhereToReadOn(t *testing.T) {
	k := newKit(t, nil)
	k.say(schema.UserMessage("Which Port?"), schema.ToolMessage("a\nport 1\nb\nport 2\nc\nd\ne\nport 3\n", "c1"))
	id := k.put(ann, schema.ToolMessage(strings.Repeat("x", 999)+" the port is 8080 "+strings.Repeat("y", 999), "c2"))
	require.Equal(t, "Matches: 5. Messages searched: 3.\n"+
		"[log-1]\n1: Which Port?\n"+
		"[log-2]\n1- a\n2: port 1\n3- b\n4: port 2\n5- c\n7- e\n8: port 3\n"+
		"["+id+"]\n1: (byte 1004 of a long line) …"+strings.Repeat("x", 95)+" the port is 8080 "+strings.Repeat("y", 400-95-18)+"…\n"+
		"To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte.",
		k.call("grep_working_memory", `{"pattern":"port","context_lines":1}`))
	for arguments, want := range map[string]string{
		`{"pattern":"port \\d","regex":true,"limit":1}`: "There are more matches than are shown. Use a narrower pattern",
		`{"pattern":"Port","case_sensitive":true}`:      "Matches: 1.",
		`{"pattern":"port","archives":["log-2"]}`:       "Matches: 3. Messages searched: 1.",
		`{"pattern":"nowhere"}`:                         `No line has "nowhere". Messages searched: 3. Try`,
	} {
		require.Contains(t, k.call("grep_working_memory", arguments), want)
	}
	require.Contains(t, k.call("read_working_memory", `{"archive":"log-2","line":4,"lines":1}`), "]\nport 2\n[")
	require.Contains(t, k.call("read_working_memory", `{"archive":"`+id+`","byte":1004,"bytes":12}`), "\nport is 8080\n")
	k.Language = backends.Chinese
	require.Contains(t, k.call("grep_working_memory", `{"pattern":"x!"}`), "没有包含")
	require.Empty(t, k.failures.Stages())
}

// The calls and answers of these tools are in the log, too.
func TestGrepDoesNotFindItself(t *testing.T) {
	k := newKit(t, nil)
	call := func(id, name, arguments string) schema.ToolCall {
		return schema.ToolCall{ID: id, Function: schema.FunctionCall{Name: name, Arguments: arguments}}
	}
	k.say(schema.UserMessage("the port is 1"),
		schema.AssistantMessage("", []schema.ToolCall{call("c1", "grep_working_memory", `{"pattern":"port"}`), call("c2", "read_working_memory", `{"archive":"port"}`)}),
		schema.ToolMessage("1: the port is 1", "c1", schema.WithToolName("grep_working_memory")), schema.ToolMessage("the port is 1", "c2", schema.WithToolName("read_working_memory")))
	require.Contains(t, k.call("grep_working_memory", `{"pattern":"port"}`), "Matches: 1. Messages searched: 2.\n[log-1]\n1: the port is 1\nTo read")
}

var readOn = regexp.MustCompile(`\[there is more.*: read on with (line|byte) (\d+)\]$`)

// A model that does what the last line says reads all of it, whatever it is.
func TestReadingOnReadsAll(t *testing.T) {
	k := newKit(t, nil)
	for _, text := range []string{
		strings.Repeat("一行文字 and words\n", 2000), strings.Repeat("one endless line, 没有换行 ", 3000), "short", "long" + strings.Repeat("-", 20_000) + "\nshort\n" + strings.Repeat("x\n", 500),
	} {
		id := k.put(ann, schema.ToolMessage(text, "c"))
		var got strings.Builder
		for arguments := `{"archive":"` + id + `"}`; arguments != ""; {
			out := k.call("read_working_memory", arguments)
			require.Less(t, len(out), 6500)
			head, rest, _ := strings.Cut(out, "\n")
			require.Contains(t, head, id)
			at := strings.LastIndex(rest, "\n")
			page, foot := rest[:at+1], rest[at+1:]
			next := readOn.FindStringSubmatch(foot)
			arguments = ""
			if next == nil {
				require.Equal(t, "[end of "+id+"]", foot)
			} else {
				if next[1] == "byte" {
					page = strings.TrimSuffix(page, "\n")
				}
				arguments = fmt.Sprintf(`{"archive":%q,%q:%q}`, id, next[1], next[2])
			}
			got.WriteString(page)
		}
		require.Equal(t, strings.TrimSuffix(text, "\n"), strings.TrimSuffix(got.String(), "\n"))
	}
	require.Empty(t, k.failures.Stages())
}

func TestWorkingArgumentsInAnyShape(t *testing.T) {
	k := newKit(t, nil)
	k.say(schema.ToolMessage("one\ntwo\nthree", "c"))
	for _, arguments := range []string{
		`{"archive":"log-1","line":2,"lines":1}`, `{"archive":"[log-1]","line":"2","lines":"1"}`, `{"archive":"log-1","line":2.0,"lines":1.9}`, `{"ref":"log-1.","line":2,"lines":1}`, `{"archives":"` + "`log-1`" + `","line":2,"lines":1,"byte":0}`,
		`{"archive":" log-1: ","line":2,"lines":1,"byte":null,"bytes":0,"user_id":"bob","session":"s2"}`, `{"archive":"log-1","line":1,"byte":4,"bytes":4}`, `{"archive":"log-1","line":2,"lines":1,"byte":-7,"bytes":"0"}`,
	} {
		require.Equal(t, "[log-1: lines 2 to 2 of 3, bytes 4 to 7 of 13]\ntwo\n[there is more: read on with line 3]", k.call("read_working_memory", arguments), arguments)
	}
	for _, arguments := range []string{
		`{"pattern":"TWO"}`, `{"pattern":"t.o","regex":true,"archives":"log-1"}`, `{"pattern":"two","archives":[],"limit":"9"}`, `{"pattern":"two","archives":["all"],"limit":-1,"context_lines":-1}`,
		`{"pattern":"two","archives":"[\"log-1\"]","case_sensitive":false}`, `{"pattern":"two","archive":"<log-1>","limit":1e99}`, `{"pattern":"two","archives":null,"scope":{"user_id":"bob"}}`,
	} {
		require.Contains(t, k.call("grep_working_memory", arguments), "Matches: 1. Messages searched: 1.\n[log-1]\n2: two\nTo read", arguments)
	}
	require.Empty(t, k.failures.Stages())
}

func TestMistakesAboutArchivesAreText(t *testing.T) {
	k := newKit(t, nil)
	id := k.put(ann, schema.ToolMessage("one\ntwo", "c"))
	foreign := k.put(backends.Scope{UserID: "bob", SessionID: "s1"}, schema.UserMessage("bob's secret"))
	for want, c := range map[string][2]string{
		"does not compile":                             {"grep_working_memory", `{"pattern":"(","regex":true}`},
		"matches the empty text":                       {"grep_working_memory", `{"pattern":".*","regex":true}`},
		"no such archive":                              {"grep_working_memory", `{"pattern":"secret","archives":["` + foreign + `"]}`},
		"an id is like log-12":                         {"grep_working_memory", `{"pattern":"x","archives":["../../etc/passwd"]}`},
		`schema says, got ["log-1","log-2"]`:           {"read_working_memory", `{"archive":["log-1","log-2"]}`},
		`regex: expected what its schema says`:         {"grep_working_memory", `{"pattern":"x","regex":"yes"}`},
		"Use an id that a message":                     {"read_working_memory", `{"archive":"` + foreign + `"}`},
		"Change the arguments":                         {"read_working_memory", `{"archive":"/etc/passwd"}`},
		"it has the lines 1 to 2 and the bytes 0 to 6": {"read_working_memory", `{"archive":"` + id + `","line":1e300}`},
		" is empty]":                                   {"read_working_memory", `{"archive":"` + k.put(ann, schema.ToolMessage("", "c")) + `"}`},
	} {
		out := k.call(c[0], c[1])
		require.Contains(t, out, want, c[1])
		require.NotContains(t, out, "bob's secret")
	}
	require.Empty(t, k.failures.Stages(), "a mistake of the model is no failure of memory")
}

func TestFailuresOfArchivesAreReported(t *testing.T) {
	k := newKit(t, nil)
	id := k.put(ann, schema.UserMessage("word"))
	k.db.FailOn(fmt.Errorf("%w: the disk is gone", backends.ErrUnavailable), "GetBlob")
	for _, out := range []string{k.call("read_working_memory", `{"archive":"`+id+`"}`), k.call("grep_working_memory", `{"pattern":"word"}`)} {
		require.Contains(t, out, "the disk is gone")
		require.Contains(t, out, "Earlier messages cannot be read now")
	}
	require.Equal(t, []string{"read_working_memory", "grep_working_memory"}, k.failures.Stages())
	k.db.Arm(nil)
	p, err := ann.Speaker()
	require.NoError(t, err)
	require.NoError(t, k.db.PutBlob(t.Context(), p, ann.SessionID, "archive/"+id[2:], []byte("rubbish")))
	require.Contains(t, k.call("read_working_memory", `{"archive":"`+id+`"}`), "damaged")
	require.Len(t, k.failures.Stages(), 3, "damage is a failure")
	require.Contains(t, k.call("grep_working_memory", `{"pattern":"word"}`), "These archives are damaged or gone and were not searched: "+id)
}

// listing is a store whose list of blobs never comes.
type listing struct{ *testkit.Store }

func (listing) ListBlobs(ctx context.Context, _ backends.Partition, _, _ string, _ store.Page) (*store.BlobPage, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A search that is not done in time shows what it found, and says that it is not all.
func TestGrepShowsWhatItFoundInTime(t *testing.T) {
	k := newKit(t, nil)
	k.say(schema.UserMessage("the port is 1"))
	archives, err := archive.New(&archive.Config{Sessions: listing{k.db}})
	require.NoError(t, err)
	k.archives = archives
	out := ""
	for k.Timeout = time.Millisecond; !strings.Contains(out, "Matches: 1."); k.Timeout *= 2 { // until the log can be read in time
		out = k.call("grep_working_memory", `{"pattern":"port"}`)
	}
	require.Contains(t, out, "1: the port is 1")
	require.Contains(t, out, "The time was over before everything was searched")
}

// blockText returns what a block of ann's holds.
func (k *kit) blockText(name string) string {
	k.t.Helper()
	values, err := k.blocks.Get(k.t.Context(), ann)
	require.NoError(k.t, err)
	for _, v := range values {
		if v.Block.Name == name {
			return v.Text
		}
	}
	return "no such block"
}

func TestEditsOfCoreMemory(t *testing.T) {
	const nothing, again = "Error editing core memory: ", "The call cannot succeed like this. Change the arguments or continue without"
	k := newKit(t, nil)
	for _, step := range []struct{ tool, arguments, want, human string }{
		{"append", `{"block":"human","text":"likes <tea>"}`, "Added to core memory block \"human\". It holds 11 of 40 characters now, 29 are left:\n<text>\nlikes &lt;tea&gt;\n</text>", "likes <tea>"},
		{"replace", `{"block":"human","old_text":"&lt;tea&gt;","new_text":"coffee"}`, "Replaced in core memory block \"human\". It holds 12 of 40 characters now, 28 are left:\n<text>\nlikes coffee\n</text>", "likes coffee"},
		{"replace", `{"block":"human","old_text":"tea","new_text":"water"}`, "\n<text>\nlikes coffee\n</text>", "likes coffee"},
		{"replace", `{"block":"human","old_text":"f","new_text":"water"}`, "occurs 2 times in it, and has to occur once: pass more of the text around it", "likes coffee"},
		{"replace", `{"block":"human","old_text":"likes coffee","new_text":""}`, "Replaced in core memory block \"human\". It holds 0 of 40 characters now, 40 are left:\n(nothing)", ""},
		{"append", `{"block":"human","text":"` + strings.Repeat("安", 41) + `"}`, "41 characters long, its limit is 40", ""},
		{"append", `{"block":"persona","text":"x"}`, "Nothing was changed: \"persona\" is no core memory block that you can edit. You can edit: human, shared.", ""},
		{"append", `{"block":"plan","text":"x"}`, "Nothing was changed: \"plan\" is no core memory block", ""},
	} {
		out := k.call("core_memory_"+step.tool, step.arguments)
		require.Contains(t, out, step.want, step.arguments)
		require.Equal(t, strings.HasPrefix(out, nothing), strings.Contains(out, again), out)
		require.Equal(t, step.human, k.blockText("human"), step.arguments)
	}
	require.Empty(t, k.failures.Stages(), "a mistake of the model is no failure of memory")
	require.Contains(t, k.call("core_memory_append", `{"block":"shared","text":"x"}`), "belongs to the workspace")
	require.ErrorIs(t, k.failures.Err(), backends.ErrNoScope)
	k.Language = backends.Chinese
	require.Equal(t, "已追加到核心记忆块 \"human\"。现在共 3/40 个字符，剩余 37 个：\n<text>\n喜欢茶\n</text>", k.call("core_memory_append", `{"block":"human","text":"喜欢茶"}`))
	require.Contains(t, k.call("core_memory_replace", `{"block":"human","old_text":"咖啡","new_text":""}`), "\n<text>\n喜欢茶\n</text>")
}

func TestCoreArgumentsInAnyShape(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"label":"human","content":"x"}`: "x", `{"name":" Human ","text":"x"}`: "x", `{"block":"[human]","text":"a\nb"}`: "a\nb",
		`{"block":"human","text":"x","user_id":"bob"}`: "x", `{"block":null,"label":"human","text":"x"}`: "x",
	} {
		k := newKit(t, nil)
		require.Contains(t, k.call("core_memory_append", arguments), "Added", arguments)
		require.Equal(t, want, k.blockText("human"), arguments)
	}
	k := newKit(t, nil)
	k.call("core_memory_append", `{"block":"human","text":"a\n  b"}`)
	require.Contains(t, k.call("core_memory_replace", `{"label":"human","old_content":"\n  b","new_content":""}`), "Replaced")
	require.Equal(t, "a", k.blockText("human"), "to the letter")
}

// A run that is resumed may repeat a call, which has its id. A block of a workspace is
// many users', whose calls may have one id.
func TestARepeatedCallEditsOnce(t *testing.T) {
	k := newKit(t, nil)
	for i := range 2 {
		out := k.inRun("1", "core_memory_append", `{"block":"human","text":"tea"}`)
		require.Equal(t, i == 1, strings.Contains(out, "carried out before"), out)
		require.Equal(t, "tea", k.blockText("human"))
	}
	for range 2 {
		k.inRun("2", "core_memory_replace", `{"block":"human","old_text":"tea","new_text":"coffee"}`)
		require.Equal(t, "coffee", k.blockText("human"))
	}
	for _, user := range []string{"ann", "bob"} {
		k.Scope = func(context.Context) (backends.Scope, error) {
			return backends.Scope{UserID: user, Workspace: "w"}, nil
		}
		require.Contains(t, k.inRun("3", "core_memory_append", `{"block":"shared","text":"+1"}`), "Added", user)
	}
}

// exampleTools returns the tools of ann's session on a store, and its archives.
func exampleTools(ctx context.Context) ([]tool.BaseTool, *archive.Archive, func()) {
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	check(err)
	archives, err := archive.New(&archive.Config{Sessions: db})
	check(err)
	blocks, err := core.New(&core.Config{Records: db, Tools: true, Blocks: []core.Block{{Name: "human", Description: "What you know about the user", Limit: 100}}})
	check(err)
	scope := func(context.Context) (backends.Scope, error) {
		return backends.Scope{UserID: "ann", SessionID: "s1"}, nil
	}
	setup := &backends.ToolSetup{Scope: scope}
	tools, err := archives.Tools(ctx, setup)
	check(err)
	edit, err := blocks.Tools(ctx, setup)
	check(err)
	tools = append(tools, edit...)
	s, _ := scope(ctx)
	x, err := archives.Of(s)
	check(err)
	return tools, x, func() { check(db.Close()) }
}

// A long tool result left the context; the agent finds a line of it again, and edits a
// block that is always in its prompt.
func Example_workingMemory() {
	ctx := context.Background()
	tools, archive, end := exampleTools(ctx)
	defer end()
	id, err := archive.Put(ctx, []*schema.Message{schema.ToolMessage("starting\nport 8080 is taken\nexit 1", "call-1")})
	fmt.Println(id, err)
	for i, arguments := range []string{
		`{"pattern":"port"}`, `{"archive":"` + id + `","line":2}`,
		`{"block":"human","text":"Ann lives in Rome."}`, `{"block":"human","old_text":"in Rome","new_text":"in Oslo"}`,
	} {
		out, err := tools[i].(tool.InvokableTool).InvokableRun(ctx, arguments)
		fmt.Println(out, err)
	}
	// Output:
	// a-wdg3h3ua2thslqfgm7na <nil>
	// Matches: 1. Messages searched: 1.
	// [a-wdg3h3ua2thslqfgm7na]
	// 2: port 8080 is taken
	// To read around a match, call read_working_memory with the id in brackets as archive and the number before the match as line, or for a long line its byte as byte. <nil>
	// [a-wdg3h3ua2thslqfgm7na: lines 2 to 3 of 3, bytes 9 to 33 of 34]
	// port 8080 is taken
	// exit 1
	// [end of a-wdg3h3ua2thslqfgm7na] <nil>
	// Added to core memory block "human". It holds 18 of 100 characters now, 82 are left:
	// <text>
	// Ann lives in Rome.
	// </text> <nil>
	// Replaced in core memory block "human". It holds 18 of 100 characters now, 82 are left:
	// <text>
	// Ann lives in Oslo.
	// </text> <nil>
}
