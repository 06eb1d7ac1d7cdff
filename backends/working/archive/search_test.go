// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestTheTextOfAnArchive(t *testing.T) {
	s := open(t, nil)
	url, data := "https://x/cat.png", "aGk="
	s.log(ann,
		schema.UserMessage("Where is it?\n"),
		&schema.Message{Role: schema.Assistant, ReasoningContent: "the file says", Content: "I'll look.", ToolCalls: []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "read_file", Arguments: `{"path":"a.txt"}`}}, {ID: "c2", Function: schema.FunctionCall{Name: "ls"}}}},
		schema.ToolMessage("line 1\nline 2", "c1", schema.WithToolName("read_file")),
		schema.AssistantMessage("", nil),
		&schema.Message{Role: schema.User, Name: "ann", UserInputMultiContent: []schema.MessageInputPart{
			{Type: "text", Text: "this one"},
			{Type: "image_url", Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url, MIMEType: "image/png"}}},
			{Type: "file_url", File: &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data}, Name: "hi.txt"}},
		}},
		&schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: "image_url", ImageURL: &schema.ChatMessageImageURL{URL: "data:image/png;base64,aGVsbG8="}}}},
	)
	x, _ := s.of(ann)
	text := func(ref string) string {
		page, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref})
		require.NoError(t, err)
		return page.Text
	}
	require.Equal(t, `[1] user 2026-11-21 10:00
Where is it?
[2] assistant 2026-11-21 10:01
reasoning: the file says
I'll look.
call read_file({"path":"a.txt"})
call ls()
[3] tool read_file 2026-11-21 10:02
line 1
line 2
[5] user ann 2026-11-21 10:04
this one
[image https://x/cat.png image/png]
[file 4 bytes of base64 hi.txt]
[6] user 2026-11-21 10:05
[image 30 bytes of data]
`, text("log-1-7"))
	require.Equal(t, "Where is it?\n", text("log-1"))
	require.Equal(t, "line 1\nline 2", text("log-3"))

	inner := s.put(ann, schema.UserMessage("not in the log"))
	require.Equal(t, "not in the log", text(inner))
	outer := s.put(ann, schema.UserMessage("first"), placeholder(inner))
	require.Equal(t, "[#0] user\nfirst\n[#1] user (in the place of "+inner+")\nin the place of "+inner+"\n", text(outer))
}

func TestPages(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	ref := s.put(ann, schema.ToolMessage("one\ntwo\n\nfour is long\nfive", "c"))
	for _, c := range []struct {
		req  archive.ReadRequest
		want archive.Page
	}{
		{archive.ReadRequest{}, archive.Page{Text: "one\ntwo\n\nfour is long\nfive", FirstLine: 1, LastLine: 5, NextByte: 26}},
		{archive.ReadRequest{Line: 2, Lines: 2}, archive.Page{Text: "two\n\n", FirstLine: 2, LastLine: 3, NextLine: 4, Byte: 4, NextByte: 9, More: true}},
		{archive.ReadRequest{Line: 4, Lines: 9}, archive.Page{Text: "four is long\nfive", FirstLine: 4, LastLine: 5, Byte: 9, NextByte: 26}},
		{archive.ReadRequest{Line: 1, Bytes: 7}, archive.Page{Text: "one\n", FirstLine: 1, LastLine: 1, NextLine: 2, NextByte: 4, More: true}},
		{archive.ReadRequest{Line: 4, Bytes: 7}, archive.Page{Text: "four is", FirstLine: 4, LastLine: 4, Byte: 9, NextByte: 16, More: true}},
		{archive.ReadRequest{Line: 5}, archive.Page{Text: "five", FirstLine: 5, LastLine: 5, Byte: 22, NextByte: 26}},
		{archive.ReadRequest{Byte: 5, Bytes: 3}, archive.Page{Text: "wo\n", FirstLine: 2, LastLine: 2, NextLine: 3, Byte: 5, NextByte: 8, More: true}},
		{archive.ReadRequest{Bytes: 2}, archive.Page{Text: "on", FirstLine: 1, LastLine: 1, NextByte: 2, More: true}},
		{archive.ReadRequest{Byte: 25, Bytes: 1 << 30}, archive.Page{Text: "e", FirstLine: 5, LastLine: 5, Byte: 25, NextByte: 26}},
	} {
		c.req.Ref, c.want.Ref, c.want.TotalLines, c.want.TotalBytes = ref, ref, 5, 26
		got, err := x.Read(t.Context(), &c.req)
		require.NoError(t, err)
		require.Equal(t, &c.want, got, "%+v", c.req)
	}
	for want, req := range map[string]*archive.ReadRequest{
		"no request": nil, "no line 6: it has the lines 1 to 5 and the bytes 0 to 25": {Line: 6}, "no byte 26": {Byte: 26}, "no line 9223": {Line: 1<<63 - 1},
		"lines count from 1": {Line: -1}, "bytes from 0": {Bytes: -1}, "not at both": {Line: 1, Byte: 1},
	} {
		if req != nil {
			req.Ref = ref
		}
		_, err := x.Read(t.Context(), req)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}

	ref = s.put(ann, schema.UserMessage("a茶🫖"))
	for at, want := range []string{"a", "茶", "茶", "茶", "🫖", "🫖", "🫖", "🫖"} {
		p, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: at, Bytes: 1})
		require.NoError(t, err)
		require.Equal(t, want, p.Text, "no character is divided")
	}
	ref = s.put(ann, schema.ToolMessage("", "c"))
	p, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref})
	require.NoError(t, err)
	require.Equal(t, &archive.Page{Ref: ref, FirstLine: 1}, p, "an empty one")
}

