// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/viterin/vek/vek32"
)

func TestACorpusIsMadeUpTheSameEachTime(t *testing.T) {
	a, b := NewCorpus(30, 5, 64), NewCorpus(30, 5, 64)
	require.Equal(t, a, b)
	require.NotEqual(t, a.Texts, NewCorpus(31, 5, 64).Texts[:30])
	require.Len(t, slices.Compact(slices.Clone(a.Strange)), 5, "each has a vector of its own")
	for _, q := range a.Strange {
		require.False(t, strings.ContainsAny(q, "wx0123456789"), q)
	}
}

func TestTextsOfOneTopicAreNear(t *testing.T) {
	topic, many := NewCorpus(1, 1, 256), NewCorpus(50_000, 1, 256)
	var one, other float64
	const n = 200
	for i := range n {
		x, y := strings.Repeat("a", i+1), strings.Repeat("b", i+1)
		v := topic.Vector(x)
		require.InDelta(t, 1, vek32.Dot(v, v), 1e-5)
		one += float64(vek32.Dot(v, topic.Vector(y))) / n
		other += float64(vek32.Dot(many.Vector(x), many.Vector(y))) / n
	}
	require.InDelta(t, 0.5, one, 0.15)
	require.InDelta(t, 0, other, 0.1)
}

func TestNothingIsNearerThanTheExactAnswer(t *testing.T) {
	c := NewCorpus(200, 6, 64)
	for i, got := range c.Exact(c.Queries, 10) {
		require.Len(t, got, 10)
		cosine := func(id string) float32 {
			return vek32.Dot(c.Vector(c.Texts[slices.Index(c.IDs, id)]), c.Vector(c.Queries[i]))
		}
		for _, id := range c.IDs {
			require.True(t, slices.Contains(got, id) || cosine(id) <= cosine(got[9]), "text %s is nearer than %s", id, got[9])
		}
		require.True(t, slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(cosine(b), cosine(a)) }), "the nearest first")
	}
	require.Len(t, NewCorpus(3, 1, 64).Exact([]string{"q"}, 10)[0], 3, "no more than there are")
}

// readAs writes files below a folder and reads one of them, or the folder, in a format.
func readAs(t *testing.T, format, path string, files map[string]string) ([]Conversation, error) {
	dir := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return Conversations(format, filepath.Join(dir, path))
}

// The quirks of LoCoMo's file: an answer that is a number, a date without its session,
// evidence that needs repair or does not exist.
func TestLocomo(t *testing.T) {
	all, err := readAs(t, "locomo", "small.json", map[string]string{"small.json": `[{"sample_id": "conv-1", "conversation": {
  "speaker_a": "Ann", "speaker_b": "Bob",
  "session_1_date_time": "1:56 pm on 8 May, 2023",
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_4": [{"speaker": "Ann", "dia_id": "D4:1", "text": "It rains."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "The orchestra took me!", "blip_caption": "a violin"}],
  "session_3_date_time": "9:05 am on 4 June, 2023"},
 "qa": [
  {"question": "Which pet?", "answer": 1, "category": 4, "evidence": ["D1:1", "D1:1"]},
  {"question": "What was not said?", "category": 5, "evidence": ["D9:9", "D"]},
  {"question": "What took Bob?", "answer": "an orchestra", "category": 1, "evidence": ["D:1:2; D2:01"]}]}]`})
	require.NoError(t, err)
	first, second := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), time.Date(2023, 6, 3, 9, 5, 0, 0, time.UTC)
	require.Equal(t, []Conversation{{ID: "conv-1", Turns: []Turn{
		{ID: "D1:1", Speaker: "Ann", Text: "I adopted a cat called Tom.", Session: "session_1", Time: first},
		{ID: "D1:2", Speaker: "Bob", Text: "Nice! I am learning to play the violin.", Session: "session_1", Time: first},
		{ID: "D2:1", Speaker: "Ann", Text: "The orchestra took me!", Session: "session_2", Time: second},
		{ID: "D4:1", Speaker: "Ann", Text: "It rains.", Session: "session_4"},
	}, Questions: []Question{
		{ID: "locomo_0_qa0", Text: "Which pet?", Answer: "1", Evidence: []string{"D1:1"}, Category: "single-hop"},
		{ID: "locomo_0_qa2", Text: "What took Bob?", Answer: "an orchestra", Evidence: []string{"D1:2", "D2:1"}, Category: "multi-hop"},
	}}}, all)
}

