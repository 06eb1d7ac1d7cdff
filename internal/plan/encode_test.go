// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/plan"
)

func TestEncode(t *testing.T) {
	text, err := plan.Encode("record a", map[string]string{"text": "<b> & 茶\n"})
	require.NoError(t, err)
	require.Equal(t, `{"text":"<b> & 茶\n"}`, text)
	for _, v := range []any{func() {}, time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		_, err := plan.Encode("record a", v)
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "record a")
	}
}
