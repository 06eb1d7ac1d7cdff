// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"time"

	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// keepKeys is how long an idempotency key is known.
const keepKeys = 31 * 24 * time.Hour

// replay returns the results of the batch that had the key before, nil when
// there was none. The session is given as it is now.
func (a *applier) replay(b *store.Batch) (*store.Applied, error) {
	out := &store.Applied{Replayed: true}
	var results []byte
	found, err := a.row(`SELECT version, results FROM batches WHERE part = ? AND key = ?`, []any{a.part.pk, b.Key}, &out.Version, &results)
	if err != nil || !found {
		return nil, err
	}
	if err := decode("results of batch "+b.Key, results, &out.Results); err != nil {
		return nil, err
	}
	if b.Session != nil {
		row, err := a.session(a.part, b.Session.Session, a.now)
		if err != nil {
			return nil, err
		}
		if row != nil {
			out.Session = &row.state
		}
	}
	return out, nil
}

// remember keeps the key with its results, and forgets keys that are too old.
func (a *applier) remember(key string, out *store.Applied) error {
	results, err := plan.Encode("results", out.Results)
	if err != nil {
		return err
	}
	if _, err := a.exec(`DELETE FROM batches WHERE created < ?`, micros(a.now.Add(-keepKeys))); err != nil {
		return err
	}
	_, err = a.exec(`INSERT INTO batches (part, key, created, version, results) VALUES (?, ?, ?, ?, ?)`,
		a.part.pk, key, micros(a.now), out.Version, results)
	return err
}
