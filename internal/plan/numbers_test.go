// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/internal/plan"
)

func TestNumbersSurviveText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := plan.Numbers(rapid.SliceOf(rapid.Int64()).Draw(t, "numbers"))
		got, err := plan.ParseNumbers(want.String())
		require.NoError(t, err)
		require.ElementsMatch(t, want, got)
		text, err := json.Marshal(want)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want.String(), got.String())
	})
}

func TestNeighboursTakeLittle(t *testing.T) {
	n := make(plan.Numbers, 10_000)
	for i := range n {
		n[i] = int64(i) + 1<<40
	}
	require.Less(t, len(n.String()), 2*len(n))
}

func TestParseNumbersRefusesBadText(t *testing.T) {
	for _, text := range []string{"!", "gA", "____________________"} {
		_, err := plan.ParseNumbers(text)
		require.Error(t, err, text)
	}
}

func FuzzParseNumbers(f *testing.F) {
	f.Add("")
	f.Add("AgIC")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := plan.ParseNumbers(text)
		if err == nil {
			again, err := plan.ParseNumbers(n.String())
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}
