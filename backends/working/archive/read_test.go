// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
)

func pointer[T any](v T) *T { return &v }

func TestTheTextOfAnArchive(t *testing.T) {
	w := newWorld(t)
	w.log(ann,
		schema.UserMessage("Where is it?\n"),
		&schema.Message{Role: schema.Assistant, ReasoningContent: "the file says", Content: "I'll look.", ToolCalls: []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "read_file", Arguments: `{"path":"a.txt"}`}}, {ID: "c2", Function: schema.FunctionCall{Name: "ls"}}}},
		schema.ToolMessage("line 1\nline 2", "c1", schema.WithToolName("read_file")),
		schema.AssistantMessage("", nil),
		&schema.Message{Role: schema.User, Name: "ann", UserInputMultiContent: []schema.MessageInputPart{
			{Type: "text", Text: "this one"},
			{Type: "image_url", Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: pointer("https://x/cat.png"), MIMEType: "image/png"}, Detail: "low"}},
			{Type: "file_url", File: &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: pointer("aGk=")}, Name: "hi.txt"}},
		}},
		&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Audio: &schema.MessageOutputAudio{}}, {Video: &schema.MessageOutputVideo{}}}},
		&schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{{ImageURL: &schema.ChatMessageImageURL{URL: "data:image/png;base64,aGVsbG8="}}}},
	)
	x := w.of(ann)
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
[image https://x/cat.png image/png low]
[file 4 bytes of base64 hi.txt]
[6] assistant 2026-11-21 10:05
[audio]
[video]
[7] user 2026-11-21 10:06
[image 30 bytes of data]
`, text(t, x, "log-1-7"))
	require.Equal(t, "Where is it?\n", text(t, x, "log-1"))
	require.Equal(t, "line 1\nline 2", text(t, x, "log-3"))
	require.Equal(t, "line 1\nline 2", text(t, x, "log-2-3#1"))
	require.Equal(t, "[6] assistant 2026-11-21 10:05\n[audio]\n[video]\n", text(t, x, "log-6"))

	messages, err := x.Messages(t.Context(), "log-1-7")
	require.NoError(t, err)
	ref := w.put(ann, append(messages, schema.UserMessage("not yet in the log"))...)
	require.Equal(t, "[#0] user\nWhere is it?\n", text(t, x, ref)[:23])
	require.Equal(t, "not yet in the log", text(t, x, ref+"#6"))
}

func TestPagesByLine(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.ToolMessage("one\ntwo\n\nfour is long\nfive", "c"))
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
		got, err := w.of(ann).Read(t.Context(), &c.req)
		require.NoError(t, err)
		require.Equal(t, &c.want, got, "%+v", c.req)
	}
	for want, req := range map[string]archive.ReadRequest{
		"no line 6: it has the lines 1 to 5 and the bytes 0 to 25": {Line: 6}, "no byte 26": {Byte: 26}, "lines count from 1": {Line: -1}, "bytes from 0": {Bytes: -1}, "not at both": {Line: 1, Byte: 1},
	} {
		req.Ref = ref
		_, err := w.of(ann).Read(t.Context(), &req)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	_, err := w.of(ann).Read(t.Context(), nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestNoCharacterIsSplit(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.UserMessage("a茶🫖"))
	for at, want := range []string{"a", "茶", "茶", "茶", "🫖", "🫖", "🫖", "🫖"} {
		p, err := w.of(ann).Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: at, Bytes: 1})
		require.NoError(t, err)
		require.Equal(t, want, p.Text, at)
		require.Equal(t, strings.Index("a茶🫖", want), p.Byte)
	}
}

func TestAnEmptyArchive(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.ToolMessage("", "c"))
	p, err := w.of(ann).Read(t.Context(), &archive.ReadRequest{Ref: ref})
	require.NoError(t, err)
	require.Equal(t, &archive.Page{Ref: ref, FirstLine: 1}, p)
	_, err = w.of(ann).Read(t.Context(), &archive.ReadRequest{Ref: ref, Line: 2})
	require.ErrorContains(t, err, "it is empty")
}

// A reference to a long log must not read it all for a page of it.
func TestALongLogIsNotReadWhole(t *testing.T) {
	w := newWorld(t)
	for i := range 30 {
		var turn []*schema.Message
		for k := range 100 {
			turn = append(turn, schema.UserMessage(fmt.Sprint("message ", i*100+k+1)))
		}
		w.log(ann, turn...)
	}
	x := w.of(ann)
	p, err := x.Read(t.Context(), &archive.ReadRequest{Ref: "log-1-100000", Line: 3, Lines: 2})
	require.NoError(t, err)
	require.Equal(t, "[2] user 2026-11-21 10:01\nmessage 2\n", p.Text)
	require.True(t, p.More)
	require.Equal(t, 5, p.NextLine)
	require.Zero(t, p.TotalLines)
	require.LessOrEqual(t, w.store.entries, 1200)

	p, err = x.Read(t.Context(), &archive.ReadRequest{Ref: "log-2001-2500", Line: 999})
	require.NoError(t, err)
	require.Contains(t, p.Text, "message 2500\n")
	require.Equal(t, 1000, p.TotalLines)

	p, err = x.Read(t.Context(), &archive.ReadRequest{Ref: "log-1-100000", Line: 6000})
	require.NoError(t, err)
	require.Equal(t, "message 3000\n", p.Text)
	require.Equal(t, 6000, p.TotalLines)
	require.False(t, p.More)
	_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: "log-1-100000", Line: 6001})
	require.ErrorContains(t, err, "the lines 1 to 6000")
}
