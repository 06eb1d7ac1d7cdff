// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/work"
)

func TestAPanicIsAnError(t *testing.T) {
	require.EqualError(t, work.Catch("embedder", func() error { panic("moody") }), "embedder: panic: moody")
	require.NoError(t, work.Catch("embedder", func() error { return nil }))
	away := errors.New("away")
	require.Equal(t, away, work.Catch("embedder", func() error { return away }))
}
