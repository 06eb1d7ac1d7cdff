// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestAnUnchangedRequestStoresNothingAndAsksNoModel(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		first := w.summarize(pages, login)
		assert.Equal(t, "added added", outcomes(first))
		require.Len(t, first.Memories, 2)
		before, calls := w.version(), len(w.of(""))
		later := open(t, on(st), func(s *setup) { s.clock = backends.SystemClock })
		for _, again := range []*world{w, later} {
			resp := again.summarize(pages, login)
			assert.True(t, resp.Replayed)
			assert.Equal(t, "unchanged unchanged", outcomes(resp))
			assert.Empty(t, resp.Memories)
			assert.Equal(t, first.Memories[0].ID, resp.Items[0].Memory.ID)
		}
		assert.Equal(t, before, w.version(), "nothing was written")
		assert.Len(t, w.of(""), calls)
		assert.Empty(t, later.of(""))
		strict := open(t, on(st), func(s *setup) { s.MinQuality = 0.9 })
		assert.False(t, strict.summarize(pages, login).Replayed, "another threshold is another request")
	})
}

// What a request was paid for is not paid for again: neither if all of it was known, nor
// once it was learnt anew because a part of it had been deleted.
func TestARepeatIsFreeWhateverCameOfTheFirst(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st))
		id := w.summarize(pages, login).Memories[0].ID
		assert.Equal(t, "unchanged", outcomes(w.summarize(pages)))
		assert.Equal(t, "added unchanged", outcomes(w.summarize("gate | knock", login)))
		updated := w.find(what(login)).Updated
		text := what(pages)
		for _, asks := range []int{0, 2, 0} { // the second comes after the deletion
			w = open(t, on(st)) // another process
			if asks > 0 {
				require.NoError(t, w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: id}))
				text = "Count what came."
				w.says["Success"] = says(`{"experiences":[{"when_to_use":"reading pages","experience":"` + text + `"}]}`)
			}
			resp := w.summarize(pages)
			assert.Equal(t, asks == 0, resp.Replayed)
			assert.Equal(t, []string{text}, []string{resp.Items[0].Memory.Text}, "what was known is reported, too")
			assert.Len(t, w.summarize("gate | knock", login).Items, 2)
			assert.Len(t, w.of(""), asks)
		}
		assert.True(t, updated.Equal(w.find(what(login)).Updated), "what stayed as it was")
	})
}

// ReMe compares with the rest of the request only: what the store holds is never looked at.
func TestTheSameWordsAreKnownInWhateverSpelling(t *testing.T) {
	w := open(t)
	w.summarize(login)
	resp := w.summarize("when a  LOGIN is refused | Ask for a new token once, then stop")
	assert.Equal(t, "unchanged", outcomes(resp))
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageDuplicates).Dropped)
	resp = w.summarize(pages, login, pages)
	assert.Equal(t, "added unchanged unchanged", outcomes(resp))
	assert.Equal(t, resp.Items[0].Memory.ID, resp.Items[2].Memory.ID)
	assert.Equal(t, []string{what(login), what(pages)}, w.active())
	assert.Empty(t, w.of("Duplicates"), "words that are known are not asked about")
}

func TestIdenticalRequestsAtTheSameTimeStoreOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		worlds := []*world{open(t, on(st)), open(t, on(st)), open(t, on(st))}
		var all sync.WaitGroup
		for i := range 9 {
			all.Go(func() {
				resp, err := worlds[i%3].Summarize(ctx, &SummaryRequest{Scope: shop, Trajectories: []Trajectory{attempted(1, pages, login)}})
				assert.NoError(t, err)
				assert.Len(t, resp.Items, 2)
			})
		}
		all.Wait()
		assert.ElementsMatch(t, []string{what(pages), what(login)}, worlds[0].active())
	})
}