// A folder has a file for each conversation. What was sent is timed message by message, and a
// picture without a word has a caption, or nothing to find.
func TestRealtalk(t *testing.T) {
	all, err := readAs(t, "realtalk", "", map[string]string{
		"Chat_10_Cleo_Dan.json": `{"session_1": [{"clean_text": "Hello", "speaker": "Cleo", "dia_id": "D1:1"}],
  "qa": [{"question": "Who says hello?", "evidence": ["D1:1"], "category": 1}]}`,
		"Chat_2_Ann_Bob.json": `{"name": {"speaker_1": "Ann", "speaker_2": "Bob"}, "session_1_date_time": "29.12.2023, 00:51:12",
  "session_1": [
    {"clean_text": "I ran ten miles today", "speaker": "Ann", "date_time": "29.12.2023, 00:51:12", "dia_id": "D1:1"},
    {"clean_text": "", "speaker": "Bob", "date_time": "29.12.2023, 08:15:00", "dia_id": "D1:2", "blip_caption": "a medal"},
    {"clean_text": "", "speaker": "Bob", "date_time": "29.12.2023, 08:16:00", "dia_id": "D1:3"}],
  "events_session_1": {"agent_a": []},
  "qa": [{"question": "When did Ann run?", "answer": "29 December", "evidence": ["D1:1", "D1:3"], "category": 2}]}`,
	})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "Chat_10_Cleo_Dan", all[1].ID, "chats stand in the order of their numbers")
	require.Zero(t, all[1].Turns[0].Time)
	require.Equal(t, Conversation{ID: "Chat_2_Ann_Bob", Turns: []Turn{
		{ID: "D1:1", Speaker: "Ann", Text: "I ran ten miles today", Session: "session_1", Time: time.Date(2023, 12, 29, 0, 51, 12, 0, time.UTC)},
		{ID: "D1:2", Speaker: "Bob", Text: "a medal", Session: "session_1", Time: time.Date(2023, 12, 29, 8, 15, 0, 0, time.UTC)},
	}, Questions: []Question{
		{ID: "realtalk_Chat_2_Ann_Bob_qa0", Text: "When did Ann run?", Answer: "29 December", Evidence: []string{"D1:1"}, Category: "temporal"},
	}}, all[0])
}

// Each question has a history of its own, whose sessions may stand in any order.
func TestLongMemEval(t *testing.T) {
	const file = `[{"question_id": "q1_abs", "question_type": "multi-session", "question": "How many lamps?", "answer": 2,
 "question_date": "2023/05/30 (Tue) 23:40", "haystack_session_ids": ["b", "a"], "haystack_dates": ["2023/05/21 (Sun) 02:21", "2023/05/20 (Sat) 10:00"],
 "haystack_sessions": [[{"role": "user", "content": "A red lamp.", "has_answer": true}, {"role": "assistant", "content": "Nice!"}], [{"role": "user", "content": "A lamp."}]]}]`
	all, err := readAs(t, "longmemeval", "s.json", map[string]string{"s.json": file})
	require.NoError(t, err)
	first, second := time.Date(2023, 5, 20, 10, 0, 0, 0, time.UTC), time.Date(2023, 5, 21, 2, 21, 0, 0, time.UTC)
	require.Equal(t, []Conversation{{ID: "q1_abs", Turns: []Turn{
		{ID: "1:0", Role: "user", Text: "A lamp.", Session: "1", Time: first},
		{ID: "0:0", Role: "user", Text: "A red lamp.", Session: "0", Time: second},
		{ID: "0:1", Role: "assistant", Text: "Nice!", Session: "0", Time: second},
	}, Questions: []Question{{
		ID: "q1_abs", Text: "How many lamps?", Answer: "2", Category: "abstention", Evidence: []string{"0:0"},
		Time: time.Date(2023, 5, 30, 23, 40, 0, 0, time.UTC),
	}}}}, all)
	_, err = readAs(t, "longmemeval", "s.json", map[string]string{"s.json": strings.Replace(file, `, "2023/05/20 (Sat) 10:00"`, "", 1)})
	require.ErrorContains(t, err, "question q1_abs has 2 sessions, but 1 dates")
}

