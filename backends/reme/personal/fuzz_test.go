// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/personal"
)

// Whatever a model answers, to whichever question, ends in an error that says so or in
// memories that can be read, and leaves the others alone.
func FuzzAnswers(f *testing.F) {
	for _, s := range nonsense {
		for which := range uint8(3) {
			f.Add(s, which)
		}
	}
	f.Add(`{"scores":[{"n":"0","score":"3"},{"n":1,"score":3.0}]}`, uint8(0))
	f.Add(`{"observations":[{"n":0,"text":"x","when":"9999-99"},{"n":1,"text":"None"},{"n":1,"text":"y","keywords":["a",1]}]}`, uint8(1))
	f.Add(`{"relations":[{"n":1,"relation":"contained","other":2},{"n":2,"relation":"contained","other":3},{"n":3,"relation":"contained","other":1}]}`, uint8(2))
	f.Add(`{"relations":[{"n":1,"relation":"extends","other":2},{"n":2,"relation":"extends","other":1},{"n":1,"relation":"contradicts","other":0},{"n":2,"relation":"contradicts","other":1},{"n":3,"relation":"矛盾","other":2}]}`, uint8(2))
	f.Add(`{"relations":[{"n":0,"relation":"contained","other":1},{"n":0,"relation":"extends","other":3},{"n":2,"relation":"same","other":0}]}`, uint8(2))
	f.Fuzz(func(t *testing.T, answer string, which uint8) {
		m := newMind()
		w := open(t, with(m))
		w.summarize(t, ann, said(0, "I live in Beijing"))
		tool := []string{scores, observations, relations}[which%3]
		m.change = func(asked string, _ shown, usual string) string {
			if asked == tool {
				return answer
			}
			return usual
		}
		resp, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(1, "I moved to Shanghai"), said(2, "I like tea"), said(3, "I like teas")}})
		all := w.all(t, partitionOf(t, ann))
		if err != nil {
			require.True(t, errors.Is(err, backends.ErrModel), err)
			require.Len(t, all, 1)
			return
		}
		written := 0
		for _, item := range resp.Items {
			switch item.Outcome {
			case backends.OutcomeAdded, backends.OutcomeSuperseded:
				written++
			}
			require.NotEmpty(t, item.Memory.ID)
		}
		require.Len(t, all, 1+written)
		for _, m := range all {
			require.NotEmpty(t, strings.TrimSpace(m.Text))
			if m.SupersededBy != "" {
				_, err := w.keeper.Get(ctx, partitionOf(t, ann), m.SupersededBy)
				require.NoError(t, err)
			}
		}
		require.Equal(t, "user lives in Beijing.", all[0].Text)
	})
}
