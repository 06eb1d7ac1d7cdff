// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

func TestArchiveRoundsTakesTheOldest(t *testing.T) {
	s := newShelf(t)
	in := append(append([]*schema.Message{schema.SystemMessage("s")}, rounds(0, 10)...), user("now"))
	out, err := compacted(t, 1000, in, s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, "s u*^ u a:c3 t:c3 a", shapeOf(out.Messages[:6]))
	m := out.Messages[1]
	require.Equal(t, fmt.Sprintf(`[Moved to the archive: the earlier conversation, 3 rounds, 12 messages, about 309 tokens. It is kept as %[1]s: search it with grep_working_memory or read it with read_working_memory, archive %[1]s.]
What the user said then, shortened, oldest first; it is a record, not a new request:
> question 0
> question 1
> question 2
Tools called: look × 3`, einox.RefOf(m)), m.Content)
	require.Len(t, s.held(t, m), 12)
	require.True(t, einox.IsSummary(m))
	require.Equal(t, 12, out.Steps[0].Replaced)
	require.Less(t, out.After.Tokens, 950, "room for what comes next")
}

func TestArchiveRoundsKeepsTheRunningRound(t *testing.T) {
	in := append(rounds(0, 3), marked("n", einox.MarkNote), marked("c", einox.MarkCore), user("now"), calls("x"), result("x", long(100)))
	out, err := compacted(t, 10, in, newShelf(t), compaction.ArchiveRounds{})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, "u*^ u* u* u a:x t:x", shapeOf(out.Messages))
	require.Equal(t, in[12:], out.Messages[1:])
	out, err = compacted(t, 10, in[12:], newShelf(t), compaction.ArchiveRounds{})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, in[12:], out.Messages)

	// What the system says stays where it is, also in the middle.
	in = slices.Concat([]*schema.Message{schema.SystemMessage("a")}, rounds(0, 2), []*schema.Message{schema.SystemMessage("b")}, rounds(2, 2), []*schema.Message{user("now")})
	out, err = compacted(t, 120, in, newShelf(t), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, "s u*^ s u", shapeOf(out.Messages))

	// What no user asked goes with the first round; the work of other agents is not what the
	// user said.
	in = []*schema.Message{reply(long(100)), user("first"), user("For context: [a] said: " + long(50)), user("For context: [a] called tool: `f` with arguments: {}."), reply("ok"), user("now")}
	out, err = compacted(t, 100, in, newShelf(t), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, "u*^ u", shapeOf(out.Messages))
	require.Contains(t, out.Messages[0].Content, "1 rounds")
	require.NotContains(t, out.Messages[0].Content, "For context")
}

// However often it runs, there is one placeholder, and all that left comes back from it:
// of rounds, and of the steps of one.
func TestOnePlaceholderStandsForAllThatIsOlder(t *testing.T) {
	for name, tc := range map[string]struct {
		next   func(i int) []*schema.Message
		limit  int
		counts string
	}{
		"rounds": {func(i int) []*schema.Message { return rounds(i, 1) }, 600, `^\\[Moved to the archive: the earlier conversation, (\d+) rounds, \d+ messages`},
		"steps":  {func(i int) []*schema.Message { return steps(i, 1, 60) }, 900, `^\\[Moved to the archive: the earlier steps of this turn, (\d+) tool calls, \d+ messages`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelf(t)
			now := []*schema.Message{schema.SystemMessage("s"), user("go")}
			all := slices.Clone(now)
			for i := range 150 {
				now, all = append(now, tc.next(i)...), append(all, tc.next(i)...)
				out, err := compacted(t, tc.limit, now, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
				require.NoError(t, err)
				now = out.Messages
			}
			at := slices.IndexFunc(now, func(m *schema.Message) bool { return einox.RefOf(m) != "" })
			require.Equal(t, 1, strings.Count(shapeOf(now), "^"), shapeOf(now))
			back, err := s.Restore(t.Context(), now)
			require.NoError(t, err)
			require.Equal(t, said(all, false), said(back, false))
			content := now[at].Content
			shown := strings.Count(content, "\n> ")
			require.LessOrEqual(t, shown, 12, "the newest are listed")
			var many, more int
			_, err = fmt.Sscanf(content[strings.Index(content, ", ")+2:], "%d", &many)
			require.NoError(t, err)
			_, err = fmt.Sscanf(content[strings.Index(content, "\n(")+1:], "(%d earlier", &more)
			require.NoError(t, err)
			require.Equal(t, many, more+shown, "no call and no round is forgotten")
			require.Less(t, chars.Message(now[at]), 300)
			require.Less(t, s.puts(), 100, "not every message calls for an archive")
		})
	}
}

