// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

// steps are so many calls of a running round, each with a result of n tokens.
func steps(from, count, n int) []*schema.Message {
	var out []*schema.Message
	for i := from; i < from+count; i++ {
		id := fmt.Sprint("c", i)
		out = append(out, calls(id), result(id, long(n)))
	}
	return out
}

func TestArchiveCurrentTakesTheOlderSteps(t *testing.T) {
	s := newShelf()
	in := append([]*schema.Message{system("s"), noteOf("n"), user("go")}, steps(0, 5, 100)...)
	out, err := compacted(t, window(480), in, s, compaction.ArchiveCurrent{Slack: -1})
	require.NoError(t, err)
	require.Equal(t, "s u* u u*^ a:c2 t:c2 a:c3 t:c3 a:c4 t:c4", shapeOf(out.Messages))
	m := out.Messages[3]
	require.Equal(t, fmt.Sprintf(`[Moved to the archive: the earlier steps of this turn, 2 tool calls, 4 messages, about 224 tokens. It is kept as %[1]s: search it with grep_working_memory or read it with read_working_memory, archive %[1]s.]
The calls, in excerpts, oldest first; they were answered, do not repeat them:
> look({"at":"c0"})
> look({"at":"c1"})`, einox.RefOf(m)), m.Content)
	require.Equal(t, in[3:7], s.held[einox.RefOf(m)])
}

func TestArchiveCurrentKeepsTheNewestExchange(t *testing.T) {
	for name, tc := range map[string]struct {
		last []*schema.Message
		want string
	}{
		"calls":            {[]*schema.Message{calls("x", "y"), result("x", "1"), result("y", "2")}, "u u*^ a:x,y t:x t:y"},
		"an answer":        {[]*schema.Message{reply("done")}, "u u*^ a"},
		"one interrupted":  {[]*schema.Message{calls("x", "y"), result("x", "1")}, "u u*^ a:x,y t:x t:y*"},
		"and an orphan":    {[]*schema.Message{calls("x"), result("x", "1"), result("z", "2")}, "u u*^ a:x t:x u*"},
		"another question": {[]*schema.Message{einox.MarkTurn(user("also"), "t"), calls("x"), result("x", "1")}, "u u*^ u a:x t:x"},
	} {
		t.Run(name, func(t *testing.T) {
			in := append(append([]*schema.Message{einox.MarkTurn(user("go"), "t")}, steps(0, 5, 100)...), tc.last...)
			out, err := compacted(t, window(200), in, newShelf(), compaction.ArchiveCurrent{})
			require.NoError(t, err)
			require.Equal(t, tc.want, shapeOf(out.Messages))
		})
	}
}

// An agent that works for long has one stand-in for all its steps, in bounded size.
func TestArchiveCurrentFoldsWhatStandsIn(t *testing.T) {
	s := newShelf()
	now := []*schema.Message{system("s"), user("go")}
	all := now
	for i := range 60 {
		next := steps(i, 1, 100)
		now, all = append(now, next...), append(all, next...)
		out, err := compacted(t, window(3000), now, s, compaction.ArchiveCurrent{})
		require.NoError(t, err)
		now = out.Messages
	}
	require.Equal(t, 1, strings.Count(shapeOf(now), "^"))
	require.Equal(t, all, s.restore(t, now))
	require.Regexp(t, `the earlier steps of this turn, [34]\d tool calls, \d+ messages`, now[2].Content)
	require.LessOrEqual(t, strings.Count(now[2].Content, "\n> "), 12)
	require.Less(t, s.puts, 20, "not every step calls for an archive")
}

// Results that are large only together.
func TestArchiveCurrentOffloadsWhatIsLeft(t *testing.T) {
	m := calls("1", "2", "3", "4", "5", "6")
	in := []*schema.Message{user("go"), m}
	for _, c := range m.ToolCalls {
		in = append(in, result(c.ID, long(1500)))
	}
	out, err := compacted(t, window(4000), in, newShelf(), compaction.OffloadTools{}, compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u a:1,2,3,4,5,6 t:1^ t:2^ t:3^ t:4^ t:5 t:6", shapeOf(out.Messages))
	require.NotContains(t, out.Messages[2].Content, "Excerpt")
}

// A summary is no reason for a turn to fail.
func TestArchiveCurrentShortensASummary(t *testing.T) {
	s := newShelf()
	summary := schema.UserMessage(long(900))
	einox.MarkSummary(summary)
	s.held["a-old"] = []*schema.Message{user("once")}
	summary = einox.MarkRef(summary, "a-old")
	in := []*schema.Message{summary, user("go")}
	out, err := compacted(t, window(500), in, s, compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u*^ u", shapeOf(out.Messages))
	require.Equal(t, "once", s.restore(t, out.Messages)[0].Content)
	again, err := compacted(t, window(20), out.Messages, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, out.Messages, again.Messages, "nor is it made over and over")

	past := append(rounds(0, 3), user("go"))
	out, err = compacted(t, window(50), past, s, compaction.ArchiveCurrent{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, past, out.Messages, "rounds are the work of another step")
}

// An agent that nobody asked anything.
func TestArchiveCurrentWithoutAQuestion(t *testing.T) {
	out, err := compacted(t, window(300), steps(0, 6, 100), newShelf(), compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u*^ a:c5 t:c5", shapeOf(out.Messages))
}

func TestArchiveCurrentWithoutAnArchive(t *testing.T) {
	in := append([]*schema.Message{user("go")}, steps(0, 6, 100)...)
	out, err := compacted(t, window(200), in, nil, compaction.ArchiveCurrent{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.ErrorIs(t, out.Steps[0].Err, compaction.ErrNoArchive)
	require.Equal(t, in, out.Messages)
}
