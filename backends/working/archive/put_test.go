// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

func TestPutWritesNothingThatTheLogHolds(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	w.log(ann, schema.UserMessage("a"), schema.AssistantMessage("b", nil), schema.AssistantMessage("", nil), schema.UserMessage("c"), schema.AssistantMessage("d", nil))
	log, err := x.Messages(t.Context(), "log-1-5")
	require.NoError(t, err)
	require.Len(t, log, 4, "the third only ends a turn")

	summary := func(ref string) *schema.Message {
		m := schema.UserMessage("summary")
		einox.MarkSummary(m)
		return einox.MarkRef(m, ref)
	}
	for want, messages := range map[string][]*schema.Message{
		"log-1":   log[:1],
		"log-1-2": log[:2],
		"log-2-4": log[1:3], // over the mark
		"log-1-5": {summary("log-1-2"), log[2], log[3]},
		"log-1-4": {summary("log-1-3"), log[2]},
		"log-2-5": {log[1], einox.MarkRef(schema.ToolMessage("preview", "c"), "log-4"), log[3]},
	} {
		ref, err := x.Put(t.Context(), messages)
		require.NoError(t, err)
		require.Equal(t, want, ref)
		again, err := x.Restore(t.Context(), messages)
		require.NoError(t, err)
		put, err := x.Messages(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, again, put, "what the id names is what the messages stand for")
	}
	require.Empty(t, w.blobs(ann))

	for name, messages := range map[string][]*schema.Message{
		"out of order":          {log[1], log[0]},
		"a gap":                 {log[0], log[2]},
		"twice":                 {log[0], log[0]},
		"not of the log":        {schema.UserMessage("x")},
		"one not of the log":    {log[0], schema.UserMessage("x"), log[1]},
		"a stand-in of a blob":  {log[0], summary("a-aaaaaaaaaaaaaaaaaaaa")},
		"a part of a stretch":   {log[0], summary("log-2-4#0")},
		"a stand-in that is no": {summary("log-0")},
		"a note":                {log[0], note(log[1])},
		"beyond the log":        {log[3], einox.MarkSeq(schema.UserMessage("x"), 9)},
	} {
		ref, err := x.Put(t.Context(), messages)
		require.NoError(t, err, name)
		require.Regexp(t, `^a-[a-z2-7]{20}$`, ref, name)
	}
}

func note(m *schema.Message) *schema.Message {
	c := *m
	einox.MarkNote(&c)
	return &c
}

func TestPutIsRepeatable(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	m := schema.ToolMessage("a long result", "c1", schema.WithToolName("read"))
	m.Extra = map[string]any{"f": func() {}, "_einomem_turn": "t1"}
	first, err := x.Put(t.Context(), []*schema.Message{m, nil})
	require.NoError(t, err)
	second, err := x.Put(t.Context(), []*schema.Message{nil, m})
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Len(t, w.blobs(ann), 1)
	got, err := x.Messages(t.Context(), first)
	require.NoError(t, err)
	want := *m
	want.Extra = map[string]any{"_einomem_turn": "t1"}
	require.Equal(t, []*schema.Message{&want}, got)
	require.Len(t, m.Extra, 2, "the caller's message is as it was")

	for _, messages := range [][]*schema.Message{nil, {}, {nil}} {
		_, err := x.Put(t.Context(), messages)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// A message that is not stored must not leave the context (DEF-26).
func TestDEF26PutFailsWhenTheStoreDoes(t *testing.T) {
	w := newWorld(t)
	w.fail = func(op string) error {
		if op == "PutBlob" {
			return backends.ErrUnavailable
		}
		return nil
	}
	ref, err := w.of(ann).Put(context.Background(), []*schema.Message{schema.UserMessage("x")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.Empty(t, ref)
}

// What was archived under an id stays there, whatever is archived later (DEF-24).
func TestDEF24NoArchiveReplacesAnother(t *testing.T) {
	w := newWorld(t)
	x := w.of(ann)
	texts := map[string]string{}
	for _, text := range []string{"a", "b", "a ", "c"} {
		ref, err := x.Put(t.Context(), []*schema.Message{schema.UserMessage(text)})
		require.NoError(t, err)
		texts[ref] = text
	}
	require.Len(t, texts, 4)
	for ref, text := range texts {
		got, err := x.Messages(t.Context(), ref)
		require.NoError(t, err)
		require.Equal(t, text, got[0].Content)
	}
}
