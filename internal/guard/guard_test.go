// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package guard_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/guard"
)

func TestAPanicIsAnError(t *testing.T) {
	require.EqualError(t, guard.Call("embedder", func() error { panic("moody") }), "embedder: panic: moody")
	require.NoError(t, guard.Call("embedder", func() error { return nil }))
	away := errors.New("away")
	require.Equal(t, away, guard.Call("embedder", func() error { return away }))
}
