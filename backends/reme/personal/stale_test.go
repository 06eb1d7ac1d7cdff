// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
)

func TestDEF03WhatIsRepeatedBehindWhatSaysMoreIsContainedInThat(t *testing.T) {
	w := open(t)
	w.summarize(t, ann, said(0, "I like tea"))
	w.summarize(t, ann, said(1, "I like teapots"), said(2, "I like tea"))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user likes teapots."}, active)
	assert.Equal(t, []string{"user likes tea."}, past)
}

func TestDEF03WhatNeverHeldIsKnownAllTheSame(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	w.summarize(t, ann, said(0, "I live in Beijing"))
	m.change = func(tool string, _ shown, answer string) string {
		if tool == observations {
			return strings.Replace(answer, `"n":0`, `"n":0,"when":"2020"`, 1)
		}
		return answer
	}
	resp := w.summarize(t, ann, said(1, "I moved to Shanghai"))
	assert.Equal(t, 2020, resp.Items[0].Previous.Invalidated.Year(), "a correction")
	m.change = nil
	again := w.summarize(t, ann, said(0, "I live in Beijing"))
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(again))
}

func TestDEF03MemoriesOfTheDayAreShownThoughTheyShareNoWord(t *testing.T) {
	for name, c := range map[string]struct{ observed, created int }{"said on the day": {10, -300}, "stored today": {-300, 0}} {
		t.Run(name, func(t *testing.T) {
			m := newMind()
			w := open(t, with(m), func(s *setting) { s.MaxKnown = 4 })
			at := func(m backends.Memory, days int) backends.Memory {
				m.Created = start.AddDate(0, 0, days)
				return m
			}
			for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
				w.put(t, partitionOf(t, ann), at(memory(id, "Shanghai has changed", -100), -100))
			}
			w.put(t, partitionOf(t, ann), at(memory("home", "user lives in Beijing.", c.observed), c.created))
			m.change = func(tool string, _ shown, answer string) string {
				return strings.ReplaceAll(answer, "user lives in Shanghai.", "Shanghai")
			}
			w.summarize(t, ann, said(10, "I moved to Shanghai"))
			var known []string
			for _, s := range m.last(relations).statements {
				if s.Status == "known" {
					known = append(known, s.Text)
				}
			}
			assert.Len(t, known, 4)
			assert.Contains(t, known, "user lives in Beijing.")
		})
	}
}

func TestDEF03NoStatementOfManyIsDrowned(t *testing.T) {
	w := open(t)
	p := partitionOf(t, ann)
	for i := range 100 {
		juice := memory(fmt.Sprint("juice", i), fmt.Sprint("user likes juice", i), -300)
		juice.Created = start.AddDate(-1, 0, 0)
		w.put(t, p, juice)
	}
	home := memory("home", "user lives in Beijing.", -400)
	home.Created = start.AddDate(-1, 0, 0)
	w.put(t, p, home)
	messages := []backends.Message{said(0, "I moved to Shanghai")}
	for i := range 20 {
		messages = append(messages, said(0, fmt.Sprint("I like coffee", i)))
	}
	w.summarize(t, ann, messages...)
	_, past := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Beijing."}, past)
}

func TestDEF07WhatIsKnownAboutOthersTakesNoPlaces(t *testing.T) {
	w := open(t, inWorkspace)
	shared := backends.Scope{Workspace: "w"}
	p, err := shared.Partition(backends.PartitionWorkspace)
	require.NoError(t, err)
	put := func(target, id, text string) {
		m := memory(id, text, -300, "target", target)
		m.Created = start.AddDate(-1, 0, 0)
		w.put(t, p, m)
	}
	put("ann", "home", "ann lives in Beijing since long ago, in a house with many rooms.")
	for i := range 60 {
		put("ann", fmt.Sprint("met", i), fmt.Sprintf("ann met colleague %d", i))
		put(fmt.Sprint("user", i), fmt.Sprint("other", i), fmt.Sprint("ann lives in Shanghai ", i))
	}
	_, err = w.Summarize(ctx, &personal.SummaryRequest{Scope: shared, Target: "ann", Messages: []backends.Message{said(0, "I moved to Shanghai")}})
	require.NoError(t, err)
	held, err := w.keeper.Held(ctx, p, "home", "other0")
	require.NoError(t, err)
	assert.False(t, held["home"].Active())
	assert.True(t, held["other0"].Active())
}

func TestR13WhatAModelWritesIsRedactedToo(t *testing.T) {
	m := newMind()
	w := open(t, with(m), func(s *setting) {
		s.redact = func(text string) string { return strings.ReplaceAll(text, "4242", "****") }
	})
	m.change = func(tool string, _ shown, answer string) string {
		return strings.ReplaceAll(answer, "likes tea.", "likes tea and 4242.")
	}
	w.summarize(t, ann, said(0, "I like tea"))
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user likes tea and ****."}, active)
}

