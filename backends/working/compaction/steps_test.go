// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/transcript"
	"github.com/einomem/einomem/internal/transcript/drawn"
)

// freeSteps are the steps without a model, also with sizes at which they act on
// anything.
var freeSteps = map[string]compaction.Step{
	"DropDerived":          compaction.DropDerived{},
	"OffloadTools":         compaction.OffloadTools{},
	"OffloadTools all":     compaction.OffloadTools{Over: 1, KeepRecent: 2, Preview: 5},
	"OffloadMessages":      compaction.OffloadMessages{},
	"OffloadMessages all":  compaction.OffloadMessages{Over: 1, Preview: 5},
	"ArchiveRounds":        compaction.ArchiveRounds{},
	"ArchiveRounds tight":  compaction.ArchiveRounds{Slack: -1},
	"ArchiveCurrent":       compaction.ArchiveCurrent{},
	"ArchiveCurrent tight": compaction.ArchiveCurrent{Slack: -1},
}

// anyHistory draws one of any sort and a budget that it may not fit.
func anyHistory(t *rapid.T) ([]*schema.Message, budget.Budget) {
	h := transcript.New(drawn.Source(t), &transcript.Shape{Broken: rapid.Bool().Draw(t, "broken"), Tokens: 1500})
	b := window(rapid.IntRange(1, 1500).Draw(t, "limit"))
	if rapid.Bool().Draw(t, "memories") {
		b.Memories = 40
		b.Window += 40
	}
	return h.Messages, b
}

// Each step alone and each pair, in both orders, on any history: what compacted
// checks, and that nothing is done twice.
func TestStepsAloneAndInPairs(t *testing.T) {
	names := slices.Sorted(maps.Keys(freeSteps))
	rapid.Check(t, func(t *rapid.T) {
		messages, b := anyHistory(t)
		first := rapid.SampledFrom(names).Draw(t, "first")
		second := rapid.SampledFrom(names).Draw(t, "second")
		once, err := stable(t, b, messages, newShelf(), freeSteps[first])
		if err == nil {
			return
		}
		require.ErrorIs(t, err, budget.ErrOver)
		both, _ := stable(t, b, messages, newShelf(), freeSteps[first], freeSteps[second])
		require.LessOrEqual(t, both.After.Tokens, once.After.Tokens, "the second step made it larger")
		require.Equal(t, once.Steps[0], both.Steps[0])
	})
}

func TestFreeStepsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, b := anyHistory(t)
		_, err := stable(t, b, messages, newShelf(), rapid.Permutation(compaction.Free()).Draw(t, "order")...)
		if err != nil {
			require.ErrorIs(t, err, budget.ErrOver)
		}
	})
}

// stable compacts, and once more what came of it: that is left as it is when it
// fits, and the same comes of the same.
func stable(t require.TestingT, b budget.Budget, messages []*schema.Message, s *shelf, steps ...compaction.Step) (*compaction.Result, error) {
	out, err := compacted(t, b, messages, s, steps...)
	same, failure := compacted(t, b, messages, s, steps...)
	require.Equal(t, err, failure)
	require.Equal(t, dump(t, out.Messages), dump(t, same.Messages))
	if err == nil {
		puts := s.puts
		again, err := compacted(t, b, out.Messages, s, steps...)
		require.NoError(t, err)
		require.Equal(t, out.Messages, again.Messages)
		require.Empty(t, again.Steps)
		require.Equal(t, puts, s.puts)
	}
	return out, err
}

// An archive that fails now and then costs what it refused, and nothing else; one
// that always fails costs each step a bounded number of tries.
func TestStepsWithAFailingArchive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		messages, b := anyHistory(t)
		s := newShelf()
		refused := rapid.IntRange(0, 2).Draw(t, "refused")
		s.fails = func(messages []*schema.Message) error {
			if len(dump(t, messages))%3 == refused {
				return errFull
			}
			return nil
		}
		out, _ := compacted(t, b, messages, s, compaction.Free()...)
		failed := false
		for _, r := range out.Steps {
			if failed = failed || r.Err != nil; r.Err != nil {
				require.ErrorIs(t, r.Err, errFull)
			}
		}
		require.Equal(t, s.refusals > 0, failed, "what is refused is reported")

		s = newShelf()
		s.fails = func([]*schema.Message) error { return errFull }
		_, _ = compacted(t, b, messages, s, compaction.Free()...)
		require.Empty(t, s.held)
		require.LessOrEqual(t, s.puts, 4*16+3)
	})
}

// Nothing is replaced without an archive but notes, and every step that had
// something to do says why it did not.
func TestStepsWithoutAnArchive(t *testing.T) {
	in := append(append([]*schema.Message{user(long(3000)), thinks(reply("a"), long(100)), user("b")}, steps(0, 3, 3000)...), reply("c"))
	for name, step := range freeSteps {
		out, err := compacted(t, window(20), in, nil, step)
		require.ErrorIs(t, err, budget.ErrOver, name)
		require.Equal(t, in, out.Messages, name)
		require.ErrorIs(t, out.Steps[0].Err, compaction.ErrNoArchive, name)
		require.ErrorContains(t, out.Steps[0].Err, out.Steps[0].Step, name)
	}
	for name, step := range freeSteps {
		out, err := compacted(t, window(10), []*schema.Message{system(long(30)), user("b")}, nil, step)
		require.ErrorIs(t, err, budget.ErrOver, name)
		require.Equal(t, []compaction.Report{{Step: step.Name()}}, out.Steps, "%s: there was nothing to do", name)
	}
}

func TestStepsHaveNames(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range compaction.Free() {
		require.Regexp(t, `^[a-z]+(_[a-z]+)*$`, s.Name())
		require.False(t, seen[s.Name()], s.Name())
		seen[s.Name()] = true
	}
	require.Equal(t, "map[archive_current:true archive_rounds:true drop_derived:true offload_messages:true offload_tools:true]", fmt.Sprint(seen))
}
