// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

// The keys of a document's metadata. Configure the store to keep both, and to filter by the
// first.
const (
	PartitionKey = "einomem_partition" // whose it is: backends.Partition.String
	MemoryKey    = "einomem_memory"    // the memory, as JSON
)

// VectorsConfig configures [NewVectors]. It is copied.
type VectorsConfig struct {
	Indexer   indexer.Indexer     // Required. It must keep the metadata.
	Retriever retriever.Retriever // Required. It must return the metadata of what it finds.

	// Filter returns the options by which the retriever searches one partition alone: documents
	// whose metadata has p.String() under PartitionKey, in the language of the store. Required:
	// without it the best of everybody would be found, and those of others left out.
	Filter func(p backends.Partition) []retriever.Option
	// Delete removes documents by their ids. Optional: without it Delete is ErrInvalid, as
	// Eino's indexers cannot delete.
	Delete func(ctx context.Context, p backends.Partition, ids []string) error

	Config Config // Optional. Its Timeout, OnError and Clock count.
}

// Vectors is a backend on an Eino indexer and retriever. It stores what was said as it is, a
// document a message, and learns nothing from it. It is safe for concurrent use if they are.
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

func (v *Vectors) search(ctx context.Context, p backends.Partition, r *backends.SearchRequest) (hits []backends.Hit, err error) {
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	found, err := v.in.Retriever.Retrieve(ctx, r.Query, append(v.in.Filter(p), retriever.WithTopK(r.TopK))...)
	if err != nil {
		return nil, fmt.Errorf("vectors: searching: %w", fault.Of(err))
	}
	for _, d := range own(ctx, v.frame, found, func(d **schema.Document) bool { return *d != nil && (*d).MetaData[PartitionKey] == p.String() }) {
		hit := backends.Hit{Memory: decode(d.MetaData[MemoryKey], p), Score: min(max(d.Score(), 0), 1)}
		hit.ID, hit.Text = d.ID, d.Content
		hits = append(hits, hit)
	}
	return hits, nil
}

func (v *Vectors) add(ctx context.Context, p backends.Partition, r *backends.AddRequest, said []message) ([]backends.Item, error) {
	memories, items := v.drafts(p, r, said)
	docs := make([]*schema.Document, len(memories))
	for i, m := range memories {
		kept, err := json.Marshal(m)
		if err != nil {
			return nil, v.errorf("storing", backends.ErrInvalid, "Metadata: %v", err)
		}
		docs[i] = &schema.Document{ID: m.ID, Content: m.Text, MetaData: map[string]any{PartitionKey: p.String(), MemoryKey: string(kept)}}
	}
	ctx, cancel := context.WithTimeout(ctx, v.cfg.Timeout)
	defer cancel()
	ids, err := v.in.Indexer.Store(ctx, docs)
	if err == nil && len(ids) != len(docs) {
		err = fmt.Errorf("%w: the indexer stored %d of %d documents", backends.ErrUnavailable, len(ids), len(docs))
	}
	if err != nil {
		return nil, fmt.Errorf("vectors: storing: %w", fault.Of(err))
	}
	return items, nil
}

// Delete removes one memory of those whom the scope names. An id of another partition is
// ErrNotFound; one that is not stored is no error, since Eino has no way to look.
func (v *Vectors) Delete(ctx context.Context, r *backends.DeleteRequest) error {
	_, p, err := v.at(r.Scope)
	if err == nil && v.in.Delete == nil {
		err = v.errorf("deleting", backends.ErrInvalid, "Eino's indexers cannot: set VectorsConfig.Delete")
	}
	if err == nil && !strings.HasPrefix(r.ID, idOf(p, "")[:half]) {
		err = v.errorf("deleting", backends.ErrNotFound, "memory %q", r.ID)
	}
	if err != nil {
		return err
	}
	return v.in.Delete(ctx, p, []string{r.ID})
}