// Several questions are asked about one history, each after so many messages.
func TestPersonaMem(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "questions") // no file
	require.NoError(t, os.Mkdir(dir, 0o700))
	const head = "question_id,question_type,user_question_or_message,correct_answer,all_options,shared_context_id,end_index_in_shared_context\n"
	read := func(contexts, questions string) ([]Conversation, error) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "shared_contexts_32k.jsonl"), []byte(contexts), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "questions_32k.csv"), []byte(questions), 0o600))
		return All("personamem", filepath.Join(dir, "questions_32k.csv"))
	}
	const contexts = `{"c1": [{"role": "system", "content": "A baker."}, {"role": "user", "content": "Hi"}, {"role": "system", "content": "A baker."}, {"role": "assistant", "content": "Hello"}]}` + "\n"
	all, err := read(contexts+`{"c2": []}`, head+`q1,recall,"Which, then?",(b),"['(a) Rye.', ""(b) It's ""spelt"".""]",c1,3`+"\n"+`q2,recall,When?,(a),[],c1,-1`)
	require.NoError(t, err)
	require.Equal(t, []Conversation{{ID: "c1", Turns: []Turn{
		{ID: "0", Role: "system", Text: "A baker.", Session: "1"}, {ID: "1", Role: "user", Text: "Hi", Session: "1"},
		{ID: "2", Role: "system", Text: "A baker.", Session: "2"}, {ID: "3", Role: "assistant", Text: "Hello", Session: "2"},
	}, Questions: []Question{
		{ID: "q1", Text: "Which, then?", Answer: "(b)", Category: "recall", Options: `['(a) Rye.', "(b) It's "spelt"."]`, After: 3},
	}}, {ID: "c2"}}, all)
	for _, questions := range []string{
		head + "q1,recall,When?,(a),[],c9,3", head + "q1,recall,When?,(a),[],c1,5", head + "q1,recall,When?,(a),[],c1,soon", head + "q1,recall", "question_id\nq1",
	} {
		_, err := read(contexts, questions)
		require.Error(t, err, questions)
	}
	_, err = read("{", head)
	require.ErrorContains(t, err, "line 1 of the contexts")
	_, err = All("personamem", filepath.Join(dir, "questions_1M.csv"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Conversations("personamem", filepath.Join(dir, "questions_32k.csv"))
	require.Error(t, err, "nothing says which turns answer")
}

// Messages stand in threads of batches, ids of evidence in lists or under names, and the first
// message of a batch has its day.
func TestBeam(t *testing.T) {
	all, err := readAs(t, "beam", "", map[string]string{
		"1/chat.json": `[{"batch_number": 1, "turns": [
    [{"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "I build a shed, can you help? ->-> 1,1"},
     {"role": "assistant", "id": 1, "content": "Certainly! a ->-> b"}],
    [{"role": "user", "id": 2, "content": "It has to be ready in May. ->-> 1,2"}]]},
  {"batch_number": 2, "turns": [[{"role": "user", "id": 3, "time_anchor": "soon", "content": "It is ready."}]]}]`,
		"1/probing_questions/probing_questions.json": `{
  "temporal_reasoning": [{"question": "How long?", "source_chat_ids": {"2nd_event": [3], "1st_event": [2, 2]}}],
  "abstention": [{"question": "What is my background?", "ideal_response": "unknown"}],
  "information_extraction": [{"question": "What do I build?", "source_chat_ids": [0, 7]}]}`,
		"plan.txt": "not read",
	})
	require.NoError(t, err)
	day := time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC)
	require.Equal(t, []Conversation{{ID: "1", Turns: []Turn{
		{ID: "0", Role: "user", Text: "I build a shed, can you help?", Session: "batch 1", Time: day},
		{ID: "1", Role: "assistant", Text: "Certainly! a ->-> b", Session: "batch 1", Time: day},
		{ID: "2", Role: "user", Text: "It has to be ready in May.", Session: "batch 1", Time: day},
		{ID: "3", Role: "user", Text: "It is ready.", Session: "batch 2"},
	}, Questions: []Question{
		{Text: "What do I build?", Evidence: []string{"0"}, Category: "information_extraction"},
		{Text: "How long?", Evidence: []string{"2", "3"}, Category: "temporal_reasoning"},
	}}}, all)
}

