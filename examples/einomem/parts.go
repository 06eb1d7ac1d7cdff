// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// open opens a store. A missing file is an error, unless create is set.
func open(ctx context.Context, at string, create bool) (store.Store, error) {
	switch scheme, _, isURL := strings.Cut(at, "://"); {
	case isURL && isPostgres(scheme):
		return pgstore.Open(ctx, at, nil)
	case isURL:
		db, err := redisstore.Open(ctx, at, nil)
		if errors.Is(err, backends.ErrInvalid) {
			return nil, fmt.Errorf("-store: %w; another store is a file of SQLite, or postgres://host/database", err)
		}
		return db, err
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) && !create {
		return nil, fmt.Errorf("there is no memory file %q: -store names another, or a server as redis://host:6379 or postgres://host/database", at)
	}
	return sqlitestore.Open(ctx, at, nil)
}

func isPostgres(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// parts are facts and experience on one store, and the model and the embedder that the environment
// names, if any.
type parts struct {
	backends.Backend // of both

	facts    *mem0.Backend
	work     *reme.Backend
	ranker   *recall.Ranker // finds memories of all kinds
	model    model.ToolCallingChatModel
	named    string // the model's name
	embedder string // and the embedder's; empty: none
}

// parts opens the parts on a store.
func (c *settings) parts(ctx context.Context, db store.Store) (_ *parts, err error) {
	p, facts, work := &parts{named: "none"}, c.Facts, c.Experience
	facts.Store, work.Store, work.NoPersonal = db, db, true
	chat, embedder := openai.FromEnv()
	if chat != nil {
		if p.model, err = openai.NewChatModel(ctx, chat); err != nil {
			return nil, err
		}
		p.named, facts.Model, work.Model = chat.Model, p.model, p.model
	}
	if embedder != nil {
		if facts.Embedder, err = openai.NewEmbedder(ctx, embedder); err != nil {
			return nil, err
		}
		p.embedder, facts.EmbeddingModel = embedder.Model, embedder.Model
		work.Embedder, work.EmbeddingModel = facts.Embedder, facts.EmbeddingModel
	}
	if p.ranker, err = recall.New(ctx, &recall.Config{Records: db, Embedder: facts.Embedder, EmbeddingModel: p.embedder}); err != nil {
		return nil, err
	}
	if p.facts, err = mem0.New(ctx, &facts); err != nil {
		return nil, errors.Join(err, p.ranker.Close())
	}
	if p.work, err = reme.New(ctx, &work); err != nil {
		return nil, errors.Join(err, p.facts.Close(ctx), p.ranker.Close())
	}
	p.Backend = backends.Join(p.facts, p.work)
	return p, nil
}

// Close closes the parts, and leaves the store open.
func (p *parts) Close(ctx context.Context) error {
	return errors.Join(p.Backend.Close(ctx), p.ranker.Close())
}
