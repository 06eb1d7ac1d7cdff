// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Peers lets other Go libraries for memories hold the same messages as einomem and answer the same
// questions, each with its defaults. It prints a table in Markdown. It is a module of its own, so
// that einomem does not depend on them:
//
//	cd examples/bench/peers
//	go run .               # 10,000 made-up messages, three rounds
//	go run . -data FILE    # the conversations of LoCoMo: what is found, too
//
// With OPENAI_BASE_URL, the base URL of a server that embeds texts as OpenAI's does, vectors search
// LoCoMo, too; OPENAI_API_KEY is its key.
//
// The peers are modules that work without a server: chromem-go (vectors), bleve (a search engine),
// and the in-process memories of trpc-agent-go and of adk-go.
//
// Left out, as of November 2026: trpc-agent-go's memory/sqlite v1.10.0, which is missing in the
// public database of checksums; libraries without a module in the proxy (Protocol-Lattice/go-agent;
// the retriever and the indexer for Redis of eino-ext); and libraries that need a server with the
// module RediSearch (langchaingo's vectorstores/redisvector).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/philippgille/chromem-go"

	"github.com/einomem/einomem/examples/internal/trial"
)

func main() {
	data := flag.String("data", "", "a `file` of LoCoMo, instead of made-up messages")
	flag.Parse()
	fmt.Print(trial.Machine())
	if err := run(context.Background(), *data); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, data string) error {
	if data == "" {
		chat, embed := made(trial.NewCorpus(10_000, 100, 1536))
		chats := []trial.Conversation{chat, chat, chat}
		return errors.Join(compare(ctx, os.Stdout, chats, byWords, nil), compare(ctx, os.Stdout, chats, byVectors, embed))
	}
	chats, err := trial.Conversations("locomo", data)
	if err == nil {
		err = compare(ctx, os.Stdout, chats, byWords, nil)
	}
	if url := os.Getenv("OPENAI_BASE_URL"); err == nil && url != "" {
		key := os.Getenv("OPENAI_API_KEY")
		embed := chromem.NewEmbeddingFuncOpenAICompat(url, key, string(chromem.EmbeddingModelOpenAI3Small), nil)
		err = compare(ctx, os.Stdout, chats, byVectors, embed)
	}
	return err
}

// made makes a conversation of a corpus, with sessions of 50 messages and questions that it leaves
// unanswered. It also makes the vectors, each in a small part of a millisecond.
func made(c *trial.Corpus) (trial.Conversation, chromem.EmbeddingFunc) {
	var out trial.Conversation
	at := time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)
	for i, text := range c.Texts {
		turn := trial.Turn{ID: c.IDs[i], Speaker: "Ann", Text: text, Session: strconv.Itoa(i / 50), Time: at}
		out.Turns = append(out.Turns, turn)
	}
	for _, query := range c.Queries {
		out.Questions = append(out.Questions, trial.Question{Text: query})
	}
	return out, func(_ context.Context, text string) ([]float32, error) { return c.Vector(text), nil }
}

// compare lets each system in turn hold a conversation and answer its questions. It prints the
// medians of the times over conversations, with the medians of their ratios to the first system's
// in the same conversation. If evidence is known, it prints the share that all questions find.
func compare(
	ctx context.Context, out io.Writer, chats []trial.Conversation, systems []system, embed chromem.EmbeddingFunc,
) error {
	all := make([]measured, len(systems))
	for c := range chats {
		for i := range systems {
			if err := all[i].ask(ctx, &systems[i], &chats[c], embed); err != nil {
				return fmt.Errorf("%s, conversation %d: %w", systems[i].name, c, err)
			}
		}
	}
	trial.Head(out, "where", "finds by", "adding one, ms (×)", "search p50, ms (×)", "p95, ms (×)", "recall@5 / 10 %, MRR")
	for i, s := range systems {
		m, found := &all[i], ""
		if m.found.Mean(at10) > 0 && !s.unranked {
			found = fmt.Sprintf("%.1f / %.1f, %.3f", m.found.Mean(at5), m.found.Mean(at10), m.found.Mean(reciprocal))
		}
		trial.Row(out, s.name, s.finds, m.cell(&all[0], 0), m.cell(&all[0], 1), m.cell(&all[0], 2), found)
	}
	fmt.Fprintln(out)
	return nil
}

// measured holds the figures of a system over conversations.
type measured struct {
	times [][3]float64 // ms, a conversation: to add a message, the mean; p50 and p95 of a search
	found trial.Scores
}

// Columns of trial.Found: the percent of the evidence among the first, and 1 / rank of the best.
const at5, at10, reciprocal = 1, 2, len(trial.Depths)

// ask adds a conversation to a new memory and asks its questions.
func (m *measured) ask(ctx context.Context, s *system, c *trial.Conversation, embed chromem.EmbeddingFunc) (err error) {
	dir, err := os.MkdirTemp("", "einomem-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	runtime.GC() // garbage of the system before
	mem, err := s.open(ctx, dir, embed)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mem.close()) }()
	begin := time.Now()
	for i := range c.Turns {
		if err := mem.add(&c.Turns[i]); err != nil {
			return err
		}
	}
	added := 1000 * time.Since(begin).Seconds() / float64(len(c.Turns))
	took := make([]time.Duration, len(c.Questions))
	for i, q := range c.Questions {
		begin := time.Now()
		ids, err := mem.find(q.Text)
		if err != nil {
			return err
		}
		took[i] = time.Since(begin)
		m.found = append(m.found, trial.Score{Columns: trial.Found(ids[:min(top, len(ids))], q.Evidence)})
	}
	q := trial.QuantilesOf(took)
	m.times = append(m.times, [3]float64{added, q.P50, q.P95})
	return nil
}

// cell is the median of one of the times, and of its ratios to another system's.
func (m *measured) cell(other *measured, n int) string {
	var took, ratios []float64
	for i, t := range m.times {
		took, ratios = append(took, t[n]), append(ratios, t[n]/other.times[i][n])
	}
	slices.Sort(took)
	slices.Sort(ratios)
	return fmt.Sprintf("%.2g (%.2g)", took[len(took)/2], ratios[len(ratios)/2])
}