// meddled is a store in which somebody else writes just before the first batch.
type meddled struct {
	store.Store
	meddle func()
	done   atomic.Bool
}

func (m *meddled) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if m.meddle != nil && len(b.Mutations) > 0 && m.done.CompareAndSwap(false, true) {
		m.meddle()
	}
	return m.Store.Apply(ctx, p, b)
}

func TestR13WhatIsWrittenAtTheLastMomentCounts(t *testing.T) {
	p := partitionOf(t, ann)
	rewrite := func(t *testing.T, w *world, text string) func() {
		return func() {
			for _, m := range w.all(t, p) {
				if m.Text == text {
					other := "user lives in Beijing, in a house"
					_, err := w.keeper.Update(ctx, p, &backends.UpdateRequest{ID: m.ID, Text: &other})
					require.NoError(t, err)
				}
			}
		}
	}
	for name, c := range map[string]struct {
		meddle   func(t *testing.T, other *world) func()
		message  string
		want     []backends.Outcome
		compared int
	}{
		"the same": {
			func(t *testing.T, other *world) func() {
				return func() { other.summarize(t, ann, said(1, "I like tea")) }
			}, "I like tea", []backends.Outcome{backends.OutcomeUnchanged}, 1,
		},
		"another text of what is superseded": {
			func(t *testing.T, other *world) func() { return rewrite(t, other, "user lives in Beijing") },
			"I moved to Shanghai", []backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeRetracted}, 2,
		},
		"another text of what is retracted": {
			func(t *testing.T, other *world) func() { return rewrite(t, other, "user lives in Tianjin") },
			"I moved to Shanghai", []backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeRetracted}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			st, m := &meddled{Store: openStore(t)}, newMind()
			other, w := open(t, on(st.Store)), open(t, on(st), with(m))
			for i, city := range []string{"Tianjin", "Beijing"} {
				_, err := other.Verbatim(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(-i, "user lives in "+city)}})
				require.NoError(t, err)
			}
			st.meddle = c.meddle(t, other)
			resp := w.summarize(t, ann, said(1, c.message))
			assert.Equal(t, c.want, outcomes(resp))
			assert.Equal(t, c.compared, m.calls(relations))
			assert.True(t, st.done.Load())
			texts := map[string]int{}
			for _, memory := range w.all(t, p) {
				texts[memory.Text]++
			}
			for text, n := range texts {
				assert.Equal(t, 1, n, text)
			}
		})
	}
}

func TestR13AMemoryThatWasRewrittenIsComparedAgain(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	p := partitionOf(t, ann)
	id := w.summarize(t, ann, said(0, "I live in Beijing")).Items[0].Memory.ID
	d, err := w.Draft(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(1, "I moved to Shanghai")}})
	require.NoError(t, err)
	text := "user was born in Beijing, and is 30"
	_, err = w.keeper.Update(ctx, p, &backends.UpdateRequest{ID: id, Text: &text})
	require.NoError(t, err)
	resp, err := w.Store(ctx, d)
	require.NoError(t, err)
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp), "that is no contradiction")
	assert.Equal(t, 2, m.calls(relations))
}

func TestR14ParsePeriodReadsWhatMachinesWrite(t *testing.T) {
	for text, want := range map[string]string{
		"2024": "2024", "2024-03": "2024-03", "2024-3-5": "2024-03-05", "2024/03/05": "2024-03-05", "2024.3.5": "2024-03-05", " 2024-03-05 ": "2024-03-05", "2024-03-05 23:00": "2024-03-05",
		"2024-03-05T23:00:00-05:00": "2024-03-06", "2024-03-05/2024-03-07": "2024-03-05/2024-03-07", "2024-01 to 2024-03": "2024-01-01/2024-03-31", "2024-03..2024-04": "2024-03-01/2024-04-30",
		"2024-02-01/2024-02-29": "2024-02", "": "", "soon": "", "24": "", "2024-13": "", "2024-02-30": "", "2024-03/2023-01": "",
	} {
		p, ok := personal.ParsePeriod(text, time.UTC)
		assert.Equal(t, want != "", ok, text)
		if ok {
			assert.Equal(t, want, p.String(), text)
		}
	}
}

func TestR14LongTextsAreReadInTime(t *testing.T) {
	for _, text := range []string{strings.Repeat("since yesterday ", 4000), strings.Repeat("昨天到今天", 4000), strings.Repeat("9", 1<<20), strings.Repeat("十", 1<<18)} {
		assert.LessOrEqual(t, len(personal.FindPeriods(text, asked)), 4000)
	}
}
