// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/backends/working/window"
)

// Functions of the configuration that panic cost neither the process nor a context
// that fits.
func TestAPanicOfTheCallersOwn(t *testing.T) {
	t.Run("callbacks", func(t *testing.T) {
		down := &hanging{Sessions: sqlite(t)}
		x := newWorld(t, 1000, func(c *window.Config) {
			c.Sessions, c.StoreTimeout = down, 1
			c.OnFit = func(context.Context, backends.Scope, *compaction.Result) { panic("OnFit") }
			c.OnError = func(context.Context, string, error) { panic("OnError") }
		})
		res, err := x.Fit(context.Background(), ann, task(10, 60))
		require.ErrorIs(t, err, compaction.ErrOver, "nothing can be archived: the error says so")
		require.NotNil(t, res)
	})
	t.Run("redact, before something is archived", func(t *testing.T) {
		x := newWorld(t, 1000, func(c *window.Config) { c.Redact = func(string) string { panic("Redact") } })
		res, err := x.Fit(context.Background(), ann, task(10, 60))
		require.ErrorIs(t, err, compaction.ErrOver)
		require.Equal(t, text(task(10, 60)), text(res.Messages), "what was not stored is not replaced")
		stages, errs := x.told()
		require.Contains(t, stages, window.StageCompact)
		require.ErrorContains(t, errs[0], "panicked: Redact")
	})
	t.Run("redact, before a summary is kept", func(t *testing.T) {
		x := summarising(t, 1000, summariser(), func(c *window.Config) { c.Redact = func(string) string { panic("Redact") } })
		x.talk(30, 20)
		res := x.fit(append(x.history(), schema.UserMessage("and now?"))...)
		require.NotNil(t, res.Summary)
	})
}

func text(messages []*schema.Message) (out string) {
	for _, m := range messages {
		out += m.Content + "\n"
	}
	return out
}
