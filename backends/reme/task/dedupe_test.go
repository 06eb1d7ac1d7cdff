// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/task"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/testkit"
)

const (
	pages     = "When reading paginated results of an API | Read page after page until one is empty, and count what came."
	pagesNear = "When reading paginated results from an API | Read page after page until one comes empty, and count what came."
	login     = "When a login is refused | Ask for a new token once, then stop."
)

func what(lesson string) string {
	_, text, _ := strings.Cut(lesson, " | ")
	return text
}

// The second of two identical requests stores nothing at all, on every store, and
// whatever the clock says.
func TestR8TheSecondIdenticalSummaryStoresNothing(t *testing.T) {
	eachStore(t, onR8TheSecondIdenticalSummaryStoresNothing)
}

func onR8TheSecondIdenticalSummaryStoresNothing(t *testing.T, st store.Store) {
	w := open(t, on(st))
	first := w.summarize(pages, login)
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeAdded}, outcomes(first))
	require.Len(t, first.Memories, 2)
	before := w.version()

	later := open(t, on(st), func(s *setup) { s.clock = backends.SystemClock })
	for _, again := range []*world{w, later} {
		resp := again.summarize(pages, login)
		assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged, backends.OutcomeUnchanged}, outcomes(resp))
		assert.Empty(t, resp.Memories)
		assert.Equal(t, first.Memories[0].ID, resp.Items[0].Memory.ID)
		assert.Equal(t, 2, resp.Report.Stage(task.StageDuplicates).Dropped)
	}
	assert.Equal(t, before, w.version(), "nothing was written")
	assert.Zero(t, w.brain.calls("task_duplicates"), "and nobody was asked about it")
}

// What is known is compared with in the store, not only in the request (DEF-01): in
// another request, spelt in another way, from another trajectory.
func TestDEF01WhatTheStoreHoldsIsKnown(t *testing.T) {
	w := open(t)
	w.summarize(login)
	resp := w.summarize("when a  LOGIN is refused | Ask for a new token once, then stop")
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, []string{what(login)}, w.active())
}

func TestR8TheSameTwiceInOneRequest(t *testing.T) {
	w := open(t)
	resp := w.summarize(login, pages, login)
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeAdded, backends.OutcomeUnchanged}, outcomes(resp))
	assert.Equal(t, resp.Items[0].Memory.ID, resp.Items[2].Memory.ID)
	assert.Equal(t, []string{what(login), what(pages)}, w.active())
}

// Processes that learn the same at the same time store it once.
func TestR8IdenticalSummariesAtTheSameTime(t *testing.T) {
	eachStore(t, onR8IdenticalSummariesAtTheSameTime)
}

func onR8IdenticalSummariesAtTheSameTime(t *testing.T, st store.Store) {
	worlds := []*world{open(t, on(st)), open(t, on(st)), open(t, on(st))}
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			resp, err := worlds[i%3].Summarize(ctx, &task.SummaryRequest{Scope: shop, Trajectories: []trajectory.Trajectory{attempt(1, pages, login)}})
			assert.NoError(t, err)
			assert.Len(t, resp.Items, 2)
		})
	}
	all.Wait()
	assert.ElementsMatch(t, []string{what(pages), what(login)}, worlds[0].active())
}

// raced is a store in which somebody else writes before the nth reading.
type raced struct {
	store.Store
	left  int
	write func()
}

func (r *raced) Changes(ctx context.Context, p backends.Partition, cursor string) (*store.ChangeSet, error) {
	if r.left--; r.left == 0 {
		r.write()
	}
	return r.Store.Changes(ctx, p, cursor)
}

// Whenever another process stores the same lessons, or joins the one at hand with
// another, each is there once in the end.
func TestR8AnotherProcessAtEveryStep(t *testing.T) {
	joins := func(b *brain) {
		b.decide = func(fresh, known experience) (string, string, string) {
			return "merge", "When reading pages", "All of it."
		}
	}
	for n := 1; n <= 10; n++ {
		t.Run(fmt.Sprint("reading ", n), func(t *testing.T) {
			st := openStore(t)
			other := open(t, on(st))
			joins(other.brain)
			other.summarize(pages)
			w := open(t, on(&raced{Store: st, left: n, write: func() { other.summarize(pagesNear, login) }}))
			joins(w.brain)
			w.summarize(pagesNear, login)
			assert.ElementsMatch(t, []string{"All of it.", what(login)}, other.active())
		})
	}
}

// Whoever loses the race does not write over what the other one stored and counted.
func TestR8TheLoserOfARaceWritesNothing(t *testing.T) { eachStore(t, onR8TheLoserOfARaceWritesNothing) }

