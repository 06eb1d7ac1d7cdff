// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
)

func note(text string) *schema.Message {
	m := schema.UserMessage(text)
	einox.MarkNote(m)
	return m
}

func TestAppendKeepsWhatWasSaid(t *testing.T) {
	w := newWorld(t)
	url := "https://example.com/cat.png"
	image := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "my cat"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}})
	when := epoch.Add(-time.Hour)
	w.append(&working.Turn{Scope: ann, ID: "t", First: 3, Time: when, Done: true, Messages: []*schema.Message{
		schema.SystemMessage("be kind"), note("remembered"), nil, schema.UserMessage(""), image, call,
		schema.ToolMessage("", "c1"), schema.AssistantMessage("a cat", nil), schema.AssistantMessage("", nil),
	}})

	got := w.entries(ann)
	require.Len(t, got, 4)
	assert.Equal(t, []string{"t-7", "t-8", "t-9", "t-10"}, []string{got[0].ID, got[1].ID, got[2].ID, got[3].ID}, "ids are positions in the turn")
	assert.Equal(t, image.UserInputMultiContent, got[0].UserInputMultiContent)
	assert.Equal(t, call.ToolCalls, got[1].ToolCalls)
	assert.Equal(t, []bool{false, false, false, true}, []bool{got[0].Done, got[1].Done, got[2].Done, got[3].Done})
	for _, e := range got {
		assert.Equal(t, "t", e.Turn)
		assert.Equal(t, when, e.Time)
		assert.Equal(t, compaction.Estimate.Message(e.Message.Message), e.Tokens)
	}
	assert.Equal(t, ann, w.session(ann).Scope)
}

func TestAppendOfTheSameMessagesIsHarmless(t *testing.T) {
	w := newWorld(t)
	question := &working.Turn{Scope: ann, ID: "t", Messages: []*schema.Message{schema.UserMessage("hi")}}
	answer := &working.Turn{Scope: ann, ID: "t", First: 1, Done: true, Messages: []*schema.Message{schema.AssistantMessage("hello", nil)}}
	w.append(question, question, answer, answer, question)
	assert.Len(t, w.entries(ann), 2)
	assert.Len(t, w.consolidate(ann).Items, 2)
}

func TestAppendDefaults(t *testing.T) {
	w := newWorld(t, func(w *world) { w.cfg.IDs = ids("new"); w.cfg.TTL = time.Hour })
	turn := say("", backends.Scope{AgentID: " bot "})
	w.append(turn)
	bot := backends.Scope{AgentID: "bot"}
	got := w.entries(bot)
	require.Len(t, got, 2)
	assert.Equal(t, "new-2-0", got[0].ID, "new-1 is the Memory itself")
	assert.Equal(t, epoch, got[0].Time)
	assert.Equal(t, epoch.Add(time.Hour), w.session(bot).Expires)
	assert.Empty(t, turn.ID, "the caller's turn is not changed")
}

func TestDoneWithoutMessagesCompletesTheTurn(t *testing.T) {
	w := newWorld(t)
	open := say("t", ann)
	open.Done = false
	w.append(open)
	assert.Empty(t, w.consolidate(ann).Items)
	end := &working.Turn{Scope: ann, ID: "t", First: 2, Done: true, Messages: []*schema.Message{note("n")}}
	w.append(end, end, &working.Turn{Scope: ann, Done: true}, &working.Turn{Scope: ann, ID: "other"})
	assert.Len(t, w.consolidate(ann).Items, 2)
	assert.Equal(t, [][]string{{"t-0", "t-1"}}, w.back.stored(), "the mark itself is not offered")
	s := w.session(ann)
	assert.Equal(t, s.LastSeq, s.Watermark)
	assert.EqualValues(t, 3, s.LastSeq)
}

func TestRedactRunsOnEveryTextThatIsStored(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "4711", "[pin]") }
	})
	full := &schema.Message{
		Role: schema.Assistant, Content: "4711", ReasoningContent: "is it 4711?", Extra: map[string]any{"raw": func() {}},
		ToolCalls:                []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "f", Arguments: `{"pin":"4711"}`}, Extra: map[string]any{"x": make(chan int)}}},
		AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "out 4711"}},
		ResponseMeta:             &schema.ResponseMeta{FinishReason: "4711"},
	}
	old := &schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{{Type: schema.ChatMessagePartTypeText, Text: "old 4711"}}}
	in := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "in 4711"}}}
	turn := &working.Turn{Scope: ann, ID: "t", Done: true, Messages: []*schema.Message{in, old, full, schema.ToolMessage("4711", "c")}}
	w.append(turn)
	require.NoError(t, w.mem.SaveOpenTurn(t.Context(), ann, "cp", turn))

	p, _ := ann.Speaker()
	blob, err := w.db.GetBlob(t.Context(), p, "s1", "open-turn/cp")
	require.NoError(t, err)
	assert.NotContains(t, string(blob), "4711")
	for _, e := range w.entries(ann) {
		assert.NotContains(t, e.String(), "4711")
		assert.NotContains(t, e.ReasoningContent, "4711")
		assert.Nil(t, e.Extra)
		assert.Nil(t, e.ResponseMeta)
	}
	assert.Equal(t, "4711", full.Content, "the agent's own messages are not changed")
	assert.Equal(t, `{"pin":"4711"}`, full.ToolCalls[0].Function.Arguments)
	assert.Equal(t, "in 4711", in.UserInputMultiContent[0].Text)
}

func TestTextsThatNoStoreTakesDoNotCostTheTurn(t *testing.T) {
	w := newWorld(t)
	var got []store.Entry
	enough := errors.New("seen enough")
	w.log.before = func(_ string, arg any) error { got = arg.(*store.Append).Entries; return enough }
	long := strings.Repeat("界", store.MaxText/3+5)
	err := w.mem.Append(t.Context(), &working.Turn{Scope: ann, ID: "t", Done: true, Messages: []*schema.Message{
		schema.UserMessage("broken \xff byte"), schema.ToolMessage(long, "c"),
	}})
	require.ErrorIs(t, err, enough)
	require.Len(t, got, 2)
	assert.Equal(t, "broken \uFFFD byte", got[0].Content)
	assert.Len(t, got[1].Content, store.MaxText/3*3, "cut between characters")
	assert.True(t, strings.HasPrefix(long, got[1].Content))
}

func TestTurnsThatCanNeverBeAppended(t *testing.T) {
	w := newWorld(t)
	unencodable := schema.UserMessage("")
	unencodable.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "x", Extra: map[string]any{"f": func() {}}}}
	for name, tc := range map[string]struct {
		turn *working.Turn
		want error
	}{
		"none":           {nil, backends.ErrInvalid},
		"nobody":         {say("t", backends.Scope{SessionID: "s"}), backends.ErrNoScope},
		"only workspace": {say("t", backends.Scope{Workspace: "w"}), backends.ErrNoScope},
		"bad session":    {say("t", backends.Scope{UserID: "ann", SessionID: "*"}), backends.ErrInvalid},
		"long id":        {say(strings.Repeat("x", 600), ann), backends.ErrInvalid},
		"negative first": {&working.Turn{Scope: ann, First: -1}, backends.ErrInvalid},
		"unencodable":    {&working.Turn{Scope: ann, Messages: []*schema.Message{unencodable}}, backends.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, w.mem.Append(t.Context(), tc.turn), tc.want)
			require.ErrorIs(t, w.mem.Record(t.Context(), tc.turn), tc.want)
		})
	}
	assert.Zero(t, w.mem.Stats().Queued)
}
