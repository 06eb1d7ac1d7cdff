// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package assistant_test

import (
	"bytes"
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/examples/internal/assistant"
	"github.com/einomem/einomem/internal/demomodel"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

func parse(args ...string) (*assistant.Turn, error) {
	return assistant.ParseTurn(flag.NewFlagSet("test", flag.ContinueOnError), args, new(bytes.Buffer))
}

func TestATurnIsWhatTheFlagsSay(t *testing.T) {
	turn, err := parse("-user", "ann", "-mode", "static_control", "-say", "hello")
	require.NoError(t, err)
	require.Equal(t, &assistant.Turn{
		Scope: middleware.Scope{UserID: "ann", SessionID: "default"}, Mode: modes.StaticControl, Text: "hello",
		Given: map[string]bool{"user": true, "mode": true, "say": true},
	}, turn)
	for _, wrong := range [][]string{{"-say", ""}, {"-user", ""}, {"-session", "a\nb"}, {"-mode", "x"}, {"word"}, {"-x"}} {
		_, err := parse(wrong...)
		require.Error(t, err, wrong)
	}
}

func TestATurnIsTakenAndRemembered(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	path := t.TempDir() + "/memory.db"
	var stdout, stderr bytes.Buffer
	for _, text := range []string{"I like tea.", "What do I like?"} {
		db, err := sqlitestore.Open(t.Context(), path, nil)
		require.NoError(t, err)
		a, err := assistant.Open(t.Context(), db, modes.StaticControl, &stderr)
		require.NoError(t, err)
		turn, err := parse("-say", text)
		require.NoError(t, err)
		require.NoError(t, turn.Take(t.Context(), a, &stdout))
		_, err = db.Partitions(t.Context(), "default", store.Page{})
		require.ErrorIs(t, err, backends.ErrUnavailable, "the store is closed")
	}
	require.Equal(t, "Noted.\nYou told me: \"I like tea.\"\n", stdout.String())
	require.Equal(t, demomodel.Notice+"\n"+demomodel.Notice+"\n", stderr.String())
}
