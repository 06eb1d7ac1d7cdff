// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

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

// remeFields say what of a memory is searched.
type remeFields string

const (
	whenAlone      remeFields = "when_to_use"
	whenAndContent remeFields = "when_to_use + content"
)

// loadPool reads a file of ReMe 0.2, one memory a line.
func loadPool(path string) (*pool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &pool{name: strings.TrimSuffix(filepath.Base(path), ".jsonl")}
	at := map[string]int{}
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
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("reading %s: line %d: %w", path, n, err)
		}
		query := m.Metadata.Query
		if query == "" {
			return nil, fmt.Errorf("reading %s: line %d: no metadata.task_query", path, n)
		}
		learnt, _ := time.Parse(time.DateTime, m.Created) // without one it is not known when
		p.memories = append(p.memories, backends.Memory{ID: m.ID, Kind: backends.KindTask, WhenToUse: m.When, Text: m.Content, Observed: learnt})
		if _, ok := at[query]; !ok {
			at[query] = len(p.tasks)
			p.tasks = append(p.tasks, task{query: query})
		}
		t := &p.tasks[at[query]]
		t.learnt = append(t.learnt, m.ID)
	}
	return p, lines.Err()
}

// texts returns what of each memory is searched, as one text.
func (p *pool) texts(fields remeFields) []string {
	out := make([]string, len(p.memories))
	for i := range p.memories {
		m := p.memories[i]
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

// poolScores are the scores over all tasks of a pool, and over two halves of them.
type poolScores struct {
	scores
	Halves [2]float64 `json:"halves_recall_5"` // recall@5 over the tasks whose query has an even hash, and over the others
}

// score asks rank for the ids that each task's query finds, best first.
func (p *pool) score(rank func(query string) []string) *poolScores {
	all, halves := newScoresAt(remeDepths), [2]*scores{newScoresAt(remeDepths), newScoresAt(remeDepths)}
	for i := range p.tasks {
		t := &p.tasks[i]
		found := rank(t.query)
		all.add(found, t.learnt)
		halves[half(t.query)].add(found, t.learnt)
	}
	all.mean()
	out := &poolScores{scores: *all}
	for i, h := range halves {
		h.mean()
		out.Halves[i] = h.Recall["5"]
	}
	return out
}

// half parts queries in two, by their words alone.
func half(query string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(query))
	return h.Sum32() % 2
}
