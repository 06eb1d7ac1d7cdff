// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/config"
)

// Config configures a [Ranker]. It is copied by [New].
type Config struct {
	Records store.Records // Required. Where the memories are.

	// Embedder makes vectors of texts. Optional. Without one the ranking is lexical alone.
	Embedder embedding.Embedder
	// EmbeddingModel is the name under which the embedder's vectors are kept with a
	// partition. Required with an Embedder.
	EmbeddingModel string
	// EmbedTimeout is how long a search waits for the vector of its query, at most; it never
	// takes more than half of the time that is left to the search. After it words alone
	// answer. Vectors of what is stored may take longer: see the package comment. Optional.
	// Defaults to 1 s.
	EmbedTimeout time.Duration
	// Int8 stores a vector with one byte a component, and one scale, in place of four bytes
	// a component. In memory vectors are float32 always. Optional.
	Int8 bool

	MaxBytes int64 // Optional. Budget in bytes of all loaded indexes together. Defaults to 1 GiB.

	Reranker Reranker // Optional. Defaults to none.
	// RerankTimeout is how long a search waits for the Reranker, at most; it never takes
	// more than half of the time that is left. After it the order stays. Optional. Defaults
	// to 2 s.
	RerankTimeout time.Duration

	// Keys returns exact keys under which [Ranker.Lookup] finds a memory; they are kept
	// with the index, so short ones save room. It must depend on the memory alone, leave it
	// as it is, and be safe for concurrent use. Optional. Defaults to none.
	Keys func(*backends.Memory) []string

	Clock backends.Clock // Optional. Defaults to backends.SystemClock.
}

const defaultMaxBytes = 1 << 30

// withDefaults returns a checked copy of c with its defaults filled in.
func (c *Config) withDefaults() (Config, error) {
	if c == nil {
		return Config{}, fmt.Errorf("recall: %w: no configuration", backends.ErrInvalid)
	}
	out := *c
	config.Default(&out.MaxBytes, defaultMaxBytes)
	config.Default(&out.EmbedTimeout, time.Second)
	config.Default(&out.RerankTimeout, 2*time.Second)
	config.Default(&out.Clock, backends.SystemClock)
	return out, out.validate()
}

func (c *Config) validate() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("recall: "+format+": %w", append(args, backends.ErrInvalid)...)
	}
	switch {
	case c.Records == nil:
		return invalid("Config.Records is required")
	case c.Embedder != nil && c.EmbeddingModel == "":
		return invalid("Config.EmbeddingModel is required with an Embedder: it is kept with the vectors")
	case c.MaxBytes < 0:
		return invalid("MaxBytes %d is negative", c.MaxBytes)
	case min(c.EmbedTimeout, c.RerankTimeout) < 0:
		return invalid("EmbedTimeout %v, RerankTimeout %v: neither is negative", c.EmbedTimeout, c.RerankTimeout)
	}
	return nil
}
