// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// said returns what was said in a session, a minute apart.
func said(session string, at time.Time, role, speaker string, texts ...string) []store.Mutation {
	var out []store.Mutation
	for i, text := range texts {
		out = append(out, put(backends.Memory{
			ID: fmt.Sprintf("%s:%d", session, i+1), Kind: backends.KindEpisode, Text: text, Observed: at.Add(time.Duration(i) * time.Minute),
			Origin: backends.Origin{Session: session, Role: role, Speaker: speaker},
		}))
	}
	return out
}

func signalsOf(hits []backends.Hit, id string) map[string]float64 {
	for _, h := range hits {
		if h.ID == id {
			return h.Parts.Signals
		}
	}
	return nil
}

func TestAnAnswerIsFoundByItsQuestion(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, said("a", start, "", "", "Which instrument do you play?", "The cello, since I was six.", "Lovely.", "Bye.", "See you.")...)
	apply(t, s, ann, said("b", start, "", "", "It rained.", "An instrument broke.")...)
	hits := search(t, r, ann, backends.SearchRequest{Query: "Which instrument does she play?"})
	require.Equal(t, "a:2", hits[0].ID, "it tells more than the question")
	require.Equal(t, "a:1", hits[1].ID)
	require.Positive(t, hits[0].Score)
	require.Zero(t, hits[0].Parts.Lexical, "it has no word of the query")
	answer := hits[0].Parts.Signals
	require.Greater(t, answer["answer"], answer["neighbours"])
	require.Positive(t, answer["session"])
	require.Negative(t, hits[1].Parts.Signals["asks"])
	require.NotContains(t, ids(hits), "a:5", "nothing near it was found")
}

func TestSignalsCanBeLeftOut(t *testing.T) {
	s := newStore(1)
	apply(t, s, ann, said("a", start, "", "", "Which instrument do you play?", "The cello.")...)
	for _, name := range Signals() {
		r := newRanker(t, s, func(c *Config) { c.Without = []string{name} })
		for _, h := range search(t, r, ann, backends.SearchRequest{Query: "instrument"}) {
			require.NotContains(t, h.Parts.Signals, name)
		}
	}
	r := newRanker(t, s, func(c *Config) { c.Without = Signals() })
	require.Equal(t, []string{"a:1"}, find(t, r, "instrument"))
	_, err := New(t.Context(), &Config{Records: s, Without: []string{"luck"}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "neighbours")
}

func TestWhatIsSaidLaterIsNoAnswer(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, said("a", start, "", "", "Which instrument do you play?")...)
	apply(t, s, ann, put(backends.Memory{ID: "a:2", Kind: backends.KindEpisode, Text: "Good morning.", Observed: start.Add(2 * time.Hour), Origin: backends.Origin{Session: "a"}}))
	require.Equal(t, []string{"a:1"}, find(t, r, "instrument"))
}

func TestWhatMayNotBeReturnedHandsNothingOn(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	all := said("a", start, "", "", "Which instrument do you play?", "The cello.")
	all[0].Record.Expires = start.Add(time.Hour)
	apply(t, s, ann, all...)
	require.Empty(t, find(t, r, "instrument"))
}

func TestThePersonNamedCountsMore(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, said("a", start, "", "Melanie", "A race for charity was fun.")...)
	apply(t, s, ann, said("b", start, "", "Caroline", "A race for charity was fun.")...)
	for _, name := range []string{"Caroline", "Melanie"} {
		hits := search(t, r, ann, backends.SearchRequest{Query: "What race did " + name + " run?"})
		require.Equal(t, name, hits[0].Origin.Speaker)
		require.Positive(t, hits[0].Parts.Signals["speaker"])
	}
	both := search(t, r, ann, backends.SearchRequest{Query: "What race did Caroline and Melanie run?"})
	require.Zero(t, both[0].Parts.Signals["speaker"], "two are named")
}

