// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import (
	"context"
	"log/slog"
)

// Report logs a failure of memory that its caller does not get, and passes it to
// onError, which may be nil. A panic of onError is logged.
func Report(ctx context.Context, onError func(ctx context.Context, stage string, err error), stage string, err error) {
	slog.WarnContext(ctx, "memory failed", "stage", stage, "error", err)
	if onError == nil {
		return
	}
	if err := Catch("OnError", func() error { onError(ctx, stage, err); return nil }); err != nil {
		slog.ErrorContext(ctx, "memory: reporting a failure", "stage", stage, "error", err)
	}
}