func onR8TheLoserOfARaceWritesNothing(t *testing.T, st store.Store) {
	other := open(t, on(st))
	f := &faulty{Store: st}
	f.before = func(call string) {
		if call == "Apply" {
			f.before = nil
			id := other.summarize(login).Memories[0].ID
			_, err := other.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{id}})
			assert.NoError(t, err)
		}
	}
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(open(t, on(f)).summarize(login)))
	assert.EqualValues(t, 1, other.find(what(login)).Metadata[task.MetaFreq])
}

// What nearly repeats a memory goes to the model, all of it in one question.
func TestDEF17OneQuestionAndOneEmbeddingCallForAllNearPairs(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	w := open(t, embedded(e), config(func(c *task.Config) { c.Duplicate = 0.8 }))
	w.summarize(pages, login)
	before, calls := e.Texts.Load(), w.brain.calls("task_duplicates")
	assert.Zero(t, calls)
	resp := w.summarize(pagesNear, "When a login was refused | Ask for a new token once, then stop.")
	assert.Equal(t, 1, w.brain.calls("task_duplicates"))
	assert.Equal(t, 2, strings.Count(w.brain.last("task_duplicates"), `{"pair":`))
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded, backends.OutcomeAdded}, outcomes(resp), "the model says distinct")
	// Two searches; of the two new and the two known each once, to compare; the two
	// stored.
	assert.EqualValues(t, 2+4+2, e.Texts.Load()-before)
	assert.EqualValues(t, 8, resp.Report.Usage.EmbeddedTexts)
}

// Likeness is measured on the same representation of both sides: situation and
// content. A shared situation alone, which is all that vectors are stored of, makes
// no duplicate.
func TestDEF01LikenessIsThatOfBothTexts(t *testing.T) {
	for name, change := range map[string]func(*setup){"words": func(*setup) {}, "vectors": embedded(&testkit.Embedder{Dim: 256})} {
		t.Run(name, func(t *testing.T) {
			w := open(t, change)
			w.summarize("When booking a flight | Look up the airport codes first.")
			resp := w.summarize("When booking a flight | Never pay before the traveller has agreed to the price and its currency.")
			assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(resp))
			assert.Zero(t, w.brain.calls("task_duplicates"))
		})
	}
}

func TestR8WhatTheModelCallsTheSameIsCounted(t *testing.T) {
	w := open(t)
	w.brain.decide = func(experience, experience) (string, string, string) { return "same", "", "" }
	id := w.summarize(pages).Memories[0].ID
	resp := w.summarize(pagesNear)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated}, outcomes(resp))
	assert.Empty(t, resp.Memories, "nothing new is stored")
	require.NotNil(t, resp.Items[0].Previous)
	assert.Equal(t, 1, resp.Report.Stage(task.StageDuplicates).Dropped)
	m := w.find(what(pages))
	assert.Equal(t, id, m.ID)
	assert.EqualValues(t, 1, m.Metadata[task.MetaCorroborated])

	// The wording is known from then on: the same again asks nobody and writes nothing.
	before := w.version()
	again := w.summarize(pagesNear)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(again))
	assert.Equal(t, 1, w.brain.calls("task_duplicates"))
	assert.Equal(t, before, w.version())
}

func TestR8WhatHasSomethingToAddIsJoined(t *testing.T) {
	eachStore(t, onR8WhatHasSomethingToAddIsJoined)
}

func onR8WhatHasSomethingToAddIsJoined(t *testing.T, st store.Store) {
	w := open(t, on(st))
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		return "merge", known.WhenToUse, known.Content + " And: " + fresh.Content
	}
	old := w.summarize(pages).Memories[0]
	_, err := w.Record(ctx, &task.RecordRequest{Scope: shop, IDs: []string{old.ID}, AllUseful: true})
	require.NoError(t, err)

	resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{
		WhenToUse: "When reading paginated results from an API", Content: what(pagesNear),
		Tags: []string{"pages", "kettle"}, ToolsUsed: []string{"list"}, Confidence: 0.9, Source: extract.SourceFailure, Quality: ptr(0.6),
	}}})
	require.NoError(t, err)
	require.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
	assert.Equal(t, old.ID, resp.Items[0].Previous.ID)
	assert.Equal(t, 1, resp.Report.Stage(task.StageDuplicates).Merged)
	require.Len(t, resp.Memories, 1)

	joined := what(pages) + " And: " + what(pagesNear)
	assert.Equal(t, []string{joined}, w.active())
	m := w.find(joined)
	assert.Equal(t, resp.Memories[0], *m, "the response tells what is stored")
	assert.Equal(t, old.ID, m.Supersedes)
	assert.EqualValues(t, 1, m.Metadata[task.MetaFreq], "counts are carried over")
	assert.EqualValues(t, 1, m.Metadata[task.MetaUtility])
	assert.Equal(t, 0.9, m.Metadata[task.MetaConfidence])
	assert.ElementsMatch(t, []any{"pages", "kettle"}, m.Metadata[task.MetaTags])
	assert.ElementsMatch(t, []any{"list", "sell"}, m.Metadata[task.MetaToolsUsed])
	assert.Equal(t, 0.8, *m.Quality, "that of the better one")
	events, err := w.keeper.History(ctx, inn, m.ID)
	require.NoError(t, err)
	assert.Equal(t, what(pages), events[0].New, "the old text is in the history")

	// Both wordings are known now.
	before := w.version()
	for _, lesson := range []string{pages, pagesNear} {
		assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize(lesson)), lesson)
	}
	assert.Equal(t, before, w.version())
}

