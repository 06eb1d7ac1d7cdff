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
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
)

func TestGrepInTheLogAndInBlobs(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	asked, called, result := schema.UserMessage("What about the Timeout?"), schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "grep", Arguments: `{"q":"timeout"}`}}}), schema.ToolMessage("a\nb timeout\nc", "c1")
	blob := w.put(ann, asked, called, result, schema.UserMessage("no TIMEOUT yet in the log"))
	require.Equal(t, []string{blob + "#0 1 15 What about the Timeout?", blob + "#1 2 31 call grep({\"q\":\"timeout\"})", blob + "#2 2 4 b timeout", blob + "#3 1 3 no TIMEOUT yet in the log"}, grep(t, x, "timeout"))

	w.log(ann, asked, called, result)
	inLog := []string{"log-1 1 15 What about the Timeout?", "log-2 2 47 call grep({\"q\":\"timeout\"})", "log-3 2 4 b timeout"}
	require.Equal(t, append(inLog, blob+"#3 1 3 no TIMEOUT yet in the log"), grep(t, x, "timeout"), "found once, where it is in the log")
	require.Equal(t, inLog, grep(t, x, "timeout", "log-1-9"))
	require.Equal(t, inLog[2:], grep(t, x, "timeout", "log-3", blob+"#2"))
	require.Equal(t, inLog[1:], grep(t, x, "timeout", "log-2-3", "log-3", "log-2-3"))
	require.Equal(t, []string{}, grep(t, x, "time.ut"))
	require.Equal(t, []string{}, grep(t, w.of(backends.Scope{UserID: "nobody"}), "timeout"))
}

// An agent that searches must not find its own searches.
func TestToolsThatRepeatAreLeftOut(t *testing.T) {
	w := newWorld(t)
	call := func(name string) *schema.Message {
		return schema.AssistantMessage("the port?", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "ls", Arguments: `{"port":1}`}}, {ID: "d", Function: schema.FunctionCall{Name: name, Arguments: `{"pattern":"port"}`}}})
	}
	w.log(ann, schema.UserMessage("a port"), call("grep"), schema.ToolMessage("1: a port", "d", schema.WithToolName("grep")), schema.ToolMessage("port", "c", schema.WithToolName("ls")))
	blob := w.put(ann, einox.MarkRef(schema.UserMessage("excerpt of a port"), "log-1"), summaryOf("log-1", "a summary with a port"))
	x := w.of(ann)
	at := func(req archive.GrepRequest) (out []string) {
		found, err := x.Grep(t.Context(), &req)
		require.NoError(t, err)
		for _, m := range found.Matches {
			out = append(out, fmt.Sprint(m.Ref, ":", m.Line))
		}
		return out
	}
	require.Equal(t, []string{"log-1:1", "log-2:2", "log-2:3", "log-2:4", "log-3:1", "log-4:1", blob + "#1:2"}, at(archive.GrepRequest{Pattern: "port"}))
	skip := []string{"grep", "read"}
	require.Equal(t, []string{"log-1:1", "log-2:2", "log-2:3", "log-4:1", blob + "#1:2"}, at(archive.GrepRequest{Pattern: "port", Skip: skip}))
	require.Equal(t, []string{"log-2:2", "log-2:3"}, at(archive.GrepRequest{Pattern: "port", Skip: skip, Refs: []string{"log-2-3"}}))
	require.Equal(t, []string{"log-2:2", "log-2:3", "log-2:4", "log-3:1", blob + "#0:2", "log-1:1"}, at(archive.GrepRequest{Pattern: "port", Skip: skip, Refs: []string{"log-2", "log-3", blob + "#0"}}), "what is named is searched")
}

func summaryOf(ref, text string) *schema.Message {
	m := schema.UserMessage(text)
	einox.MarkSummary(m)
	return einox.MarkRef(m, ref)
}

