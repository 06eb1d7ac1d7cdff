// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// report is the result of the command locomo.
type report struct {
	Dataset string `json:"dataset"`
	scores
	ByCategory map[string]*scores `json:"by_category"` // 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop, 5 adversarial
	Config     locomoConfig       `json:"config"`
}

type locomoConfig struct {
	K1      float64 `json:"k1"`
	B       float64 `json:"b"`
	Vectors bool    `json:"vectors"`
	Units   string  `json:"units"`
}

func locomoCommand(ctx context.Context, args []string, out, errs io.Writer) error {
	flags := flag.NewFlagSet("locomo", flag.ContinueOnError)
	flags.SetOutput(errs)
	data := flags.String("data", "", "the `file` with conversations and questions (required)")
	asJSON := flags.Bool("json", false, "print JSON instead of a table")
	k1 := flags.Float64("k1", 1.2, "BM25's k1")
	b := flags.Float64("b", 0.75, "BM25's b")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *data == "" {
		return fmt.Errorf("%w: locomo needs -data FILE", errUsage)
	}
	conversations, err := loadDataset(*data)
	if err != nil {
		return err
	}
	r, err := evaluate(ctx, conversations, locomoConfig{K1: *k1, B: *b, Units: units})
	if err != nil {
		return err
	}
	r.Dataset = filepath.Base(*data)
	if *asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	return r.table(out)
}

// evaluate stores the conversations, asks the questions, and scores the answers.
func evaluate(ctx context.Context, conversations []conversation, cfg locomoConfig) (*report, error) {
	db, err := sqlitestore.Open(ctx, ":memory:", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	ranker, err := recall.New(ctx, &recall.Config{Records: db, BM25: &recall.BM25{K1: cfg.K1, B: cfg.B}})
	if err != nil {
		return nil, err
	}
	defer func() { _ = ranker.Close() }()
	r := &report{scores: *newScores(), ByCategory: map[string]*scores{}, Config: cfg}
	for i := range conversations {
		c := &conversations[i]
		p := backends.Partition{Namespace: "bench", Kind: backends.PartitionUser, ID: c.ID}
		if err := storeTurns(ctx, db, p, c.Turns); err != nil {
			return nil, err
		}
		if err := r.ask(ctx, ranker, p, c.Questions); err != nil {
			return nil, err
		}
	}
	r.mean()
	for _, s := range r.ByCategory {
		s.mean()
	}
	return r, nil
}

func storeTurns(ctx context.Context, records store.Records, p backends.Partition, turns []turn) error {
	batch := &store.Batch{}
	for _, t := range turns {
		batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: backends.Memory{
			ID: t.ID, Kind: backends.KindEpisode, Text: t.Text, Observed: t.Time,
			Origin: backends.Origin{Session: t.Session, Turn: t.ID, Speaker: t.Speaker},
		}}))
	}
	_, err := records.Apply(ctx, p, batch)
	return err
}

func (r *report) ask(ctx context.Context, ranker *recall.Ranker, p backends.Partition, questions []question) error {
	for _, q := range questions {
		resp, err := ranker.Search(ctx, p, &backends.SearchRequest{Query: q.Text, TopK: depths[len(depths)-1]})
		if err != nil {
			return err
		}
		found := make([]string, len(resp.Hits))
		for i := range resp.Hits {
			found[i] = resp.Hits[i].ID
		}
		category := strconv.Itoa(q.Category)
		if r.ByCategory[category] == nil {
			r.ByCategory[category] = newScores()
		}
		r.add(found, q.Evidence)
		r.ByCategory[category].add(found, q.Evidence)
	}
	return nil
}

var categories = map[string]string{"1": "multi-hop", "2": "temporal", "3": "open-domain", "4": "single-hop", "5": "adversarial"}

// table prints the report.
func (r *report) table(out io.Writer) error {
	fmt.Fprintf(out, "%s: BM25, k1 %g, b %g; %s\n", r.Dataset, r.Config.K1, r.Config.B, units)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tquestions\trecall@5\t@10\t@25\t@50\thit@10\tMRR\tnDCG@10\t")
	row := func(name string, s *scores) {
		fmt.Fprintf(w, "%s\t%d\t", name, s.Questions)
		for _, x := range []float64{s.Recall["5"], s.Recall["10"], s.Recall["25"], s.Recall["50"], s.Hit["10"]} {
			fmt.Fprintf(w, "%.1f\t", x)
		}
		fmt.Fprintf(w, "%.3f\t%.3f\t\n", s.MRR, s.NDCG10)
	}
	for _, c := range slices.Sorted(maps.Keys(r.ByCategory)) {
		row(c+" "+categories[c], r.ByCategory[c])
	}
	row("all", &r.scores)
	return w.Flush()
}