// Each of MemDaily's people is a conversation, or all are one.
func TestMemdaily(t *testing.T) {
	files := map[string]string{"memdaily.json": `{"simple": {"roles": [
   {"tid": 0, "message_list": [
     {"mid": 0, "message": "我的邻居会弹吉他。", "time": "2024年04月01日 周一 08:39", "place": "上海"},
     {"mid": 1, "message": "今天下雨。", "time": "unknown", "place": "上海"}],
    "QA": {"qid": 0, "question": "邻居会什么？", "answer": "吉他", "target_step_id": [0], "choices": {"A": "吉他"}, "ground_truth": "A"}}],
  "items": null},
 "noisy": {"events": [
   {"tid": 0, "message_list": [{"mid": 0, "message": "展览在周六。", "time": "2024年04月02日 周二 19:00", "place": "北京"}],
    "QA": {"question": "展览是哪天？", "target_step_id": [0, 5]}}]}}`}
	all, err := readAs(t, "memdaily", "memdaily.json", files)
	require.NoError(t, err)
	require.Equal(t, []Conversation{
		{ID: "noisy/events/0", Turns: []Turn{
			{ID: "noisy/events/0:0", Role: "user", Text: "展览在周六。", Session: "noisy/events/0", Time: time.Date(2024, 4, 2, 19, 0, 0, 0, time.UTC)},
		}, Questions: []Question{{Text: "展览是哪天？", Evidence: []string{"noisy/events/0:0"}, Category: "noisy"}}},
		{ID: "simple/roles/0", Turns: []Turn{
			{ID: "simple/roles/0:0", Role: "user", Text: "我的邻居会弹吉他。", Session: "simple/roles/0", Time: time.Date(2024, 4, 1, 8, 39, 0, 0, time.UTC)},
			{ID: "simple/roles/0:1", Role: "user", Text: "今天下雨。", Session: "simple/roles/0"},
		}, Questions: []Question{{Text: "邻居会什么？", Evidence: []string{"simple/roles/0:0"}, Category: "simple"}}},
	}, all)
	pool, err := readAs(t, "memdaily-pooled", "memdaily.json", files)
	require.NoError(t, err)
	require.Len(t, pool, 1)
	require.Equal(t, slices.Concat(all[0].Turns, all[1].Turns), pool[0].Turns)
	require.Equal(t, slices.Concat(all[0].Questions, all[1].Questions), pool[0].Questions)
}

// The memories that a task taught answer its query.
func TestReme(t *testing.T) {
	all, err := readAs(t, "reme", "", map[string]string{"pool.jsonl": `{"memory_id": "a", "when_to_use": "When rating songs", "content": "First list all songs.", "time_created": "2025-09-20 11:22:49", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "b", "when_to_use": "When tokens are refused", "content": "Log in again.", "metadata": {"task_query": "Rate all my songs"}}
`})
	require.NoError(t, err)
	require.Equal(t, []Conversation{{ID: "pool", Turns: []Turn{
		{ID: "a", Use: "When rating songs", Text: "First list all songs.", Time: time.Date(2025, 9, 20, 11, 22, 49, 0, time.UTC)},
		{ID: "b", Use: "When tokens are refused", Text: "Log in again."},
	}, Questions: []Question{{Text: "Rate all my songs", Evidence: []string{"a", "b"}}}}}, all)
}

