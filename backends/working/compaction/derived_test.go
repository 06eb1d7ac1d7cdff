// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"errors"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

func TestDropDerivedDropsNotesOfFormerTurns(t *testing.T) {
	in := []*schema.Message{
		system("s"), coreOf(long(50)), noteOf(long(100)), user("a"), reply("b"), noteOf(long(100)), user("c"), reply("d"), coreOf(long(50)), noteOf(long(100)), user("e"),
	}
	for name, tc := range map[string]struct {
		limit int
		want  string
	}{
		"one suffices":      {400, "s u* u a u* u a u* u* u"}, // the old core
		"two suffice":       {300, "s u a u* u a u* u* u"},
		"all are needed":    {200, "s u a u a u* u* u"},
		"more than all":     {10, "s u a u a u* u* u"},
		"nothing is needed": {500, "s u* u* u a u* u a u* u* u"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := compacted(t, window(tc.limit), in, newShelf(), compaction.DropDerived{})
			require.Equal(t, tc.want, shapeOf(out.Messages))
			require.Equal(t, out.After.Over() > 0, errors.Is(err, budget.ErrOver))
			require.Subset(t, out.Messages, in[8:], "the running turn is as it was")
		})
	}
}

func TestDropDerivedKeepsTheNoteBehindTheSystem(t *testing.T) {
	in := []*schema.Message{system("s"), noteOf(long(50)), user("a"), reply("b"), user("c")}
	out, err := compacted(t, window(10), in, newShelf(), compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, in, out.Messages, "a note may stand in front of all that was said")

	in = append(in, noteOf("newer"), user("d"))
	out, err = compacted(t, window(10), in, newShelf(), compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "s u a u u* u", shapeOf(out.Messages), "the older of one name is a former turn's")
}

func TestDropDerivedDropsNoNoteInVain(t *testing.T) {
	b := window(100)
	b.Memories = 500 // of the window: nothing is left for anything else
	b.Window += 500
	in := []*schema.Message{user("a"), noteOf(long(100)), user(long(60)), reply(long(60)), user("c")}
	out, err := compacted(t, b, in, newShelf(), compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u u* u a u", shapeOf(out.Messages), "notes have room of their own")
	require.Zero(t, out.Steps[0].Replaced)

	b.Memories, b.Window = 150, 250
	in = append(in, noteOf(long(100)), user("d"), reply("e"), user("f"))
	out, err = compacted(t, b, in, newShelf(), compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u u a u u* u a u", shapeOf(out.Messages), "what is left of them has")
}

func TestDropDerivedArchivesReasoning(t *testing.T) {
	running := thinks(calls("y"), long(100))
	in := []*schema.Message{
		user("a"), thinks(reply("first"), long(100)), user("b"), thinks(calls("x"), long(100)), result("x", "1"), thinks(reply("third"), long(100)), user("c"), running, result("y", "2"),
	}
	s := newShelf()
	out, err := compacted(t, window(300), in, s, compaction.DropDerived{})
	require.NoError(t, err)
	require.Equal(t, "u a^ u a:x^ t:x a u a:y t:y", shapeOf(out.Messages), "oldest first, until it fits")
	require.Empty(t, out.Messages[1].ReasoningContent)
	require.Equal(t, "first", out.Messages[1].Content)
	require.Equal(t, in[3].ToolCalls, out.Messages[3].ToolCalls)
	require.Equal(t, 2, out.Steps[0].Replaced)
	require.Equal(t, 200, out.Steps[0].Saved)
	require.Equal(t, in[1:2], s.held[einox.RefOf(out.Messages[1])])

	out, err = compacted(t, window(10), in, s, compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Same(t, running, out.Messages[7], "models that think want it back with the calls")
}

// What providers keep of the reasoning elsewhere would be sent all the same.
func TestDropDerivedDropsReasoningInExtra(t *testing.T) {
	m := einox.MarkTurn(einox.MarkSeq(thinks(reply("b"), long(100)), 7), "t1")
	m.Extra["reasoning-content"] = long(100)
	out, err := compacted(t, window(20), []*schema.Message{user("a"), m, user("c")}, newShelf(), compaction.DropDerived{})
	require.NoError(t, err)
	require.NotContains(t, out.Messages[1].Extra, "reasoning-content")
	require.Equal(t, int64(7), einox.SeqOf(out.Messages[1]))
	require.Equal(t, "t1", einox.TurnOf(out.Messages[1]))
	require.Contains(t, m.Extra, "reasoning-content", "the caller's is as it was")
}

func TestDropDerivedWithoutAnArchive(t *testing.T) {
	in := []*schema.Message{noteOf(long(100)), user("a"), thinks(reply("b"), long(100)), noteOf("n"), user("c")}
	out, err := compacted(t, window(20), in, nil, compaction.DropDerived{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u a u* u", shapeOf(out.Messages))
	require.ErrorIs(t, out.Steps[0].Err, compaction.ErrNoArchive)
	require.Equal(t, 1, out.Steps[0].Replaced, "notes can be found again")
}
