// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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
	for i, got := range c.exact(c.Queries, 10) {
		require.Len(t, got, 10)
		cosine := func(id string) float32 {
			return vek32.Dot(c.Vector(c.Texts[slices.Index(c.IDs, id)]), c.Vector(c.Queries[i]))
		}
		for _, id := range c.IDs {
			require.True(t, slices.Contains(got, id) || cosine(id) <= cosine(got[9]), "text %s is nearer than %s", id, got[9])
		}
		require.True(t, slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(cosine(b), cosine(a)) }), "the nearest first")
	}
	require.Len(t, NewCorpus(3, 1, 64).exact([]string{"q"}, 10)[0], 3, "no more than there are")
}

// halfMemories find the half of the nearest texts of a corpus, in a place that is a map.
type halfMemories struct {
	corpus *Corpus
	stored *sync.Map
	fails  error
}

func (m *halfMemories) Prepare(_ context.Context, ids, texts []string) (Put, error) {
	return func(_ context.Context, user, begin, end int) error {
		for i := begin; i < end; i++ {
			m.stored.Store(fmt.Sprint(user, " ", ids[i]), texts[i])
		}
		return nil
	}, nil
}

func (m *halfMemories) Search(_ context.Context, _ int, query string) ([]string, error) {
	return m.corpus.exact([]string{query}, 5)[0], m.fails
}

func (m *halfMemories) Close() error { return nil }

func TestComparison(t *testing.T) {
	var places []*sync.Map
	removed, fails := 0, error(nil)
	system := &System{Name: "half", How: "vectors", Vectors: true, New: func(_ context.Context, c *Corpus) (*Place, error) {
		stored := &sync.Map{}
		places = append(places, stored)
		return &Place{
			Open:   func(context.Context) (Memories, error) { return &halfMemories{c, stored, fails}, nil },
			Bytes:  func() (n int64, err error) { stored.Range(func(any, any) bool { n += 7; return true }); return n, nil },
			Remove: func() error { removed++; return nil },
		}, nil
	}}
	again := *system
	again.Name, again.Most = "again", 200
	m := &Comparison{Sizes: [][2]int{{200, 1}, {10, 20}, {201, 1}}, Clients: []int{1, 3}, Dim: 64, Queries: 4, Writes: 9}
	var out strings.Builder
	require.NoError(t, m.Print(t.Context(), &out, []*System{system, &again}))
	require.Regexp(t, `(?m)^\| half \| 200 × 1 \| vectors \| [0-9./ ]+ \| [0-9./ ]+ \| 7 \| \d+ \| 0\.500 \|$`, out.String(), "half of the ten nearest")
	require.Regexp(t, `(?m)^\| again \| 10 × 20 \| vectors \| [0-9./ ]+ \| [0-9./ ]+ \| 7 \| \d+ \|  \|$`, out.String(), "without recall for many users")
	require.Regexp(t, `(?m)^\| again \| vectors \| 3 \| \d+ \([0-9./ ]+\) \|$`, out.String())
	require.NotContains(t, out.String(), "| again | 201 × 1 |", "too many for it")
	require.Len(t, places, 2*2+1+2*2, "each search and each number of clients has a new place")
	require.Equal(t, len(places), removed)
	_, last := places[2].Load("19 m000199")
	require.True(t, last, "the twentieth user has the last ten texts")
	fails = errors.New("down")
	require.ErrorIs(t, m.Print(t.Context(), &out, []*System{system}), fails)
	require.Equal(t, len(places), removed, "after a failure, too")
}

// The quirks of LoCoMo's file: an answer that is a number, a date without its session,
// evidence that needs repair or does not exist.
func TestConversations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "small.json")
	read := func(content string) ([]Conversation, error) {
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return Conversations(path)
	}
	all, err := read(`[{"sample_id": "conv-1", "conversation": {
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
  {"question": "What took Bob?", "answer": "an orchestra", "category": 1, "evidence": ["D:1:2; D2:01"]},
  {"question": "What was not said?", "category": 5, "evidence": ["D9:9", "D"]}]}]`)
	require.NoError(t, err)
	first, second := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC), time.Date(2023, 6, 3, 9, 5, 0, 0, time.UTC)
	require.Equal(t, []Conversation{{ID: "conv-1", Turns: []Turn{
		{ID: "D1:1", Speaker: "Ann", Text: "I adopted a cat called Tom.", Session: "session_1", Time: first},
		{ID: "D1:2", Speaker: "Bob", Text: "Nice! I am learning to play the violin.", Session: "session_1", Time: first},
		{ID: "D2:1", Speaker: "Ann", Text: "The orchestra took me!", Session: "session_2", Time: second},
		{ID: "D4:1", Speaker: "Ann", Text: "It rains.", Session: "session_4"},
	}, Questions: []Question{{"Which pet?", []string{"D1:1"}, 4}, {"What took Bob?", []string{"D1:2", "D2:1"}, 1}}}}, all)
	for _, content := range []string{
		`[{`, `{"qa": []}`, `[{"conversation": {"session_1": "none"}}]`,
		`[{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`, `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
	} {
		_, err := read(content)
		require.ErrorContains(t, err, path, content)
	}
	_, err = Conversations(path + ".missing")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := 101; i > 0; i-- {
		times = append(times, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, Quantiles{P50: 51, P95: 96, P99: 100}, QuantilesOf(times))
	require.Zero(t, QuantilesOf(nil))
}

func TestTheSizeOfAFolderIsThatOfAllFilesBelow(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "below"), 0o700))
	for _, name := range []string{"a", "below/b"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("12345"), 0o600))
	}
	size, err := SizeOf(dir)
	require.NoError(t, err)
	require.Equal(t, int64(10), size)
	_, err = SizeOf(filepath.Join(dir, "missing"))
	require.Error(t, err)
	require.Positive(t, heap())
}

func TestTablesAreMarkdown(t *testing.T) {
	var out strings.Builder
	Head(&out, "where", "×")
	Row(&out, "redis", 1.5)
	require.Equal(t, "| where | × |\n|---|---|\n| redis | 1.5 |\n", out.String())
	require.Contains(t, Machine(), "processors")
}
