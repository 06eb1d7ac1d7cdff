// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/test/testkit"
)

// paste is a message with a question at its beginning or its end, around n lines of a log.
func paste(n int, first, last string) string {
	line := "line %d: all is well.\n"
	if strings.Contains(first, "？") {
		line = "第 %d 行：一切正常。\n"
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String() + last
}

// A message that is larger than the window keeps its two ends, whoever asks how, and the rest can
// be read. What came before it stays as far as there is room.
func TestAPasteThatExceedsTheWindow(t *testing.T) {
	for _, c := range []struct{ name, first, last, headline string }{
		{"en", "Which pump failed in this log?", "Answer in one line.", "[This message is too long to be shown whole: about "},
		{"zh", "这份日志里哪台泵坏了？", "请用一句话回答。", "[这条消息太长，无法完整显示：约 "},
	} {
		s := newShelf(t)
		in := []*schema.Message{schema.SystemMessage("s"), user("hello"), reply("hi"), user(paste(6000, c.first, c.last))}
		out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}}, in, s)
		require.NoError(t, err, c.name)
		require.Equal(t, in[:3], out.Messages[:3], "%s: it alone is shortened", c.name)
		last := out.Messages[3].Content
		require.True(t, strings.HasPrefix(last, c.headline), "%s: %.200s", c.name, last)
		require.Contains(t, last, c.first)
		require.True(t, strings.HasSuffix(last, c.last), c.name)
		require.Contains(t, last, "grep_working_memory")
		require.Equal(t, in[3:], s.held(t, out.Messages[3]))
		require.InDelta(t, out.After.Limit/2, out.After.Tokens, float64(out.After.Limit)/20, "half of the window is for the work")
		require.True(t, einox.DecodeOne(out.Messages[3]).Asks(), "it is the user's message as before")
	}
}

// The agent goes on with tools, and in later turns. The message is archived once, and a large
// result still leaves by itself.
func TestARoundGoesOnAfterAPaste(t *testing.T) {
	s := newShelf(t)
	cfg := &compaction.Config{Budget: compaction.Budget{Window: 8000}}
	now := []*schema.Message{user(paste(6000, "Which pump failed?", ""))}
	for n := range 6 {
		out, err := compactedWith(t, cfg, now, s)
		require.NoError(t, err)
		id := fmt.Sprint("c", n)
		now = append(out.Messages, calls(id), result(id, long(3000)))
	}
	out, err := compactedWith(t, cfg, append(now, reply("pump 7"), user(paste(6000, "And in this one?", ""))), s)
	require.NoError(t, err)
	require.Contains(t, out.Messages[len(out.Messages)-1].Content, "And in this one?")
}

// A newest exchange that needs more than half of the window takes it from a paste.
func TestAPasteBecomesShorterStill(t *testing.T) {
	s := newShelf(t)
	cfg := &compaction.Config{Budget: compaction.Budget{Window: 8000}}
	out, err := compactedWith(t, cfg, []*schema.Message{user(paste(6000, "Which pump failed?", "Answer in one line."))}, s)
	require.NoError(t, err)
	asked := schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "write", Arguments: fmt.Sprintf("{\"text\":%q}", long(5000))}}})
	out, err = compactedWith(t, cfg, append(out.Messages, asked, result("c", "written")), s)
	require.NoError(t, err)
	last := out.Messages[0].Content
	require.Contains(t, last, "Which pump failed?")
	require.True(t, strings.HasSuffix(last, "Answer in one line."), last)
	require.Contains(t, last, "grep_working_memory")
	require.Len(t, s.held(t, out.Messages[0]), 1)
}

