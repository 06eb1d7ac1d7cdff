// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/test/testkit"
)

// The best score that memory found opens a note, and it has to be higher for a request that is
// about nobody whom memory knows.
func TestANoteIsForRequestsThatAskMemory(t *testing.T) {
	for _, c := range []struct {
		request, speaker string
		kind             backends.Kind
		score            float64
		shown            bool
	}{
		{"Which drink do I like?", "", backends.KindFact, 0.11, true},
		{"Which drink do I like?", "", backends.KindFact, 0.09, false},
		{"我喜欢喝什么？", "", backends.KindFact, 0.11, true},
		{"How is green tea made?", "", backends.KindFact, 0.19, false},
		{"How is green tea made?", "", backends.KindFact, 0.21, true},
		{"绿茶是怎么做的？", "", backends.KindFact, 0.19, false},
		{"What does cousin Anna drink?", "", backends.KindFact, 0.11, true}, // the memory names her
		{"What does painter Zoltan drink?", "Ben", backends.KindEpisode, 0.39, false},
		{"What does painter Zoltan drink?", "Ben", backends.KindEpisode, 0.41, true},
		{"How is green tea made?", "", backends.KindTask, 0.11, true}, // experience is for every request
	} {
		m := newMemory(t, nil)
		m.backend.Found = []backends.Hit{{Score: c.score, Memory: backends.Memory{
			ID: "1", Kind: c.kind, Text: "Anna drinks tea.", Origin: backends.Origin{Speaker: c.speaker},
		}}}
		var sent strings.Builder
		for _, message := range m.prepare(testkit.Say(c.request)) {
			sent.WriteString(message.Content)
		}
		require.Equal(t, c.shown, strings.Contains(sent.String(), "Anna drinks tea"), "%s %v", c.request, c.score)
	}
}