// Whatever bytes an archive has, and whoever asks for whatever page: pages are legal text
// within their bounds, or an error that says what is there.
func FuzzRead(f *testing.F) {
	f.Add("one\ntwo\n", 1, 2, 0, 0)
	f.Add("a茶🫖\xff\n", 0, 0, 3, 1)
	f.Add("", 2, -1, 0, 1<<40)
	s := open(f, nil)
	x, _ := s.of(ann)
	f.Fuzz(func(t *testing.T, text string, line, lines, at, size int) {
		ref, err := x.Put(t.Context(), []*schema.Message{schema.UserMessage(text), schema.UserMessage("x")})
		require.NoError(t, err)
		p, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref, Line: line, Lines: lines, Byte: at, Bytes: size})
		if err != nil {
			require.ErrorIs(t, err, backends.ErrInvalid)
			return
		}
		require.True(t, utf8.ValidString(p.Text))
		require.LessOrEqual(t, len(p.Text), 64<<10)
		require.Equal(t, len(p.Text), p.NextByte-p.Byte)
		require.Equal(t, p.More, p.NextByte < p.TotalBytes)
	})
}

// A result leaves the context, and is found and read again.
func Example() {
	ctx := context.Background()
	db, err := sqlitestore.Open(ctx, sqlitestore.Memory, nil)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	archives, err := archive.New(&archive.Config{Sessions: db})
	if err != nil {
		panic(err)
	}
	x, err := archives.Of(backends.Scope{UserID: "ann", SessionID: "s1"})
	if err != nil {
		panic(err)
	}

	id, err := x.Put(ctx, []*schema.Message{
		schema.AssistantMessage("I'll start it.", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "run", Arguments: `{"cmd":"serve"}`}}}),
		schema.ToolMessage("starting\nport 8080 is taken\nexit 1", "c1", schema.WithToolName("run")),
	})
	fmt.Println(id, err)

	found, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "PORT"})
	if err != nil {
		panic(err)
	}
	for _, m := range found.Matches {
		page, err := x.Read(ctx, &archive.ReadRequest{Ref: m.Ref, Line: m.Line, Lines: 2})
		fmt.Printf("line %d: %s\n%q of %d lines %v\n", m.Line, m.Text, page.Text, page.TotalLines, err)
	}
	whole, err := x.Read(ctx, &archive.ReadRequest{Ref: id})
	fmt.Print(whole.Text, err, "\n")
	// Output:
	// a-ee6jiwxjmns64g7ue6v2 <nil>
	// line 6: port 8080 is taken
	// "port 8080 is taken\nexit 1\n" of 7 lines <nil>
	// [#0] assistant
	// I'll start it.
	// call run({"cmd":"serve"})
	// [#1] tool run
	// starting
	// port 8080 is taken
	// exit 1
	// <nil>
}

func BenchmarkReadOneLineOf10MB(b *testing.B) {
	s := open(b, nil)
	x, _ := s.of(ann)
	ref := s.put(ann, schema.ToolMessage(strings.Repeat("The quick brown fox reads log lines. ", 10<<20/37), "c"))
	for b.Loop() {
		p, err := x.Read(b.Context(), &archive.ReadRequest{Ref: ref, Byte: 5 << 20, Bytes: 6000})
		require.NoError(b, err)
		require.NotEmpty(b, p.Text)
	}
}

