// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// partition is a row of the table partitions. The zero value stands for one that
// does not exist.
type partition struct {
	pk        int64
	version   int64
	embedding store.Embedding // zero until the first vector
}

func (p *partition) exists() bool { return p.pk != 0 }

// space returns a copy of the partition's embedding, nil before there is one.
func (p *partition) space() *store.Embedding {
	if p.embedding == (store.Embedding{}) {
		return nil
	}
	e := p.embedding
	return &e
}

// partition reads the row of p.
func (c *conn) partition(p backends.Partition) (partition, error) {
	var row partition
	_, err := c.row(`SELECT pk, version, model, dim FROM partitions WHERE namespace = ? AND kind = ? AND id = ?`,
		[]any{p.Namespace, string(p.Kind), p.ID}, &row.pk, &row.version, &row.embedding.Model, &row.embedding.Dim)
	return row, err
}

// ensurePartition reads the row of p and writes it if there is none.
func (c *conn) ensurePartition(p backends.Partition) (partition, error) {
	row, err := c.partition(p)
	if err != nil || row.exists() {
		return row, err
	}
	row.pk, err = c.insert(`INSERT INTO partitions (namespace, kind, id) VALUES (?, ?, ?)`, p.Namespace, string(p.Kind), p.ID)
	return row, err
}

// savePartition writes the row's version and embedding.
func (c *conn) savePartition(row partition) error {
	_, err := c.exec(`UPDATE partitions SET version = ?, model = ?, dim = ? WHERE pk = ?`,
		row.version, row.embedding.Model, row.embedding.Dim, row.pk)
	return err
}

// checkNames validates what most calls name.
func checkNames(p backends.Partition, session string) error {
	if err := p.Validate(); err != nil {
		return fmt.Errorf("sqlitestore: %w", err)
	}
	if err := store.ValidateSession(session); err != nil {
		return fmt.Errorf("sqlitestore: %w", err)
	}
	return nil
}

// micros is how a time is kept in a column that is compared: microseconds since
// 1970, rounded up so that nothing ends early.
func micros(t time.Time) int64 {
	return t.Add(time.Microsecond - 1).UnixMicro()
}
