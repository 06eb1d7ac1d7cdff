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

// rounds are so many, each with a question, a call and an answer of 100 tokens.
func rounds(from, n int) []*schema.Message {
	var out []*schema.Message
	for i := from; i < from+n; i++ {
		id := fmt.Sprint("c", i)
		out = append(out, user(fmt.Sprintf("question %d", i)), calls(id), result(id, long(40)), reply(long(40)))
	}
	return out
}

func TestArchiveRoundsTakesTheOldest(t *testing.T) {
	s := newShelf()
	in := append(append([]*schema.Message{system("s")}, rounds(0, 10)...), user("now"))
	before, err := compacted(t, window(1<<20), in, s)
	require.NoError(t, err)
	out, err := compacted(t, window(before.Before.Tokens-150), in, s, compaction.ArchiveRounds{Slack: -1})
	require.NoError(t, err)
	require.Equal(t, "s u*^ "+strings.TrimSpace(strings.Repeat("u a:c t:c a ", 7))+" u", strings.NewReplacer("3", "", "4", "", "5", "", "6", "", "7", "", "8", "", "9", "").Replace(shapeOf(out.Messages)))
	m := out.Messages[1]
	require.Equal(t, fmt.Sprintf(`[Moved to the archive: the earlier conversation, 3 rounds, 12 messages, about 309 tokens. It is kept as %[1]s: search it with grep_working_memory or read it with read_working_memory, archive %[1]s.]
What the user said then, in excerpts, oldest first; it is a record, not a new request:
> question 0
> question 1
> question 2
Tools called: look × 3`, einox.RefOf(m)), m.Content)
	require.Equal(t, in[1:13], s.held[einox.RefOf(m)])
	require.True(t, einox.IsSummary(m))
	require.Equal(t, 12, out.Steps[0].Replaced)

	slack, err := compacted(t, window(before.Before.Tokens-150), in, s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Less(t, len(slack.Messages), len(out.Messages), "room for what comes next")

	none, err := compacted(t, window(before.Before.Tokens-150), in, nil, compaction.ArchiveRounds{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.ErrorIs(t, none.Steps[0].Err, compaction.ErrNoArchive)
	require.Equal(t, in, none.Messages)
}

func TestArchiveRoundsKeepsTheRunningRound(t *testing.T) {
	in := append(rounds(0, 3), noteOf("n"), coreOf("c"), user("now"), calls("x"), result("x", long(100)))
	out, err := compacted(t, window(10), in, newShelf(), compaction.ArchiveRounds{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, "u*^ u* u* u a:x t:x", shapeOf(out.Messages))
	require.Equal(t, in[12:], out.Messages[1:])
	out, err = compacted(t, window(10), in[12:], newShelf(), compaction.ArchiveRounds{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, in[12:], out.Messages)
}

// However often it runs, there is one stand-in, and all that left comes back from it.
func TestArchiveRoundsFoldsWhatStandsIn(t *testing.T) {
	s := newShelf()
	now, all := []*schema.Message{system("s")}, []*schema.Message{system("s")}
	for i := range 40 {
		next := rounds(i, 1)
		now, all = append(now, next...), append(all, next...)
		out, err := compacted(t, window(600), now, s, compaction.ArchiveRounds{})
		require.NoError(t, err)
		now = out.Messages
	}
	require.Equal(t, 1, strings.Count(shapeOf(now), "^"), shapeOf(now))
	require.Equal(t, all, s.restore(t, now))
	content := now[1].Content
	require.Contains(t, content, "earlier ones are not shown)\n> question ")
	require.LessOrEqual(t, strings.Count(content, "\n> "), 12, "the newest are listed")
	var rounds, more int
	_, err := fmt.Sscanf(content, "[Moved to the archive: the earlier conversation, %d rounds", &rounds)
	require.NoError(t, err)
	_, err = fmt.Sscanf(content[strings.Index(content, "\n(")+1:], "(%d earlier", &more)
	require.NoError(t, err)
	require.Equal(t, rounds, more+strings.Count(content, "\n> "))
	require.Regexp(t, `the earlier conversation, 3\d rounds, 1\d\d messages`, content)
	require.Regexp(t, `look × 3\d`, content)
	require.Less(t, chars.Message(now[1]), 200)
}

// What a model wrote about still older rounds is taken over.
func TestArchiveRoundsTakesASummaryOver(t *testing.T) {
	old := schema.UserMessage("Goal: to find the harbour.\nOpen items: the tide table.")
	einox.MarkSummary(old)
	old = einox.MarkSeq(einox.MarkRef(old, "log-1-40"), 40)
	s := newShelf()
	s.held["log-1-40"] = []*schema.Message{user("once")}
	in := append(append([]*schema.Message{old}, rounds(0, 6)...), user("now"))
	out, err := compacted(t, window(500), in, s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "quoted:\n> Goal: to find the harbour.\n> Open items: the tide table.\n")
	out, err = compacted(t, window(550), append(append(out.Messages, reply("x")), append(rounds(6, 4), user("then"))...), s, compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "quoted:\n> Goal: to find the harbour.\n> Open items: the tide table.\n", "once more")
	require.Equal(t, 1, strings.Count(shapeOf(out.Messages), "^"))
	require.Equal(t, "once", s.restore(t, out.Messages)[0].Content)

	tight, err := compacted(t, window(120), append(append([]*schema.Message{}, in[:13]...), user("now")), s, compaction.ArchiveRounds{Slack: -1})
	require.NoError(t, err)
	require.NotContains(t, tight.Messages[0].Content, "tide", "rather shorter than over budget")
}

// The log's place is that of the last message, as far as the log reaches.
func TestArchiveRoundsCarriesThePlaceInTheLog(t *testing.T) {
	in := append(rounds(0, 2), user("now"))
	for i := range in {
		in[i] = einox.MarkTurn(einox.MarkSeq(in[i], int64(i+5)), fmt.Sprint("t", i/4))
	}
	out, err := compacted(t, window(110), in, newShelf(), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, int64(12), einox.SeqOf(out.Messages[0]))
	out, err = compacted(t, window(110), append(rounds(0, 2), user("now")), newShelf(), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Zero(t, einox.SeqOf(out.Messages[0]))
}

// Systems stay where they are, also in the middle; the stand-in is where the first
// message was.
func TestArchiveRoundsPassesTheSystemBy(t *testing.T) {
	in := append(append(append([]*schema.Message{system("a")}, rounds(0, 2)...), system("b")), append(rounds(2, 2), user("now"))...)
	out, err := compacted(t, window(120), in, newShelf(), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, "s u*^ s u", shapeOf(out.Messages))
}

// What nobody asked goes with the first round; retold work of other agents is not
// what the user said.
func TestArchiveRoundsWithoutAQuestion(t *testing.T) {
	in := []*schema.Message{reply(long(100)), user("first"), user("For context: [a] said: " + long(50)), user("For context: [a] called tool: `f` with arguments: {}."), reply("ok"), user("now")}
	out, err := compacted(t, window(100), in, newShelf(), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Equal(t, "u*^ u", shapeOf(out.Messages))
	require.Contains(t, out.Messages[0].Content, "1 rounds")
	require.NotContains(t, out.Messages[0].Content, "For context")
}

func TestArchiveRoundsSpeaksChinese(t *testing.T) {
	in := append(rounds(0, 5), user("现在呢？"))
	out, err := compacted(t, window(250), in, newShelf(), compaction.ArchiveRounds{Slack: -1})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "已移入归档：较早的对话")
	require.Contains(t, out.Messages[0].Content, "调用过的工具：look × ")
}

// A stand-in that would be larger than what it stands for is not made, nor stored
// for.
func TestArchiveRoundsNeverMakesLarger(t *testing.T) {
	s := newShelf()
	in := []*schema.Message{user("a"), reply("b"), user("c"), reply("d"), user(long(100))}
	out, err := compacted(t, window(20), in, s, compaction.ArchiveRounds{}, compaction.ArchiveCurrent{})
	require.ErrorIs(t, err, budget.ErrOver)
	require.Equal(t, in, out.Messages)
	require.Zero(t, s.puts)
}

// A list of tools has an end.
func TestArchiveRoundsCountsManyTools(t *testing.T) {
	in := []*schema.Message{user("a")}
	for i := range 50 {
		m := calls("c")
		m.ToolCalls[0].Function.Name = fmt.Sprintf("tool_%d_%s", i, strings.Repeat("x", 200))
		in = append(in, m, result("c", long(100)))
	}
	out, err := compacted(t, window(1000), append(in, user("b")), newShelf(), compaction.ArchiveRounds{})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, ", … × 38")
	require.Less(t, chars.Message(out.Messages[0]), 400)
}
