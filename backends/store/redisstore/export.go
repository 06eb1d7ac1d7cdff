// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// exportTries is how often a partition is read that changes meanwhile.
const exportTries = 5

// Export writes all that a partition holds, as lines of JSON: records with their
// vectors (base64) and histories, tombstones, idempotency keys, sessions with
// messages, blobs and ends. The first line says what it is, the last counts it: a
// file without it is cut off. [Store.Import] makes the same partition of it, here
// or elsewhere. Sessions that have expired are left out.
//
// What is written was the state of one moment. It is read into a temporary file
// first, so that w gets nothing of a state that changed under the reading; that is
// read again, and is ErrConflict if it changes every time. A text that cannot be
// read is ErrUnavailable: see [Store.Verify]. A partition that does not exist is
// ErrNotFound. Memory is needed for a page at a time.
func (s *Store) Export(ctx context.Context, p backends.Partition, w io.Writer) (ExportCount, error) {
	if err := checkNames(p, ""); err != nil {
		return ExportCount{}, err
	}
	spool, err := os.CreateTemp("", "einomem-export-*.jsonl")
	if err != nil {
		return ExportCount{}, fmt.Errorf("redisstore: export %s: %w: a temporary file is needed (set TMPDIR): %w", p, backends.ErrUnavailable, err)
	}
	defer func() {
		_ = spool.Close()
		_ = os.Remove(spool.Name())
	}()
	var count ExportCount
	err = s.do(ctx, "export "+p.String(), func() error {
		count, err = s.exportTo(ctx, p, spool)
		return err
	})
	if err != nil {
		return ExportCount{}, err
	}
	if _, err = spool.Seek(0, io.SeekStart); err == nil {
		_, err = io.Copy(w, spool)
	}
	if err != nil {
		return ExportCount{}, fmt.Errorf("redisstore: export %s: write: %w", p, err)
	}
	return count, nil
}

// exportTo reads the partition until it has not changed meanwhile. The server
// watches over that: WATCH notices every write to a key.
func (s *Store) exportTo(ctx context.Context, p backends.Partition, spool *os.File) (ExportCount, error) {
	for range exportTries {
		if _, err := spool.Seek(0, io.SeekStart); err != nil {
			return ExportCount{}, err
		}
		if err := spool.Truncate(0); err != nil {
			return ExportCount{}, err
		}
		count, err := s.exportOnce(ctx, p, spool)
		if !errors.Is(err, redis.TxFailedErr) {
			return count, err
		}
	}
	return ExportCount{}, fmt.Errorf("%w: the partition changed while it was read, %d times: repeat the call when less is written", backends.ErrConflict, exportTries)
}

func (s *Store) exportOnce(ctx context.Context, p backends.Partition, spool io.Writer) (ExportCount, error) {
	out := bufio.NewWriterSize(spool, 1<<16)
	e := &exporter{keys: s.keys(p), p: p, now: s.now(), lines: json.NewEncoder(out)}
	e.lines.SetEscapeHTML(false)
	err := s.client.Watch(ctx, func(tx *redis.Tx) error {
		e.tx = tx
		if err := e.all(ctx); err != nil {
			return e.unlessChanged(ctx, err)
		}
		return e.unchanged(ctx)
	}, e.keys.all()...)
	if err != nil {
		return ExportCount{}, err
	}
	return e.count, out.Flush()
}

// exporter reads a partition over the connection that watches it.
type exporter struct {
	p     backends.Partition
	keys  keys
	tx    *redis.Tx
	now   time.Time
	lines *json.Encoder
	count ExportCount
}

// unchanged returns TxFailedErr if a watched key has changed.
func (e *exporter) unchanged(ctx context.Context) error {
	_, err := e.tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Exists(ctx, e.keys.meta())
		return nil
	})
	return err
}

// unlessChanged returns the error, or TxFailedErr if it may come of a change.
func (e *exporter) unlessChanged(ctx context.Context, err error) error {
	if changed := e.unchanged(ctx); errors.Is(changed, redis.TxFailedErr) {
		return changed
	}
	return err
}

func (e *exporter) all(ctx context.Context) error {
	for _, part := range []func(context.Context) error{e.header, e.records, e.deleted, e.histories, e.known, e.sessions} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return e.write(&line{End: &e.count})
}

func (e *exporter) write(l *line) error {
	e.count.add(l)
	return e.lines.Encode(l)
}

// read sends commands with one round trip.
func (e *exporter) read(ctx context.Context, fill func(redis.Pipeliner) error) error {
	return firstError(e.tx.Pipelined(ctx, fill))
}