// found returns the matches of a search, as "ref line: text".
func found(t testing.TB, x *archive.Archive, req archive.GrepRequest) []string {
	out, err := x.Grep(context.Background(), &req)
	require.NoError(t, err)
	require.False(t, out.More)
	got := []string{}
	for _, m := range out.Matches {
		got = append(got, fmt.Sprint(m.Ref, " ", m.Line, ": ", m.Text))
	}
	return got
}

func TestGrepSearchesTheLogAndBlobs(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	turn := []*schema.Message{
		schema.UserMessage("What about the Timeout?"),
		schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "ls", Arguments: `{"q":"timeout"}`}}}),
		schema.ToolMessage("a\nb timeout\nc", "c1"),
	}
	blob := s.put(ann, append(slices.Clone(turn), schema.UserMessage("no TIMEOUT yet in the log"))...)
	require.Equal(t, []string{blob + " 2: What about the Timeout?", blob + ` 4: call ls({"q":"timeout"})`, blob + " 7: b timeout", blob + " 10: no TIMEOUT yet in the log"},
		found(t, x, archive.GrepRequest{Pattern: "timeout"}))

	s.log(ann, turn...)
	inLog := []string{"log-1 1: What about the Timeout?", `log-2 2: call ls({"q":"timeout"})`, "log-3 2: b timeout"}
	fresh := blob + " 10: no TIMEOUT yet in the log"
	require.Equal(t, append(slices.Clone(inLog), fresh), found(t, x, archive.GrepRequest{Pattern: "timeout"}), "found once, where it is in the log")
	require.Equal(t, inLog, found(t, x, archive.GrepRequest{Pattern: "timeout", Refs: []string{"log-1-9"}}))
	require.Equal(t, []string{inLog[2], fresh}, found(t, x, archive.GrepRequest{Pattern: "b timeout|TIMEOUT y", Regexp: true, Refs: []string{"log-3", blob, "log-3"}}))
	require.Empty(t, found(t, x, archive.GrepRequest{Pattern: "time.ut"}))
	other, _ := s.of(backends.Scope{UserID: "other"})
	require.Empty(t, found(t, other, archive.GrepRequest{Pattern: "timeout"}))

	inner := s.put(ann, schema.ToolMessage("the needle is here", "c1"))
	outer := s.put(ann, schema.UserMessage("first"), placeholder(inner), placeholder("a-aaaaaaaaaaaaaaaaaaaa"))
	out, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "needle", Refs: []string{outer}})
	require.NoError(t, err)
	require.Equal(t, []archive.Match{{Ref: inner, Line: 1, Byte: 4, Text: "the needle is here"}}, out.Matches, "what is archived within")
	require.Equal(t, []string{"a-aaaaaaaaaaaaaaaaaaaa"}, out.Unreadable)
}

// Tools that search and read archives repeat what is in them, and what they are asked for.
// The placeholder of one message repeats its beginning; a summary says something new.
func TestGrepLeavesOutWhatRepeats(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	call := schema.AssistantMessage("the port?", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "ls", Arguments: `{"port":1}`}}, {ID: "d", Function: schema.FunctionCall{Name: "grep", Arguments: `{"pattern":"port"}`}}})
	s.log(ann, schema.UserMessage("a port"), call, schema.ToolMessage("1: a port", "d", schema.WithToolName("grep")), schema.ToolMessage("port", "c", schema.WithToolName("ls")))
	blob := s.put(ann, einox.Mark{Ref: "log-1"}.On(schema.UserMessage("beginning of a port")), summary("log-1", "a summary with a port"))
	lines := func(req archive.GrepRequest) (out []string) {
		req.Pattern = "port"
		for _, m := range found(t, x, req) {
			at, _, _ := strings.Cut(m, ": ")
			out = append(out, at)
		}
		return out
	}
	require.Equal(t, []string{"log-1 1", "log-2 2", "log-2 3", "log-2 4", "log-3 1", "log-4 1", blob + " 4"}, lines(archive.GrepRequest{}))
	skip := []string{"grep", "read"}
	require.Equal(t, []string{"log-1 1", "log-2 2", "log-2 3", "log-4 1", blob + " 4"}, lines(archive.GrepRequest{Skip: skip}))
	require.Equal(t, []string{"log-2 2", "log-2 3"}, lines(archive.GrepRequest{Skip: skip, Refs: []string{"log-2-3"}}))
	require.Equal(t, []string{"log-2 2", "log-2 3", "log-2 4", "log-3 1"}, lines(archive.GrepRequest{Skip: skip, Refs: []string{"log-2", "log-3"}}), "what is named is searched")
}

