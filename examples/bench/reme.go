// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// The files, below the folder that ReMe publishes: pools whose memories bear the query of
// the task that taught them, and a library whose load is timed.
var (
	remeFiles   = []string{"paper/appworld_qwen3_8b.jsonl", "paper/bfcl_qwen3_8b.jsonl"}
	remeLibrary = "bfcl_v3.jsonl"
)

// What of a memory is searched.
const (
	whenAlone      = "when_to_use"
	whenAndContent = "when_to_use + content"
)

// The rankings: by the book, and that of package recall with its defaults.
const (
	plainName = "BM25"
	oursName  = "einomem"
)

// printReme counts how many of a task's memories its query finds, with WhenToUse alone and
// with the content, beside plain BM25. Then it times the loads of libraries.
func printReme(ctx context.Context, b *bench) error {
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	fmt.Fprintf(b.out, "| pool | memories | searched | ranking | %s\n|---|---|---|---|---|---|---|\n", scoresHeader)
	for _, file := range remeFiles {
		rows, err := remeScores(ctx, filepath.Join(b.data, filepath.FromSlash(file)), stores)
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintf(b.out, "| %s | %d | %s | %s | %s", r.pool, r.memories, r.fields, r.ranking, &r.scores)
		}
	}
	fmt.Fprintf(b.out, "\nThe rankings of einomem, with their scores, are the same in all stores: %d.\n\n| library into | memories | seconds | heap more than before, MB |\n|---|---|---|---|\n", len(stores))
	for _, p := range stores {
		published, err := os.ReadFile(filepath.Join(b.data, remeLibrary))
		if err != nil {
			return err
		}
		for _, library := range []func() io.Reader{
			func() io.Reader { return bytes.NewReader(published) },
			func() io.Reader { return madeUpLibrary(100_000) },
		} {
			l, err := p.load(ctx, library())
			if err != nil {
				return fmt.Errorf("loading a library into %s: %w", p.name, err)
			}
			fmt.Fprintf(b.out, "| %s | %d | %.3f | %.1f |\n", p.name, l.memories, l.took.Seconds(), l.peak)
		}
	}
	return nil
}

// remeRow is one way of ranking one pool.
type remeRow struct {
	pool            string
	memories        int
	fields, ranking string
	scores
}

// remeScores reads a pool and searches it in all stores, whose rankings must be the same.
func remeScores(ctx context.Context, path string, stores []*place) (rows []remeRow, err error) {
	p, err := loadPool(path)
	if err != nil {
		return nil, err
	}
	for _, fields := range []string{whenAlone, whenAndContent} {
		index := newPlainIndex(p.texts(fields))
		rows = append(rows, p.score(fields, plainName, func(i int) []string { return p.ids(index.rank(p.tasks[i].query)) }))
		hits, err := p.rank(ctx, fields, stores)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, p.score(fields, oursName, func(i int) []string { return idsOf(hits[i]) }))
	}
	return rows, nil
}

// pool is a library of task memories, and the tasks that taught them.
type pool struct {
	name     string
	memories []backends.Memory
	tasks    []task
}

// task is what was asked, and the ids of the memories learnt from it.
type task struct {
	query  string
	learnt []string
}

