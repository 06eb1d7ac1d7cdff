// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/examples/internal/place"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/test/testredis"
	"github.com/einomem/einomem/middleware"
)

// program runs the program and returns what it printed.
func program(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

func TestInvalidCommandLines(t *testing.T) {
	for _, line := range []string{"", "nothing", "retrieval -nope", "retrieval x"} {
		program(t, 2, strings.Fields(line)...)
	}
	program(t, 0, "retrieval", "-help")
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	for _, line := range []string{
		"retrieval", "retrieval -format none", "retrieval -data missing.json", "notes -data missing.json", "retrieval -format reme -data missing",
		"redis -redis http://localhost", "redis -redis " + url, "retrieval -format long-answers -redis " + url,
	} {
		program(t, 1, strings.Fields(line)...)
	}
}

func TestRetrieval(t *testing.T) {
	path, plots := filepath.Join(t.TempDir(), "small.json"), filepath.Join(t.TempDir(), "new", "plots")
	// Two questions share words with their evidence, and one shares none.
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1", "conversation": {
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Tom has broken a vase."},
    {"speaker": "Bob", "dia_id": "D2:2", "text": "The orchestra took me!"}]},
 "qa": [
  {"question": "Which pet did Ann adopt?", "evidence": ["D1:1"], "category": 4},
  {"question": "What does Bob play, and what took him?", "evidence": ["D1:2", "D2:2"], "category": 1},
  {"question": "Zebras?", "evidence": ["D2:1"], "category": 4}]}]`), 0o600))
	printed := program(t, 0, "retrieval", "-data", path, "-plots", plots)
	require.Regexp(t, `\n\| all signals \| 3 \| [0-9.]+ / 66\.7 / .* \| 0\.667 \| 0\.0–100\.0 \| 0\.0–100\.0 \| 0\.000–1\.000 \|\n`, printed)
	for _, row := range []string{"all signals, single-hop | 2 |", "none | 3 |", "session alone | 3 |", "without session | 3 |", "all signals, conv-1 | 3 |", "none, no names | 3 |"} {
		require.Contains(t, printed, "\n| "+row)
	}
	require.Regexp(t, `\n\| 250 tokens \| 3 \| 66\.7 \| 0\.0–100\.0 \| 66\.7 \| \d+ \| \d`, printed, "what is found is in the note")
	require.Contains(t, printed, "\n| 1000 tokens, multi-hop, no names | 1 | 100.0 |")
	for _, name := range []string{"recall.svg", "evidence.svg"} {
		picture, err := os.ReadFile(filepath.Join(plots, name))
		require.NoError(t, err)
		require.Contains(t, string(picture), ", no names</text>")
	}
	require.NoError(t, os.WriteFile(path, []byte("[]"), 0o600))
	program(t, 1, "retrieval", "-data", path)
}

// A turn that is shown in part is evidence only where the part has the answer.
func TestANoteShowsEvidence(t *testing.T) {
	words, err := recall.NewWords()
	require.NoError(t, err)
	hit := backends.Hit{Memory: backends.Memory{Text: "We sailed. It was in Iceland, by night.", Origin: backends.Origin{Turn: "2"}}}
	for _, c := range []struct {
		note, passage string
		q             trial.Question
		evidence      float64
	}{
		{"the Okafor method", "", trial.Question{Shows: "Okafor"}, 0.5},
		{"the method", "", trial.Question{Shows: "Okafor"}, 0},
		{"", "", trial.Question{Answer: "in May"}, 0.5},
		{"", "… It was in Iceland, by night.", trial.Question{Answer: "Iceland, in May"}, 0.5},
		{"", "We sailed. …", trial.Question{Answer: "Iceland, in May"}, 0},
		{"", "We sailed. …", trial.Question{Answer: "They sailed by night."}, 0},
		{"", "… It was in Iceland, by night.", trial.Question{Answer: "in May"}, 0},
	} {
		c.q.Evidence, hit.Passage = []string{"1", "2"}, c.passage
		evidence, turns := shown(&hooks.Note{Text: c.note, Hits: []backends.Hit{hit}}, &c.q, words)
		require.InDelta(t, c.evidence, evidence, 1e-9, c)
		require.InDelta(t, 0.5, turns, 1e-9)
		evidence, turns = shown(&hooks.Note{Text: c.note}, &c.q, words)
		require.Zero(t, evidence+turns)
	}
}

func TestNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom from the shelter."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "I am learning to play the violin."}]},
 "qa": [
  {"question": "Which cat did Ann adopt from the shelter?", "evidence": ["D1:1"], "category": 4},
  {"question": "What is Bob learning to play?", "evidence": ["D1:1"], "category": 1},
  {"question": "Which cat did Bob adopt from the shelter?", "evidence": ["D1:1"], "category": 5}]},
 {"sample_id": "conv-2", "conversation": {"session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [
    {"speaker": "Eve", "dia_id": "D1:1", "text": "We sailed around Iceland last summer, and I found it hard to learn."}]},
 "qa": [
  {"question": "Where did Eve sail last summer?", "evidence": ["D1:1"], "category": 2}]}]`), 0o600))
	printed := program(t, 0, "notes", "-data", path)
	// Of three answerable questions one names the turn beside the one that answers it, of three
	// foreign ones one shares a word with the conversation.
	require.Regexp(t, `\n\| -1 \| 0\.0 \| 66\.7 \| 98\.3 \| 100\.0 \| 0\.0 \| 100\.0 \| 100\.0 \| \d+ \|\n`, printed)
	require.Regexp(t, `\n\| 0\.25 \| 0\.0 \| 100\.0 \| 100\.0 \| 100\.0 \| 0\.0 \| 100\.0 \| 100\.0 \| \d+ \|\n`, printed)
	require.Equal(t, 2+len(thresholds), strings.Count(printed, "\n|"), "a row for each threshold")
	require.NoError(t, os.WriteFile(path, []byte(`[{"sample_id": "conv-1"}]`), 0o600))
	program(t, 1, "notes", "-data", path)
	many := slices.Repeat([]trial.Question{{Category: "temporal"}, {Category: trial.Adversarial}}, 100)
	require.Len(t, spread(many, true), perConversation)
	require.Len(t, spread(many[:6], false), 3)
}

