// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/einox"
)

func standIn(ref string) *schema.Message {
	return einox.MarkRef(schema.UserMessage("in place of "+ref), ref)
}

// No blob can hold its own hash, and no log a mark: these archives are forged, in
// a store that pretends.
func TestRestoreEnds(t *testing.T) {
	for name, c := range map[string]struct {
		entry func(seq int64) *schema.Message
		want  string
	}{
		"a message that stands in for itself": {func(seq int64) *schema.Message { return standIn(fmt.Sprint("log-", seq)) }, "contains itself"},
		"a cycle":                             {func(seq int64) *schema.Message { return standIn(fmt.Sprint("log-", seq%7+1)) }, "contains itself"},
		"a chain without an end":              {func(seq int64) *schema.Message { return standIn(fmt.Sprint("log-", seq+1)) }, "nested more than"},
	} {
		w := newWorld(t)
		w.forge = c.entry
		_, err := w.of(ann).Restore(t.Context(), []*schema.Message{standIn("log-1")})
		require.ErrorIs(t, err, backends.ErrInvalid, name)
		require.ErrorContains(t, err, c.want, name)
	}
}

func TestRestoreRefusesABomb(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.UserMessage("x"), schema.UserMessage("y"))
	for range 40 { // 2 to the power of 41 messages
		ref = w.put(ann, standIn(ref), standIn(ref))
	}
	_, err := w.of(ann).Restore(t.Context(), []*schema.Message{standIn(ref)})
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "unfolds to more than")
}

func TestRestoreOfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	for ref, want := range map[string]error{"a-aaaaaaaaaaaaaaaaaaaa": backends.ErrNotFound, "log-3": backends.ErrNotFound, "../x": backends.ErrInvalid} {
		_, err := x.Restore(t.Context(), []*schema.Message{schema.UserMessage("x"), standIn(ref)})
		require.ErrorIs(t, err, want)
	}
	messages := []*schema.Message{nil, schema.UserMessage("x")}
	got, err := x.Restore(t.Context(), messages)
	require.NoError(t, err)
	require.Equal(t, messages, got)
}

func TestNestedArchivesAreReadAndSearched(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	inner := w.put(ann, schema.ToolMessage("the needle is here", "c1"), schema.UserMessage("and here no more"))
	outer := w.put(ann, schema.UserMessage("first"), standIn(inner+"#0"), standIn("a-aaaaaaaaaaaaaaaaaaaa"))
	require.Equal(t, []string{inner + "#0 1 4 the needle is here"}, grep(t, x, "needle", outer))
	require.Equal(t, "[#0] user\nfirst\n[#1] user (stands in for "+inner+"#0)\nin place of "+inner+"#0\n[#2] user (stands in for a-aaaaaaaaaaaaaaaaaaaa)\nin place of a-aaaaaaaaaaaaaaaaaaaa\n", text(t, x, outer))
}

// forged has entry in place of every message of the log.
func forged(r store.Range, entry func(seq int64) *schema.Message) []store.Entry {
	var out []store.Entry
	for seq := r.After + 1; seq <= r.Upto; seq++ {
		out = append(out, store.Entry{Seq: seq, Message: backends.Message{ID: fmt.Sprint("m-", seq), Message: entry(seq)}})
	}
	return out
}