func TestGrepOptions(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.ToolMessage("zero\nfoo 1\ntwo\nFOO 3\nfour\nfoobar 5", "c"))
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
	} {
		found, err := w.of(ann).Grep(t.Context(), &c.req)
		require.NoError(t, err)
		var got []int
		for _, m := range found.Matches {
			require.Equal(t, ref, m.Ref)
			got = append(got, m.Line)
		}
		require.Equal(t, c.want, got, c.req.Pattern)
		require.Equal(t, 1, found.Searched)
	}
	found, err := w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: "foo 3", Context: 2})
	require.NoError(t, err)
	require.Equal(t, []archive.Match{{Ref: ref, Line: 4, Byte: 15, Text: "FOO 3", Before: []string{"foo 1", "two"}, After: []string{"four", "foobar 5"}}}, found.Matches)
	found, err = w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: "foo", Limit: 2})
	require.NoError(t, err)
	require.Len(t, found.Matches, 2)
	require.True(t, found.More)
	found, err = w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: "foo", Limit: 3})
	require.NoError(t, err)
	require.False(t, found.More, "there are just as many")
}

func TestPatternsThatCannotWork(t *testing.T) {
	x := newWorld(t).of(ann)
	for want, req := range map[string]*archive.GrepRequest{
		"no request": nil, "no pattern": {}, "does not compile": {Pattern: "(", Regexp: true}, "missing closing ]": {Pattern: "[a", Regexp: true}, "line break": {Pattern: "a\nb"},
		"matches the empty text": {Pattern: "x*", Regexp: true}, "at most 1000": {Pattern: strings.Repeat("x", 1001)}, "too large": {Pattern: strings.Repeat(`\w{500}`, 5), Regexp: true}, "at most 100;": {Pattern: "x", Refs: make([]string, 101)},
		"invalid repeat count": {Pattern: "((a{100}){100}){100}", Regexp: true},
	} {
		_, err := x.Grep(t.Context(), req)
		require.ErrorIs(t, err, backends.ErrInvalid, want)
		require.ErrorContains(t, err, want)
	}
	for _, pattern := range []string{"", ".*", "a?", "^", "$", "^$", "(a|)", `\B`} {
		_, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: pattern, Regexp: true})
		require.ErrorIs(t, err, backends.ErrInvalid, "%q would flood", pattern)
	}
}

// oneLine is a line of the size, with the word needle at each position.
func oneLine(size int, at ...int) string {
	b := []byte(strings.Repeat("hay ", size/4))
	for _, i := range at {
		copy(b[i:], "needle")
	}
	return string(b)
}

func TestALongLineIsClippedAroundEachMatch(t *testing.T) {
	w := newWorld(t)
	at := []int{0, 60, 5000, 5100, 70_000, 199_994}
	ref := w.put(ann, schema.ToolMessage("first\n"+oneLine(200_000, at...)+"\nlast", "c"))
	for _, req := range []archive.GrepRequest{{Pattern: "NEEDLE"}, {Pattern: "needle", CaseSensitive: true}, {Pattern: "ne+dle", Regexp: true}, {Pattern: `ne+dle`, Regexp: true, Context: 2}} {
		found, err := w.of(ann).Grep(t.Context(), &req)
		require.NoError(t, err)
		var got []int
		for _, m := range found.Matches {
			require.True(t, m.Clipped)
			require.Equal(t, 2, m.Line)
			require.Contains(t, m.Text, "needle")
			require.Less(t, len(m.Text), 420)
			p, err := w.of(ann).Read(t.Context(), &archive.ReadRequest{Ref: ref, Byte: m.Byte, Bytes: 6})
			require.NoError(t, err)
			require.Equal(t, "needle", p.Text)
			got = append(got, m.Byte-6)
		}
		require.Equal(t, []int{0, 5000, 70_000, 199_994}, got, "those that are in sight already are not shown again")
	}
	found, err := w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: "^[a-z ]", Regexp: true, Refs: []string{ref}})
	require.NoError(t, err)
	require.Len(t, found.Matches, 3, "a line begins once")
	found, err = w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: "last", Context: 1})
	require.NoError(t, err)
	require.Len(t, found.Matches[0].Before, 1)
	require.Less(t, len(found.Matches[0].Before[0]), 250)
}

