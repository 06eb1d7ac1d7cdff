// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}