// What a file has wrong is an error that names it, and never an empty measurement.
func TestDataOfAnotherFormat(t *testing.T) {
	for format, contents := range map[string][]string{
		"locomo": {
			`[{`, `{"qa": []}`, `[{"conversation": {"session_1": "none"}}]`, `[{"sample_id": "conv-1"}]`,
			`[{"conversation": {"session_1": [{}], "session_1_date_time": "yesterday"}}]`, `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
		},
		"realtalk": {`[]`, `{"session_1": []}`, `{"session_1": [{"date_time": "8 May"}], "qa": []}`, `{"session_1": [], "qa": []}`},
		"beam":     {`[]`, `[[]]`, `{}`},
		"memdaily": {`[]`, `{"simple": []}`, `{}`},
		"reme":     {"{", `{"memory_id": "a"}`},
	} {
		for _, content := range contents {
			_, err := readAs(t, format, "data.json", map[string]string{"data.json": content, "probing_questions/probing_questions.json": "{}"})
			require.ErrorContains(t, err, "data.json", "%s: %s", format, content)
		}
		_, err := Conversations(format, "missing.json")
		require.ErrorIs(t, err, os.ErrNotExist, format)
	}
	_, err := Conversations("locomoo", "data.json")
	require.ErrorContains(t, err, "beam, diaries, locomo, long-answers")
}

// The chats are the same in each run; their answers have 200 to 400 words, and what a question
// asks for stands in its evidence and nowhere else in the chat.
func TestLongAnswers(t *testing.T) {
	all, err := Conversations("long-answers", "")
	require.NoError(t, err)
	again, err := Conversations("long-answers", "")
	require.NoError(t, err)
	require.Equal(t, all, again)
	require.Len(t, all, longChats)
	var s script
	require.NoError(t, json.Unmarshal(longAnswersScript, &s))
	sorts := map[string]int{}
	for _, c := range all {
		require.Len(t, c.Questions, 100)
		for _, turn := range c.Turns {
			require.NotContains(t, turn.Text, "{", "all is filled in")
			if n := len(strings.Fields(turn.Text)); turn.Role == "assistant" {
				require.True(t, 200 <= n && n <= 400, "%d words", n)
			}
		}
		asked := map[string]bool{}
		for _, q := range c.Questions {
			sorts[q.Category]++
			_, question, _ := strings.Cut("? "+q.Text, "? ")
			require.False(t, asked[question], "no two answers to %q", question)
			asked[question] = true
			at := slices.IndexFunc(s.Projects, func(p string) bool { return strings.Contains(q.Text, p) })
			var said []string
			for _, turn := range c.Turns {
				if strings.Contains(turn.Text, " "+q.Shows) && strings.Contains(turn.Text, s.Projects[at]) {
					said = append(said, turn.ID)
				}
			}
			require.Equal(t, q.Evidence, said, "%q answers %q", q.Shows, q.Text)
		}
	}
	require.Equal(t, map[string]int{"said by the user": 170, "said by the user, in other words": 165, "within an answer": 165}, sorts)
}

func TestChart(t *testing.T) {
	c := &Chart{Title: "a < b", X: "memories", Y: "ms"}
	c.Add("words", 1000, 0.25)
	c.Add("words & vectors", 1000, 1)
	c.Add("words", 100_000, 2.4)
	var tags int
	d := xml.NewDecoder(bytes.NewReader(c.SVG()))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if _, ok := token.(xml.StartElement); ok {
			tags++
		}
	}
	require.Greater(t, tags, 20)
	picture := string(c.SVG())
	require.Contains(t, picture, `points="90,302 680,61 "`, "0.25 and 2.4 of 2.5")
	require.Contains(t, picture, `points="90,218 "`)
	for _, said := range []string{">a &lt; b<", ">words &amp; vectors<", ">100000<", ">0.5<", ">2.5<"} {
		require.Contains(t, picture, said)
	}
	require.NotEmpty(t, (&Chart{}).SVG(), "nothing was measured")
}

func TestScores(t *testing.T) {
	require.Equal(t, []any{0, "0.0 / 0.0 / 0.0 / 0.0 / 0.0", "0.000", "0.0–0.0", "0.0–0.0", "0.000–0.000"}, Scores{}.FoundCells(), "no division by zero")
	all := Scores{
		{"c", "x", Found([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"})}, // two of three, the first at place 2
		{"c", "y", Found(nil, []string{"a"})},
		{"c", "x", Found(append(make([]string, 5), "a"), []string{"a"})}, // at place 6
	}
	require.Equal(t, []any{3, "0.0 / 22.2 / 55.6 / 55.6 / 55.6", "0.222"}, all.FoundCells()[:3], "(1/2 + 0 + 1/6) / 3")
	var names []string
	all.ByCategory(func(name string, of Scores) { names = append(names, fmt.Sprint(name, len(of))) })
	require.Equal(t, []string{"x2", "y1"}, names)
	all[:1].ByCategory(func(string, Scores) { t.Error("one category is all") })
}

// The mean of a hundred values with deviation 1/2 has one of 1/20: 95 % are within 1.96 of that.
func TestBootstrap(t *testing.T) {
	values := make(Scores, 100)
	for i := range values {
		values[i].Columns = []float64{float64(i % 2)}
	}
	low, high := values.bootstrap(0)
	require.InDelta(t, 0.5-1.96/20, low, 0.02)
	require.InDelta(t, 0.5+1.96/20, high, 0.02)
	again, _ := values.bootstrap(0)
	require.Equal(t, low, again)
	same := slices.Repeat(Scores{{Columns: []float64{0.7}}}, 9)
	require.Equal(t, "0.7–0.7", same.Interval(0, "%.1f"))
}

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := 101; i > 0; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, Quantiles{P50: 51, P95: 96, P99: 100}, QuantilesOf(times))
	require.Zero(t, QuantilesOf(nil))
}

func TestTablesAreMarkdown(t *testing.T) {
	var out strings.Builder
	Head(&out, "where", "×")
	Row(&out, "redis", 1.5)
	require.Equal(t, "| where | × |\n|---|---|\n| redis | 1.5 |\n", out.String())
	require.Contains(t, Machine(), "processors")
}
