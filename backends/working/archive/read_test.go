// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/backends/working/archive"
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
	// a-rzlbipmhmum4eenkroa2 <nil>
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
