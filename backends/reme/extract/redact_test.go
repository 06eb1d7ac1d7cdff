// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/einox"
)

// Nothing that Redact takes away is shown to a model or said of a candidate, wherever
// in a trajectory it stands; and the trajectory stays as it is.
func TestWhatIsRedactedIsNeverShown(t *testing.T) {
	const secret = "Hunter2"
	made := func(score float64) trajectory.Trajectory {
		out := attempt("log in with "+secret, score, "the word is "+secret)
		out.Session = "s" // an id, as the store knows it
		out.Metadata = map[string]any{extract.NoteKey: "it took " + secret, "segments": []any{1.0, 2.0}}
		out.Messages[1] = &schema.Message{Role: schema.User, Name: secret, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: secret}}}
		out.Messages[2].ReasoningContent = "use " + secret
		out.Messages[2].ToolCalls[0].Function.Arguments = `{"word":"` + secret + `"}`
		note := schema.UserMessage("a note of memory")
		einox.MarkNote(note)
		out.Messages = append(out.Messages, note)
		return out
	}
	m := &teacher{answers: map[step]func(asked) (string, error){
		success: says("S", 1), failure: says("F", 1), comparative: says("C", 1), judge: approve(1), segmenting: answer(`{"segment_points":[1]}`),
		simple: says("M", 1), simpleComparative: says("D", 1),
	}}
	e, run := open(t, m, func(c *extract.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, secret, "***") }
		c.Segment = true
	})
	ts := []trajectory.Trajectory{made(1), made(0)}
	unsegmented := made(1)
	unsegmented.TaskID, unsegmented.Metadata = "", nil
	unsegmented.Messages = append(unsegmented.Messages, schema.UserMessage(secret+"?"), schema.AssistantMessage(secret, nil))
	ts = append(ts, unsegmented)
	before, err := json.Marshal(ts)
	require.NoError(t, err)
	metadata := maps.Clone(ts[0].Metadata)

	found, err := e.Extract(t.Context(), run, ts)
	require.NoError(t, err)
	kept, err := e.Validate(t.Context(), run, found)
	require.NoError(t, err)
	quick, err := e.Simple(t.Context(), run, ts)
	require.NoError(t, err)
	pairs, err := e.SimpleComparative(t.Context(), run, ts)
	require.NoError(t, err)

	for _, c := range append(append(kept, quick...), pairs...) {
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.NotContains(t, string(text)+c.Material, secret)
	}
	require.NotEmpty(t, m.of(comparative), "attempts are still of one task")
	require.NotEmpty(t, m.of(segmenting))
	for _, q := range m.calls {
		require.NotContains(t, q.user, secret)
		require.NotContains(t, q.user, "a note of memory")
	}
	after, err := json.Marshal(ts)
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	require.Equal(t, metadata, ts[0].Metadata)
}

// Redacting makes no two tasks one: what is compared are attempts at the same.
func TestDEF11TasksStayApartWhenTheirNamesAreRedacted(t *testing.T) {
	m := &teacher{answers: map[step]func(asked) (string, error){success: says("S", 1), failure: says("F", 1), comparative: says("C", 1)}}
	e, run := open(t, m, func(c *extract.Config) {
		c.Redact = func(s string) string { return regexp.MustCompile(`[0-9]+`).ReplaceAllString(s, "#") }
	})
	named, other := attempt("refund order 7", 1, "x"), attempt("refund order 8", 0, "y")
	asked, another := attempt("cancel order 7", 1, "x"), attempt("cancel order 8", 0, "y")
	asked.TaskID, another.TaskID = "", "" // told apart by their words alone
	_, err := e.Extract(t.Context(), run, []trajectory.Trajectory{named, other, asked, another})
	require.NoError(t, err)
	require.Empty(t, m.of(comparative))

	again := attempt("refund order 7", 0, "z")
	_, err = e.Extract(t.Context(), run, []trajectory.Trajectory{named, other, again})
	require.NoError(t, err)
	require.Len(t, m.of(comparative), 1)
}