func TestGrepOptions(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	ref := s.put(ann, schema.ToolMessage("zero\nfoo 1\ntwo\nFOO 3\nfour\nfoobar 5", "c"))
	for _, c := range []struct {
		req  archive.GrepRequest
		want []int
	}{
		{archive.GrepRequest{Pattern: "foo"}, []int{2, 4, 6}},
		{archive.GrepRequest{Pattern: "foo", CaseSensitive: true}, []int{2, 6}},
		{archive.GrepRequest{Pattern: `foo \d`, Regexp: true}, []int{2, 4}},
		{archive.GrepRequest{Pattern: `foo \d`, Regexp: true, CaseSensitive: true}, []int{2}},
		{archive.GrepRequest{Pattern: `^f`, Regexp: true}, []int{2, 4, 5, 6}},
		{archive.GrepRequest{Pattern: `[^x]$`, Regexp: true}, []int{1, 2, 3, 4, 5, 6}},
		{archive.GrepRequest{Pattern: `o\s+f`, Regexp: true}, nil},
		{archive.GrepRequest{Pattern: `\bfoo\b`, Regexp: true}, []int{2, 4}},
		{archive.GrepRequest{Pattern: `\b`, Regexp: true}, nil},
		{archive.GrepRequest{Pattern: `foo \d`}, nil},
		{archive.GrepRequest{Pattern: "1\ntwo"}, nil},
	} {
		out, err := x.Grep(t.Context(), &c.req)
		require.NoError(t, err)
		var got []int
		for _, m := range out.Matches {
			got = append(got, m.Line)
		}
		require.Equal(t, c.want, got, c.req.Pattern)
		require.Equal(t, 1, out.Searched)
	}
	out, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "foo 3", Context: 2})
	require.NoError(t, err)
	require.Equal(t, []archive.Match{{Ref: ref, Line: 4, Byte: 15, Text: "FOO 3", Before: []string{"foo 1", "two"}, After: []string{"four", "foobar 5"}}}, out.Matches)
	for limit, more := range map[int]bool{2: true, 3: false} {
		out, err = x.Grep(t.Context(), &archive.GrepRequest{Pattern: "foo", Limit: limit})
		require.NoError(t, err)
		require.Len(t, out.Matches, limit)
		require.Equal(t, more, out.More)
	}
	for want, req := range map[string]*archive.GrepRequest{
		"no request": nil, "a pattern of 0 bytes": {}, "does not compile": {Pattern: "(", Regexp: true}, "missing closing ]": {Pattern: "[a", Regexp: true},
		"matches the empty text": {Pattern: "x*", Regexp: true}, "1 to 1000 bytes": {Pattern: strings.Repeat("x", 1001)}, "at most 100 archives": {Pattern: "x", Refs: make([]string, 101)},
		"invalid repeat count": {Pattern: "((a{100}){100}){100}", Regexp: true},
	} {
		_, err := x.Grep(t.Context(), req)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
}

func TestALongLineIsTruncatedAroundEachMatch(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	line := []byte(strings.Repeat("hay ", 50_000))
	for _, at := range []int{0, 60, 5000, 5100, 64<<10 - 3, 70_000, 199_994} { // one lies where the search of a line goes on
		copy(line[at:], "needle")
	}
	ref := s.put(ann, schema.ToolMessage("first\n"+string(line)+"\nlast", "c"))
	for _, req := range []archive.GrepRequest{{Pattern: "NEEDLE"}, {Pattern: "needle", CaseSensitive: true}, {Pattern: "ne+dle", Regexp: true, Context: 2}} {
		out, err := x.Grep(t.Context(), &req)
		require.NoError(t, err)
		var got []int
		for _, m := range out.Matches {
			require.True(t, m.Truncated)
			require.Equal(t, 2, m.Line)
			require.Contains(t, m.Text, "needle")
			require.Less(t, len(m.Text), 420)
			p, err := x.Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: m.Byte, Bytes: 6})
			require.NoError(t, err)
			require.Equal(t, "needle", p.Text)
			got = append(got, m.Byte-6)
		}
		require.Equal(t, []int{0, 5000, 64<<10 - 3, 70_000, 199_994}, got, "those that are in sight already are not shown again")
	}
	out, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "last", Context: 1})
	require.NoError(t, err)
	require.Less(t, len(out.Matches[0].Before[0]), 250)
}

