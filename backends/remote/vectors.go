// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

// The keys of a document's metadata. Configure the store to keep both, and to filter by the
// first.
const (
	PartitionKey = "einomem_partition" // the owner: backends.Partition.String
	MemoryKey    = "einomem_memory"    // the memory, as JSON
)

// VectorsConfig configures [NewVectors]. It is copied.
type VectorsConfig struct {
	Indexer   indexer.Indexer     // Required. It must keep the metadata.
	Retriever retriever.Retriever // Required. It must return the metadata of what it finds.

	// Filter returns the options by which the retriever searches one partition alone: documents
	// whose metadata has p.String() under PartitionKey, in the language of the store. Required:
	// without it the best hits of everybody would be found, and then dropped.
	Filter func(p backends.Partition) []retriever.Option

	Config Config // Optional. Its Timeout, OnError and Clock count.
}

// Vectors is a backend on an Eino indexer and retriever. It stores messages as they are, a
// document each, and learns nothing from them. It is safe for concurrent use if they are.
type Vectors struct {
	*frame
	in VectorsConfig
}

// NewVectors returns a backend. A config without an Indexer, a Retriever or a Filter is
// ErrInvalid.
func NewVectors(cfg *VectorsConfig) (*Vectors, error) {
	if cfg == nil || cfg.Indexer == nil || cfg.Retriever == nil || cfg.Filter == nil {
		return nil, fmt.Errorf("vectors: %w: Indexer, Retriever and Filter are required", backends.ErrInvalid)
	}
	v := &Vectors{newFrame("vectors", &cfg.Config), *cfg}
	v.server = v
	return v, nil
}

func (v *Vectors) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) ([]backends.Hit, error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	docs, err := v.in.Retriever.Retrieve(ctx, r.Query, append(v.in.Filter(p), retriever.WithTopK(r.TopK))...)
	if err != nil {
		return nil, fmt.Errorf("vectors: searching: %w", fault.Quiet(err))
	}
	var rows []row
	for _, d := range docs {
		rows = append(rows, row{ID: d.ID, Text: d.Content, Metadata: d.MetaData, Score: d.Score()})
	}
	return v.hits(ctx, p, rows, func(r *row) bool { return r.Metadata[PartitionKey] == p.String() }), nil
}

func (v *Vectors) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) (*backends.AddResponse, error) {
	out := &backends.AddResponse{}
	var docs []*schema.Document
	for _, line := range said {
		m := v.memoryOf(p, r, &line)
		if slices.ContainsFunc(docs, func(d *schema.Document) bool { return d.ID == m.ID }) {
			continue // some stores keep duplicates within a batch
		}
		kept, err := json.Marshal(m)
		if err != nil {
			return nil, v.errorf("storing", backends.ErrInvalid, "Metadata: %v", err)
		}
		about := map[string]any{PartitionKey: p.String(), MemoryKey: string(kept)}
		docs = append(docs, &schema.Document{ID: m.ID, Content: m.Text, MetaData: about})
		out.Items = append(out.Items, backends.Item{Outcome: backends.OutcomeAdded, Memory: m})
	}
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	if _, err := v.in.Indexer.Store(ctx, docs); err != nil {
		return nil, fmt.Errorf("vectors: storing: %w", fault.Quiet(err))
	}
	return out, nil
}
