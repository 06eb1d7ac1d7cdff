// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/personal"
)

func TestR13WhatIsSaidAboutOneselfIsWrittenDown(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	resp := w.summarize(t, ann, said(0, "What is the capital of France?"), answered(0, "Paris."), said(1, "I like tea, and I live in Beijing."), said(2, "imagine I like war"))
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeAdded}, outcomes(resp))
	got := resp.Items[1].Memory
	assert.Equal(t, backends.Memory{
		ID: got.ID, Kind: backends.KindPersonal, Text: "user likes tea.", WhenToUse: "tea", Scope: backends.Scope{Namespace: "default", UserID: "ann", SessionID: "s1"},
		Metadata: map[string]any{"target": "user", "keywords": "tea", "observation_type": "personal_info", "info_score": 3.0},
		Observed: start.AddDate(0, 0, 1), Created: got.Created, Updated: got.Updated, Version: 1,
		Origin: backends.Origin{Session: "s1", Turn: "t", MessageIDs: []string{"1/I like tea, and I live in Beijing."}, Role: "user", Author: "model"},
	}, got)
	stored, err := w.keeper.Get(ctx, partitionOf(t, ann), got.ID)
	require.NoError(t, err)
	assert.Equal(t, got, *stored)
	filter := resp.Report.Stage(personal.StageFilter)
	assert.Equal(t, []int{3, 1, 2}, []int{filter.In, filter.Out, filter.Dropped})
	assert.Equal(t, 3, resp.Report.Usage.ModelCalls, "filter, observe, and whether the two relate")
	assert.Equal(t, 2, resp.Report.Stage(personal.StageStore).Out)
}

func TestF8TheNewerStatementWins(t *testing.T) {
	for name, c := range map[string]struct {
		lang        flow.Language
		first, then string
		want, past  string
	}{
		"English":               {flow.LanguageAuto, "I live in Beijing", "I moved to Shanghai", "user lives in Shanghai.", "user lives in Beijing."},
		"Chinese":               {flow.LanguageAuto, "我住在北京", "我搬到了上海", "user住在上海。", "user住在北京。"},
		"with Chinese prompts":  {flow.Chinese, "I live in Beijing", "I moved to Shanghai", "user lives in Shanghai.", "user lives in Beijing."},
		"with English, Chinese": {flow.English, "我住在北京", "我搬到了上海", "user住在上海。", "user住在北京。"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, func(s *setting) { s.Language = c.lang })
			first := w.summarize(t, ann, said(0, c.first)).Items[0].Memory
			resp := w.summarize(t, backends.Scope{UserID: "ann", SessionID: "s2"}, said(1, c.then))
			require.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
			active, past := w.known(t, ann)
			assert.Equal(t, []string{c.want}, active)
			assert.Equal(t, []string{c.past}, past)
			item := resp.Items[0]
			assert.Equal(t, first.ID, item.Memory.Supersedes)
			assert.Equal(t, item.Memory.ID, item.Previous.SupersededBy)
			stored, err := w.keeper.Get(ctx, partitionOf(t, ann), first.ID)
			require.NoError(t, err)
			assert.Equal(t, *stored, *item.Previous)
			history, err := w.keeper.History(ctx, partitionOf(t, ann), item.Memory.ID)
			require.NoError(t, err)
			assert.Len(t, history, 3, "added, and in one batch superseded and added")
		})
	}
}

func TestDEF10OfTwoContradictionsInOneRequestTheLaterHolds(t *testing.T) {
	w := open(t)
	resp := w.summarize(t, ann, said(2, "I moved to Shanghai"), said(1, "I live in Beijing"), said(3, "I moved to Shenzhen"))
	active, past := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Shenzhen."}, active)
	assert.Equal(t, []string{"user lives in Beijing.", "user lives in Shanghai."}, past)
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeSuperseded, backends.OutcomeSuperseded}, outcomes(resp))
	for i := range resp.Items {
		stored, err := w.keeper.Get(ctx, partitionOf(t, ann), resp.Items[i].Memory.ID)
		require.NoError(t, err)
		same(t, stored, &resp.Items[i].Memory)
	}
}

// same compares what is stored with what the response says of it; when it was last
// changed is the store's to say.
func same(t *testing.T, stored, told *backends.Memory) {
	t.Helper()
	a, b := *stored, *told
	a.Updated, b.Updated = time.Time{}, time.Time{}
	assert.Equal(t, a, b)
}