func TestMessagesThatDifferAreFoundEach(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	s.log(ann,
		schema.UserMessage("word"), schema.AssistantMessage("word", nil), schema.ToolMessage("word", "c1"), schema.ToolMessage("word", "c2"), schema.ToolMessage("word", "c2", schema.WithToolName("f")),
		&schema.Message{Role: schema.Assistant, Content: "word", ReasoningContent: "x"}, &schema.Message{Role: schema.Assistant, Content: "word", ReasoningContent: "y"},
		schema.AssistantMessage("word", []schema.ToolCall{{Function: schema.FunctionCall{Name: "f"}}}), schema.AssistantMessage("word", []schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: "1"}}}),
		&schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Text: "word x"}}}, &schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Text: "word y"}}},
		schema.UserMessage("word"),
	)
	require.Len(t, found(t, x, archive.GrepRequest{Pattern: "word"}), 10, "the last is said twice, and a result is one whatever its tool")
}

func TestTheAnswerIsBoundedAndEndsWithItsContext(t *testing.T) {
	s := open(t, nil)
	x, _ := s.of(ann)
	for i := range 40 {
		s.log(ann, schema.ToolMessage(strings.Repeat(fmt.Sprint("茶 and words ", i, " "), 30)+"\n"+strings.Repeat("line 茶\n", 50), "c"))
	}
	s.put(ann, schema.ToolMessage(strings.Repeat("a", 1<<20), "c"))
	for _, req := range []archive.GrepRequest{{Pattern: "茶"}, {Pattern: ".", Regexp: true, Context: 1 << 30}, {Pattern: "a", Limit: 1 << 30, Context: 10}, {Pattern: "[^~]", Regexp: true, Limit: -1}} {
		out, err := x.Grep(t.Context(), &req)
		require.NoError(t, err)
		require.True(t, out.More)
		require.LessOrEqual(t, len(out.Matches), 200)
		size := 0
		for _, m := range out.Matches {
			for _, line := range append(append(m.Before, m.Text), m.After...) {
				require.True(t, utf8.ValidString(line))
				size += len(line)
			}
		}
		require.Greater(t, size, 300)
		require.LessOrEqual(t, size, 16<<10)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "a"})
	require.ErrorIs(t, err, context.Canceled)
}

func BenchmarkGrepSession(b *testing.B) {
	s := open(b, nil)
	x, _ := s.of(ann)
	const paragraph = "The quick brown fox reads log lines, finds error 42 at 10:00, and writes \"数据库\" down.\n"
	for range 10 {
		s.log(ann, slices.Repeat([]*schema.Message{schema.UserMessage(strings.Repeat(paragraph, 11))}, 100)...)
	}
	for i := range 100 {
		s.put(ann, schema.ToolMessage(strings.Repeat(paragraph, 220), fmt.Sprint("c", i)))
	}
	for name, req := range map[string]*archive.GrepRequest{
		"absent": {Pattern: "nowhere to be found"}, "absent, exact": {Pattern: "nowhere to be found", CaseSensitive: true},
		"absent, regexp": {Pattern: `no\w+ to be`, Regexp: true}, "50 matches": {Pattern: "error 42", Context: 2},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, err := x.Grep(b.Context(), req)
				require.NoError(b, err)
			}
		})
	}
}

// words are those of drawn messages; a text of them has long lines at times.
func drawText(t *rapid.T) string {
	words := []string{"timeout", "Error", "KELVIN", "straße", "ſhip", "İstanbul", "茶", "数据库连接失败", "naïve", "🫖", "{\"k\":", "<b>", "&", "a.b*c", "\\n", "\u2028", "0x1F", "σίσυφος", "\n", "\n", " ", "\r", "\xff"}
	out := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 20).Draw(t, "words"), rapid.SampledFrom([]string{" ", ""}).Draw(t, "space"))
	if rapid.IntRange(0, 5).Draw(t, "long") == 0 {
		out += strings.Repeat("long line 长行 ", rapid.IntRange(10, 120).Draw(t, "times")) + out
	}
	return out
}