// Whenever another process stores the same experience, or merges the one at hand, each is
// there once in the end.
func TestAnotherProcessWritesBetweenAnyTwoSteps(t *testing.T) {
	mergeOnce := func(_, known string) (string, string, string) {
		if strings.HasSuffix(known, " Then stop.") {
			return "same", "", ""
		}
		return merging("", known)
	}
	for n := range 12 {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			st := testkit.SQLite(t)
			other := open(t, on(st)).deciding(mergeOnce)
			other.summarize(pages)
			spy := testkit.Spy(st)
			w := open(t, on(spy)).deciding(mergeOnce)
			spy.Arm(func(c *testkit.StoreCall) error {
				if c.N == n {
					other.summarize(login, pagesNear)
				}
				return nil
			})
			w.summarize(pagesNear, login)
			assert.ElementsMatch(t, []string{what(pages) + " Then stop.", what(login)}, other.active())
		})
	}
}

func TestTheLoserOfARaceOverwritesNothing(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		other := open(t, on(st))
		spy := testkit.Spy(st)
		w := open(t, on(spy))
		beforeTheBatch(spy, func() {
			id := other.summarize("when a login is refused | ask for a new token once, then stop").Memories[0].ID
			_, err := other.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{id}})
			assert.NoError(t, err)
		})
		assert.Equal(t, "unchanged", outcomes(w.summarize(login)))
		held := other.held()
		require.Len(t, held, 1)
		assert.EqualValues(t, 1, held[0].Metadata[keeper.MetaFreq])
	})
}

// ReMe embeds both texts of each pair anew: calls grow with the square of the candidates.
func TestOneQuestionAndOneEmbeddingCallForAllPairs(t *testing.T) {
	e := &testkit.Embedder{Dim: 64}
	w := open(t, embedded(e), func(s *setup) { s.Duplicate = 0.8 })
	w.summarize(pages, login)
	assert.Empty(t, w.of("Duplicates"))
	w.retrieve(RetrieveRequest{Query: "pages"}) // asks for the embedder's scale, once
	before := e.Texts.Load()
	resp := w.summarize(pagesNear, "When a login was refused | Ask for a new token once, then stop.")
	require.Len(t, w.of("Duplicates"), 1)
	assert.Equal(t, 2, strings.Count(w.of("Duplicates")[0].user, "\npair "))
	assert.Equal(t, "added added", outcomes(resp), "the model says distinct")
	// Two to try it; two searches; of the two new and the two known each once, to compare; two stored.
	assert.EqualValues(t, 2+2+4+2, e.Texts.Load()-before)
	assert.EqualValues(t, 10, resp.Report.Usage.EmbeddedTexts)
}

// Situation and content count together: a shared situation, which is all that vectors are
// stored of, makes no duplicate.
func TestSimilarityIsThatOfBothTexts(t *testing.T) {
	for name, change := range map[string]func(*setup){"words": func(*setup) {}, "vectors": embedded(&testkit.Embedder{Dim: 256})} {
		t.Run(name, func(t *testing.T) {
			w := open(t, change)
			w.summarize("When booking a flight | Look up the airport codes first.")
			resp := w.summarize("When booking a flight | Never pay before the traveller has agreed to the price and its currency.")
			assert.Equal(t, "added", outcomes(resp))
			assert.Empty(t, w.of("Duplicates"))
		})
	}
}

func TestWhatTheModelCallsTheSameIsCounted(t *testing.T) {
	w := open(t).deciding(always("same"))
	id := w.summarize(pages).Memories[0].ID
	resp := w.summarize(pagesNear)
	assert.Equal(t, "updated", outcomes(resp))
	assert.Empty(t, resp.Memories, "nothing new is stored")
	require.NotNil(t, resp.Items[0].Previous)
	assert.Nil(t, resp.Items[0].Previous.Metadata[keeper.MetaCorroborated])
	assert.Equal(t, 1, testkit.Stage(resp.Report, stageDuplicates).Dropped)
	m := w.find(what(pages))
	assert.Equal(t, id, m.ID)
	assert.EqualValues(t, 1, m.Metadata[keeper.MetaCorroborated])

	before := w.version()
	assert.Equal(t, "unchanged", outcomes(w.summarize(pagesNear)), "the same request again is not counted")
	assert.Equal(t, before, w.version())
}