// What a model wrote about still older rounds is taken over, as far as there is room.
func TestArchiveRoundsTakesASummaryOver(t *testing.T) {
	s := newShelf(t)
	once := s.log(t, user("once"))
	old := einox.MarkSeq(einox.MarkRef(marked("Goal: to find the harbour.\nOpen items: the tide table.", einox.MarkSummary), "log-1"), 1)
	in := append(append([]*schema.Message{old}, rounds(0, 6)...), user("now"))
	out, err := compacted(t, 500, in, s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	const quoted = "quoted:\n> Goal: to find the harbour.\n> Open items: the tide table.\n"
	require.Contains(t, out.Messages[0].Content, quoted)
	out, err = compacted(t, 550, slices.Concat(out.Messages, []*schema.Message{reply("x")}, rounds(6, 4), []*schema.Message{user("then")}), s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, quoted, "once more")
	require.Equal(t, 1, strings.Count(shapeOf(out.Messages), "^"))
	require.Equal(t, once[0].Content, s.held(t, out.Messages[0])[0].Content)

	tight, err := compacted(t, 120, append(slices.Clone(in[:13]), user("now")), s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.NotContains(t, tight.Messages[0].Content, "tide", "rather shorter than over budget")
}

// A placeholder that would be larger than what it stands for is not made, nor stored for;
// a list of tools has an end.
func TestArchiveRoundsIsBounded(t *testing.T) {
	s := newShelf(t)
	in := []*schema.Message{user("a"), reply("b"), user("c"), reply("d"), user(long(100))}
	out, err := compacted(t, 20, in, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, in, out.Messages)
	require.Zero(t, s.puts())

	in = []*schema.Message{user("a")}
	for i := range 50 {
		m := calls("c")
		m.ToolCalls[0].Function.Name = fmt.Sprintf("tool_%d_%s", i, strings.Repeat("x", 200))
		in = append(in, m, result("c", long(100)))
	}
	out, err = compacted(t, 1000, append(in, user("b")), s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, ", … × 38")
	require.Less(t, chars.Message(out.Messages[0]), 400)
}

func TestArchiveCurrentTakesTheOlderSteps(t *testing.T) {
	s := newShelf(t)
	in := append([]*schema.Message{schema.SystemMessage("s"), marked("n", einox.MarkNote), user("go")}, steps(0, 5, 100)...)
	out, err := compacted(t, 520, in, s, compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "s u* u u*^ a:c2 t:c2 a:c3 t:c3 a:c4 t:c4", shapeOf(out.Messages))
	m := out.Messages[3]
	require.Equal(t, fmt.Sprintf(`[Moved to the archive: the earlier steps of this turn, 2 tool calls, 4 messages, about 224 tokens. It is kept as %[1]s: search it with grep_working_memory or read it with read_working_memory, archive %[1]s.]
The calls, shortened, oldest first; they were answered, do not repeat them:
> look({"at":"c0"})
> look({"at":"c1"})
Tools called: look × 2`, einox.RefOf(m)), m.Content)
	require.Len(t, s.held(t, m), 4)
	out, err = compacted(t, 300, steps(0, 6, 100), newShelf(t), compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u*^ a:c5 t:c5", shapeOf(out.Messages), "also where no user asked anything")
}

func TestArchiveCurrentKeepsTheNewestExchange(t *testing.T) {
	for want, last := range map[string][]*schema.Message{
		"u u*^ a:x,y t:x t:y":  {calls("x", "y"), result("x", "1"), result("y", "2")},
		"u u*^ a":              {reply("done")},
		"u u*^ a:x,y t:x t:y*": {calls("x", "y"), result("x", "1")},
		"u u*^ u":              {calls("x"), result("x", long(150)), user("For context: [b] said: done")},
		"u u*^ u a:x t:x":      {einox.MarkTurn(user("also"), "t"), calls("x"), result("x", "1")},
	} {
		in := append(append([]*schema.Message{einox.MarkTurn(user("go"), "t")}, steps(0, 5, 100)...), last...)
		out, err := compacted(t, 220, in, newShelf(t), compaction.ArchiveCurrent{})
		require.NoError(t, err)
		require.Equal(t, want, shapeOf(out.Messages))
	}
	many := calls("1", "2", "3", "4", "5", "6") // results that are large only together
	in := []*schema.Message{user("go"), many}
	for _, c := range many.ToolCalls {
		in = append(in, result(c.ID, long(1500)))
	}
	out, err := compacted(t, 4000, in, newShelf(t), compaction.OffloadTools{}, compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u a:1,2,3,4,5,6 t:1^ t:2^ t:3^ t:4^ t:5 t:6", shapeOf(out.Messages))
	require.NotContains(t, out.Messages[2].Content, "quoted")
}

// A summary is no reason for a turn to fail.
func TestArchiveCurrentShortensASummary(t *testing.T) {
	s := newShelf(t)
	s.log(t, user("once"))
	old := einox.MarkRef(marked("[A summary:]\n"+long(900), einox.MarkSummary), "log-1")
	out, err := compacted(t, 500, []*schema.Message{old, user("go")}, s, compaction.ArchiveCurrent{})
	require.NoError(t, err)
	require.Equal(t, "u*^ u", shapeOf(out.Messages))
	require.Equal(t, "once", s.held(t, out.Messages[0])[0].Content)
	again, err := compacted(t, 20, out.Messages, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, out.Messages, again.Messages, "nor is it made over and over")

	past := append(rounds(0, 3), user("go"))
	out, err = compacted(t, 50, past, s, compaction.ArchiveCurrent{})
	require.ErrorAs(t, err, new(*compaction.OverError))
	require.Equal(t, past, out.Messages, "rounds are the work of another step")
}

// Wherever the cuts fall, calls and results stay together: compacted checks it.
func TestCutsKeepCallsAndResultsTogether(t *testing.T) {
	s := newShelf(t)
	in := slices.Concat([]*schema.Message{schema.SystemMessage("s")}, rounds(0, 4), []*schema.Message{user("now"), calls("x", "y"), result("y", long(300)), result("x", long(300)), calls("x"), result("x", long(50))})
	for limit := 1; limit < 1100; limit += 7 {
		_, err := compacted(t, limit, in, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
		if err != nil {
			require.ErrorAs(t, err, new(*compaction.OverError))
		}
	}
}
