// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Dump writes one memory a line as JSON, in the order stored, superseded and
// expired ones and core blocks too, and returns how many. Vectors are left out;
// [Keeper.Load] makes them anew. s is the caller, as in [Keeper.Search].
func (k *Keeper) Dump(ctx context.Context, s backends.Scope, p backends.Partition, w io.Writer) (int, error) {
	all, err := k.every(ctx, p, true)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for i, m := range all {
		if err := enc.Encode(k.Shown(s, p, *m)); err != nil {
			return i, k.errorf("writing memory %s: %w", m.ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		return 0, k.errorf("writing the dump: %w", err)
	}
	return len(all), nil
}

// maxLine is the longest line that is read, in bytes: more than the longest text
// takes with every byte of it escaped.
const maxLine = 8 * store.MaxText

// Load reads what [Keeper.Dump] wrote and stores it in one atomic batch. Every memory
// becomes one of the partition, whichever it was dumped from; ids, times and chains
// stay. So a core block becomes the one of that partition, unless it has been written
// there. Ids that exist, or stand on a line
// before, are left as they are. It returns how many were stored. A line
// that is no memory is ErrInvalid with its number, and nothing is loaded. s is the caller: see
// [Keeper.Allow] and [Keeper.Adopt].
func (k *Keeper) Load(ctx context.Context, s backends.Scope, p backends.Partition, r io.Reader) (int, error) {
	records, err := k.readDump(s, p, r)
	if err == nil {
		err = k.Allow(ctx, backends.OpAdd, s, p, nil)
	}
	if err != nil {
		return 0, err
	}
	n := 0
	err = Retry(ctx, func() error {
		all, err := k.every(ctx, p, true)
		if err != nil {
			return err
		}
		held := map[string]bool{}
		for _, m := range all {
			held[m.ID] = true
		}
		batch := &store.Batch{}
		for _, rec := range records {
			if held[rec.ID] {
				continue
			}
			held[rec.ID] = true
			m := store.Put(rec)
			m.Expect, m.Actor, m.Role = store.MustNotExist, actorCaller, rec.Origin.Role
			batch.Mutations = append(batch.Mutations, m)
		}
		if n = len(batch.Mutations); n > 0 {
			_, err = k.Commit(ctx, p, batch, nil)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (k *Keeper) readDump(s backends.Scope, p backends.Partition, r io.Reader) ([]*store.Record, error) {
	var records []*store.Record
	err := EachLine(r, func(_ int, text []byte) error {
		rec := &store.Record{}
		err := json.Unmarshal(text, &rec.Memory)
		if err == nil {
			err = checkLoaded(&rec.Memory)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
		}
		k.Adopt(s, p, &rec.Memory)
		records = append(records, rec)
		return nil
	})
	if err != nil {
		return nil, k.errorf("the dump: %w", err)
	}
	return records, nil
}

// EachLine calls f with every line that is not blank, and its number from 1 on. The first
// error ends it, and comes back with that number. A line of more than 8 x [store.MaxText] is
// ErrInvalid.
func EachLine(r io.Reader, f func(line int, text []byte) error) error {
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxLine)
	line := 1
	for ; in.Scan(); line++ {
		text := in.Bytes()
		if line == 1 {
			text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // a byte order mark
		}
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if err := f(line, text); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("line %d: %w: longer than %d bytes", line, backends.ErrInvalid, maxLine)
	case err != nil:
		return fmt.Errorf("reading line %d: %w", line, err)
	}
	return nil
}

// Adopt makes a memory that is loaded one of the partition, which is new there, and redacts
// it. In a workspace it is the user's who loads it, if the caller is one.
func (k *Keeper) Adopt(s backends.Scope, p backends.Partition, m *backends.Memory) {
	k = k.For(p.Kind)
	m.Scope, m.Version = within(m.Scope, p), 0
	if p.Kind == backends.PartitionWorkspace && s.UserID != "" {
		m.Scope.UserID, m.Scope.SessionID = s.UserID, s.SessionID
		m.Origin.Session, m.Origin.Users = s.SessionID, nil
	}
	m.Text, m.WhenToUse, m.Origin.Author = k.Redact(m.Text), k.Redact(m.WhenToUse), k.Redact(m.Origin.Author)
	m.Metadata, _ = k.RedactJSON(m.Metadata).(map[string]any)
}

// within returns the scope as one of the partition: what names the partition is its id.
func within(s backends.Scope, p backends.Partition) backends.Scope {
	s.Namespace = p.Namespace
	switch p.Kind {
	case backends.PartitionUser:
		s.UserID = p.ID
	case backends.PartitionAgent:
		s.UserID, s.AgentID = "", p.ID
	case backends.PartitionWorkspace:
		s.Workspace = p.ID
	}
	return s
}

func checkLoaded(m *backends.Memory) error {
	switch {
	case store.ValidateID("memory", m.ID) != nil:
		return errors.New("no usable id")
	case strings.TrimSpace(m.Text) == "" && m.Kind != backends.KindCore || len(m.Text) > store.MaxText:
		return errors.New("no usable text")
	case m.Kind == "":
		return errors.New("no kind")
	}
	_, err := m.Scope.Normalize()
	return err
}