func TestWhatHasSomethingToAddIsMerged(t *testing.T) {
	eachStore(t, func(t *testing.T, st store.Store) {
		w := open(t, on(st)).deciding(merging)
		old := w.summarize(pages).Memories[0]
		_, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{old.ID}, AllUseful: true})
		require.NoError(t, err)
		resp := w.learn(SummaryRequest{Candidates: []backends.Memory{{
			WhenToUse: "When reading paginated results from an API", Text: what(pagesNear), Quality: ptr(0.6),
			Metadata: object{metaTags: []string{"pages", "kettle"}, metaToolsUsed: []string{"list"}, metaConfidence: 0.9, metaSource: "failure"},
		}}})
		require.Equal(t, "superseded", outcomes(resp))
		assert.Equal(t, old.ID, resp.Items[0].Previous.ID)
		assert.Equal(t, 1, testkit.Stage(resp.Report, stageDuplicates).Merged)
		require.Len(t, resp.Memories, 1)

		merged := what(pages) + " Then stop."
		assert.Equal(t, []string{merged}, w.active())
		m := w.find(merged)
		assert.Equal(t, resp.Memories[0], *m, "the response reports what is stored")
		assert.Equal(t, old.ID, m.Supersedes)
		assert.Equal(t, 0.8, *m.Quality, "that of the better one")
		assert.ElementsMatch(t, []any{"pages", "kettle"}, m.Metadata[metaTags])
		assert.ElementsMatch(t, []any{"list", "sell"}, m.Metadata[metaToolsUsed])
		for key, want := range map[string]any{keeper.MetaFreq: 1.0, keeper.MetaUtility: 1.0, keeper.MetaCorroborated: 1.0, metaConfidence: 0.9, metaSource: "failure", metaTaskQuery: "Selling something."} {
			assert.Equal(t, want, m.Metadata[key], key)
		}
		events, err := w.keeper.History(ctx, inn, m.ID)
		require.NoError(t, err)
		assert.Equal(t, what(pages), events[0].New, "the old text is in the history")

		before := w.version()
		assert.Equal(t, "unchanged", outcomes(w.learn(SummaryRequest{Candidates: given(pages)})), "what was superseded is known as what superseded it")
		assert.Equal(t, before, w.version())
	})
}

