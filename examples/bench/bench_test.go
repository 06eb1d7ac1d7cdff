// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testredis"
	"github.com/einomem/einomem/internal/transcript"
)

// program runs the program and returns what it printed.
func program(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

// write returns the path of a new file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestInvalidCommandLines(t *testing.T) {
	for _, line := range []string{"", "nothing", "locomo -nope", "transcript x"} {
		program(t, 2, strings.Fields(line)...)
	}
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	for _, line := range []string{
		"locomo", "locomo -data missing.json", "reme -data missing",
		"redis -redis http://localhost", "redis -redis " + url, "sessions -redis " + url, "reme -redis " + url,
	} {
		program(t, 1, strings.Fields(line)...)
	}
}

// conversations is in LoCoMo's format, with its quirks: an answer that is a number, a date
// without its session, evidence that needs repair or does not exist.
const conversations = `[{"sample_id": "conv-1", "conversation": {
  "speaker_a": "Ann", "speaker_b": "Bob",
  "session_1_date_time": "1:56 pm on 8 May, 2023",
  "session_1": [
    {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."},
    {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice! I am learning to play the violin."}],
  "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "It rains."}],
  "session_2_date_time": "9:05 am on 3 June, 2023",
  "session_2": [
    {"speaker": "Ann", "dia_id": "D2:1", "text": "Tom has broken a vase.", "blip_caption": "a broken vase"},
    {"speaker": "Bob", "dia_id": "D2:2", "text": "The orchestra took me!"}],
  "session_3_date_time": "9:05 am on 4 June, 2023"},
 "qa": [
  {"question": "Which pet did Ann adopt?", "answer": 1, "category": 4, "evidence": ["D1:1", "D1:1"]},
  {"question": "What does Bob play, and what took him?", "answer": "violin", "category": 1, "evidence": ["D:1:2; D2:02"]},
  {"question": "What was not said?", "category": 5, "evidence": ["D9:9", "D"]},
  {"question": "Zebras?", "category": 5, "evidence": ["D2:1"]}]}]`