// The first ranks stay as they are; behind them stands what others say only after most of what the
// named one says.
func TestALongAnswerHasTheWordsOfTheOneNamedFirst(t *testing.T) {
	s := newStore(1)
	for i := range 20 {
		for name, text := range map[string]string{"Caroline": "My race was fun.", "Melanie": "Caroline, you run a race."} {
			apply(t, s, ann, said(fmt.Sprint(name, i), start.Add(time.Duration(i)*24*time.Hour), "", name, text)...)
		}
	}
	asked := backends.SearchRequest{Query: "Which race did Caroline run?", TopK: 40}
	order := func(without ...string) (byName string) {
		for _, h := range search(t, newRanker(t, s, func(c *Config) { c.Without = without }), ann, asked) {
			byName += h.Origin.Speaker[:1]
		}
		return byName
	}
	require.Equal(t, strings.Repeat("M", 20)+strings.Repeat("C", 20), order("speaker"))
	got := order()
	require.Equal(t, strings.Repeat("M", 10)+strings.Repeat("C", 10), got[:20])
	require.Equal(t, 20, strings.Count(got, "M"), "nobody's words are left out")
	asked.TopK = 10
	require.Equal(t, got[:10], order())
	asked.TopK, asked.Query = 40, "Which race did Caroline and Melanie run?"
	require.Equal(t, order("speaker"), order(), "two are named")
}

// Where an assistant answers at length its words count a quarter, and the question that it answers
// gets some of what they score; people who write to each other are all alike.
func TestLongAnswersOfAnAssistant(t *testing.T) {
	long := "Herons fish at dawn in shallow water, where frogs and small fish gather, and stand on one leg for hours without a move or a sound." + strings.Repeat(" Their long legs keep feathers dry.", 20)
	for role, want := range map[string]bool{"assistant": true, "user": false} {
		s := newStore(1)
		r := newRanker(t, s)
		talk := append(said("a", start, "user", "", "What about birds?"), said("b", start, "user", "", "I saw a heron.")...)
		answer := said("a", start.Add(time.Minute), role, "", long)
		answer[0].Record.ID = "a:2"
		apply(t, s, ann, append(talk, answer...)...)
		hits := search(t, r, ann, backends.SearchRequest{Query: "heron frogs gather shallow water"})
		require.Equal(t, want, signalsOf(hits, "a:2")["assistant"] < 0, role)
		require.Equal(t, want, signalsOf(hits, "a:1")["question"] > 0, role)
	}
}

func TestTheSessionOfAQuestionComesFirst(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s)
	apply(t, s, ann, said("wedding", start, "", "", "The wedding was in June.", "Aunt Rose danced.", "We ate outside.", "The cake had four layers.")...)
	apply(t, s, ann, said("bakery", start, "", "", "The cake had four layers.")...)
	hits := search(t, r, ann, backends.SearchRequest{Query: "How many layers had the cake of the wedding in June?"})
	require.Less(t, slices.Index(ids(hits), "wedding:4"), slices.Index(ids(hits), "bakery:1"))
}

// However sessions come in and change, each memory knows who stands beside it.
func TestSessionsAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newStore(rapid.Int64Range(1, 3).Draw(t, "page"))
		r := newRanker(t, s)
		held := map[string]backends.Memory{}
		for range rapid.IntRange(1, 6).Draw(t, "batches") {
			var batch []store.Mutation
			used := map[string]bool{}
			for range rapid.IntRange(1, 8).Draw(t, "mutations") {
				m := backends.Memory{
					ID: fmt.Sprintf("m%d", rapid.IntRange(1, 12).Draw(t, "id")), Text: "tea?", Observed: start.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "minute")) * time.Minute),
					Kind:   rapid.SampledFrom([]backends.Kind{backends.KindEpisode, backends.KindFact, backends.KindTask}).Draw(t, "kind"),
					Origin: backends.Origin{Session: rapid.SampledFrom([]string{"a", "b", ""}).Draw(t, "session")},
				}
				if used[m.ID] {
					continue
				}
				used[m.ID] = true
				if _, ok := held[m.ID]; ok && rapid.Bool().Draw(t, "delete") {
					batch = append(batch, store.Delete(m.ID))
					delete(held, m.ID)
					continue
				}
				batch = append(batch, put(m))
				held[m.ID] = m
			}
			apply(t, s, ann, batch...)
			find(t, r, "tea")
			checkSessions(t, r.indexOf(ann), held)
		}
	})
}

