// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// maxLine is the longest line that Load reads, in bytes.
const maxLine = 4 * store.MaxText

// Dump implements [backends.Exporter]: one memory a line as JSON, in the order
// stored, superseded and expired ones and core blocks too. Vectors are left out; Load
// makes them anew.
func (b *Backend) Dump(ctx context.Context, s backends.Scope, w io.Writer) (int, error) {
	_, p, err := b.partition(ctx, s)
	if err != nil {
		return 0, err
	}
	all, err := b.all(ctx, p, true)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i, m := range all {
		if err := enc.Encode(m); err != nil {
			return i, fmt.Errorf("mem0: writing memory %s: %w", m.ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, fmt.Errorf("mem0: writing the dump: %w", err)
	}
	return len(all), nil
}

// Load implements [backends.Exporter]. Every memory becomes one of the partition
// that s names, whichever it was dumped from; ids, times and chains stay. So a core
// block becomes the one of that partition, unless it has been written there. A line
// that is no memory is ErrInvalid with its number, and nothing is loaded.
func (b *Backend) Load(ctx context.Context, s backends.Scope, r io.Reader) (int, error) {
	scope, p, err := b.partition(ctx, s)
	if err != nil {
		return 0, err
	}
	records, err := b.readDump(scope, r)
	if err != nil {
		return 0, err
	}
	for attempt := 1; ; attempt++ {
		n, err := b.loadNew(ctx, p, records)
		if !errors.Is(err, backends.ErrConflict) || attempt == maxAttempts {
			return n, err
		}
	}
}

// loadNew writes those records whose ids the partition does not hold.
func (b *Backend) loadNew(ctx context.Context, p backends.Partition, records []*store.Record) (int, error) {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	held, err := b.held(ctx, p, ids)
	if err != nil {
		return 0, err
	}
	fresh := slices.DeleteFunc(slices.Clone(records), func(r *store.Record) bool { return held[r.ID] != nil })
	if len(fresh) == 0 {
		return 0, nil
	}
	batch := &store.Batch{}
	if batch.Embedding, err = b.embed(ctx, fresh, &backends.Usage{}); err != nil {
		return 0, err
	}
	for _, rec := range fresh {
		m := store.Put(rec)
		m.Expect, m.Actor, m.Role = store.MustNotExist, actorCaller, rec.Origin.Role
		batch.Mutations = append(batch.Mutations, m)
	}
	if _, err := b.store.Apply(ctx, p, batch); err != nil {
		return 0, fmt.Errorf("mem0: loading %d memories: %w", len(fresh), err)
	}
	return len(fresh), nil
}

func (b *Backend) readDump(scope backends.Scope, r io.Reader) ([]*store.Record, error) {
	var records []*store.Record
	seen := map[string]bool{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	line := 0
	for in.Scan() {
		line++
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		rec := &store.Record{}
		err := json.Unmarshal(in.Bytes(), &rec.Memory)
		if err == nil {
			err = checkLoaded(&rec.Memory, seen)
		}
		if err != nil {
			return nil, fmt.Errorf("mem0: line %d of the dump: %w: %w", line, backends.ErrInvalid, err)
		}
		rec.Scope.Namespace, rec.Scope.UserID, rec.Version = scope.Namespace, scope.UserID, 0
		if scope.UserID == "" {
			rec.Scope.AgentID = scope.AgentID
		}
		rec.Text = b.config.Redact(rec.Text)
		records = append(records, rec)
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("mem0: line %d of the dump: %w", line+1, err)
	}
	return records, nil
}

func checkLoaded(m *backends.Memory, seen map[string]bool) error {
	switch {
	case store.ValidateID("memory", m.ID) != nil:
		return errors.New("no usable id")
	case seen[m.ID]:
		return fmt.Errorf("id %s stands on a line before", m.ID)
	case strings.TrimSpace(m.Text) == "" && m.Kind != backends.KindCore || len(m.Text) > store.MaxText:
		return errors.New("no usable text")
	case m.Kind == "":
		return errors.New("no kind")
	}
	seen[m.ID] = true
	_, err := m.Scope.Normalize()
	return err
}
