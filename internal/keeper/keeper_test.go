// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/internal/keeper"
)

func TestNewNeedsWhatIsRequired(t *testing.T) {
	w := open(t)
	for name, c := range map[string]*keeper.Config{
		"no config": nil,
		"no name":   {Store: w.Store(), Ranker: w.Ranker()},
		"no store":  {Name: "x", Ranker: w.Ranker()},
		"no ranker": {Name: "x", Store: w.Store()},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keeper.New(c)
			require.ErrorIs(t, err, backends.ErrInvalid)
		})
	}
	k, err := keeper.New(&keeper.Config{Name: "x", Store: w.Store(), Ranker: w.Ranker()})
	require.NoError(t, err)
	require.Equal(t, "as it is", k.Redact("as it is"))
	require.False(t, k.Now().IsZero())
}

func TestErrorsBeginWithTheBackendsName(t *testing.T) {
	w := open(t, func(c *keeper.Config, _ *recall.Config) { c.Name = "50% notes" })
	_, err := w.Get(ctx, ann, "nobody")
	require.ErrorIs(t, err, backends.ErrNotFound)
	require.EqualError(t, err, "50% notes: memory nobody of default/user/ann: not found")
}

func TestStampsGrowThoughTheClockStandsStill(t *testing.T) {
	now := start
	w := open(t, func(c *keeper.Config, _ *recall.Config) { c.Clock = func() time.Time { return now } })
	require.Equal(t, start, w.Stamps(3))
	require.Equal(t, start.Add(3*time.Microsecond), w.Stamps(0), "none counts as one")
	require.Equal(t, start.Add(4*time.Microsecond), w.Stamps(1))
	now = start.Add(-time.Hour)
	require.Equal(t, start.Add(5*time.Microsecond), w.Stamps(1), "the clock went back")
	now = start.Add(time.Hour)
	require.Equal(t, now, w.Stamps(1))
}

func TestStampsAreGivenOutOnce(t *testing.T) {
	w := open(t)
	const callers, calls = 4, 100
	out := make(chan time.Time, callers*calls)
	for range callers {
		go func() {
			for range calls {
				out <- w.Stamps(2)
			}
		}()
	}
	seen := map[time.Time]bool{}
	for range callers * calls {
		at := <-out
		require.False(t, seen[at] || seen[at.Add(time.Microsecond)])
		seen[at], seen[at.Add(time.Microsecond)] = true, true
	}
}

func TestNoRequestIsInvalid(t *testing.T) {
	w := open(t)
	for name, call := range map[string]func() error{
		"Search":    func() error { _, err := w.Search(ctx, ann, nil); return err },
		"List":      func() error { _, err := w.List(ctx, ann, nil); return err },
		"Update":    func() error { _, err := w.Update(ctx, ann, nil); return err },
		"Delete":    func() error { return w.Delete(ctx, ann, nil) },
		"DeleteAll": func() error { _, err := w.DeleteAll(ctx, ann, nil); return err },
	} {
		require.ErrorIs(t, call(), backends.ErrInvalid, name)
	}
}

func TestMetadataIsRedactedAndCopied(t *testing.T) {
	w := open(t, func(c *keeper.Config, _ *recall.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	})
	given := map[string]any{"a": "hunter2", "n": 1.5, "i": 7, "deep": []any{map[string]any{"x hunter2": "hunter2"}}, "tags": []string{"hunter2"}, "of": map[string]string{"x": "hunter2"}}
	got := w.RedactJSON(given)
	require.Equal(t, map[string]any{"a": "***", "n": 1.5, "i": 7, "deep": []any{map[string]any{"x ***": "***"}}, "tags": []any{"***"}, "of": map[string]any{"x": "***"}}, got)
	broken := func() {}
	require.NotNil(t, w.RedactJSON(broken), "no store takes it, and says so")
	require.Nil(t, w.RedactJSON(nil))
	require.Equal(t, "hunter2", given["a"], "the caller's stay as they are")
	require.Equal(t, []string{"hunter2"}, given["tags"])

	n, err := w.Load(ctx, ann, strings.NewReader(`{"id":"1","kind":"fact","text":"tea","metadata":{"deep":["hunter2"]}}`))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	m, err := w.Get(ctx, ann, "1")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"deep": []any{"***"}}, m.Metadata)
	m, err = w.Update(ctx, ann, &backends.UpdateRequest{ID: "1", Metadata: given})
	require.NoError(t, err)
	require.Equal(t, "***", m.Metadata["a"])
}