func drawMessage(t *rapid.T) *schema.Message {
	m := &schema.Message{Role: rapid.SampledFrom([]schema.RoleType{schema.User, schema.Assistant, schema.Tool, schema.System}).Draw(t, "role"), Content: drawText(t)}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		m.ReasoningContent, m.Name = drawText(t), "ann"
	case 1:
		m.ToolCalls = []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "查找", Arguments: drawText(t)}, Extra: map[string]any{"f": func() {}}}}
	case 2:
		m.ToolCallID, m.ToolName = "c1", "read_file"
	case 3:
		url := "https://example.com/a?b=c&d"
		image := &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url, Extra: map[string]any{"n": 1.5, "deep": map[string]any{"list": []any{true, nil, "茶"}}}}}
		m.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: drawText(t)}, {Type: schema.ChatMessagePartTypeImageURL, Image: image}}
	}
	if rapid.Bool().Draw(t, "extra") {
		m.Extra, m.ResponseMeta = map[string]any{"provider": make(chan int)}, &schema.ResponseMeta{FinishReason: "stop"}
	}
	if rapid.Bool().Draw(t, "marked") {
		m = einox.Mark{Turn: "t1", Nth: rapid.IntRange(0, 9).Draw(t, "index") + 1}.On(m)
	}
	return m
}

// Whatever left the context in whatever steps: Restore is their inverse, pages of any size
// make up the whole text, and every word is found, where Read shows it.
func TestPropertyArchive(t *testing.T) {
	s := open(t, nil)
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		scope := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", n)}
		x, _ := s.of(scope)
		var history []*schema.Message
		logged := rapid.IntRange(0, 12).Draw(t, "logged")
		for range logged {
			history = append(history, einox.Mark{}.On(einox.Stored(drawMessage(t), func(s string) string { return strings.ToValidUTF8(s, "?") })))
			if m := history[len(history)-1]; rapid.IntRange(0, 4).Draw(t, "end of turn") == 0 {
				*m = *schema.AssistantMessage("", nil)
			}
		}
		if logged > 0 {
			s.log(scope, history...)
			history, _ = s.messages(scope, fmt.Sprint("log-1-", logged)) // none, if they only end turns
		}
		for range rapid.IntRange(1, 6).Draw(t, "running") {
			ref := s.put(scope, drawMessage(t))
			stored, err := s.messages(scope, ref)
			require.NoError(t, err)
			require.Equal(t, ref, s.put(scope, stored...), "what was stored is stored the same way again")
			history = append(history, stored...)
		}
		context := slices.Clone(history)
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			from := rapid.IntRange(0, len(context)-1).Draw(t, "from")
			to := rapid.IntRange(from+1, len(context)).Draw(t, "to")
			ref := s.put(scope, context[from:to]...)
			context = slices.Replace(context, from, to, summary(ref, "in short"))
		}
		restored, err := x.Restore(t.Context(), context)
		require.NoError(t, err)
		require.Equal(t, history, restored)

		ref := s.put(scope, context...)
		pages := func(req archive.ReadRequest) string {
			var b strings.Builder
			for {
				p, err := x.Read(t.Context(), &req)
				require.NoError(t, err)
				require.Equal(t, b.Len(), p.Byte)
				require.Equal(t, strings.Count(b.String(), "\n")+1, p.FirstLine)
				b.WriteString(p.Text)
				require.Equal(t, b.Len(), p.NextByte)
				if !p.More {
					require.Equal(t, b.Len(), p.TotalBytes)
					require.Equal(t, p.TotalLines, p.LastLine)
					return b.String()
				}
				require.NotEmpty(t, p.Text)
				if req.Line > 0 && p.NextLine > 0 {
					req.Line = p.NextLine
				} else {
					req.Line, req.Byte = 0, p.NextByte
				}
			}
		}
		whole := pages(archive.ReadRequest{Ref: ref, Bytes: 64 << 10})
		size := rapid.IntRange(1, 40).Draw(t, "bytes") + len(whole)/50
		require.Equal(t, whole, pages(archive.ReadRequest{Ref: ref, Bytes: size}))
		require.Equal(t, whole, pages(archive.ReadRequest{Ref: ref, Line: 1, Lines: rapid.IntRange(1, 4).Draw(t, "lines"), Bytes: size}))

		for _, m := range history {
			said := strings.Fields(m.Content + " " + m.ReasoningContent)
			for _, p := range einox.Parts(m) {
				said = append(said, strings.Fields(p.Text)...)
			}
			if len(said) == 0 {
				continue
			}
			req := &archive.GrepRequest{Pattern: rapid.SampledFrom(said).Draw(t, "word"), Limit: 200, CaseSensitive: rapid.Bool().Draw(t, "case"), Context: rapid.IntRange(0, 3).Draw(t, "context")}
			if rapid.Bool().Draw(t, "named") {
				req.Refs = []string{ref}
			}
			out, err := x.Grep(t.Context(), req)
			require.NoError(t, err)
			require.NotEmpty(t, out.Matches, "%q of %q", req.Pattern, said)
			require.Empty(t, out.Unreadable)
			match := rapid.SampledFrom(out.Matches).Draw(t, "match")
			line, err := x.Read(t.Context(), &archive.ReadRequest{Ref: match.Ref, Line: match.Line, Lines: 1, Bytes: 64 << 10})
			require.NoError(t, err)
			require.Contains(t, line.Text, strings.Trim(match.Text, "…"))
			at, err := x.Read(t.Context(), &archive.ReadRequest{Ref: match.Ref, Byte: match.Byte, Bytes: len(req.Pattern) + 8})
			require.NoError(t, err)
			require.Equal(t, match.Line, at.FirstLine)
			require.Equal(t, match.Byte, at.Byte)
			if req.CaseSensitive {
				require.True(t, strings.HasPrefix(at.Text, req.Pattern), "%q begins with %q", at.Text, req.Pattern)
			}
			for i, before := range match.Before {
				line, err := x.Read(t.Context(), &archive.ReadRequest{Ref: match.Ref, Line: match.Line - len(match.Before) + i, Lines: 1, Bytes: 64 << 10})
				require.NoError(t, err)
				require.Contains(t, line.Text, strings.TrimSuffix(before, "…"))
			}
		}
	})
}