func TestSimilarCandidatesOfOneRequest(t *testing.T) {
	for decision, want := range map[string][]string{"same": {what(pages)}, "merge": {"All of it."}, "distinct": {what(pages), what(pagesNear)}} {
		t.Run(decision, func(t *testing.T) {
			w := open(t).deciding(always(decision))
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

// A second candidate that the model would merge with the same memory is stored beside it:
// the words of the first would be lost.
func TestAMemoryIsMergedOnceARequest(t *testing.T) {
	w := open(t)
	w.summarize(pages)
	w.decide = func(_, known string) (string, string, string) {
		if known != what(pages) {
			return "distinct", "", ""
		}
		return "merge", "reading", known + " And so on."
	}
	third := "When reading paginated results out of an API | Read page after page until one is empty, and count what comes."
	assert.Equal(t, "superseded added", outcomes(w.summarize(pagesNear, third)))
	assert.Equal(t, []string{what(pages) + " And so on.", what(third)}, w.active())
}

// Words that a merge comes to are stored once, whatever has them already.
func TestMergesThatComeToTheSameWords(t *testing.T) {
	const all = "Read page after page, and look at every name of the list."
	both := "When reading or sorting | " + all
	third := "When reading paginated results out of an API | Read page after page until one comes empty, and count what comes."
	sorting, sortingNear := "When sorting a long list of names | Compare two names at a time.", "When sorting the long list of names | Compare two names at a time."
	for name, c := range map[string]struct {
		known, fresh, active []string
		want                 string
	}{
		"one that is added, one that is merged": {[]string{pages}, []string{both, pagesNear}, []string{what(pages), all}, "added unchanged"},
		"the other way round":                   {[]string{pages}, []string{pagesNear, both}, []string{all}, "superseded unchanged"},
		"two that are merged":                   {[]string{pages, sorting}, []string{pagesNear, sortingNear}, []string{what(sorting), all}, "superseded unchanged"},
		"two merged with earlier ones":          {nil, []string{pages, third, sorting, sortingNear}, []string{what(sorting), all}, "added unchanged added unchanged"},
		"words of another memory":               {[]string{pages, both}, []string{pagesNear}, []string{what(pages), all, what(pagesNear)}, "added"},
		"words of the memory itself":            {[]string{both}, []string{"When reading or sorting | Read page after page, and look at every name of a list."}, []string{all}, "updated"},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.learn(SummaryRequest{Candidates: given(c.known...)})
			w.decide = func(string, string) (string, string, string) { return "merge", "When reading or sorting", all }
			assert.Equal(t, c.want, outcomes(w.learn(SummaryRequest{Candidates: given(c.fresh...)})))
			assert.ElementsMatch(t, c.active, w.active())
		})
	}
}

// What another process does to the memory at hand between reading and writing counts.
func TestAMemoryThatChangesMeanwhileIsReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		decision  string
		meanwhile func(t *testing.T, other *world, id string)
		check     func(t *testing.T, w *world)
	}{
		"it is merged": {"same", func(t *testing.T, other *world, _ string) {
			other.deciding(merging).summarize("When reading paginated results out of an API | Read page after page until one is empty, and count what comes.")
		}, func(t *testing.T, w *world) {
			assert.EqualValues(t, 2, w.find(what(pages) + " Then stop.").Metadata[keeper.MetaCorroborated])
		}},
		"it is corrected": {"merge", func(t *testing.T, other *world, id string) {
			_, err := other.keeper.Update(ctx, inn, &backends.UpdateRequest{ID: id, Text: ptr("Do something else.")})
			assert.NoError(t, err)
		}, func(t *testing.T, w *world) {
			assert.Equal(t, []string{"Do something else.", what(pagesNear)}, w.active())
		}},
		"it is used": {"same", func(t *testing.T, other *world, id string) {
			_, err := other.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{id}, AllUseful: true})
			assert.NoError(t, err)
		}, func(t *testing.T, w *world) {
			m := w.find(what(pages))
			assert.Equal(t, []any{1.0, 1.0, 1.0}, []any{m.Metadata[keeper.MetaCorroborated], m.Metadata[keeper.MetaFreq], m.Metadata[keeper.MetaUtility]})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			st := testkit.SQLite(t)
			other := open(t, on(st))
			id := other.summarize(pages).Memories[0].ID
			spy := testkit.Spy(st)
			w := open(t, on(spy)).deciding(always(c.decision))
			beforeTheBatch(spy, func() { c.meanwhile(t, other, id) })
			w.learn(SummaryRequest{Candidates: given(pagesNear)})
			c.check(t, w)
		})
	}
}

func TestAnEndlessConflictIsGivenUp(t *testing.T) {
	st := testkit.SQLite(t)
	other := open(t, on(st))
	id := other.summarize(pages).Memories[0].ID
	spy := testkit.Spy(st)
	w := open(t, on(spy)).deciding(merging)
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Apply" {
			_, err := other.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{id}})
			assert.NoError(t, err)
		}
		return nil
	})
	_, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Candidates: given(pagesNear)})
	require.ErrorIs(t, err, backends.ErrConflict)
	assert.Len(t, w.of("Duplicates"), 1, "a decision stands")
	spy.Arm(nil)
	resp := w.summarize(pagesNear)
	assert.EqualValues(t, 16+1, resp.Memories[0].Metadata[keeper.MetaFreq], "no count was lost")
}

