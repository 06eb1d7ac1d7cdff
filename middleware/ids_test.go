// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

// A program's own source of ids that panics, or makes none, breaks no reply and loses nothing.
func TestASourceOfIDsThatPanicsBreaksNoReply(t *testing.T) {
	for name, ids := range map[string]func() string{"panics": func() string { panic("no randomness") }, "is empty": func() string { return "" }} {
		t.Run(name, func(t *testing.T) {
			b := verbatim(t, testkit.SQLite(t))
			mem := open(t, &middleware.Config{Backend: b, IDs: ids, AwaitWrite: true})
			said, _ := ask(t, asAnn, mem, "I live in Oslo.", testkit.Call("1", "add_memory", `{"thinking":"t","content":["The user has a boat."]}`), testkit.Text("Noted."))
			require.Equal(t, "assistant: Noted.", said)
			require.Contains(t, memories(t, b, "ann"), "I live in Oslo.")
			require.Contains(t, memories(t, b, "ann"), "The user has a boat.")
		})
	}
}
