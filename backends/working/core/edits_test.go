// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/core"
)

func TestAppend(t *testing.T) {
	b := one(t, 30)
	for _, step := range []struct{ text, want string }{
		{"likes tea", "likes tea"},
		{"\n\n  - a\r\n  - b \n", "likes tea\n  - a\n  - b"},
		{"安", "likes tea\n  - a\n  - b\n安"},
	} {
		v, err := appendTo(b, "human", step.text)
		require.NoError(t, err)
		assert.Equal(t, step.want, v.Text)
		assert.Equal(t, map[string]string{"human": step.want}, held(t, b, ann))
	}
	for _, blank := range []string{"", " \n\t", "\xff"} {
		_, err := appendTo(b, "human", blank)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestAppendBuildsOnTheInitialText(t *testing.T) {
	b := blocksOn(t, openStore(t))
	v, err := appendTo(b, "persona", "I am kind.")
	require.NoError(t, err)
	assert.Equal(t, "I am helper.\nI am kind.", v.Text)
	_, err = replaceIn(b, "persona", "I am helper.\n", "")
	require.NoError(t, err)
	assert.Equal(t, "I am kind.", held(t, b, ann)["persona"])
	_, err = replaceIn(b, "persona", "I am kind.", "")
	require.NoError(t, err)
	assert.Empty(t, held(t, b, ann)["persona"], "an empty block is not one that nobody has written")
}

func TestReplace(t *testing.T) {
	for name, c := range map[string]struct {
		text, old, new, want string
		count                int
		more                 bool
	}{
		"once":                      {text: "lives in Rome", old: "Rome", new: "Oslo", want: "lives in Oslo"},
		"deletes":                   {text: "a\nb\nc", old: "b\n", want: "a\nc"},
		"everything":                {text: "a", old: "a", want: ""},
		"not there":                 {text: "lives in Rome", old: "rome"},
		"twice":                     {text: "tea, tea", old: "tea", count: 2},
		"overlapping":               {text: "aaa", old: "aa", count: 2},
		"very often":                {text: strings.Repeat("a", 500), old: "a", count: 100, more: true},
		"as shown":                  {text: "x < 3", old: "x &lt; 3", new: "x < 4", want: "x < 4"},
		"as held, though shown too": {text: "&lt; <", old: "<", new: "", want: "&lt; "},
		"shown twice":               {text: "a< a＜", old: "a&lt;", count: 2},
		"within what is shown":      {text: "a<b", old: "lt"},
		"invisible":                 {text: "a\u200bb", old: "ab", new: "c", want: "c"},
		"invisible alone":           {text: "ab", old: "\u200b"},
		"windows":                   {text: "a\nb", old: "a\r\nb", new: "c\r\nd", want: "c\nd"},
		"like a pattern":            {text: "a.b $1", old: ".b $1", new: "$0\\1", want: "a$0\\1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := one(t, 500)
			set(t, b, ann, "human", c.text)
			v, err := replaceIn(b, "human", c.old, c.new)
			var match *core.MatchError
			if c.want == "" && c.text != c.old {
				require.ErrorAs(t, err, &match)
				require.ErrorIs(t, err, backends.ErrInvalid)
				assert.Equal(t, core.MatchError{Block: "human", Count: c.count, More: c.more, Text: c.text}, *match)
				assert.Equal(t, c.text, held(t, b, ann)["human"])
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, v.Text)
			assert.Equal(t, c.want, held(t, b, ann)["human"])
		})
	}
	_, err := replaceIn(one(t, 10), "human", "", "x")
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestLimitIsInRunesAndRefusedWhole(t *testing.T) {
	b := one(t, 5)
	_, err := appendTo(b, "human", "安住在杭州")
	require.NoError(t, err, "15 bytes are 5 runes")
	_, err = appendTo(b, "human", "!")
	var limit *core.LimitError
	require.ErrorAs(t, err, &limit)
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Equal(t, core.LimitError{Block: "human", Limit: 5, Size: 5, Asked: 7}, *limit)
	assert.Contains(t, err.Error(), "7 characters")
	assert.Contains(t, err.Error(), "nothing was changed")
	_, err = replaceIn(b, "human", "州", "州!")
	require.ErrorAs(t, err, &limit)
	_, err = b.Set(t.Context(), &core.SetRequest{Scope: ann, Block: "human", Text: "123456", Version: core.AnyVersion})
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, "安住在杭州", held(t, b, ann)["human"])
	v, err := replaceIn(b, "human", "杭州", "京")
	require.NoError(t, err)
	assert.Equal(t, 1, v.Room())
}

// A limit that was lowered later does not lock the block.
func TestTooLongTextCanBecomeShorter(t *testing.T) {
	st := openStore(t)
	lowered := func(n int) func(*core.Config) {
		return func(c *core.Config) { c.Blocks = []core.Block{{Name: "human", Limit: n}} }
	}
	set(t, blocksOn(t, st, lowered(20)), ann, "human", "one two three four")
	b := blocksOn(t, st, lowered(5))
	v, err := replaceIn(b, "human", "three ", "")
	require.NoError(t, err)
	assert.Equal(t, "one two four", v.Text)
	assert.Zero(t, v.Room())
	_, err = replaceIn(b, "human", "four", "FOUR")
	require.ErrorAs(t, err, new(*core.LimitError))
}

func TestReadOnlyIsForTheAgentAlone(t *testing.T) {
	b := blocksOn(t, openStore(t))
	office := ann
	office.Workspace = "office"
	set(t, b, office, "house_rules", "be kind")
	_, err := b.Append(t.Context(), &core.AppendRequest{Scope: office, Block: "house_rules", Text: "or not"})
	require.ErrorAs(t, err, new(*core.ReadOnlyError))
	require.ErrorIs(t, err, backends.ErrInvalid)
	_, err = b.Replace(t.Context(), &core.ReplaceRequest{Scope: office, Block: "house_rules", Old: "kind", New: "rude"})
	require.ErrorAs(t, err, new(*core.ReadOnlyError))
	assert.Equal(t, "be kind", held(t, b, office)["house_rules"])
}

func TestSetComparesVersions(t *testing.T) {
	b := one(t, 100)
	put := func(text string, version int64) (*core.Value, error) {
		return b.Set(t.Context(), &core.SetRequest{Scope: ann, Block: "human", Text: text, Version: version})
	}
	first, err := put("one", 0)
	require.NoError(t, err)
	_, err = put("two", 0)
	require.ErrorIs(t, err, backends.ErrConflict)
	second, err := put("two", first.Version)
	require.NoError(t, err)
	_, err = put("three", first.Version)
	require.ErrorIs(t, err, backends.ErrConflict)
	values, err := b.Get(t.Context(), ann)
	require.NoError(t, err)
	assert.Equal(t, []core.Value{*second}, values, "what an edit returns is what is read")
	_, err = put("four", core.AnyVersion)
	require.NoError(t, err)
	assert.Equal(t, "four", held(t, b, ann)["human"])
}

func TestUnknownBlocks(t *testing.T) {
	b := blocksOn(t, openStore(t))
	for _, name := range []string{"", "Human", "human/s1", "core/user/human"} {
		_, err := appendTo(b, name, "x")
		var unknown *core.UnknownError
		require.ErrorAs(t, err, &unknown)
		require.ErrorIs(t, err, backends.ErrNotFound)
		assert.Equal(t, []string{"persona", "human", "house_rules", "task"}, unknown.Known)
		_, err = b.History(t.Context(), ann, name)
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
}

func TestRepeatedCallsWithAKeyChangeNothing(t *testing.T) {
	b := one(t, 10)
	ctx := t.Context()
	grow := &core.AppendRequest{Scope: ann, Block: "human", Text: "123456", IdempotencyKey: "a"}
	swap := &core.ReplaceRequest{Scope: ann, Block: "human", Old: "123456", New: "x", IdempotencyKey: "r"}
	for i := range 2 { // the second time there is no room
		v, err := b.Append(ctx, grow)
		require.NoError(t, err)
		assert.Equal(t, i == 1, v.Replayed)
		assert.Equal(t, "123456", v.Text)
	}
	for range 2 { // the second time there is nothing to replace
		v, err := b.Replace(ctx, swap)
		require.NoError(t, err)
		assert.Equal(t, "x", v.Text)
	}
	v, err := b.Append(ctx, grow)
	require.NoError(t, err)
	assert.Equal(t, "x", v.Text)
	assert.True(t, v.Replayed)

	again := *swap
	again.IdempotencyKey = "other"
	for range 2 { // asking whether it was done uses no key up
		_, err = b.Replace(ctx, &again)
		require.ErrorAs(t, err, new(*core.MatchError))
	}
	set(t, b, ann, "human", "123456")
	_, err = b.Replace(ctx, &again)
	require.NoError(t, err)
}

func TestRedactorRunsBeforeStoring(t *testing.T) {
	redact := func(c *core.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "***") }
	}
	b := one(t, 100, redact)
	v, err := appendTo(b, "human", "pw hunter2")
	require.NoError(t, err)
	assert.Equal(t, "pw ***", v.Text)
	_, err = appendTo(b, "human", "hun")
	require.NoError(t, err)
	v, err = replaceIn(b, "human", "\nhun", "hunter2hunhunter2ter2")
	require.NoError(t, err)
	assert.Equal(t, "pw ******hun***ter2", v.Text)
	v, err = replaceIn(b, "human", "***ter2", "ter2")
	require.NoError(t, err)
	assert.Equal(t, "pw *********", v.Text, "what only the whole tells")
	assert.NotContains(t, set(t, b, ann, "human", "hunter2").Text, "hunter2")
	events, err := b.History(t.Context(), ann, "human")
	require.NoError(t, err)
	for _, e := range events {
		assert.NotContains(t, e.Old+e.New, "hunter2")
	}
}

// A redactor that finds something in its own output is not run over it again.
func TestRedactorThatIsNotIdempotent(t *testing.T) {
	redact := func(c *core.Config) {
		c.Redact = func(s string) string { return strings.ReplaceAll(s, "secret", "[secret removed]") }
	}
	b := one(t, 100, redact)
	for _, text := range []string{"a secret", "b", "c secret"} {
		_, err := appendTo(b, "human", text)
		require.NoError(t, err)
	}
	assert.Equal(t, "a [secret removed]\nb\nc [secret removed]", held(t, b, ann)["human"])
}

func TestFailuresOfTheStoreAreNoAnswers(t *testing.T) {
	st := openStore(t)
	b := blocksOn(t, st)
	require.NoError(t, st.Close())
	_, err := appendTo(b, "human", "x")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = replaceIn(b, "human", "x", "y")
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Get(context.Background(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Message(context.Background(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.DeleteSession(context.Background(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.History(context.Background(), ann, "human")
	require.False(t, err == nil || errors.Is(err, backends.ErrNotFound))
}