func ptr[T any](v T) *T { return &v }

// Of two lessons of one request that resemble each other, one is left.
func TestR8NearTwinsOfOneRequest(t *testing.T) {
	for verdict, want := range map[string][]string{"same": {what(pages)}, "merge": {"Both."}, "distinct": {what(pages), what(pagesNear)}} {
		t.Run(verdict, func(t *testing.T) {
			w := open(t)
			w.brain.decide = func(experience, experience) (string, string, string) { return verdict, "When reading pages", "Both." }
			resp := w.summarize(pages, pagesNear)
			assert.Equal(t, want, w.active())
			assert.Len(t, resp.Memories, len(want))
			assert.Equal(t, w.find(want[0]).ID, resp.Items[0].Memory.ID)
			before := w.version()
			w.summarize(pages, pagesNear)
			assert.Equal(t, before, w.version(), "and the same request again writes nothing")
		})
	}
}

// Two lessons that the model would join with one memory: the second is stored beside,
// since the words of the first would be lost.
func TestR8AMemoryIsJoinedOnceARequest(t *testing.T) {
	w := open(t)
	w.summarize(pages)
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		if known.Content != what(pages) {
			return "distinct", "", ""
		}
		return "merge", known.WhenToUse, known.Content + " " + fresh.WhenToUse
	}
	third := "When reading paginated results out of an API | Read page after page until one is empty, and count what comes."
	resp := w.summarize(pagesNear, third)
	assert.Equal(t, []backends.Outcome{backends.OutcomeSuperseded, backends.OutcomeAdded}, outcomes(resp))
	assert.Equal(t, []string{what(pages) + " When reading paginated results from an API", what(third)}, w.active())
}

// Words that come of a joining are known like any others: nothing is stored twice.
func TestR8WhatIsJoinedMayBeKnown(t *testing.T) {
	w := open(t)
	third := "When walking | Look at both sides of the road."
	w.summarize(pages, third)
	w.brain.decide = func(experience, experience) (string, string, string) {
		return "merge", "When walking", what(third)
	}
	resp := w.summarize(pagesNear)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated}, outcomes(resp))
	assert.Equal(t, w.find(what(third)).ID, resp.Items[0].Memory.ID)
	assert.Equal(t, []string{what(pages), what(third)}, w.active())
	twins := w.summarize("When reading a list of pages | Turn page after page until none is left.", "When reading lists of pages | Turn page after page until none is left.")
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated, backends.OutcomeUnchanged}, outcomes(twins))
	assert.Equal(t, []string{what(pages), what(third)}, w.active())
}

// What says the same as a lesson that says the same as a memory says the same as the
// memory.
func TestR8TheSameAsTheSame(t *testing.T) {
	w := open(t)
	w.summarize(pages)
	third := "When reading paginated results out of an API | Read page after page until one comes empty, and count what comes."
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		if fresh.Content == what(third) && known.Content == what(pages) {
			return "distinct", "", ""
		}
		return "same", "", ""
	}
	resp := w.summarize(pagesNear, third)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated, backends.OutcomeUpdated}, outcomes(resp))
	assert.EqualValues(t, 2, w.find(what(pages)).Metadata[task.MetaCorroborated])
	assert.Equal(t, []string{what(pages)}, w.active())
}

// A joining that brings nothing new writes no new memory.
func TestR8AJoiningThatAddsNothing(t *testing.T) {
	w := open(t)
	w.brain.decide = func(_, known experience) (string, string, string) { return "merge", known.WhenToUse, known.Content }
	id := w.summarize(pages).Memories[0].ID
	resp := w.summarize(pagesNear)
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated}, outcomes(resp))
	assert.Equal(t, id, w.find(what(pages)).ID)
}

