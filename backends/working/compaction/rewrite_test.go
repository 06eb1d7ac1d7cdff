// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
)

type rewriting = func(context.Context, []*schema.Message, int) ([]*schema.Message, error)

// What a program leaves out gets a placeholder for each row of messages, and comes back in its order.
func TestAProgramLeavesMessagesOut(t *testing.T) {
	s := newShelf(t)
	in := append(append([]*schema.Message{schema.SystemMessage("s")}, rounds(0, 6)...), user("now"))
	out, err := compacted(t, 520, in, s, compaction.Rewrite{Name: "mine", Run: func(_ context.Context, messages []*schema.Message, over int) ([]*schema.Message, error) {
		require.Positive(t, over)
		require.Equal(t, "question 4", messages[17].Content)
		return slices.Concat(messages[:5], messages[13:17], messages[21:]), nil
	}})
	require.NoError(t, err)
	require.Equal(t, "s u a:c0 t:c0 a u*^ u a:c3 t:c3 a u*^ u a:c5 t:c5 a u", shapeOf(out.Messages))
	require.Equal(t, "mine", out.Steps[0].Step)
	require.Equal(t, 12, out.Steps[0].Replaced)
	back, err := s.Restore(t.Context(), out.Messages)
	require.NoError(t, err)
	require.Equal(t, in, back)
}

// A program writes one message for many, or a shorter one for each; both name the archive.
func TestAProgramWritesItsOwnMessages(t *testing.T) {
	s := newShelf(t)
	in := []*schema.Message{user("look"), calls("x", "y"), result("x", long(3000)), result("y", long(3000)), reply("seen"), user("look"), calls("z"), result("z", "a"), reply("b"), user("and now?")}
	out, err := compacted(t, 2000, in, s, compaction.Rewrite{Run: func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
		return []*schema.Message{m[0], m[1], result("x", "short x"), result("y", "short y"), m[4], user("then it looked for z"), m[9]}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, "u a:x,y t:x^ t:y^ a u*^ u", shapeOf(out.Messages))
	for i, begins := range map[int]string{2: "short x\n[It is kept as a-", 3: "short y\n[It is kept as a-", 5: "then it looked for z\n[It is kept as a-"} {
		require.Contains(t, out.Messages[i].Content, begins)
	}
	require.Equal(t, in[5:9], s.held(t, out.Messages[5]))
}

func TestARewriteThatBreaksARuleLeavesTheContext(t *testing.T) {
	in := append(append([]*schema.Message{schema.SystemMessage("s")}, rounds(0, 6)...), user("now"))
	for why, run := range map[string]rewriting{
		"message 0, of the system, must stay": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) { return m[1:], nil },
		"message 25, of the user, must stay":  func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) { return m[:20], nil },
		"a message is nil": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return append(m[:1:1], nil), nil
		},
		"message 1 stands twice, or out of its": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return append(m[:2:2], m[1:]...), nil
		},
		"1 new messages before message 25 take": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return append(m[:25:25], user("mine"), m[25]), nil
		},
		"2 new messages before message 25 take": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return append(m[:1:1], user("mine"), user("mine"), m[25]), nil
		},
		"the rewritten context has": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return append(m[:1:1], append([]*schema.Message{user(long(4000))}, m[2:]...)...), nil
		},
		"a call lost its result": func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
			return slices.Concat(m[:2], m[3:5], m[21:]), nil
		},
		"the program's own": func(context.Context, []*schema.Message, int) ([]*schema.Message, error) {
			return nil, errors.New("the program's own")
		},
		"panic: who": func(context.Context, []*schema.Message, int) ([]*schema.Message, error) { panic("who") },
	} {
		out, err := compacted(t, 300, in, newShelf(t), compaction.Rewrite{Run: run})
		require.ErrorAs(t, err, new(*compaction.OverError), why)
		require.Equal(t, in, out.Messages, why)
		require.ErrorContains(t, out.Steps[0].Err, why)
	}
	out, err := compacted(t, 300, in, nil, compaction.Rewrite{Run: func(_ context.Context, m []*schema.Message, _ int) ([]*schema.Message, error) {
		return append(m[:1:1], m[25]), nil
	}})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.ErrorContains(t, out.Steps[0].Err, "no archive")
	_, err = compaction.New(&compaction.Config{Budget: window(100), Steps: []compaction.Step{compaction.Rewrite{}}})
	require.ErrorIs(t, err, backends.ErrInvalid)
}
