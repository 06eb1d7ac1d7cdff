// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"cmp"
	"context"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	doing := fmt.Sprintf("put blob %q of session %q", name, session)
	if err := store.ValidateID("blob", name); err != nil {
		return describe(doing, err)
	}
	return s.write(ctx, doing, p, session, access{lock: updating.lock, create: data != nil}, func(t *tx) error {
		if data == nil {
			t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2 AND name = $3`, t.part.pk, []byte(session), []byte(name))
			return nil
		}
		if _, err := t.session(session); err != nil { // an expired one takes its blobs with it
			return err
		}
		t.exec(`INSERT INTO @blobs (part, session, name, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data`, t.part.pk, []byte(session), []byte(name), data)
		return nil
	})
}

// blobs begins a query for blobs of sessions that have not ended at $2.
const blobs = ` FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session WHERE b.part = ` + own + ` AND ` + unexpired

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	var found [][]byte
	doing := fmt.Sprintf("get blob %q of session %q", name, session)
	if err := store.ValidateID("blob", name); err != nil {
		return nil, describe(doing, err)
	}
	err := s.read(ctx, doing, p, session, func(t *tx) error {
		column(t, &found, `SELECT b.data`+blobs+` AND b.session = $3 AND b.name = $4`, t.name, t.now.UnixMicro(), []byte(session), []byte(name))
		return nil
	})
	if err == nil && len(found) == 0 {
		err = describe(doing, fmt.Errorf("%w: in %s", backends.ErrNotFound, p))
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone, however
// many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	doing := fmt.Sprintf("list blobs of session %q", session)
	within, err := plan.ParseNames("blob", prefix, page.Cursor)
	if err := cmp.Or(p.Validate(), err); err != nil {
		return nil, describe(doing, err)
	}
	type blob struct {
		name []byte
		size int64
	}
	var found []blob
	size := page.Size()
	err = s.read(ctx, doing, p, session, func(t *tx) error {
		list(t, &found, func(b *blob) []any { return []any{&b.name, &b.size} }, `SELECT b.name, octet_length(b.data)`+blobs+`
			AND b.session = $3 AND b.name >= $4 AND b.name < $5 ORDER BY b.name LIMIT $6`,
			t.name, t.now.UnixMicro(), []byte(session), []byte(within.Low), []byte(within.High), size+1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &store.BlobPage{}
	if len(found) > size { // one more than asked for: there is a next page
		found = found[:size]
		out.Next = plan.NamesCursor(string(found[size-1].name))
	}
	for _, b := range found {
		out.Blobs = append(out.Blobs, store.BlobInfo{Name: string(b.name), Size: b.size})
	}
	return out, nil
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM @blobs b WHERE part = `+own+` AND session >= $2
		AND NOT EXISTS (SELECT 1 FROM @sessions WHERE part = b.part AND id = b.session AND expires <= $4) ORDER BY session LIMIT $3`, s.now().UnixMicro())
}
