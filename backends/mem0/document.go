// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/reconcile"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
)

// passageTokens is the longest passage, which embedding models take as a whole. Longer ones are
// divided between sentences.
const passageTokens = 1000

// The metadata keys in which the loaders and parsers of Eino write a document's origin; the first
// one present counts.
var (
	sourceKeys = []string{backends.MetaSource, "_source", "_file_name", "file_name", "url"}
	pageKeys   = []string{backends.MetaPage, "_page", "page_number"}
)

// passages returns the records of a request's documents, by their sources.
func (b *Backend) passages(c *reconcile.Call) (map[string][]*store.Record, error) {
	out, taken := map[string][]*store.Record{}, map[string]bool{}
	add := func(said, id string, of map[string]any) error {
		meta := map[string]any{}
		maps.Copy(meta, c.Memory("", "").Metadata)
		for key, v := range of {
			if !strings.HasPrefix(key, "_") { // Eino's own
				meta[key] = b.keep.RedactJSON(v)
			}
		}
		source := b.keep.Redact(strings.TrimSpace(cmp.Or(first(sourceKeys, of, meta), id)))
		if source == "" {
			return fmt.Errorf("mem0: a document: %w: set its ID, or %q in its metadata, the key for replacing and citing it", backends.ErrInvalid, backends.MetaSource)
		}
		meta[backends.MetaSource] = source
		if page := first(pageKeys, of); page != "" {
			meta[backends.MetaPage] = page
		}
		for _, part := range text.Divide(said, passageTokens, text.Tokens) {
			if part = strings.TrimSpace(b.keep.Redact(part)); part == "" {
				continue
			}
			m := c.Memory(backends.KindDocument, part)
			m.Metadata = maps.Clone(meta)
			sum := sha256.Sum256([]byte(part))
			m.Metadata[backends.MetaHash] = hex.EncodeToString(sum[:])
			m.Origin = backends.Origin{Author: cmp.Or(c.Author, authorProgram)}
			for n := 0; m.ID == "" || taken[m.ID]; n++ { // the same words may stand on one page twice
				m.ID = keeper.ContentID(c.Partition, m.Kind, source, first(pageKeys, of), part, strconv.Itoa(n))
			}
			taken[m.ID] = true
			out[source] = append(out[source], &store.Record{Memory: m})
		}
		return nil
	}
	for _, d := range c.Documents {
		if d == nil {
			return nil, fmt.Errorf("mem0: a document: %w: it is nil", backends.ErrInvalid)
		}
		if err := add(d.Content, d.ID, d.MetaData); err != nil {
			return nil, err
		}
	}
	for _, u := range c.Said() {
		if err := add(u.Text, "", c.Verbatim("", u, "").Metadata); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// first returns the first value that one of the keys has.
func first(keys []string, of ...map[string]any) string {
	for _, meta := range of {
		for _, key := range keys {
			if v := meta[key]; v != nil && v != "" {
				return fmt.Sprint(v)
			}
		}
	}
	return ""
}

// addDocuments stores the documents of a request, in one atomic write: each replaces the former
// passages of its source. Equal passages stay, with their vectors.
func (b *Backend) addDocuments(ctx context.Context, c *reconcile.Call) (resp *backends.AddResponse, err error) {
	sources, err := b.passages(c)
	if err != nil {
		return nil, err
	}
	err = store.OnConflict(ctx, func() error {
		resp = &backends.AddResponse{}
		batch := &store.Batch{Key: c.Key()}
		all, err := b.keep.All(ctx, c.Partition)
		if err != nil {
			return err
		}
		there := map[string]*backends.Memory{}
		for _, m := range all {
			if source, _ := m.Metadata[backends.MetaSource].(string); m.Kind == backends.KindDocument && m.Active() && sources[source] != nil {
				there[m.ID] = m
			}
		}
		stamp := b.keep.Stamps(len(all) + 1)
		for _, source := range slices.Sorted(maps.Keys(sources)) {
			for _, r := range sources[source] {
				item := backends.Item{Outcome: backends.OutcomeAdded, Memory: r.Memory}
				if m := there[r.ID]; m != nil {
					item = backends.Item{Outcome: backends.OutcomeUnchanged, Memory: m.Clone()}
				} else {
					r.Created, r.Updated = stamp, stamp
					stamp = stamp.Add(time.Microsecond) // in the order of the document
					put := store.Put(r)
					put.Expect, put.Actor = store.MustNotExist, r.Origin.Author
					batch.Mutations = append(batch.Mutations, put)
				}
				delete(there, r.ID)
				resp.Items = append(resp.Items, item)
			}
		}
		for _, id := range slices.Sorted(maps.Keys(there)) {
			gone := store.Delete(id)
			gone.Expect, gone.Actor = there[id].Version, authorProgram
			batch.Mutations = append(batch.Mutations, gone)
			resp.Items = append(resp.Items, backends.Item{Outcome: backends.OutcomeDeleted, Memory: there[id].Clone()})
		}
		if len(batch.Mutations) == 0 {
			return nil
		}
		applied, err := b.keep.Commit(ctx, c.Partition, batch, &resp.Usage)
		if err == nil {
			resp.Replayed = applied.Replayed
		}
		return err
	})
	return resp, err
}