// Without a model nothing that differs in a word is taken for the same.
func TestWithoutAModelTheWordsDecide(t *testing.T) {
	for name, change := range map[string]func(*setup){"words": func(*setup) {}, "vectors": embedded(&testkit.Embedder{Dim: 16})} {
		t.Run(name, func(t *testing.T) {
			w := open(t, noModel, change)
			add := func(s string) string { return outcomes(w.learn(SummaryRequest{Candidates: given(s), Author: "ann"})) }
			assert.Equal(t, "added", add("at the gate | Always wait for 20 bells, then knock."))
			assert.Equal(t, "added", add("at the gate | Never wait for 20 bells, then knock."))
			assert.Equal(t, "added", add("at the gate | Always wait for 50 bells, then knock."))
			assert.Equal(t, "unchanged", add("At the gate | always wait for 20 bells, then  knock"))
			assert.Equal(t, "ann", w.held()[0].Origin.Author)
		})
	}
}

func TestPairsBeyondOnePromptAreDecidedBySeveral(t *testing.T) {
	w := open(t, func(s *setup) { s.PromptTokens = 600 }).deciding(always("same"))
	tail := strings.Repeat(" and look at the next one", 12)
	var known, fresh []string
	for _, topic := range []string{"apples pears plums", "nails screws bolts", "boats ships rafts", "songs hymns chants", "roofs walls doors", "cats dogs mice"} {
		known = append(known, "sorting "+topic+" | Put "+topic+" apart"+tail)
		fresh = append(fresh, "sorting "+topic+" | Put "+topic+" far apart"+tail)
	}
	w.decide = always("distinct")
	w.learn(SummaryRequest{Candidates: given(known...)})
	before := len(w.of("Duplicates"))
	w.decide = func(fresh, known string) (string, string, string) {
		if strings.Fields(fresh)[1] == strings.Fields(known)[1] {
			return "same", "", ""
		}
		return "distinct", "", ""
	}
	resp := w.learn(SummaryRequest{Candidates: given(fresh...)})
	assert.Greater(t, len(w.of("Duplicates"))-before, 1)
	assert.Equal(t, strings.TrimSpace(strings.Repeat("updated ", 6)), outcomes(resp))
	assert.Len(t, w.active(), 6)
}

// A decision that is missing or makes no sense is no decision: nothing is stored.
func TestDuplicatesAreDecidedOrNothingIsStored(t *testing.T) {
	for name, answer := range map[string]string{
		"empty": `{}`, "undecided": `{"decisions":[]}`, "other pair": `{"decisions":[{"pair":1,"decision":"same"}]}`,
		"twice":       `{"decisions":[{"pair":0,"decision":"same"},{"pair":0,"decision":"distinct"}]}`,
		"other word":  `{"decisions":[{"pair":0,"decision":"perhaps"}]}`,
		"blank merge": `{"decisions":[{"pair":0,"decision":"merge","when_to_use":"x","content":" "}]}`,
		"no object":   `{"decisions":["same"]}`, "cut off": `{"decisions":[{"pair":0,"decision":"sa`, "a list": `["same"]`,
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t)
			w.summarize(pages)
			before := w.version()
			w.says["Duplicates"] = says(answer)
			resp, err := w.Summarize(ctx, &SummaryRequest{Scope: shop, Candidates: given(pagesNear)})
			require.ErrorIs(t, err, backends.ErrModel)
			require.ErrorIs(t, testkit.Failed(resp.Report), backends.ErrModel)
			assert.Len(t, w.of("Duplicates"), 2, "asked once more")
			assert.Equal(t, before, w.version())
		})
	}
}

