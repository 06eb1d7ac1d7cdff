// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
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
	asker "github.com/einomem/einomem/backends/recall/model"
	"github.com/einomem/einomem/backends/reme"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/pgstore"
	"github.com/einomem/einomem/backends/store/redisstore"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/toolkit/server/rest"
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
		return nil, fmt.Errorf("there is no memory file %q: serve, chat and add make it, and -store names another, or a server as redis://host:6379 or postgres://host/database", at)
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

// counting counts from now on what memory costs.
func (c *settings) counting(db store.Store, observe func(context.Context, rest.Event)) *rest.Usage {
	u := rest.NewUsage(&rest.UsageConfig{Store: db, Location: c.Agent.Location, Observe: observe, OnError: onError})
	listen(u.Handler())
	return u
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
	if err = c.looks(p.model, &facts.Recall, &work.Recall); err != nil {
		return nil, err
	}
	if embedder != nil {
		embedder.APIKey, embedder.BaseURL = cmp.Or(c.vectors.key, embedder.APIKey), cmp.Or(c.vectors.url, embedder.BaseURL)
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

// looks lets the model take part in searches, as the settings say.
func (c *settings) looks(chat model.ToolCallingChatModel, into ...**recall.Config) error {
	if !c.Rewrite && !c.Rerank {
		return nil
	}
	if chat == nil {
		return errors.New("rewrite, rerank: they need a model: OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL name one")
	}
	helper, err := asker.NewChat(chat)
	for _, at := range into {
		var own recall.Config
		if *at != nil {
			own = **at
		}
		if *at = &own; c.Rewrite {
			own.Rewriter = helper
		}
		if c.Rerank {
			own.Reranker = helper
		}
	}
	return err
}

// Close closes the parts, and leaves the store open.
func (p *parts) Close(ctx context.Context) error {
	return errors.Join(p.Backend.Close(ctx), p.ranker.Close())
}
