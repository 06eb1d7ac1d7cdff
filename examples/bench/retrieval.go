// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

func printLocomo(ctx context.Context, b *bench) error {
	conversations, err := trial.Conversations(b.data)
	if err != nil {
		return err
	}
	row := func(name string, of []trial.Conversation, names bool, without ...string) error {
		total := &scores{}
		for _, c := range of {
			all := conversation(&c, names)
			all.without = without
			if err := all.search(ctx, openSQLite, total); err != nil {
				return fmt.Errorf("%s: %w", c.ID, err)
			}
		}
		trial.Row(b.out, append([]any{name}, total.cells()...)...)
		return nil
	}
	trial.Head(b.out, append([]string{"arm"}, scoresHeader...)...)
	err = errors.Join(row("all signals", conversations, true), row("all, no names", conversations, false),
		row("none", conversations, true, recall.Signals()...), row("none, no names", conversations, false, recall.Signals()...))
	for _, s := range recall.Signals() {
		others := slices.DeleteFunc(recall.Signals(), func(name string) bool { return name == s })
		err = errors.Join(err, row(s+" alone", conversations, true, others...), row("without "+s, conversations, true, s))
	}
	for i, c := range conversations {
		err = errors.Join(err, row("all, "+c.ID, conversations[i:i+1], true))
	}
	return err
}

// conversation returns a memory for each turn, with or without the names of who speaks; every
// question is asked as it stands.
func conversation(in *trial.Conversation, names bool) *collection {
	c := &collection{queries: in.Questions, top: depths[len(depths)-1]}
	for _, t := range in.Turns {
		if !names {
			t.Speaker = ""
		}
		c.memories = append(c.memories, backends.Memory{
			ID: t.ID, Kind: backends.KindEpisode, Text: t.Text, Observed: t.Time,
			Origin: backends.Origin{Session: t.Session, Turn: t.ID, Speaker: t.Speaker},
		})
	}
	return c
}

// remePools are the files in the folder paper, of those that ReMe publishes: their
// memories bear the query of the task that taught them.
var remePools = []string{"appworld_qwen3_8b", "bfcl_qwen3_8b"}

// printReme counts how many of a task's memories its query finds, with WhenToUse alone and
// with the content.
func printReme(ctx context.Context, b *bench) error {
	stores, err := places(ctx, b.url)
	if err != nil {
		return err
	}
	trial.Head(b.out, append([]string{"pool", "memories", "searched", "where"}, scoresHeader...)...)
	for _, name := range remePools {
		for _, content := range []bool{false, true} {
			pool, err := loadPool(filepath.Join(b.data, "paper", name+".jsonl"), content)
			if err != nil {
				return err
			}
			for _, p := range stores {
				total := &scores{}
				if err := pool.search(ctx, p.open, total); err != nil {
					return fmt.Errorf("%s in %s: %w", name, p.name, err)
				}
				searched := map[bool]string{false: "when_to_use", true: "with content"}[content]
				trial.Row(b.out, append([]any{name, len(pool.memories), searched, p.name}, total.cells()...)...)
			}
		}
	}
	return nil
}

// loadPool reads a file of ReMe 0.2, one memory a line, with or without the content. The
// memories of a task answer its query.
func loadPool(path string, content bool) (*collection, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &collection{}
	for line := range bytes.Lines(data) {
		var m struct {
			ID       string `json:"memory_id"`
			When     string `json:"when_to_use"`
			Content  string `json:"content"`
			Created  string `json:"time_created"`
			Metadata struct {
				Query string `json:"task_query"`
			} `json:"metadata"`
		}
		err := json.Unmarshal(line, &m)
		if err == nil && m.Metadata.Query == "" {
			err = errors.New("no metadata.task_query")
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: line %d: %w", path, len(c.memories)+1, err)
		}
		if !content {
			m.Content = ""
		}
		learnt, _ := time.Parse(time.DateTime, m.Created) // without one it is not known when
		c.memories = append(c.memories, backends.Memory{ID: m.ID, Kind: backends.KindTask, WhenToUse: m.When, Text: m.Content, Observed: learnt})
		at := slices.IndexFunc(c.queries, func(q trial.Question) bool { return q.Text == m.Metadata.Query })
		if at < 0 {
			at = len(c.queries)
			c.queries = append(c.queries, trial.Question{Text: m.Metadata.Query})
		}
		c.queries[at].Evidence = append(c.queries[at].Evidence, m.ID)
	}
	c.top = len(c.memories)
	return c, nil
}

// collection is the memories of one partition, and queries for them.
type collection struct {
	memories []backends.Memory
	queries  []trial.Question // their evidence are the ids of the memories that answer
	top      int              // how many memories a query finds at most
	without  []string         // signals of the ranking
}

// search stores the memories, ranks them by package recall with its defaults, and counts
// what each query finds.
func (c *collection) search(ctx context.Context, open func(context.Context) (*opened, error), total *scores) (err error) {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.remove()) }()
	batch := &store.Batch{}
	for _, m := range c.memories {
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
	}
	if _, err := s.Apply(ctx, userOf(0), batch); err != nil {
		return err
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: s, Without: c.without})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ranker.Close()) }()
	m := &memories{ranker, s, c.top}
	for _, q := range c.queries {
		found, err := m.Search(ctx, 0, q.Text)
		if err != nil {
			return err
		}
		total.add(found, q.Evidence)
	}
	return nil
}

// depths are the numbers of first results among which is counted.
var depths = [...]int{1, 5, 10, 25, 50}

// scores are sums over queries.
type scores struct {
	queries int
	recall  [len(depths)]float64 // share of what answers a query among the first
	mrr     float64              // 1 / rank of the first that answers
}

// add counts what one query found, best first, of what answers it.
func (s *scores) add(found, answers []string) {
	s.queries++
	first := true
	for rank, id := range found {
		if !slices.Contains(answers, id) {
			continue
		}
		for i, k := range depths {
			if rank < k {
				s.recall[i] += 1 / float64(len(answers))
			}
		}
		if first {
			s.mrr += 1 / float64(rank+1)
		}
		first = false
	}
}

// scoresHeader is the head of the columns of [scores].
var scoresHeader = []string{"queries", "recall@1 / 5 / 10 / 25 / 50 %", "MRR"}

// cells are the last of a row: means over queries.
func (s *scores) cells() []any {
	n := float64(max(1, s.queries))
	var at []string
	for _, sum := range s.recall {
		at = append(at, fmt.Sprintf("%.1f", 100*sum/n))
	}
	return []any{s.queries, strings.Join(at, " / "), fmt.Sprintf("%.3f", s.mrr/n)}
}
