// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/window"
)

// What a summary takes over from messages that were never redacted is redacted
// before it is kept.
func TestASummaryIsRedactedBeforeItIsKept(t *testing.T) {
	x := summarising(t, 1000, summariser(), func(c *window.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "Goal", "G***") }
	})
	x.talk(30, 20)
	res := x.fit(append(x.history(), schema.UserMessage("and now?"))...)
	require.NotNil(t, res.Summary)
	require.Contains(t, res.Summary.Text, "Goal")
	i, err := x.Sessions().Get(context.Background(), ann)
	require.NoError(t, err)
	require.NotContains(t, i.Summary, "Goal")
	require.Contains(t, i.Summary, "G***")
}