func checkSessions(t *rapid.T, x *index, held map[string]backends.Memory) {
	sessions := map[string][]string{}
	terms := int64(0)
	for id, m := range held {
		if m.Origin.Session != "" && m.Kind != backends.KindTask {
			terms += int64(x.docs[x.slots[id]].text.length)
		}
		if m.Origin.Session != "" && m.Kind == backends.KindEpisode {
			sessions[m.Origin.Session] = append(sessions[m.Origin.Session], id)
		}
	}
	require.Equal(t, terms, x.sessions.terms)
	for _, all := range sessions {
		slices.SortFunc(all, func(a, b string) int {
			return cmp.Or(held[a].Observed.Compare(held[b].Observed), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		for i, id := range all {
			want := offset{session: x.sessions.numbers[held[id].Origin.Session] + 1, at: int32(i)}
			if i > 0 {
				want.before = x.slots[all[i-1]] + 1
			}
			if i+1 < len(all) {
				want.after = x.slots[all[i+1]] + 1
			}
			require.Equal(t, want, x.sessions.offsets[x.slots[id]])
		}
	}
}

func TestNumbersInIDsCountByTheirValue(t *testing.T) {
	sorted := []string{"", "D1:2", "D1:10", "D2:1", "D10:1", "a", "a1b", "a2"}
	for i, a := range sorted {
		for j, b := range sorted {
			if i != j {
				require.Equal(t, cmp.Compare(i, j), compareNatural(a, b), "%s, %s", a, b)
			}
		}
	}
}

// onDays returns statements with the same words, each observed at noon of a day of 2023.
func onDays(text string, days ...string) []store.Mutation {
	var out []store.Mutation
	for _, d := range days {
		noon, _ := time.Parse("2006-01-02 15", d+" 12")
		out = append(out, put(backends.Memory{ID: d, Kind: backends.KindFact, Text: text, Observed: noon}))
	}
	return out
}

// atNoon sets the clock to the 31st of May 2023, a Wednesday.
func atNoon(c *Config) {
	c.Clock = func() time.Time { return time.Date(2023, 5, 31, 12, 0, 0, 0, time.UTC) }
}

func TestAQueryThatNamesATimePrefersWhatWasSaidThen(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, atNoon)
	days := []string{"2022-05-07", "2023-03-01", "2023-05-07", "2023-05-23", "2023-05-29", "2023-05-30", "2023-05-31"}
	apply(t, s, ann, onDays("Ann baked a cake for 小红, who 做了一个蛋糕", days...)...)
	for query, want := range map[string]string{
		"What cake did Ann bake yesterday?": "2023-05-30", "which cake was baked last week": "2023-05-23", "the cake of two days ago": "2023-05-29",
		"Which cake did Ann bake in May 2022?": "2022-05-07", "Which cake did Ann bake in March?": "2023-03-01", "the cake on 7 May": "2023-05-07",
		"昨天的蛋糕": "2023-05-30", "上周做了什么蛋糕": "2023-05-23", "两天前的蛋糕": "2023-05-29", "2022年5月的蛋糕": "2022-05-07", "5月7号的蛋糕": "2023-05-07",
		"the cake": "2023-05-31", "蛋糕": "2023-05-31", // the newest
	} {
		hits := search(t, r, ann, backends.SearchRequest{Query: query, TopK: len(days)})
		require.Len(t, hits, len(days), "others stay: %s", query)
		require.Equal(t, want, hits[0].ID, query)
		require.Equal(t, query != "the cake" && query != "蛋糕", hits[0].Parts.Signals["dates"] > 0, query)
	}
}

func TestWhatHappenedThenOrIsToldSoonAfterCounts(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, atNoon)
	apply(t, s, ann, onDays("A cake was baked", "2023-04-03", "2023-05-02", "2023-05-20")...)
	move := put(backends.Memory{ID: "valid", Kind: backends.KindFact, Text: "A cake was baked", Observed: start, Valid: time.Date(2023, 4, 9, 0, 0, 0, 0, time.UTC)})
	apply(t, s, ann, move)
	require.Equal(t, []string{"valid", "2023-04-03", "2023-05-02", "2023-05-20"}, find(t, r, "the cake baked last month"))
}

func TestATimeAloneFindsWhatIsOfIt(t *testing.T) {
	s := newStore(1)
	r := newRanker(t, s, atNoon)
	apply(t, s, ann, onDays("Tomatoes were planted", "2023-05-30", "2023-04-02")...)
	apply(t, s, ann, put(backends.Memory{ID: "task", Kind: backends.KindTask, Text: "Ask first", Observed: time.Date(2023, 5, 30, 0, 0, 0, 0, time.UTC)}))
	for _, query := range []string{"What did I do yesterday?", "昨天我做了什么"} {
		hits := search(t, r, ann, backends.SearchRequest{Query: query})
		require.Equal(t, []string{"2023-05-30"}, ids(hits), "tasks have no day")
		require.Greater(t, hits[0].Score, 0.1)
	}
	var many []store.Mutation
	for i := range 100 {
		many = append(many, put(backends.Memory{ID: fmt.Sprint(i), Kind: backends.KindFact, Text: "It rained", Observed: time.Date(2023, 5, 30, 1, i, 0, 0, time.UTC)}))
	}
	apply(t, s, ann, many...)
	require.Equal(t, []string{"2023-05-30", "2023-04-02"}, find(t, r, "What was planted yesterday?"), "what nearly all are of finds nothing by itself")
}

func TestATimeThatNoMemoryIsOfIsWords(t *testing.T) {
	s := newStore(1)
	with, without := newRanker(t, s, atNoon), newRanker(t, s, atNoon, func(c *Config) { c.Without = []string{"dates"} })
	apply(t, s, ann, onDays("Ann read 1984", "2023-05-30")...)
	apply(t, s, ann, onDays("Bob ran 1000 steps", "2023-05-02")...)
	q := backends.SearchRequest{Query: "Who read 1984?"}
	require.Equal(t, search(t, without, ann, q), search(t, with, ann, q))
	q.Query = "What did Ann read yesterday?"
	require.Greater(t, search(t, with, ann, q)[0].Score, search(t, without, ann, q)[0].Score)
}

// What was asked before has all words of a query, and answers nothing.
func TestWhatStatesNothingComesLast(t *testing.T) {
	for _, texts := range [][3]string{
		{"Where do I live now?", "My flat is in Oslo, where I live with Tom.", "You live in Oslo."},
		{"我现在住在哪里？", "我和小王一起住在奥斯陆。", "您住在奥斯陆。"},
	} {
		s := newStore(1)
		r := newRanker(t, s)
		apply(t, s, ann, said("a", start, "user", "", texts[0])...)
		apply(t, s, ann, said("b", start, "user", "", texts[1])...)
		apply(t, s, ann, said("c", start, "assistant", "", texts[2])...)
		hits := search(t, r, ann, backends.SearchRequest{Query: texts[0]})
		require.Equal(t, "b:1", hits[0].ID)
		require.ElementsMatch(t, []string{"a:1", "b:1", "c:1"}, ids(hits), "none is left out")
		require.Negative(t, signalsOf(hits, "a:1")["states"])
		require.Negative(t, signalsOf(hits, "c:1")["states"])
		require.NotContains(t, signalsOf(hits, "b:1"), "states")
		beside := backends.Memory{Kind: backends.KindEpisode, Text: texts[0], Origin: backends.Origin{Role: "user"}}
		hits = search(t, r, ann, backends.SearchRequest{Query: texts[0], Beside: []backends.Memory{beside}})
		require.Equal(t, "b:1", hits[0].ID, "nor does what is not learnt yet")
		hits = search(t, newRanker(t, s, func(c *Config) { c.Without = slices.Concat(factorNames, []string{"states"}) }), ann, backends.SearchRequest{Query: texts[0]})
		require.NotEqual(t, "b:1", hits[0].ID)
	}
}

func TestHintsHideNoMatch(t *testing.T) {
	r := newRanker(t, newStore(1))
	for _, cue := range []*regexp.Regexp{idle, asksTime, asksMany} {
		matches := rapid.StringMatching(cue.String())
		rapid.Check(t, func(t *rapid.T) {
			text := strings.Map(func(c rune) rune {
				return rapid.SampledFrom([]rune{c, unicode.ToUpper(c), unicode.SimpleFold(c)}).Draw(t, "case")
			}, matches.Draw(t, "text"))
			f := ranking{asked: text}
			require.Equal(t, asksTime.MatchString(text), f.asksTime(), text)
			require.Equal(t, asksMany.MatchString(text), f.asksMany(), text)
			var q query
			r.read(&q, text+" tea")
			require.Equal(t, r.terms(idle.ReplaceAllString(text+" tea", " ")), q.terms, text)
		})
	}
}