// A long system prompt costs the past, and never the user's own words where they fit.
func TestAQuestionUnderALongPromptStaysWhole(t *testing.T) {
	full, err := compaction.Budget{Window: 8000}.WithDefaults()
	require.NoError(t, err)
	prompt := schema.SystemMessage(strings.Repeat("abc ", full.Limit()*9/10))
	for full.Usage([]*schema.Message{prompt}).Tokens > full.Limit()*9/10 {
		prompt.Content = prompt.Content[:len(prompt.Content)*99/100]
	}
	in := []*schema.Message{prompt, user(paste(100, "old", "")), reply("noted"), user(paste(20, "Which pump failed?", "Answer in one line."))}
	out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}}, in, newShelf(t))
	require.NoError(t, err)
	require.Equal(t, in[3], out.Messages[len(out.Messages)-1])
}

// Several long messages of one turn are shortened, the largest first.
func TestPastesOfOneTurn(t *testing.T) {
	of := func(n int, text string) *schema.Message { return marked(paste(n, text, ""), einox.Mark{Turn: "t1"}) }
	in := []*schema.Message{of(6000, "first"), of(10, "second"), of(9000, "third")}
	out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}}, in, newShelf(t))
	require.NoError(t, err)
	require.Equal(t, in[1], out.Messages[1])
	require.Contains(t, out.Messages[0].Content, "first")
	require.Contains(t, out.Messages[2].Content, "third")
}

// What is private is shown to no other model and stays out of the archive; so does all of a
// request without an archive. Both are shortened all the same.
func TestAPasteThatIsKeptNowhere(t *testing.T) {
	var asked []string
	cfg := &compaction.Config{Budget: compaction.Budget{Window: 8000}, Steps: compaction.Default(noting(&asked, 0))}
	private := []*schema.Message{marked(paste(6000, "my secret", ""), einox.Mark{Private: einox.Private})}
	archive := newShelf(t)
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	out, err := c.Compact(t.Context(), &compaction.Request{Messages: private, Archive: archive})
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "The rest is kept nowhere.]\nmy secret")
	require.Equal(t, einox.Private, einox.MarkOf(out.Messages[0]).Private)
	require.Zero(t, archive.puts())
	require.Empty(t, asked)
	again, err := c.Compact(t.Context(), &compaction.Request{Messages: out.Messages, Archive: archive})
	require.NoError(t, err)
	require.Equal(t, out.Messages, again.Messages)

	out, err = compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}}, []*schema.Message{user(paste(6000, "q", ""))}, nil)
	require.NoError(t, err)
	require.Contains(t, out.Messages[0].Content, "The rest is kept nowhere.]\nq")
}

// A paste beside a picture is shortened in its text alone, also again where the context is full.
func TestAPictureBesideAPasteStays(t *testing.T) {
	url, m := "https://example.com/a.png", user("")
	picture := schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}
	m.UserInputMultiContent = []schema.MessageInputPart{picture, {Type: schema.ChatMessagePartTypeText, Text: paste(6000, "Which line is this?", "Thank you.")}}
	archive := newShelf(t)
	for _, window := range []int{8000, 4000} {
		out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: window}}, []*schema.Message{m}, archive)
		require.NoError(t, err)
		require.Len(t, out.Messages, 1)
		require.Empty(t, out.Messages[0].Content, "servers take a text or parts")
		parts := out.Messages[0].UserInputMultiContent
		require.Len(t, parts, 2)
		require.Equal(t, picture, parts[1])
		require.Contains(t, parts[0].Text, "Which line is this?")
		require.Contains(t, parts[0].Text, "Thank you.")
		m = out.Messages[0]
	}
	require.Equal(t, 1, archive.puts(), "the whole message is kept once")
}

// A system prompt stays as it is: such a context is over its budget.
func TestInputThatStays(t *testing.T) {
	for _, in := range [][]*schema.Message{{schema.SystemMessage(paste(6000, "", "")), user("q")}} {
		out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}}, in, newShelf(t))
		require.ErrorAs(t, err, new(*compaction.OverError))
		require.Equal(t, in, out.Messages)
	}
}