func TestDEF10WhatIsOlderThanWhatIsKnownBecomesItsHistory(t *testing.T) {
	w := open(t)
	shanghai := w.summarize(t, ann, said(0, "I moved to Shanghai")).Items[0].Memory
	old := []backends.Message{said(-30, "I live in Beijing"), said(-60, "I live in Tianjin")}
	resp := w.summarize(t, ann, old...)
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Shanghai."}, active)
	require.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeSuperseded}, outcomes(resp))
	beijing := resp.Items[1].Memory
	assert.Equal(t, shanghai.ID, beijing.SupersededBy)
	assert.Equal(t, start, beijing.Invalidated)
	stored, err := w.keeper.Get(ctx, partitionOf(t, ann), beijing.ID)
	require.NoError(t, err)
	assert.Equal(t, *stored, beijing)
	then, err := w.Retrieve(ctx, &personal.RetrieveRequest{Scope: ann, Query: "where does user live", AsOf: start.AddDate(0, 0, -10)})
	require.NoError(t, err)
	require.Len(t, then.Hits, 1)
	assert.Equal(t, "user lives in Beijing.", then.Hits[0].Text)
	history, err := w.keeper.History(ctx, partitionOf(t, ann), shanghai.ID)
	require.NoError(t, err)
	assert.Len(t, history, 4, "three added, one superseded within the import")
	again := w.summarize(t, ann, old...)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged, backends.OutcomeUnchanged}, outcomes(again))
}

func TestR13WhoMovesBackLivesThereAgain(t *testing.T) {
	for name, split := range map[string]bool{"in one request": false, "in three": true} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			messages := []backends.Message{said(0, "I live in Beijing"), said(1, "I moved to Shanghai"), said(2, "I live in Beijing")}
			for range 2 {
				if !split {
					w.summarize(t, ann, messages...)
				}
				for i := range messages {
					if split {
						w.summarize(t, ann, messages[i])
					}
				}
				active, past := w.known(t, ann)
				assert.Equal(t, []string{"user lives in Beijing."}, active)
				assert.Equal(t, []string{"user lives in Beijing.", "user lives in Shanghai."}, past)
			}
		})
	}
}

func TestDEF03WhatIsKnownFromOtherSessionsIsNotStoredTwice(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	request := []backends.Message{said(0, "I like tea"), said(0, "I live in Beijing")}
	w.summarize(t, ann, request...)
	before := len(w.all(t, partitionOf(t, ann)))
	compared := m.calls(relations)
	resp := w.summarize(t, backends.Scope{UserID: "ann", SessionID: "another"}, request...)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged, backends.OutcomeUnchanged}, outcomes(resp))
	assert.Len(t, w.all(t, partitionOf(t, ann)), before)
	assert.Equal(t, compared, m.calls(relations), "the same words need no comparison")
	assert.Equal(t, 2, resp.Report.Stage(personal.StageStore).Dropped)
	w.summarize(t, ann, said(5, "I like tea a lot")) // written down in the same words
	assert.Len(t, w.all(t, partitionOf(t, ann)), before)
}

func TestDEF03MemoriesOfTheDayAreComparedThoughTheyShareNoWord(t *testing.T) {
	m := newMind()
	w := open(t, with(m), func(s *setting) { s.MaxKnown = 4 })
	for i := range 12 {
		w.summarize(t, ann, said(-100-i, "I like Shanghai"+strings.Repeat("x", i+1)))
	}
	w.summarize(t, ann, said(0, "I live in Beijing"))
	for i := range 12 {
		w.summarize(t, ann, said(-50, "I like Shanghai"+strings.Repeat("y", i+1)))
	}
	w.summarize(t, ann, said(0, "I moved to Shanghai"))
	var texts []string
	for _, s := range m.last(relations).statements {
		if s.Status == "known" {
			texts = append(texts, s.Text)
		}
	}
	assert.Len(t, texts, 4)
	assert.Contains(t, texts, "user lives in Beijing.")
}

func TestDEF03WhatIsContainedIsNotWritten(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	m.change = func(tool string, s shown, answer string) string {
		if tool == observations {
			return strings.ReplaceAll(answer, "likes teas.", "likes tea, and green tea most.")
		}
		return answer
	}
	full := w.summarize(t, ann, said(0, "I like teas")).Items[0].Memory
	resp := w.summarize(t, ann, said(1, "I like tea"))
	require.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, full, resp.Items[0].Memory)

	w = open(t, with(m)) // and the other way round: the fuller statement takes its place
	w.summarize(t, ann, said(0, "I like tea"))
	resp = w.summarize(t, ann, said(1, "I like teas"))
	require.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{full.Text}, active)

	w = open(t, with(m)) // and within one request
	resp = w.summarize(t, ann, said(0, "I like tea"), said(1, "I like teas"), said(2, "I like tea"))
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged, backends.OutcomeAdded, backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, resp.Items[1].Memory, resp.Items[0].Memory)
	active, _ = w.known(t, ann)
	assert.Equal(t, []string{full.Text}, active)
}

func TestR13AllThatIsContradictedGoes(t *testing.T) {
	w := open(t)
	for _, city := range []string{"Beijing", "Tianjin"} { // somebody wrote both down
		_, err := w.Verbatim(ctx, &personal.SummaryRequest{Scope: ann, Messages: []backends.Message{said(0, "user lives in "+city)}})
		require.NoError(t, err)
	}
	resp := w.summarize(t, ann, said(1, "I moved to Shanghai"))
	assert.Equal(t, []backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeRetracted}, outcomes(resp))
	active, _ := w.known(t, ann)
	assert.Equal(t, []string{"user lives in Shanghai."}, active)
	for _, item := range resp.Items {
		stored, err := w.keeper.Get(ctx, partitionOf(t, ann), item.Memory.ID)
		require.NoError(t, err)
		same(t, stored, &item.Memory)
	}
}

