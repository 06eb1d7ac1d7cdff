// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// same checks that two contexts say the same, as it is stored: without what memory
// put in, and without what providers added. What comes back from the log is as it
// was before it was put right.
//
// Where calls shared their ids, new ones were given; a result that comes back from
// the log has its old one. Only the words are the same then.
func (c *scene) same(want, got []*schema.Message, what string) {
	if slices.ContainsFunc(want, blurred) {
		others := slices.DeleteFunc(slices.Clone(want), einox.IsNote)
		require.Empty(c.t, transcript.WordsOf(others...).Without(transcript.WordsOf(got...), c.w.filler), what)
		return
	}
	said := func(messages []*schema.Message) (out []string) {
		for _, m := range c.mended(messages) {
			if einox.IsRecalled(m) || einox.IsCore(m) {
				continue
			}
			bare := *m
			bare.Extra, bare.ResponseMeta = nil, nil
			out = append(out, snapshot(c.t, []*schema.Message{&bare}))
		}
		return out
	}
	equal(c.t, said(want), said(got), what)
}

// equal compares texts, and shows the first that differ only: they may be huge.
func equal(t *rapid.T, want, got []string, what string) {
	for i := range max(len(want), len(got)) {
		w, g := at(want, i), at(got, i)
		require.True(t, w == g, "%s: text %d of %d and %d:\n%.600s\n%.600s", what, i, len(want), len(got), w, g)
	}
}

func at(texts []string, i int) string {
	if i < len(texts) {
		return texts[i]
	}
	return "(none)"
}

// blurred reports whether calls of a message, or its result, are not told apart by
// their ids, or were not.
func blurred(m *schema.Message) bool {
	id := m.ToolCallID
	if len(m.ToolCalls) > 0 {
		id = m.ToolCalls[0].ID
	}
	return len(m.ToolCalls)+len(m.ToolCallID) > 0 && !distinct.MatchString(id)
}

// distinct are the ids that histories have where these are as they should be.
var distinct = regexp.MustCompile(`^(call_|search-|read_file-|run_shell-|query_weather-|research_agent-)`)

// each returns the messages as texts, one each.
func each(t require.TestingT, messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		out[i] = snapshot(t, []*schema.Message{m})
	}
	return out
}

func snapshot(t require.TestingT, messages []*schema.Message) string {
	text, err := json.Marshal(messages)
	require.NoError(t, err)
	return string(text)
}
