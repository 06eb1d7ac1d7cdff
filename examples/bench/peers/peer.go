// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"

	"github.com/einomem/einomem/examples/internal/trial"
)

// peer is a way to remember.
type peer struct {
	name, how string
	durable   bool // a new process finds what a former one stored
	// open opens what is stored in a folder; nothing, the first time.
	open func(ctx context.Context, dir string, corpus *trial.Corpus) (memories, error)
}

var peers = []peer{
	{"chromem-go", "vector", true, openChromem},
	{"trpc-agent-go inmemory", "words", false, openTRPC},
	{"adk inmemory", "words", false, openADK},
}

// memories are those of all users. It is safe for concurrent use.
type memories interface {
	// put stores a memory of a user, durably if the peer can.
	put(ctx context.Context, user int, id, text string, vector []float32) error
	// search returns the ids of up to ten memories of the user.
	search(ctx context.Context, user int, query string) ([]string, error)
}

// app is the name of the application, where a peer wants one.
const app = "bench"

func nameOf(user int) string { return "user-" + strconv.Itoa(user) }