func TestLocomo(t *testing.T) {
	path := write(t, conversations)
	all, err := loadConversations(path)
	require.NoError(t, err)
	var ids []string
	for _, turn := range all[0].turns {
		ids = append(ids, turn.id)
	}
	require.Equal(t, []string{"D1:1", "D1:2", "D2:1", "D2:2", "D10:1"}, ids, "in the order of the sessions' numbers")
	require.Equal(t, "2023-06-03 09:05", all[0].turns[2].time.Format("2006-01-02 15:04"))
	require.True(t, all[0].turns[4].time.IsZero(), "a session without a date")
	require.Equal(t, []string{"D1:2", "D2:2"}, all[0].questions[1].evidence)

	total, err := locomo(t.Context(), path)
	require.NoError(t, err)
	assert.Equal(t, 3, total.queries, "the question without evidence is left out")
	assert.InDelta(t, 66.67, total.at(5), 0.01, "two of three questions share words with their evidence, one with both turns of the repaired evidence")
	assert.Regexp(t, `\n\| 3 \| [0-9.]+ / 66\.7 / .* \| 0\.667 \|\n$`, program(t, 0, "locomo", "-data", path))
	for _, content := range []string{
		`[{`, `{"qa": []}`, `[{"conversation": {"session_1": "none"}}]`,
		`[{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`, `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
	} {
		program(t, 1, "locomo", "-data", write(t, content))
	}
}

// The ranking reaches what BM25 with Porter's stemmer and a full stop list is known to
// reach on the first five conversations of LoCoMo.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	total, err := locomo(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, 997, total.queries)
	for k, known := range map[int]float64{5: 58.6, 10: 64.9, 25: 72.3, 50: 77.3} {
		require.GreaterOrEqual(t, total.at(k), known-0.3, "recall@%d", k)
	}
}

func TestScores(t *testing.T) {
	var s scores
	require.Zero(t, s.at(5), "no division by zero")
	s.add([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"}) // two of three, the first at place 2
	s.add(nil, []string{"a"})
	s.add(append(make([]string, 5), "a"), []string{"a"}) // at place 6
	require.Equal(t, "3 | 0.0 / 22.2 / 55.6 / 55.6 / 55.6 | 0.222 |\n", s.String(), "(1/2 + 0 + 1/6) / 3")
}

func TestRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	stores, err := places(t.Context(), srv.URL())
	require.NoError(t, err)
	m := &redisTimes{dim: 96, queries: 20, clients: []int{1, 4}, writes: 40, sqlite: 100}
	for _, size := range [][2]int{{60, 1}, {600, 1}, {20, 5}} {
		rows, err := m.searches(t.Context(), stores, size[0], size[1])
		require.NoError(t, err)
		beside := size[0]*size[1] <= m.sqlite
		require.Len(t, rows, len(contents)*map[bool]int{true: 2, false: 1}[beside])
		byName := map[string]*trial.Search{}
		for _, s := range rows {
			require.Positive(t, min(s.Cold.P50, s.Warm.P50), s.How)
			require.LessOrEqual(t, s.Warm.P50, s.Warm.P99)
			require.Positive(t, s.Stored, "%s %s", s.Where, s.How)
			if strings.HasPrefix(s.Where, "redis") {
				require.Equal(t, beside, s.Times > 0)
				byName[s.How] = s
			}
		}
		require.Less(t, byName["int8"].Stored, byName["float32"].Stored)
		require.Nil(t, byName["lexical"].Recall10)
		if size[1] == 1 {
			require.InDelta(t, 1, *byName["float32"].Recall10, 0, "all vectors are compared, none is rounded")
			require.Greater(t, *byName["int8"].Recall10, 0.9)
		}
	}
	for _, p := range stores {
		writes, err := m.measureWrites(t.Context(), p)
		require.NoError(t, err)
		require.Len(t, writes, 2*3, "two sorts, and one client, four, and four on one user")
		for _, w := range writes {
			require.Positive(t, w.PerSec)
		}
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

// What goes over the wire does not depend on how long a session is.
func TestSessions(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	stores, err := places(t.Context(), srv.URL())
	require.NoError(t, err)
	m := &sessions{n: 3, turns: []int{5, 25}, window: 4, rounds: 2}
	for i, p := range stores {
		got, err := m.measure(t.Context(), p)
		require.NoError(t, err)
		require.Len(t, got, 2*2, "two lengths, with one client and with three")
		for _, row := range got {
			require.Positive(t, min(row.save.P50, row.load.P50))
			if i == 0 {
				require.Zero(t, row.load.received, "SQLite has no wire")
				continue
			}
			require.Greater(t, row.save.sent, int64(1000), "a turn of 300 tokens")
			require.Greater(t, row.load.received, int64(4000), "four such turns")
			require.InEpsilon(t, got[0].save.sent, row.save.sent, 0.1)
			require.InEpsilon(t, got[0].load.received, row.load.received, 0.1)
		}
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestCompactionFitsWithoutAModel(t *testing.T) {
	m := &compactionTimes{outputs: 3, tokens: 3000, limit: 2500, runs: 2}
	chat := m.withOutputs(transcript.Chat(locomoTurns, locomoTokens))
	require.Len(t, chat, 2+588+3*2, "with the system prompt and the last question")
	row, err := m.compact(t.Context(), chat)
	require.NoError(t, err)
	require.Greater(t, row.before, 3*2500)
	require.LessOrEqual(t, row.after, 2500)
	require.Positive(t, row.replaced)
	m.limit = 5
	_, err = m.compact(t.Context(), chat)
	require.ErrorIs(t, err, compaction.ErrOver)
}

func TestTranscriptComparesCompaction(t *testing.T) {
	got, err := replayAll(t.Context(), 25, compaction.Budget{Window: 8000})
	require.NoError(t, err)
	require.Len(t, got, 5)
	none, summaries := got[0], 0
	require.Equal(t, "none", none.compaction)
	require.Positive(t, none.over, "the window is too small for all of it")
	for _, row := range got[1:] {
		require.Zero(t, row.over, row.compaction)
		require.Less(t, row.sent+row.spent, none.sent/2, row.compaction)
		require.LessOrEqual(t, row.mean, row.p95, row.compaction)
		require.Equal(t, row.summaries > 0, row.spent > 0)
		summaries += row.summaries
	}
	require.Positive(t, summaries, "some ask a model")
	_, err = replayAll(t.Context(), 1, compaction.Budget{})
	require.Error(t, err)
	require.Equal(t, []string{"short"}, snippets("short", 20))
	require.Len(t, snippets(strings.Repeat("one two three ", 200), 600), 25)
}
