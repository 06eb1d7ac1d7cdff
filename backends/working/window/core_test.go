// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/backends/working/window"
	"github.com/einomem/einomem/internal/einox"
)

// absent is a store of records that can be made to fail.
type absent struct {
	store.Records
	err error
}

func (a *absent) Get(ctx context.Context, p backends.Partition, ids ...string) ([]store.Record, error) {
	if a.err != nil {
		return nil, a.err
	}
	return a.Records.Get(ctx, p, ids...)
}

// withCore is a window with one core block of the user, and the store it is in.
func withCore(t *testing.T, tokens int) (*world, *core.Blocks, *absent) {
	t.Helper()
	all := sqlite(t)
	records := &absent{Records: all}
	blocks, err := core.New(&core.Config{Records: records, Blocks: []core.Block{{Name: "human", Initial: "Ann."}}})
	require.NoError(t, err)
	return newWorld(t, tokens, func(c *window.Config) { c.Sessions, c.Core = all, blocks }), blocks, records
}

func cores(messages []*schema.Message) (at []int) {
	for i, m := range messages {
		if einox.IsCore(m) {
			at = append(at, i)
		}
	}
	return at
}

func TestCoreBlocksStandBehindTheSystemPrompt(t *testing.T) {
	x, _, _ := withCore(t, 8000)
	res := x.fit(schema.SystemMessage("a"), schema.SystemMessage("b"), schema.UserMessage("hi"))
	require.Equal(t, []int{2}, cores(res.Messages))
	require.Contains(t, res.Messages[2].Content, "Ann.")
	res = x.fit(schema.UserMessage("hi"))
	require.Equal(t, []int{0}, cores(res.Messages))
	x.fine()
}

func TestAnEditedBlockIsShownOnceAndNew(t *testing.T) {
	x, blocks, _ := withCore(t, 8000)
	ctx := context.Background()
	first := x.fit(schema.SystemMessage("a"), schema.UserMessage("hi")).Messages
	same := x.fit(first...).Messages
	require.Same(t, first[1], same[1], "the prompt's cache is kept as long as nothing changes")

	_, err := blocks.Append(ctx, &core.Edit{Scope: ann, Block: "human", Text: "Likes tea."})
	require.NoError(t, err)
	grown := append(append([]*schema.Message{}, first...), schema.AssistantMessage("noted", nil), schema.UserMessage("and now?"))
	second := x.fit(grown...).Messages
	require.Equal(t, []int{1}, cores(second))
	require.Contains(t, second[1].Content, "Likes tea.")
	require.NotContains(t, first[1].Content, "Likes tea.", "what was shown before is not changed")

	// A copy that somebody left behind is none too many.
	twice := append(append([]*schema.Message{}, second...), second[1])
	require.Equal(t, []int{1}, cores(x.fit(twice...).Messages))
	x.fine()
}

func TestCoreBlocksStayWhenTheContextShrinks(t *testing.T) {
	x, _, _ := withCore(t, 1500)
	messages := task(0, 0)
	for n := range 20 {
		messages = x.fit(append(messages, reading(n, 80)...)...).Messages
		require.Equal(t, []int{1}, cores(messages))
	}
	full, err := x.Restore(context.Background(), ann, messages)
	require.NoError(t, err)
	require.Equal(t, []int{1}, cores(full), "no archive has a copy")
}

func TestAStoreOfCoreBlocksThatIsAwayLeavesThemAsTheyWere(t *testing.T) {
	x, _, records := withCore(t, 8000)
	shown := x.fit(schema.UserMessage("hi")).Messages
	records.err = backends.ErrUnavailable
	require.Equal(t, shown, x.fit(shown...).Messages, "as it was")
	require.Empty(t, cores(x.fit(schema.UserMessage("hi")).Messages), "left out")
	stages, errs := x.told()
	require.Equal(t, []string{window.StageCompact, window.StageCompact}, stages)
	require.ErrorIs(t, errs[0], backends.ErrUnavailable)
	require.Contains(t, errs[0].Error(), "core blocks")
}

// A context that passes from one user to another does not take the first one's
// blocks along.
func TestCoreBlocksOfSomebodyElseAreReplaced(t *testing.T) {
	x, blocks, _ := withCore(t, 8000)
	ctx := context.Background()
	_, err := blocks.Append(ctx, &core.Edit{Scope: ann, Block: "human", Text: "Ann's secret."})
	require.NoError(t, err)
	shown := x.fit(schema.UserMessage("hi")).Messages
	require.Contains(t, shown[0].Content, "Ann's secret.")
	res, err := x.Fit(ctx, backends.Scope{UserID: "bob"}, shown)
	require.NoError(t, err)
	require.Equal(t, []int{0}, cores(res.Messages))
	require.NotContains(t, res.Messages[0].Content, "Ann's secret.")

	res, err = x.Fit(ctx, backends.Scope{Workspace: "acme"}, shown)
	require.NoError(t, err)
	require.Empty(t, cores(res.Messages), "a workspace has no block of a user")
}

func TestWithoutAScopeThereAreNoCoreBlocks(t *testing.T) {
	x, _, _ := withCore(t, 8000)
	res, err := x.Fit(context.Background(), backends.Scope{}, []*schema.Message{schema.UserMessage("hi")})
	require.NoError(t, err)
	require.Len(t, res.Messages, 1)
}

// What the blocks take is what is kept free for memories; the rest counts.
func TestCoreBlocksCountAgainstTheBudget(t *testing.T) {
	x, blocks, _ := withCore(t, 800)
	_, err := blocks.Append(context.Background(), &core.Edit{Scope: ann, Block: "human", Text: strings.Repeat("tea ", 400)})
	require.NoError(t, err)
	res := x.fit(append(task(10, 40), schema.AssistantMessage("read", nil), schema.UserMessage("and now?"))...)
	require.Equal(t, []int{1}, cores(res.Messages))
	require.Greater(t, x.Usage(res.Messages[1:2]).Tokens, 400)
}
