// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/archive"
	"github.com/einomem/einomem/internal/einox"
)

// eachTime runs a property with a session of its own.
func eachTime(t *testing.T, property func(r *rapid.T, w *world, s backends.Scope)) {
	w := newWorld(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		property(r, w, backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", n)})
	})
}

func TestWhatIsPutComesBack(t *testing.T) {
	eachTime(t, func(r *rapid.T, w *world, s backends.Scope) {
		in := rapid.SliceOfN(messages(), 1, 5).Draw(r, "messages")
		before := fmt.Sprintf("%+v", in)
		ref := w.put(s, in...)
		out, err := w.of(s).Messages(r.Context(), ref)
		require.NoError(r, err)
		require.Equal(r, allStored(in), out)
		require.Equal(r, before, fmt.Sprintf("%+v", in), "the caller's messages are as they were")
		require.Equal(r, ref, w.put(s, out...), "what was stored is stored the same way again")
		i := rapid.IntRange(0, len(in)-1).Draw(r, "one")
		one, err := w.of(s).Messages(r.Context(), fmt.Sprint(ref, "#", i))
		require.NoError(r, err)
		require.Equal(r, out[i:i+1], one)
	})
}

// history is a log of its own, as messages with their marks, and some more that
// the log does not have yet.
func (w *world) history(r *rapid.T, s backends.Scope) []*schema.Message {
	var out []*schema.Message
	if n := rapid.IntRange(0, 12).Draw(r, "logged"); n > 0 {
		log := make([]*schema.Message, n)
		for i := range log {
			log[i] = einox.Unmark(stored(messages().Draw(r, "message")))
			if rapid.IntRange(0, 4).Draw(r, "mark") == 0 {
				log[i] = schema.AssistantMessage("", nil)
			}
		}
		w.log(s, log...)
		out, _ = w.of(s).Messages(r.Context(), fmt.Sprint("log-1-", n))
	}
	return append(out, allStored(rapid.SliceOfN(messages(), 0, 6).Draw(r, "running"))...)
}

func TestRestoreIsTheInverseOfCompaction(t *testing.T) {
	eachTime(t, func(r *rapid.T, w *world, s backends.Scope) {
		want := w.history(r, s)
		got := slices.Clone(want)
		for range rapid.IntRange(0, 8).Draw(r, "steps") {
			if len(got) > 0 {
				got = w.compact(r, s, got)
			}
		}
		restored, err := w.of(s).Restore(r.Context(), got)
		require.NoError(r, err)
		require.Equal(r, len(want), len(restored))
		for i := range want {
			require.Equal(r, want[i], restored[i])
		}
	})
}

// compact puts a stretch away, and something in its place.
func (w *world) compact(r *rapid.T, s backends.Scope, messages []*schema.Message) []*schema.Message {
	from := rapid.IntRange(0, len(messages)-1).Draw(r, "from")
	upto := rapid.IntRange(from+1, len(messages)).Draw(r, "upto")
	ref := w.put(s, messages[from:upto]...)
	var instead []*schema.Message
	if rapid.Bool().Draw(r, "each") && !strings.HasPrefix(ref, "log-") {
		for i := from; i < upto; i++ { // offloaded, each by itself
			instead = append(instead, einox.MarkRef(schema.ToolMessage("preview", "c"), fmt.Sprint(ref, "#", i-from)))
		}
	} else {
		m := schema.UserMessage("in short")
		einox.MarkSummary(m)
		instead = append(instead, einox.MarkRef(m, ref))
	}
	return slices.Replace(slices.Clone(messages), from, upto, instead...)
}

// pages reads all of an archive, in pages that follow one another as they say.
func pages(r *rapid.T, x *archive.Archive, req archive.ReadRequest) string {
	var b strings.Builder
	for {
		p, err := x.Read(r.Context(), &req)
		require.NoError(r, err)
		require.Equal(r, b.Len(), p.Byte)
		require.Equal(r, strings.Count(b.String(), "\n")+1, p.FirstLine)
		b.WriteString(p.Text)
		require.Equal(r, b.Len(), p.NextByte)
		if !p.More {
			require.Zero(r, p.NextLine)
			require.Equal(r, b.Len(), p.TotalBytes)
			require.Equal(r, len(lines(b.String())), p.TotalLines)
			require.Equal(r, p.TotalLines, p.LastLine)
			return b.String()
		}
		require.NotEmpty(r, p.Text)
		if req.Line > 0 && p.NextLine > 0 {
			req.Line = p.NextLine
		} else {
			req.Line, req.Byte = 0, p.NextByte
		}
	}
}

// lines splits a text as Read and Grep count.
func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