// What holds no more is no reason not to learn it again, by the same request or another.
func TestWhatHoldsNoMoreIsLearntAnew(t *testing.T) {
	ended := start.Add(-time.Minute)
	for name, leave := range map[string]func(w *world, id string) error{
		"retracted": func(w *world, id string) error {
			_, err := w.keeper.Store().Apply(ctx, inn, &store.Batch{Mutations: []store.Mutation{store.Retract(id, start)}})
			return err
		},
		"expired": func(w *world, id string) error {
			_, err := w.keeper.Update(ctx, inn, &backends.UpdateRequest{ID: id, Expires: &ended})
			return err
		},
		"deleted": func(w *world, id string) error { return w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: id}) },
		"what superseded it is deleted": func(w *world, _ string) error {
			next := w.deciding(merging).learn(SummaryRequest{Candidates: given(pagesNear)}).Memories[0]
			return w.keeper.Delete(ctx, inn, &backends.DeleteRequest{ID: next.ID})
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, st store.Store) {
				w := open(t, on(st))
				for range 3 { // one id of the words after another is taken
					resp := w.summarize(pages)
					assert.Equal(t, "added", outcomes(resp))
					assert.Equal(t, []string{what(pages)}, w.active())
					require.NoError(t, leave(w, resp.Memories[0].ID))
					assert.Empty(t, w.active())
				}
				assert.Equal(t, "added", outcomes(w.summarize(pages)))
				assert.Equal(t, "unchanged", outcomes(w.summarize(pages)))
			})
		})
	}
}

func TestAMemoryHoldsAsLongAsWhatTaughtItAgain(t *testing.T) {
	soon, later := start.Add(time.Hour), start.Add(2*time.Hour)
	for _, c := range []struct{ first, second, want time.Time }{
		{first: soon, second: later, want: later}, {first: soon}, {second: soon}, {first: later, second: soon, want: later}, {first: soon, second: soon, want: soon},
	} {
		for how, fresh := range map[string]string{"known": "when reading paginated results of an api | " + what(pages), "same": pagesNear, "merge": pagesNear} {
			w := open(t).deciding(always(how))
			w.learn(SummaryRequest{Candidates: given(pages), Expires: c.first})
			resp := w.learn(SummaryRequest{Candidates: given(fresh), Expires: c.second})
			require.True(t, c.want.Equal(resp.Items[0].Memory.Expires), "%s: %v", how, c)
			require.True(t, c.want.Equal(w.held()[0].Expires), "%s: %v", how, c)
			require.Equal(t, how != "known" || !c.want.Equal(c.first), resp.Items[0].Outcome != backends.OutcomeUnchanged)
		}
	}
	_, err := open(t).Summarize(ctx, &SummaryRequest{Scope: shop, Candidates: given(pages), Expires: start.Add(-1)})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

// Whatever is learnt, and whatever the model decides: the same words are there once, what
// an item names holds, the response reports what is stored, and counts survive.
func TestPropertyOfLearning(t *testing.T) {
	testkit.SlowUnderRace(t)
	words := []string{"read", "every", "page", "until", "one", "comes", "empty", "then", "count", "token"}
	rapid.Check(t, func(rt *rapid.T) {
		w := open(t).deciding(func(fresh, known string) (string, string, string) { // by the texts alone
			return []string{"same", "merge", "distinct"}[(len(fresh)+len(known))%3], "reading pages", known + " " + fresh
		})
		candidate := rapid.Custom(func(rt *rapid.T) backends.Memory {
			n := rapid.IntRange(5, len(words)).Draw(rt, "words")
			return backends.Memory{WhenToUse: "reading pages", Text: strings.Join(words[:n], " ") + rapid.SampledFrom([]string{"", " soon", " twice"}).Draw(rt, "end")}
		})
		used := 0.0
		for range rapid.IntRange(1, 3).Draw(rt, "requests") {
			r := SummaryRequest{Candidates: rapid.SliceOfN(candidate, 1, 4).Draw(rt, "candidates")}
			resp := w.learn(r)
			if !resp.Replayed {
				require.Len(rt, resp.Items, len(r.Candidates))
			}
			seen := map[string]bool{}
			for _, m := range w.held() {
				key := keeper.TextKey(m.Kind, m.WhenToUse, m.Text)
				require.False(rt, seen[key], "twice: %s", m.Text)
				seen[key] = true
			}
			for _, i := range resp.Items {
				require.Equal(rt, i.Memory.ID, w.find(i.Memory.Text).ID, "an item names what holds")
			}
			for _, m := range resp.Memories {
				require.True(rt, slices.ContainsFunc(resp.Items, func(i backends.Item) bool { return i.Memory.ID == m.ID }))
			}
			got, err := w.Record(ctx, &RecordRequest{Scope: shop, IDs: []string{resp.Items[0].Memory.ID}})
			require.NoError(rt, err)
			require.Empty(rt, got.Unknown)
			used++
		}
		total := 0.0
		for _, m := range w.held() {
			total += keeper.Number(&m, keeper.MetaFreq)
		}
		require.Equal(rt, used, total, "no count was lost")
	})
}

func TestTheThresholdIsACosineOrDicesCoefficient(t *testing.T) {
	for cosine, asked := range map[float64]int{0.91: 1, 0.89: 0} {
		w := open(t, embedded(&testkit.Embedder{Vector: func(s string) []float64 {
			if strings.HasPrefix(s, "near") {
				return []float64{cosine, math.Sqrt(1 - cosine*cosine)}
			}
			return []float64{1, 0}
		}}))
		w.learn(SummaryRequest{Candidates: given("at the gate | wait for the bell")})
		w.learn(SummaryRequest{Candidates: given("near the gate | wait for a bell")})
		assert.Len(t, w.of("Duplicates"), asked, "%v", cosine)
	}
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"", "", 0}, {"a", "", 0}, {"a b", "b a", 1}, {"a b", "b c", 0.5}, {"A b", "a, B!", 1}, {"a b c d", "a", 0.4}, {"ＡＰＩ", "api", 1}, {"逐页读取", "逐页读完", 0.75}, {"用API读", "读 api", 0.8},
	} {
		assert.InDelta(t, c.want, dice(wordsOf(c.a), wordsOf(c.b)), 1e-12, "%q %q", c.a, c.b)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := wordsOf(rapid.String().Draw(t, "a")), wordsOf(rapid.String().Draw(t, "b"))
		d := dice(a, b)
		require.Equal(t, d, dice(b, a))
		require.True(t, d >= 0 && d <= 1)
	})
}