// The ranking on the first five conversations of LoCoMo with names and without, and what notes
// of 1,000 tokens show, do not fall. BM25 with Porter's stemmer and a full stop list, without
// signals, is known to reach 58.6, 64.9, 72.3 and 77.3 %.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	conversations, err := trial.Conversations("locomo", path)
	require.NoError(t, err)
	unnamed := changed(conversations, func(turn *trial.Turn) { turn.Speaker = "" })
	for _, tt := range []struct {
		arm
		least []float64 // recall@5, 10, 25 and 50, and 100 × MRR
	}{
		{arm{"names", conversations}, []float64{72, 80, 86, 89.5, 60}},
		{arm{"no names", unnamed}, []float64{70, 77, 84, 88, 57}},
	} {
		s, err := place.SQLite(t.Context())
		require.NoError(t, err)
		require.NoError(t, tt.store(t.Context(), s))
		found, err := tt.rank(t.Context(), s, func(*recall.Config) {})
		require.NoError(t, err)
		require.NoError(t, s.Remove())
		t.Log(found.FoundCells()...)
		require.Len(t, found, 997)
		for i, least := range tt.least[:4] {
			require.GreaterOrEqual(t, found.Mean(1+i), least, "%s, recall@%d", tt.name, trial.Depths[1+i])
		}
		require.GreaterOrEqual(t, 100*found.Mean(len(trial.Depths)), tt.least[4], "%s, MRR", tt.name)
	}
	evidence := evidenceAt(t, conversations, 1000)
	t.Logf("%.1f %% of the evidence in a note of 1,000 tokens", evidence)
	require.Greater(t, evidence, 80.0)
}

// evidenceAt returns the percent of the evidence that notes of so many tokens show.
func evidenceAt(t *testing.T, conversations []trial.Conversation, budget int) float64 {
	var shown trial.Scores
	require.NoError(t, remember(t.Context(), conversations, func(backend backends.Backend) (err error) {
		cfg := &middleware.Config{Backend: backend, NoteTokens: budget, WholeTokens: -1}
		shown, err = askAll(t.Context(), cfg, (&arm{"", conversations}).questions())
		return err
	}))
	return shown.Mean(0)
}

// Answers of hundreds of words leave room in a note for what the user said.
func TestNotesOfChatsWithLongAnswers(t *testing.T) {
	conversations, err := trial.Conversations("long-answers", "")
	require.NoError(t, err)
	conversations[0].Questions = conversations[0].Questions[:50]
	evidence := evidenceAt(t, conversations[:1], 1000)
	t.Logf("%.1f %% of the evidence in a note of 1,000 tokens", evidence)
	require.Greater(t, evidence, 45.0)
}