// noting is a model that keeps each line about a failure that it reads, with its own former notes.
func noting(asked *[]string, fail int) model.BaseChatModel {
	return testkit.New(func(ctx context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		*asked = append(*asked, in[0].Content+"\n"+in[len(in)-1].Content)
		if len(*asked) == fail {
			return testkit.Fail(backends.ErrUnavailable)(ctx, in, o)
		}
		_, material, _ := strings.Cut(in[len(in)-1].Content, "</request>")
		var a answer
		for pump := range 10 {
			if line := fmt.Sprintf("pump %d failed", pump); strings.Contains(material, line) {
				a.Facts = append(a.Facts, line)
			}
		}
		return a.reply()(ctx, in, o)
	})
}

// A model reads the whole message in pieces. Each question has the request and the notes so far,
// and fits the window; what was found in any piece stands in the message.
func TestAPasteIsReadInPieces(t *testing.T) {
	text := strings.NewReplacer("line 1500: all is well", "pump 7 failed", "line 4400: all is well", "pump 2 failed").Replace(paste(6000, "Which pumps failed in this log?", "Thank you."))
	var asked []string
	s := newShelf(t)
	budget := compaction.Budget{Window: 8000}
	cfg := &compaction.Config{Budget: budget, Steps: compaction.Default(noting(&asked, 0))}
	in := []*schema.Message{user("hello"), reply("hi"), user(text)}
	out, err := compactedWith(t, cfg, in, s)
	require.NoError(t, err)
	require.Equal(t, in[:2], out.Messages[:2])
	require.Contains(t, out.Messages[2].Content, "Notes of a model that read it for this request, piece by piece:\n> ## Facts and decisions\n> - pump 2 failed\n> - pump 7 failed")
	require.NotContains(t, out.Messages[2].Content, "It read ")
	require.Equal(t, len(asked), out.Usage.ModelCalls)
	full, err := budget.WithDefaults()
	require.NoError(t, err)
	for i, q := range asked {
		require.Less(t, compaction.Estimate(q), full.Limit(), "question %d", i)
		require.Contains(t, q, "Which pumps failed in this log?")
	}
	require.Contains(t, asked[len(asked)-1], "pump 7 failed", "the notes come along")

	again, err := compactedWith(t, cfg, in, s)
	require.NoError(t, err)
	require.Equal(t, said(out.Messages, true), said(again.Messages, true))
}

func TestAQuestionBesideAPasteIsPartOfTheRequest(t *testing.T) {
	var asked []string
	cfg := &compaction.Config{Budget: compaction.Budget{Window: 8000}, Steps: compaction.Default(noting(&asked, 0))}
	_, err := compactedWith(t, cfg, []*schema.Message{user("Which pumps failed?"), user(paste(6000, "log", "end"))}, newShelf(t))
	require.NoError(t, err)
	require.NotEmpty(t, asked)
	for _, q := range asked {
		require.Contains(t, q, "Which pumps failed?")
	}
}

// Where the model fails, or the message has too many pieces, the notes say how far they reach.
func TestAPasteIsReadInPart(t *testing.T) {
	text := strings.Replace(paste(6000, "Which pumps failed?", ""), "line 10: all is well", "pump 7 failed", 1)
	for name, c := range map[string]struct{ fail, most int }{"a failure": {2, 0}, "a bound": {0, 1}} {
		var asked []string
		out, err := compactedWith(t, &compaction.Config{Budget: compaction.Budget{Window: 8000}, Steps: []compaction.Step{compaction.ShortenInput{Model: noting(&asked, c.fail), MaxPieces: c.most}}}, []*schema.Message{user(text)}, newShelf(t))
		require.NoError(t, err, name)
		require.Contains(t, out.Messages[0].Content, "pump 7 failed", name)
		require.Regexp(t, `\(It read 1 of \d+ pieces\.\)`, out.Messages[0].Content, name)
		require.Equal(t, c.fail > 0, out.Steps[0].Err != nil, name)
	}
}

func TestShortenInputSettings(t *testing.T) {
	for _, s := range []compaction.ShortenInput{{MaxPieces: -1}, {Window: -1}} {
		_, err := compaction.New(&compaction.Config{Budget: window(100), Steps: []compaction.Step{s}})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}
