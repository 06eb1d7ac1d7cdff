// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/examples/internal/trial"
)

// remePools reads pools of task memories in the format of ReMe 0.2, each with the query of
// the task that taught it, and counts how many of a task's memories its query finds: with
// WhenToUse alone and with the content, in all places, whose rankings must be the same,
// beside plain BM25. Then it times the loads of libraries.
type remePools struct {
	folder string // with the pools
	url    string // of a server; empty: SQLite alone
	load   int    // memories of a library that is made up and loaded; 0: none, negative: no loads
}

// remeFiles are the files, below the folder, whose memories bear the query of the task
// that taught them.
var remeFiles = []string{"paper/appworld_qwen3_8b.jsonl", "paper/bfcl_qwen3_8b.jsonl"}

func (m *remePools) flags(f *flag.FlagSet) {
	f.StringVar(&m.folder, "data", os.Getenv("EINOMEM_REME"), "the `folder` with bfcl_v3.jsonl, paper/appworld_qwen3_8b.jsonl and paper/bfcl_qwen3_8b.jsonl (default $EINOMEM_REME)")
	f.StringVar(&m.url, "redis", "", "the `URL` of a server; without it, SQLite alone")
	f.IntVar(&m.load, "load", 100_000, "how many memories a made-up library has whose load is timed; 0: only the published one's, negative: none")
}

// What of a memory is searched.
const (
	whenAlone      = "when_to_use"
	whenAndContent = "when_to_use + content"
)

// remeRow is one way of ranking one pool.
type remeRow struct {
	Pool     string `json:"pool" col:"pool"`
	Memories int    `json:"memories" col:"memories"`
	Fields   string `json:"fields" col:"searched"`
	Ranking  string `json:"ranking" col:"ranking"`
	scores   `col:""`
	Even     float64 `json:"even_recall_5" col:"recall@5 of halves;%.1f"` // over the tasks whose query has an even hash
	Odd      float64 `json:"odd_recall_5" col:";%.1f"`
}

// oursName is the row of the ranking of package recall, with its defaults.
const oursName = "einomem"

func (m *remePools) measure(ctx context.Context, progress io.Writer) (*trial.Report, error) {
	if m.folder == "" {
		return nil, fmt.Errorf("%w: reme needs -data FOLDER, or EINOMEM_REME", errUsage)
	}
	r := &trial.Report{About: []string{trial.Machine()}}
	stores, err := places(ctx, m.url, r)
	if err != nil {
		return nil, err
	}
	var rows []remeRow
	for _, file := range remeFiles {
		p, err := loadPool(filepath.Join(m.folder, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		for _, fields := range []string{whenAlone, whenAndContent} {
			for _, w := range []wording{plainWords, stemmedWords} {
				index := newPlainIndex(p.texts(fields), w)
				rows = append(rows, p.score(fields, w.name, func(i int) []string { return p.ids(index.rank(p.tasks[i].query)) }))
			}
			hits, err := p.rank(ctx, fields, stores)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			rows = append(rows, p.score(fields, oursName, func(i int) []string { return idsOf(hits[i]) }))
		}
	}
	r.Tables = []trial.Table{{Title: "Lexical, no embedder. " + units, Rows: rows}}
	if len(stores) > 1 {
		r.Notes = []string{"All rankings, with their scores, are the same in all stores."}
	}
	if m.load >= 0 {
		loads, err := measureLoads(ctx, m.folder, m.load, stores, progress)
		if err != nil {
			return nil, err
		}
		r.Tables = append(r.Tables, trial.Table{Title: "Loading a library, without an embedder; the heap in MB", Rows: loads})
	}
	return r, nil
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
	var all scores
	var halves [2]scores
	for i, t := range p.tasks {
		found := rank(i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(t.query))
		all.add(found, t.learnt)
		halves[h.Sum32()%2].add(found, t.learnt)
	}
	return remeRow{
		Pool: p.name, Memories: len(p.memories), Fields: fields, Ranking: ranking, scores: all.mean(),
		Even: halves[0].mean().Recall.At5, Odd: halves[1].mean().Recall.At5,
	}
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