func TestPagesMakeUpTheWhole(t *testing.T) {
	eachTime(t, func(r *rapid.T, w *world, s backends.Scope) {
		in := rapid.SliceOfN(messages(), 1, 4).Draw(r, "messages")
		ref := w.put(s, in...)
		if rapid.Bool().Draw(r, "log") {
			w.log(s, einox.Unmark(stored(in[0])), schema.UserMessage("x"), einox.Unmark(stored(in[len(in)-1])))
			ref = rapid.SampledFrom([]string{"log-1-3", "log-2-3", "log-2", "log-1-99", "log-1-3#0"}).Draw(r, "ref")
		}
		x := w.of(s)
		whole := pages(r, x, archive.ReadRequest{Ref: ref, Bytes: archive.MaxBytes})
		require.Equal(r, whole, pages(r, x, archive.ReadRequest{Ref: ref, Bytes: rapid.IntRange(1, 40).Draw(r, "bytes") + len(whole)/50}))
		require.Equal(r, whole, pages(r, x, archive.ReadRequest{
			Ref: ref, Line: 1, Lines: rapid.IntRange(1, 4).Draw(r, "lines"), Bytes: rapid.SampledFrom([]int{0, 3, 50, 500}).Draw(r, "most") + len(whole)/50,
		}))
		if len(in) == 1 && strings.HasPrefix(ref, "a-") && len(in[0].ToolCalls)+len(in[0].ReasoningContent)+len(in[0].UserInputMultiContent)+len(in[0].AssistantGenMultiContent)+len(in[0].MultiContent) == 0 {
			require.Equal(r, stored(in[0]).Content, whole, "one text is that text")
		}
	})
}

// sayings are all texts of a message that must be found. The name of the tool that
// answered is in the call that it answers.
func sayings(m *schema.Message) string {
	all := []string{m.Content, m.ReasoningContent}
	for _, c := range m.ToolCalls {
		all = append(all, c.Function.Name, c.Function.Arguments)
	}
	for _, p := range m.UserInputMultiContent {
		all = append(all, p.Text)
		if p.File != nil {
			all = append(all, p.File.Name)
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		all = append(all, p.Text)
	}
	for _, p := range m.MultiContent {
		all = append(all, p.Text)
	}
	return strings.Join(all, "\n")
}

func TestEveryWordIsFoundWhereReadShowsIt(t *testing.T) {
	eachTime(t, func(r *rapid.T, w *world, s backends.Scope) {
		history := w.history(r, s)
		compacted := slices.Clone(history)
		for range rapid.IntRange(0, 3).Draw(r, "steps") {
			if len(compacted) > 0 {
				compacted = w.compact(r, s, compacted)
			}
		}
		refs := []string(nil)
		if len(history) > 0 { // the rest leaves the context, too
			refs = append(refs, w.put(s, compacted...))
		}
		if rapid.Bool().Draw(r, "whole session") {
			refs = nil
		}
		x := w.of(s)
		for _, m := range history {
			all := strings.Fields(sayings(m))
			if len(all) == 0 {
				continue
			}
			word := rapid.SampledFrom(all).Draw(r, "word")
			req := &archive.GrepRequest{Pattern: word, Refs: refs, Limit: archive.MaxMatches, CaseSensitive: rapid.Bool().Draw(r, "case"), Context: rapid.IntRange(0, 3).Draw(r, "context")}
			found, err := x.Grep(r.Context(), req)
			require.NoError(r, err)
			require.NotEmpty(r, found.Matches, "%q of %q", word, sayings(m))
			require.Empty(r, found.Unreadable)
			for range min(4, len(found.Matches)) {
				isThere(r, x, req, &found.Matches[rapid.IntRange(0, len(found.Matches)-1).Draw(r, "match")])
			}
		}
	})
}

// isThere requires that a match is where it says it is.
func isThere(r *rapid.T, x *archive.Archive, req *archive.GrepRequest, m *archive.Match) {
	line, err := x.Read(r.Context(), &archive.ReadRequest{Ref: m.Ref, Line: m.Line, Lines: 1, Bytes: archive.MaxBytes})
	require.NoError(r, err)
	shown := strings.TrimSuffix(line.Text, "\n")
	if !m.Clipped {
		require.Equal(r, shown, m.Text)
	} else {
		require.Contains(r, shown, strings.Trim(m.Text, "…"))
	}
	at, err := x.Read(r.Context(), &archive.ReadRequest{Ref: m.Ref, Byte: m.Byte, Bytes: len(req.Pattern) + 8})
	require.NoError(r, err)
	require.Equal(r, m.Line, at.FirstLine)
	begins, err := archive.FindAll(r.Context(), req, at.Text)
	require.NoError(r, err)
	require.NotEmpty(r, begins)
	require.Zero(r, begins[0][0], "%q begins with %q", at.Text, req.Pattern)
	for i, before := range m.Before {
		line, err := x.Read(r.Context(), &archive.ReadRequest{Ref: m.Ref, Line: m.Line - len(m.Before) + i, Lines: 1, Bytes: archive.MaxBytes})
		require.NoError(r, err)
		require.Contains(r, line.Text, strings.Trim(before, "…"))
	}
	for i, after := range m.After {
		line, err := x.Read(r.Context(), &archive.ReadRequest{Ref: m.Ref, Line: m.Line + 1 + i, Lines: 1, Bytes: archive.MaxBytes})
		require.NoError(r, err)
		require.Contains(r, line.Text, strings.Trim(after, "…"))
	}
}
