// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware

import (
	"context"

	"github.com/einomem/einomem/backends"
)

// Scope says on whose behalf an agent runs. It is [backends.Scope], named here so
// that the usual path needs one import less.
type Scope = backends.Scope

// WithScope returns a context whose runs remember for s. It is
// [backends.WithScope].
func WithScope(ctx context.Context, s Scope) context.Context { return backends.WithScope(ctx, s) }
