// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

// The defects of ReMe's working memory, as far as the steps without a model could
// have them. Each has its number in the register of that system.

// DEF-23: a cut between a call and its results leaves results that no provider
// takes. compacted validates; here the cuts fall on every message in turn.
func TestFreeDEF23CutsKeepCallsAndResultsTogether(t *testing.T) {
	in := append(append([]*schema.Message{system("s")}, rounds(0, 4)...), user("now"))
	in = append(in, calls("x", "y"), result("y", long(300)), result("x", long(300)), calls("x"), result("x", long(50)))
	for limit := 1; limit < 1100; limit += 7 {
		_, err := compacted(t, window(limit), in, newShelf(), compaction.ArchiveRounds{Slack: -1}, compaction.ArchiveCurrent{Slack: -1})
		if err != nil {
			require.ErrorIs(t, err, budget.ErrOver)
		}
	}
}

// DEF-24: a second compaction overwrites what the first one stored.
func TestFreeDEF24LaterArchivesLeaveOlderOnesAlone(t *testing.T) {
	s := newShelf()
	first, err := compacted(t, window(1000), chatWithResults(3000), s, compaction.Free()...)
	require.NoError(t, err)
	held := dump(t, s.held[einox.RefOf(first.Messages[3])])
	later := append(append([]*schema.Message{}, first.Messages...), chatWithResults(2500, 2600)[1:]...)
	_, err = compacted(t, window(300), later, s, compaction.Free()...)
	require.NoError(t, err)
	require.Equal(t, held, dump(t, s.held[einox.RefOf(first.Messages[3])]))
}

// DEF-26: what could not be written is replaced all the same.
func TestFreeDEF26NothingIsReplacedThatIsNotStored(t *testing.T) {
	s := newShelf()
	s.fails = func(messages []*schema.Message) error {
		if strings.Contains(messages[0].Content, "result 1") {
			return errFull
		}
		return nil
	}
	in := chatWithResults(3000, 3000, 3000)
	out, err := compacted(t, window(1000), in, s, compaction.OffloadTools{})
	require.ErrorIs(t, err, budget.ErrOver, "and nobody is told that it fits")
	require.Equal(t, []int{3, 11}, offloaded(out.Messages), "the others go on")
	require.Same(t, in[7], out.Messages[7])
	require.ErrorIs(t, out.Steps[0].Err, errFull)
	require.ErrorContains(t, out.Steps[0].Err, "offload_tools: archiving 1 messages: the disk is full")
	require.Equal(t, 2, out.Steps[0].Replaced)
}

// DEF-27: ids that callers choose become paths. The name of an archive is the
// archive's own, whatever a call or a turn is called.
func TestFreeDEF27NamesAreTheArchivesOwn(t *testing.T) {
	m := result("../../etc/passwd", long(3000))
	in := []*schema.Message{user("a"), calls("../../etc/passwd"), m, user("b")}
	out, err := compacted(t, window(500), in, newShelf(), compaction.OffloadTools{})
	require.NoError(t, err)
	require.Regexp(t, `^a-[0-9a-f]{20}$`, einox.RefOf(out.Messages[2]))
	require.Equal(t, "../../etc/passwd", out.Messages[2].ToolCallID, "for the provider it stays what it was")
}

// DEF-31 and F3: a system prompt, a question, a call, a result of 100,000 characters
// and another question, 20,000 tokens of 4 characters at most, results of more than
// 2,000 go. However many messages count as recent, the result leaves: the README's
// example of ReMe keeps 2, and does nothing there.
func TestFreeDEF31AHugeResultLeavesHoweverRecent(t *testing.T) {
	in := []*schema.Message{system("You answer."), user("What does the file say?"), calls("c1"), result("c1", strings.Repeat("x", 100_000)), user("And in short?")}
	for _, recent := range []int{0, 1, 2, 10} {
		out, err := compacted(t, window(20_000), in, newShelf(), compaction.OffloadTools{Over: 2000, KeepRecent: recent, Preview: -1})
		require.NoError(t, err, recent)
		require.Equal(t, "s u a:c1 t:c1^ u", shapeOf(out.Messages), recent)
		for i := range in {
			if i != 3 {
				require.Same(t, in[i], out.Messages[i])
			}
		}
		require.Less(t, out.After.Tokens, 150)
	}
}
