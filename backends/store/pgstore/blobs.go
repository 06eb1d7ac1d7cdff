// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// PutBlob implements [store.Blobs].
func (s *Store) PutBlob(ctx context.Context, p backends.Partition, session, name string, data []byte) error {
	_, err := call(ctx, s, &appending, fmt.Sprintf("put blob %q of session %q", name, session), p, session, func(t *tx) (any, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		args := []any{t.part.PK, []byte(session), []byte(name)}
		if data == nil {
			t.exec(`DELETE FROM @blobs WHERE part = $1 AND session = $2 AND name = $3`, args...)
			return nil, nil
		}
		_, err := t.session(session) // an expired one takes its blobs with it
		t.exec(`INSERT INTO @blobs (part, session, name, data) VALUES ($1, $2, $3, $4)
			ON CONFLICT (part, session, name) DO UPDATE SET data = excluded.data`, append(args, data)...)
		return nil, err
	})
	return err
}

// ofBlobs begins the condition for blobs of a session that has not ended at $2.
const ofBlobs = ` FROM @blobs b LEFT JOIN @sessions s ON s.part = b.part AND s.id = b.session
	WHERE b.part = ` + own + ` AND ` + unexpired + ` AND b.session = $3 AND `

// GetBlob implements [store.Blobs].
func (s *Store) GetBlob(ctx context.Context, p backends.Partition, session, name string) ([]byte, error) {
	return call(ctx, s, &reading, fmt.Sprintf("get blob %q of session %q", name, session), p, session, func(t *tx) ([]byte, error) {
		if err := store.ValidateID("blob", name); err != nil {
			return nil, err
		}
		found, err := last(t, pgx.RowTo[[]byte], `SELECT b.data`+ofBlobs+`b.name = $4`, t.name, t.now.UnixMicro(), []byte(session), []byte(name))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%w: in %s", backends.ErrNotFound, p)
		}
		return append(found, nil)[0], err
	})
}

// ListBlobs implements [store.Blobs]. The cost of a page depends on its own size alone, however
// many blobs the session has.
func (s *Store) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	type blob struct {
		Name []byte
		Size int64
	}
	return call(ctx, s, &reading, fmt.Sprintf("list blobs of session %q", session), p, session, func(t *tx) (*store.BlobPage, error) {
		within, err := plan.ParseNames("blob", prefix, page.Cursor)
		if err != nil {
			return nil, err
		}
		found, err := last(t, rowTo[blob], `SELECT b.name, octet_length(b.data)`+ofBlobs+`b.name >= $4 AND b.name < $5 ORDER BY b.name LIMIT $6`,
			t.name, t.now.UnixMicro(), []byte(session), []byte(within.Low), []byte(within.High), page.Size()+1)
		out := &store.BlobPage{}
		found, out.Next = plan.Cut(found, page, func(b *blob) string { return plan.NamesCursor(string(b.Name)) })
		for _, b := range found {
			out.Blobs = append(out.Blobs, store.BlobInfo{Name: string(b.Name), Size: b.Size})
		}
		return out, err
	})
}

// BlobSessions implements [store.Blobs].
func (s *Store) BlobSessions(ctx context.Context, p backends.Partition, page store.Page) (*store.IDPage, error) {
	return s.ids(ctx, "sessions with blobs", p, page, `SELECT DISTINCT session FROM @blobs b WHERE part = `+own+` AND session >= $2
		AND NOT EXISTS (SELECT 1 FROM @sessions WHERE part = b.part AND id = b.session AND expires <= $4) ORDER BY session LIMIT $3`, s.now().UnixMicro())
}