func TestReme(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pool.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"memory_id": "a", "when_to_use": "When rating songs", "content": "First list all songs.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "b", "when_to_use": "When tokens are refused", "content": "Log in again.", "metadata": {"task_query": "Rate all my songs"}}
{"memory_id": "c", "when_to_use": "When booking", "content": "Compare flights.", "metadata": {"task_query": "Find the cheapest flight to Lisbon"}}
`), 0o600))
	for _, where := range [][]string{nil, {"-redis", "redis://" + miniredis.RunT(t).Addr()}} {
		printed := program(t, 0, append([]string{"retrieval", "-format", "reme", "-data", path}, where...)...)
		require.Contains(t, printed, "| all signals | 2 | 75.0 / 75.0 /", "half of one task's memories, and all of the other's")
		require.Contains(t, printed, "| all signals, when_to_use alone | 2 | 25.0 / 25.0 /")
		require.NotContains(t, printed, "tokens", "the default backend keeps no lessons")
	}
}

// The ranking reaches what it is known to reach on the two pools of ReMe's paper, in each
// store: above BM25 with a stop list and a stemmer, which has a recall@5 of 28.6 and 65.6 %
// with the content.
func TestRemeAnchors(t *testing.T) {
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("set EINOMEM_REME to a folder with ReMe's libraries, paper/ among them, to check the anchors")
	}
	for _, where := range [][]string{nil, {"-redis", "redis://" + miniredis.RunT(t).Addr()}} {
		printed := program(t, 0, append([]string{"retrieval", "-format", "reme", "-data", filepath.Join(folder, "paper")}, where...)...)
		for _, row := range []string{
			"| all signals, appworld_qwen3_8b, when_to_use alone | 120 | 9.5 / 25.9 / 36.4 / 47.1 / 52.6 | 0.267 |",
			"| all signals, appworld_qwen3_8b | 120 | 13.2 / 30.1 / 38.9 / 51.4 / 60.9 | 0.342 |",
			"| all signals, bfcl_qwen3_8b, when_to_use alone | 96 | 31.2 / 61.5 / 71.9 / 78.1 / 80.2 | 0.448 |",
			"| all signals, bfcl_qwen3_8b | 96 | 36.5 / 67.7 / 78.1 / 89.6 / 90.6 | 0.504 |",
		} {
			require.Contains(t, printed, row)
		}
	}
}

func TestRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	m := &comparison{sizes: [][2]int{{600, 1}, {20, 5}}, clients: []int{1, 4}, dim: 96, queries: 20, writes: 40}
	all, err := place.All(t.Context(), srv.URL())
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, m.print(t.Context(), &out, all))
	cells := map[string][]string{} // of the rows of searches
	for line := range strings.Lines(out.String()) {
		if row := strings.Split(line, " | "); len(row) == 8 {
			cells[row[0]+" "+row[1]+" "+row[2]] = row
		} else if len(row) == 4 {
			require.NotContains(t, row[3], "| 0 (")
		}
	}
	number := func(cell string) int {
		n, err := strconv.Atoi(cell)
		require.NoError(t, err)
		return n
	}
	require.Len(t, cells, 1+2*3*2, "a head, places, contents, sizes")
	for _, where := range []string{"| sqlite", "| redis"} {
		lexical, float32s, int8s := cells[where+" 600 × 1 lexical"], cells[where+" 600 × 1 float32"], cells[where+" 600 × 1 int8"]
		require.Equal(t, "1.000 |\n", float32s[7], "all vectors are compared, none is rounded")
		require.Greater(t, int8s[7], "0.9")
		require.Empty(t, strings.Trim(lexical[7], " |\n"), "nothing to compare with")
		require.Greater(t, number(float32s[6]), 4*m.dim, "bytes in the process")
		require.Greater(t, number(float32s[5]), number(int8s[5]), "bytes")
		require.Greater(t, number(int8s[5]), number(lexical[5]), "bytes")
	}
	require.Len(t, m.latency.Lines, 2*3, "places, contents")
	require.Equal(t, "sqlite, lexical", m.latency.Lines[0].Name)
	require.Len(t, m.latency.Lines[0].Points, 1, "searches of one user")
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestPlainBM25(t *testing.T) {
	english, err := newPlain(&trial.Conversation{Turns: []trial.Turn{
		{Speaker: "Ann", Text: "I like tea."}, {Speaker: "Bob", Text: "The pumps failed, and the pumps were new."}, {Speaker: "Ann", Text: "My pump is old, and I like it as I like few other things in this house."},
	}})
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, english.find("Which pump failed?", 1.2, .75), "stems match, and two rare words beat one")
	require.Equal(t, []int{0, 2}, english.find("What does Ann like?", 1.2, .75), "a name is a word, and a short text goes first")
	require.Empty(t, english.find("Is this the?", 1.2, .75), "stop words find nothing")
	chinese, err := newPlain(&trial.Conversation{Turns: []trial.Turn{{Text: "我养了一只猫。"}, {Text: "我住在上海。"}}})
	require.NoError(t, err)
	require.Equal(t, []int{1}, chinese.find("上海", 1.2, .75))
}