// What another process joins meanwhile is counted on the joined one, not on the one
// that holds no more.
func TestR8AMemoryThatIsJoinedMeanwhile(t *testing.T) {
	st := openStore(t)
	other := joining(open(t, on(st)))
	old := other.summarize(pages).Memories[0]
	f := &faulty{Store: st}
	w := open(t, on(f))
	w.brain.decide = func(experience, experience) (string, string, string) { return "same", "", "" }
	f.before = func(call string) {
		if call == "Get" {
			f.before = nil
			other.summarize("When reading paginated results out of an API | Read page after page until one is empty, and count what comes.")
		}
	}
	w.summarize(pagesNear)
	was, err := w.keeper.Get(ctx, inn, old.ID)
	require.NoError(t, err)
	assert.Nil(t, was.Metadata[task.MetaCorroborated])
	assert.EqualValues(t, 2, w.find(what(pages) + " Then stop.").Metadata[task.MetaCorroborated])
}

// A memory that somebody corrects while it is compared with is compared with again.
func TestR8AMemoryThatChangesMeanwhile(t *testing.T) {
	st := openStore(t)
	other := open(t, on(st))
	id := other.summarize(pages).Memories[0].ID
	f := &faulty{Store: st}
	w := joining(open(t, on(f)))
	f.before = func(call string) {
		if call == "Get" {
			f.before = nil
			_, err := other.keeper.Update(ctx, inn, &backends.UpdateRequest{ID: id, Text: ptr("Do something else.")})
			assert.NoError(t, err)
		}
	}
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, outcomes(w.summarize(pagesNear)))
	assert.Equal(t, []string{"Do something else.", what(pagesNear)}, w.active())
}

// Without a model only what differs in nothing that matters counts as known.
func TestR8WithoutAModelTheWordsDecide(t *testing.T) {
	w := open(t, withModel(nil))
	add := func(when, content string) []backends.Outcome {
		resp, err := w.Summarize(ctx, &task.SummaryRequest{Scope: shop, Candidates: []extract.Candidate{{WhenToUse: when, Content: content}}, Author: "ann"})
		require.NoError(t, err)
		return outcomes(resp)
	}
	const when, content = "When reading the paginated results of an API of the shop", "Always read page after page, 20 entries a page, until one is empty, then count what came and compare it with the total."
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, add(when, content))
	assert.Equal(t, []backends.Outcome{backends.OutcomeUpdated}, add(when, strings.Replace(content, "then count", "and then count", 1)))
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, add(when, strings.Replace(content, "then count", "and then count", 1)), "counted once")
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, add(when, strings.Replace(content, "Always", "Never", 1)), "the opposite")
	assert.Equal(t, []backends.Outcome{backends.OutcomeAdded}, add(when, strings.Replace(content, "20", "50", 1)), "another number")
	m := w.find(content)
	assert.EqualValues(t, 1, m.Metadata[task.MetaCorroborated])
	assert.Equal(t, "ann", m.Origin.Author)
}

func TestR8InChinese(t *testing.T) {
	w := open(t)
	const first, near = "调用分页接口读取数据时 | 逐页读取，直到某一页为空，再核对总数。", "调用分页接口读取数据的时候 | 逐页读取，直到某一页为空，然后核对总数。"
	w.brain.decide = func(fresh, known experience) (string, string, string) {
		return "merge", "读取分页接口时", "逐页读取直到为空，并核对总数。"
	}
	w.summarize(first)
	resp := w.summarize(near)
	assert.Equal(t, []backends.Outcome{backends.OutcomeSuperseded}, outcomes(resp))
	assert.Equal(t, []string{"逐页读取直到为空，并核对总数。"}, w.active())
	assert.Contains(t, w.brain.last("task_duplicates"), "经验记忆中每条经验只应保存一次")
	assert.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(w.summarize("调用分页接口读取数据时|逐页读取，直到某一页为空，再核对总数"[:len("调用分页接口读取数据时")]+" | 逐页读取，直到某一页为空，再核对总数")))
}

// The response tells what is stored, and nothing that was dropped on the way.
func TestDEF14TheResponseTellsWhatIsStored(t *testing.T) {
	w := open(t)
	w.summarize(login)
	resp := w.summarize(pages, login, "When in doubt | Say rubbish.")
	require.Len(t, resp.Memories, 1)
	assert.Equal(t, what(pages), resp.Memories[0].Text)
	assert.Equal(t, *w.find(what(pages)), resp.Memories[0])
	assert.Equal(t, 1, resp.Report.Stage(extract.StageValidate).Dropped)
	assert.Equal(t, 1, resp.Report.Stage(task.StageDuplicates).Dropped)
	assert.Equal(t, 1, resp.Report.Stage(task.StageStore).Out)
}