// endable is a context whose deadline comes when a test says so.
type endable struct {
	context.Context
	over atomic.Bool
}

func (e *endable) Err() error {
	if e.over.Load() {
		return context.DeadlineExceeded
	}
	return e.Context.Err()
}

func TestGrepReturnsWhatItFoundUntilItsDeadline(t *testing.T) {
	for method, found := range map[string]int{"ListBlobs": 1, "Read": 0} {
		s := open(t, nil)
		x, _ := s.of(ann)
		s.log(ann, schema.UserMessage("a word"))
		s.put(ann, schema.ToolMessage("another word", "c"))
		ctx := &endable{Context: t.Context()}
		s.store.Arm(func(c *testkit.StoreCall) error {
			if c.Method != method {
				return nil
			}
			ctx.over.Store(true)
			return fmt.Errorf("%w: %w", backends.ErrUnavailable, context.DeadlineExceeded)
		})
		out, err := x.Grep(ctx, &archive.GrepRequest{Pattern: "word"})
		if found == 0 {
			require.ErrorIs(t, err, context.DeadlineExceeded, "nothing was searched")
			continue
		}
		require.NoError(t, err)
		require.True(t, out.TimedOut)
		require.Len(t, out.Matches, found)
	}
}

func TestOfPrivateMessagesAPlaceholderIsArchived(t *testing.T) {
	s := open(t, nil)
	call := schema.AssistantMessage("I use 9911", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "pay", Arguments: `{"pin":"9911"}`}}})
	ref := s.put(ann, schema.UserMessage("hello"), einox.Mark{Private: einox.Private}.On(call), einox.Mark{Private: einox.Private}.On(schema.ToolMessage("9911 is right", "c1", schema.WithToolName("pay"))), einox.Mark{Private: einox.Private}.On(schema.UserMessage("密码是9911")))
	held, err := s.messages(ann, ref)
	require.NoError(t, err)
	require.Equal(t, []string{"user: hello", "assistant:  calls pay", "tool: [Private: not kept.]", "user: [私密内容，未保留。]"}, testkit.Lines(held))
	require.Equal(t, "{}", held[1].ToolCalls[0].Function.Arguments)
	require.Equal(t, held[1].ToolCalls[0].ID, held[2].ToolCallID, "a call and its result stay together")
	require.True(t, einox.MarkOf(held[3]).Private != "", "what is put back stays private")
	require.Equal(t, "密码是9911", einox.Mark{Private: einox.Private}.On(schema.UserMessage("密码是9911")).Content)
}
