// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/store"
)

// Two lessons of a request that come to the same words by joining are stored once,
// whatever each of them was joined with.
func TestR8JoiningsThatComeToTheSameWords(t *testing.T) {
	all := "Read page after page, and look at every name of the list."
	both := "When reading or sorting | " + all
	third := "When reading paginated results out of an API | Read page after page until one comes empty, and count what comes."
	sorting, sortingNear := "When sorting a long list of names | Compare two names at a time.", "When sorting the long list of names | Compare two names at a time."
	for name, c := range map[string]struct {
		known, fresh, active []string
		want                 []backends.Outcome
	}{
		"one that is added, one that is joined": {
			[]string{pages}, []string{both, pagesNear}, []string{what(pages), all},
			[]backends.Outcome{backends.OutcomeAdded, backends.OutcomeUnchanged},
		},
		"the other way round": {
			[]string{pages}, []string{pagesNear, both}, []string{all},
			[]backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeUnchanged},
		},
		"two that are joined": {
			[]string{pages, sorting}, []string{pagesNear, sortingNear}, []string{what(sorting), all},
			[]backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeUnchanged},
		},
		"two that are joined with twins": {
			nil, []string{pages, third, sorting, sortingNear}, []string{all},
			[]backends.Outcome{backends.OutcomeAdded, backends.OutcomeUnchanged, backends.OutcomeUnchanged, backends.OutcomeUnchanged},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			given := func(lessons []string) *task.SummaryRequest {
				r := &task.SummaryRequest{Scope: shop}
				for _, l := range lessons {
					when, text, _ := strings.Cut(l, " | ")
					r.Candidates = append(r.Candidates, extract.Candidate{WhenToUse: when, Content: text})
				}
				return r
			}
			_, err := w.Summarize(ctx, given(c.known))
			require.NoError(t, err)
			w.brain.decide = func(experience, experience) (string, string, string) { return "merge", "When reading or sorting", all }
			resp, err := w.Summarize(ctx, given(c.fresh))
			require.NoError(t, err)
			assert.Equal(t, c.want, outcomes(resp))
			assert.ElementsMatch(t, c.active, w.active())
			for _, item := range resp.Items {
				assert.Equal(t, all, item.Memory.Text)
			}
			before := w.version()
			_, err = w.Summarize(ctx, given(c.fresh))
			require.NoError(t, err)
			assert.Equal(t, before, w.version(), "and the same request again writes nothing")
		})
	}
}

// angles is an embedder in which what begins with "near" is so near to everything else.
type angles float64

func (a angles) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	out := make([][]float64, len(texts))
	for i, s := range texts {
		out[i] = []float64{1, 0}
		if strings.HasPrefix(s, "near") {
			out[i] = []float64{float64(a), math.Sqrt(1 - float64(a*a))}
		}
	}
	return out, nil
}

// Without a model vectors say that two are the same from a cosine of 0.95 on, and not if
// a number or a turn is another.
func TestR8VectorsWithoutAModel(t *testing.T) {
	for _, c := range []struct {
		cosine float64
		text   string
		want   backends.Outcome
	}{
		{0.96, "wait for the bell", backends.OutcomeUpdated}, {0.94, "wait for the bell", backends.OutcomeAdded},
		{0.96, "wait for 2 bells", backends.OutcomeAdded}, {0.96, "never wait for the bell", backends.OutcomeAdded},
	} {
		w := open(t, withModel(nil), embedded(angles(c.cosine)))
		learn := func(when, text string) []backends.Outcome {
			resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: when, Content: text}}})
			require.NoError(t, err)
			return outcomes(resp)
		}
		learn("at the gate", "wait for the bell")
		assert.Equal(t, []backends.Outcome{c.want}, learn("near the gate", c.text), "%v", c)
	}
}

// What another process stores word for word between the two looks at the workspace is
// known, and no pair for a model.
func TestR8TheSameWordsStoredBetweenTwoLooks(t *testing.T) {
	for n := 1; n <= 6; n++ {
		st := openStore(t)
		other := open(t, on(st))
		other.summarize("gate | knock")
		w := joining(open(t, on(&raced{Store: st, left: n, write: func() { other.summarize(login) }})))
		w.summarize(login)
		assert.ElementsMatch(t, []string{"knock", what(login)}, other.active(), "reading %d", n)
		assert.Zero(t, w.brain.calls("task_duplicates"), "reading %d", n)
	}
}

// What is recorded while an experience is counted again is not lost (DEF-08).
func TestDEF08CountingAgainLosesNoUse(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		other := open(t, on(st))
		id := other.summarize(pages).Memories[0].ID
		f := &faulty{Store: st}
		w := open(t, on(f))
		w.brain.decide = func(experience, experience) (string, string, string) { return "same", "", "" }
		f.before = func(call string) {
			if call == "Apply" {
				f.before = nil
				_, err := other.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}, AllUseful: true})
				assert.NoError(t, err)
			}
		}
		w.summarize(pagesNear)
		m := other.find(what(pages))
		assert.EqualValues(t, 1, m.Metadata[task.MetaCorroborated])
		assert.EqualValues(t, 1, m.Metadata[task.MetaFreq])
		assert.EqualValues(t, 1, m.Metadata[task.MetaUtility])
	})
}

// The quality of what is joined is that of the better of the two, whichever came first.
func TestR8AJoiningHasTheBetterQuality(t *testing.T) {
	for _, c := range []struct{ first, second, want *float64 }{
		{ptr(0.8), ptr(0.6), ptr(0.8)}, {ptr(0.6), ptr(0.8), ptr(0.8)}, {nil, ptr(0.6), ptr(0.6)}, {ptr(0.6), nil, ptr(0.6)}, {nil, nil, nil},
	} {
		w := joining(open(t))
		for i, q := range []*float64{c.first, c.second} {
			when, text, _ := strings.Cut([]string{pages, pagesNear}[i], " | ")
			_, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: when, Content: text, Quality: q}}})
			require.NoError(t, err)
		}
		assert.Equal(t, c.want, w.find(what(pages)+" Then stop.").Quality)
	}
}

// What two lessons of a request come to by joining may be known: both wordings are, then.
func TestR8TwinsThatComeToKnownWords(t *testing.T) {
	w := open(t)
	all := "When reading pages | Read page after page until none is left, and count them."
	w.summarize(all)
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		if known.Content == what(all) {
			return "distinct", "", ""
		}
		return "merge", "When reading pages", what(all)
	}
	resp := w.summarize(pages, pagesNear)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated, backends.OutcomeUnchanged}, outcomes(resp))
	before := w.version()
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(pagesNear)))
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(pages)))
	assert.Equal(t, before, w.version())
}
