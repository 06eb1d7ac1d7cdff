// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/testredis"
)

// bench runs the program and returns what it printed.
func bench(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	require.Equal(t, code, run(t.Context(), args, &out, &errs), errs.String())
	return out.String()
}

// rows runs the program and returns the rows of a table that it printed.
func rows[T any](t *testing.T, table int, args ...string) []T {
	t.Helper()
	var r struct {
		Tables []struct{ Rows json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(bench(t, 0, append(args, "-json")...)), &r))
	var out []T
	require.NoError(t, json.Unmarshal(r.Tables[table].Rows, &out))
	return out
}

// write returns the path of a new file.
func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.json")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestInvalidCommandLines(t *testing.T) {
	t.Setenv("EINOMEM_REME", "")
	for _, line := range []string{
		"", "nothing", "locomo", "locomo -nope", "locomo x", "search -sizes many", "search -dim 0", "redis -clients 0", "redis -dim 0", "reme", "reme -nope",
		"sessions -turns 0", "sessions -sessions 0", "sessions -window -1", "compaction -runs 0", "transcript -turns 0", "transcript -window 0",
	} {
		bench(t, 2, strings.Fields(line)...)
	}
	bench(t, 0, "transcript", "-h")
	bench(t, 1, "locomo", "-data", "missing.json")
	bench(t, 1, "compaction", "-data", "missing.json")
	bench(t, 1, "compaction", "-runs", "1", "-limit", "5")
	gone := miniredis.RunT(t)
	url := "redis://" + gone.Addr()
	gone.Close()
	for _, m := range []string{"redis", "sessions"} {
		bench(t, 1, m, "-redis", url)
		bench(t, 1, m, "-redis", "http://localhost")
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

	got := rows[category](t, 0, "locomo", "-data", path)
	require.Len(t, got, 4)
	total := got[3]
	assert.Equal(t, 3, total.Questions, "the question without evidence is left out")
	assert.Equal(t, 66.67, total.Recall.At5, "two of three questions share words with their evidence")
	assert.Equal(t, 66.67, total.Hit.At50)
	assert.Equal(t, 100.0, got[0].Recall.At5, "both turns of the repaired evidence")
	assert.Equal(t, 1.0, got[1].MRR)
	assert.Zero(t, got[2].NDCG10)
	assert.Regexp(t, `\| all +\| +3 \|`, bench(t, 0, "locomo", "-data", path))
	for _, content := range []string{
		`[{`, `{"qa": []}`, `[{"conversation": {"session_1": "none"}}]`,
		`[{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`, `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
	} {
		bench(t, 1, "locomo", "-data", write(t, content))
	}
}

// The ranking reaches what BM25 with Porter's stemmer and a full stop list is known to
// reach on the first five conversations of LoCoMo.
func TestLocomoAnchors(t *testing.T) {
	path := os.Getenv("EINOMEM_LOCOMO")
	if path == "" {
		t.Skip("set EINOMEM_LOCOMO to a file with the first five conversations of LoCoMo to check the anchors")
	}
	got := rows[category](t, 0, "locomo", "-data", path)
	total := got[len(got)-1]
	require.Equal(t, 997, total.Questions)
	for _, c := range [][2]float64{{total.Recall.At5, 58.6}, {total.Recall.At10, 64.9}, {total.Recall.At25, 72.3}, {total.Recall.At50, 77.3}} {
		require.GreaterOrEqual(t, c[0], c[1]-0.3)
	}
	for _, row := range rows[compactionRow](t, 0, "compaction", "-runs", "1", "-data", path) {
		require.Greater(t, row.Before, 400_000)
		require.LessOrEqual(t, row.After, 20_000)
	}
}

func TestScores(t *testing.T) {
	var s scores
	require.Zero(t, s.mean(), "no division by zero")
	s.add([]string{"x", "a", "y", "b"}, []string{"a", "b", "c"}) // two of three, the first at place 2
	s.add(nil, []string{"a"})
	s.add(append(make([]string, 5), "a"), []string{"a"}) // at place 6
	got := s.mean()
	require.Equal(t, 3, got.Questions)
	require.Equal(t, depths{0, 22.22, 55.56, 55.56, 55.56}, got.Recall)
	require.Equal(t, depths{0, 33.33, 66.67, 66.67, 66.67}, got.Hit)
	require.Equal(t, 0.2222, got.MRR) // (1/2 + 0 + 1/6) / 3
	require.Equal(t, 1.0, ndcg([]string{"a", "b"}, []string{"b", "a"}, 10))
	require.InDelta(t, 0.6131, ndcg([]string{"a", "x"}, []string{"a", "b"}, 10), 1e-4)
	require.Zero(t, ndcg([]string{"x", "a"}, []string{"a"}, 1))
}

func TestSearch(t *testing.T) {
	got := rows[searchRow](t, 0, "search", "-sizes", "20,30", "-dim", "8", "-searches", "3")
	require.Len(t, got, 8)
	for i, r := range got {
		require.Positive(t, r.P50, r.Search)
		require.LessOrEqual(t, r.P50, r.P99, r.Search)
		require.Equal(t, i%4 > 1, r.Ratio > 0, "vectors are compared with the bare scan")
	}
}

// tiny is a run that takes a second, and covers every sort of measure.
const tiny = "redis -sizes 60,600 -users 5 -each 20 -dim 96 -queries 20 -clients 1,4 -writes 40 -sqlite 100 -redis "

func TestRedis(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	args := strings.Fields(tiny + srv.URL())
	byName := map[string]trial.Search{}
	for _, s := range rows[trial.Search](t, 0, args...) {
		require.Positive(t, min(s.Cold.P50, s.Warm.P50), s.How)
		require.LessOrEqual(t, s.Warm.P50, s.Warm.P99)
		require.Positive(t, s.Stored, "%s %s", s.Where, s.How)
		if strings.HasPrefix(s.Where, "redis") {
			byName[s.How+string(rune('0'+s.Partitions))+string(rune('0'+s.Memories/100))] = s
		}
	}
	require.Len(t, byName, 3*3)
	for _, size := range []string{"10", "16"} {
		require.InDelta(t, 1, *byName["float32"+size].Recall10, 0, "all vectors are compared, none is rounded")
		require.Greater(t, *byName["int8"+size].Recall10, 0.9)
		require.Less(t, byName["int8"+size].Stored, byName["float32"+size].Stored)
		require.Nil(t, byName["lexical"+size].Recall10)
	}
	require.Positive(t, byName["float3250"].Times, "beside SQLite")
	require.Zero(t, byName["float3216"].Times, "more than SQLite gets")

	writes := rows[trial.Write](t, 1, args...)
	require.Len(t, writes, 2*2*3, "two stores, two sorts, and one client, four, and four on one user")
	for _, w := range writes {
		require.Positive(t, w.PerSec)
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

// What goes over the wire does not depend on how long a session is.
func TestSessions(t *testing.T) {
	srv := testredis.Need(t).Start(t)
	got := rows[sessionsRow](t, 0, strings.Fields("sessions -sessions 3 -turns 5,25 -window 4 -rounds 2 -redis "+srv.URL())...)
	require.Len(t, got, 2*2*2, "two stores, two lengths, with one client and with three")
	for i, row := range got {
		require.Positive(t, min(row.Save.P50, row.Load.P50))
		require.InDelta(t, 4*4, row.Loaded, 1, "the window, and a notice of what lies before")
		if i < 4 {
			require.Zero(t, row.Load.Received, "SQLite has no wire")
			continue
		}
		require.Greater(t, row.Save.Sent, int64(1000), "a turn of 300 tokens")
		require.Greater(t, row.Load.Received, int64(4000), "four such turns")
		require.InEpsilon(t, got[4].Save.Sent, row.Save.Sent, 0.1, "row %d", i)
		require.InEpsilon(t, got[4].Load.Received, row.Load.Received, 0.1, "row %d", i)
	}
	left, err := srv.Client(t).DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Zero(t, left, "nothing is left on the server")
}

func TestCompactionFitsWithoutAModel(t *testing.T) {
	args := strings.Fields("compaction -runs 2 -outputs 3 -tokens 3000 -limit 2500")
	got := rows[compactionRow](t, 0, args...)
	require.Len(t, got, 2*2, "two stores, with and without a log")
	for _, row := range got {
		require.Equal(t, 2+588+3*2, row.Messages, "with the system prompt and the last question")
		require.Greater(t, row.Before, 3*2500+588*20)
		require.LessOrEqual(t, row.After, 2500)
		require.Positive(t, row.Replaced)
		require.Zero(t, row.Calls)
	}
	got = rows[compactionRow](t, 0, append(args, "-data", write(t, conversations), "-limit", "700")...)
	require.Equal(t, "conv-1", got[0].History)
}

func TestTranscriptComparesCompaction(t *testing.T) {
	got := rows[replay](t, 0, strings.Fields("transcript -turns 25 -window 8000")...)
	require.Len(t, got, 5)
	none, summaries := got[0], 0
	require.Equal(t, "none", none.Compaction)
	require.Positive(t, none.Over, "the window is too small for all of it")
	require.Zero(t, none.Saved)
	require.Greater(t, none.Last, none.Mean)
	for _, row := range got[1:] {
		require.Zero(t, row.Over, row.Compaction)
		require.Equal(t, none.Calls, row.Calls, row.Compaction)
		require.Less(t, row.Sent, none.Sent/2, row.Compaction)
		require.Equal(t, none.Sent-row.Sent-row.Spent, row.Saved, row.Compaction)
		require.LessOrEqual(t, row.Mean, row.P95, row.Compaction)
		require.Equal(t, row.Summaries > 0, row.Spent > 0)
		summaries += row.Summaries
	}
	require.Positive(t, summaries, "some ask a model")
	require.Equal(t, []string{"short"}, snippets("short", 20))
	require.Len(t, snippets(strings.Repeat("one two three ", 200), 600), 25)
}