// Of the memories that ReMe's authors published so many resemble one before them as the
// comment of DuplicateWords states. All were worth publishing beside each other.
func TestTheThresholdOnPublishedMemories(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("EINOMEM_REME is not set: it names the folder of the memories that ReMe's authors published")
	}
	all, near := 0, 0
	for _, name := range []string{"appworld.jsonl", "bfcl_v3.jsonl", "paper/appworld_qwen3_8b.jsonl", "paper/bfcl_qwen3_8b.jsonl"} {
		f, err := os.Open(filepath.Join(folder, name))
		require.NoError(t, err)
		var sets []map[string]bool
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var m struct {
				When    string `json:"when_to_use"`
				Content string `json:"content"`
			}
			require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
			words := wordsOf(m.When + "\n" + m.Content)
			if slices.ContainsFunc(sets, func(s map[string]bool) bool { return dice(words, s) >= 0.55 }) {
				near++
			}
			sets = append(sets, words)
			all++
		}
		require.NoError(t, f.Close())
	}
	assert.Equal(t, 970, all)
	assert.InDelta(t, 0.09, float64(near)/float64(all), 0.015)
}

// Whoever's words are in a merged memory is found by them: see backends.Memory.CameFrom.
func TestAMergedMemoryCameFromAllItsUsers(t *testing.T) {
	w := open(t).deciding(merging)
	for user, learnt := range map[string]string{"ann": pages, "bob": pagesNear} {
		scope := backends.Scope{Workspace: "shop", UserID: user, SessionID: "of " + user}
		_, err := w.Summarize(ctx, &SummaryRequest{Scope: scope, Candidates: given(learnt)})
		require.NoError(t, err)
	}
	merged := w.find(w.active()[0])
	assert.True(t, merged.CameFrom("ann"))
	assert.True(t, merged.CameFrom("bob"))
	assert.False(t, merged.CameFrom("cleo"))
	assert.False(t, merged.CameFrom(""))
	assert.Equal(t, "of "+merged.Scope.UserID, merged.Origin.Session)
	require.Len(t, merged.Origin.Users, 1, "the other, once")
	for _, m := range w.held() {
		assert.True(t, m.CameFrom("ann") || m.CameFrom("bob"))
	}
}