// loadPool reads a file of ReMe 0.2, one memory a line.
func loadPool(path string) (*pool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &pool{name: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for n := 1; lines.Scan(); n++ {
		var m struct {
			ID       string `json:"memory_id"`
			When     string `json:"when_to_use"`
			Content  string `json:"content"`
			Created  string `json:"time_created"`
			Metadata struct {
				Query string `json:"task_query"`
			} `json:"metadata"`
		}
		err := json.Unmarshal(lines.Bytes(), &m)
		if err == nil && m.Metadata.Query == "" {
			err = errors.New("no metadata.task_query")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: line %d: %w", path, n, err)
		}
		learnt, _ := time.Parse(time.DateTime, m.Created) // without one it is not known when
		p.memories = append(p.memories, backends.Memory{ID: m.ID, Kind: backends.KindTask, WhenToUse: m.When, Text: m.Content, Observed: learnt})
		at := slices.IndexFunc(p.tasks, func(t task) bool { return t.query == m.Metadata.Query })
		if at < 0 {
			at = len(p.tasks)
			p.tasks = append(p.tasks, task{query: m.Metadata.Query})
		}
		p.tasks[at].learnt = append(p.tasks[at].learnt, m.ID)
	}
	return p, lines.Err()
}

// texts returns what of each memory is searched, as one text.
func (p *pool) texts(fields string) []string {
	out := make([]string, len(p.memories))
	for i, m := range p.memories {
		if out[i] = m.WhenToUse; fields == whenAndContent {
			out[i] += "\n" + m.Text
		}
	}
	return out
}

// ids returns the ids of memories by their places in the pool.
func (p *pool) ids(places []int) []string {
	out := make([]string, len(places))
	for i, at := range places {
		out[i] = p.memories[at].ID
	}
	return out
}

// score asks rank for the ids that each task's query finds, best first.
func (p *pool) score(fields, ranking string, rank func(task int) []string) remeRow {
	row := remeRow{pool: p.name, memories: len(p.memories), fields: fields, ranking: ranking}
	for i, t := range p.tasks {
		row.add(rank(i), t.learnt)
	}
	return row
}

// rank returns what the query of each task finds, best first. It fails if the stores
// differ in an id, the order or a score.
func (p *pool) rank(ctx context.Context, fields string, stores []*place) (first [][]backends.Hit, err error) {
	for i, at := range stores {
		hits, err := p.rankIn(ctx, fields, at)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at.name, err)
		}
		if i == 0 {
			first = hits
		}
		for t := range p.tasks {
			if !slices.EqualFunc(first[t], hits[t], func(a, b backends.Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
				return nil, fmt.Errorf("%s does not rank as %s does: %q", at.name, stores[0].name, p.tasks[t].query)
			}
		}
	}
	return first, nil
}

func (p *pool) rankIn(ctx context.Context, fields string, at *place) (found [][]backends.Hit, err error) {
	s, err := at.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	workspace := backends.Partition{Namespace: "bench", Kind: backends.PartitionWorkspace, ID: p.name}
	batch := &store.Batch{}
	for _, m := range p.memories {
		if fields == whenAlone {
			m.Text = ""
		}
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
	}
	if _, err := s.Apply(ctx, workspace, batch); err != nil {
		return nil, err
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: s})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	for _, t := range p.tasks {
		resp, err := ranker.Search(ctx, workspace, &backends.SearchRequest{Query: t.query, TopK: len(p.memories)})
		if err != nil {
			return nil, err
		}
		found = append(found, resp.Hits)
	}
	return found, nil
}

const mb = 1 << 20

// libraryLoad is the load of one library into an empty workspace, without an embedder.
type libraryLoad struct {
	memories int
	took     time.Duration
	peak     float64 // how much more heap than before it took at most, in MB, what was not collected yet included
}

// load loads a library into an empty store.
func (p *place) load(ctx context.Context, in io.Reader) (l *libraryLoad, err error) {
	s, err := p.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	backend, err := reme.New(ctx, &reme.Config{Store: s.Store})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	l = &libraryLoad{}
	before := float64(trial.Heap()) / mb
	l.took, err = trial.Time(func() error {
		resp, err := backend.Library().Load(ctx, &reme.LoadRequest{
			Scope:    backends.Scope{Namespace: "bench", Workspace: "library"},
			Progress: func(int, int, string) { l.peak = max(l.peak, heapNow()-before) },
		}, in)
		if err == nil {
			l.memories = resp.Loaded
		}
		return err
	})
	return l, err
}

// heapNow returns how many MB the objects on the heap take, those included that are not
// collected yet. It stops nothing.
func heapNow() float64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / mb
}

// madeUpLibrary returns a library of n memories in the format of ReMe 0.2, of the size of
// those that were published.
func madeUpLibrary(n int) io.Reader {
	var b bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		fmt.Fprintf(&b, `{"workspace_id": "made_up", "memory_id": "%032x", "memory_type": "task", "when_to_use": "When %s", "content": "%s.", "score": 0.5, `,
			i, madeUpWords(random, 14), madeUpWords(random, 32))
		fmt.Fprintf(&b, `"time_created": "2025-07-24 21:15:17", "time_modified": "2025-07-24 21:15:17", "author": "bench", "metadata": {"tags": ["%s"], "freq": %d, "utility": 0}}`+"\n",
			madeUpWords(random, 1), i%7)
	}
	return &b
}

// madeUpWords returns n words of six letters, of a thousand that there are.
func madeUpWords(random *rand.Rand, n int) string {
	const syllables = "bacedifoguhajekilomu"
	words := make([]string, n)
	for i := range words {
		for range 3 {
			at := 2 * random.IntN(len(syllables)/2)
			words[i] += syllables[at : at+2]
		}
	}
	return strings.Join(words, " ")
}