func TestDEF05DatesAreCountedFromWhenItWasSaid(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	message := said(0, "Last week I moved to Shanghai, and I am moving to Rome in May")
	message.Time = time.Date(2020, 7, 8, 23, 0, 0, 0, time.UTC) // a Wednesday, years before it is imported
	resp := w.summarize(t, ann, message)
	line := m.last(observations).lines[0]
	assert.Equal(t, "2020-07-08 23:00 Wed", line.Time)
	assert.Equal(t, []string{"Last week = 2020-06-29/2020-07-05"}, line.Dates, "in May may be any year's")
	got := resp.Items[0].Memory
	assert.Equal(t, time.Date(2020, 6, 29, 0, 0, 0, 0, time.UTC), got.Valid)
	assert.Equal(t, message.Time, got.Observed)
	assert.Equal(t, "2020-06-29/2020-07-05", got.Metadata["event_time"])
	assert.Equal(t, "personal_info_with_time", got.Metadata["observation_type"])
	assert.NotContains(t, m.last(scores).user+m.last(observations).user, "2026", "now is nowhere")
}

func TestDEF05TheDayIsThatOfTheUsersZone(t *testing.T) {
	m := newMind()
	w := open(t, with(m), func(s *setting) { s.Location = time.FixedZone("CST", 8*3600) })
	message := said(0, "我昨天搬到了上海。我喜欢茶")
	message.Time = time.Date(2020, 7, 8, 23, 0, 0, 0, time.UTC) // the 9th there
	w.summarize(t, ann, message)
	assert.Equal(t, []string{"昨天 = 2020-07-08"}, m.last(observations).lines[0].Dates)
}

func TestDEF05APlanHoldsSinceItWasMade(t *testing.T) {
	w := open(t)
	got := w.summarize(t, ann, said(0, "Tomorrow I am moving to Rome")).Items[0].Memory
	assert.Zero(t, got.Valid)
	assert.Equal(t, "2026-03-03", got.Metadata["event_time"])
}

func TestDEF20FactsInTheMiddleOfALongMessageSurvive(t *testing.T) {
	for name, filler := range map[string]string{"English": "The weather report goes on and on. ", "Chinese": "天气预报一直说个不停。"} {
		t.Run(name, func(t *testing.T) {
			m := newMind()
			w := open(t, with(m), within(flow.Limits{Prompt: 800}))
			text := strings.Repeat(filler, 300) + "I live in Beijing. " + strings.Repeat(filler, 300) + "我喜欢绿茶。" + strings.Repeat(filler, 50)
			w.summarize(t, ann, answered(0, "Tell me all."), said(0, text), said(0, "thanks"))
			active, _ := w.known(t, ann)
			assert.Equal(t, []string{"user lives in Beijing.", "user喜欢绿茶。"}, active)
			assert.Greater(t, m.calls(scores), 3)
			parts := map[int]string{}
			for i, s := range m.seen {
				for _, l := range s.lines {
					if l.N != nil && m.asked[i] == scores {
						parts[*l.N] = l.Text
					}
				}
			}
			var whole strings.Builder
			for n := range len(parts) - 1 { // the last one is the thanks
				whole.WriteString(parts[n])
			}
			assert.Equal(t, strings.TrimSpace(text), whole.String())
		})
	}
}

func TestR13WhatAssistantsSayIsUnderstoodAndNotLearnt(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	resp := w.summarize(t, ann, answered(0, "I like tea. Do you want the red or the green car?"), said(0, "Yes, the green one"))
	require.Len(t, resp.Items, 1)
	assert.Contains(t, resp.Items[0].Memory.Text, "red or the green car")
	assert.Equal(t, 1, resp.Report.Stage(personal.StageFilter).In)
}

func TestR13ContextIsShownAndNotLearnt(t *testing.T) {
	w := open(t)
	resp, err := w.Summarize(ctx, &personal.SummaryRequest{
		Scope: ann, Context: []backends.Message{said(0, "I like coffee"), answered(0, "The red or the green car?")}, Messages: []backends.Message{said(0, "Yes, the green one")}, Target: "Ann",
	})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	assert.True(t, strings.HasPrefix(resp.Items[0].Memory.Text, "Ann wants the green of: The red or"), resp.Items[0].Memory.Text)
}

func TestR13NothingToLearnIsNoError(t *testing.T) {
	m := newMind()
	w := open(t, with(m))
	resp := w.summarize(t, ann, answered(0, "Hello"))
	assert.Empty(t, resp.Items)
	assert.Zero(t, m.calls(""))
	resp = w.summarize(t, ann, said(0, "Hello"))
	assert.Empty(t, resp.Items)
	assert.Equal(t, 1, m.calls(""), "what says nothing is not looked at closer")
}