func TestAWordBoundaryIsNotWhereTheSearchGoesOn(t *testing.T) {
	w := newWorld(t)
	w.put(ann, schema.ToolMessage(strings.Repeat("x", 300)+" "+strings.Repeat("ab", 2000), "c"))
	found, err := w.of(ann).Grep(t.Context(), &archive.GrepRequest{Pattern: `\bab`, Regexp: true})
	require.NoError(t, err)
	require.Len(t, found.Matches, 1)
}

// Messages are the same only if all that was said is.
func TestMessagesThatDifferAreFoundEach(t *testing.T) {
	w := newWorld(t)
	w.log(ann,
		schema.UserMessage("word"), schema.AssistantMessage("word", nil), schema.ToolMessage("word", "c1"), schema.ToolMessage("word", "c2"), schema.ToolMessage("word", "c2", schema.WithToolName("f")),
		&schema.Message{Role: schema.User, Content: "word", Name: "ann"}, &schema.Message{Role: schema.Assistant, Content: "word", ReasoningContent: "x"}, &schema.Message{Role: schema.Assistant, Content: "word", ReasoningContent: "y"},
		schema.AssistantMessage("word", []schema.ToolCall{{Function: schema.FunctionCall{Name: "f"}}}), schema.AssistantMessage("word", []schema.ToolCall{{Function: schema.FunctionCall{Name: "f", Arguments: "1"}}}),
		&schema.Message{Role: schema.User, Content: "word", MultiContent: []schema.ChatMessagePart{{Text: "x"}}}, &schema.Message{Role: schema.User, Content: "word", MultiContent: []schema.ChatMessagePart{{Text: "y"}}},
		schema.UserMessage("word"),
	)
	require.Len(t, grep(t, w.of(ann), "word"), 12, "only the last is said twice")
}

func TestTheAnswerIsBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		w.log(ann, schema.ToolMessage(strings.Repeat(fmt.Sprint("茶 and words ", i, " "), 30)+"\n"+strings.Repeat("line 茶\n", 50), "c"))
	}
	w.put(ann, schema.ToolMessage(oneLine(1<<20, 0), "c"))
	for _, req := range []archive.GrepRequest{{Pattern: "茶"}, {Pattern: ".", Regexp: true, Context: 1 << 30}, {Pattern: "a", Limit: 1 << 30, Context: 10}, {Pattern: "[^~]", Regexp: true, Limit: -1}} {
		found, err := w.of(ann).Grep(t.Context(), &req)
		require.NoError(t, err)
		require.True(t, found.More)
		require.LessOrEqual(t, len(found.Matches), archive.MaxMatches)
		size := 0
		for _, m := range found.Matches {
			for _, line := range append(append(m.Before, m.Text), m.After...) {
				require.True(t, utf8.ValidString(line))
				size += len(line)
			}
		}
		require.Greater(t, size, 300)
		require.LessOrEqual(t, size, 16<<10)
	}
}

func TestASearchCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	w.put(ann, schema.ToolMessage(strings.Repeat("a", 1<<20), "c"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.of(ann).Grep(ctx, &archive.GrepRequest{Pattern: "a"})
	require.ErrorIs(t, err, context.Canceled)

	for _, req := range []*archive.GrepRequest{{Pattern: "a+b?$", Regexp: true}, {Pattern: strings.Repeat("a", 999) + "b"}} {
		text := strings.Repeat("a", 1<<20) + "b"
		got, err := archive.FindAll(t.Context(), req, text)
		require.NoError(t, err)
		require.Len(t, got, 1)
		got, err = archive.FindAll(ctx, req, text)
		require.NoError(t, err)
		require.Empty(t, got, "within one long line, too")
	}
	require.Less(t, archive.RunesRead(ctx, strings.Repeat("a", 1<<20)), 5000)
	require.Equal(t, 1<<20, archive.RunesRead(t.Context(), strings.Repeat("a", 1<<20)))
}
