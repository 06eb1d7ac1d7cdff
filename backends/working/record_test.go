// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
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
	"github.com/einomem/einomem/internal/test/testkit"
)

func note(text string) *schema.Message {
	m := schema.UserMessage(text)
	m = einox.Mark{Kind: einox.Note}.On(m)
	return m
}

func TestAppendKeepsWhatWasSaid(t *testing.T) {
	e := newEnv(t)
	url := "https://example.com/cat.png"
	image := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "my cat"},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}},
	}}
	call := schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}})
	when := e.clock.Now().Add(-time.Hour)
	e.append(&working.Turn{Scope: ann, ID: "t", First: 3, Time: when, Done: true, Messages: []*schema.Message{
		schema.SystemMessage("be kind"), note("remembered"), nil, schema.UserMessage(""), image, call,
		schema.ToolMessage("", "c1"), schema.AssistantMessage("a cat", nil), schema.AssistantMessage("", nil),
	}})
	got := e.entries(ann)
	require.Len(t, got, 4)
	for i, entry := range got {
		assert.Equal(t, fmt.Sprint("t-", 7+i), entry.ID, "ids are positions in the turn")
		assert.Equal(t, i == 3, entry.Done)
		assert.Equal(t, "t", entry.Turn)
		assert.Equal(t, when, entry.Time)
		assert.Equal(t, compaction.Estimate.Message(entry.Message.Message), entry.Tokens)
	}
	assert.Equal(t, image.UserInputMultiContent, got[0].UserInputMultiContent)
	assert.Equal(t, call.ToolCalls, got[1].ToolCalls)
	assert.Equal(t, ann, e.session(ann).Scope)
}

// What a model thinks aloud, and a call that it prints, is nothing that anybody said.
func TestThoughtsAreNotLogged(t *testing.T) {
	e := newEnv(t)
	calling := schema.AssistantMessage("<think>I read it.</think>", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f"}}})
	turn := &working.Turn{Scope: ann, ID: "t", Done: true, Messages: []*schema.Message{
		schema.UserMessage("<think> is a tag?"), calling, schema.ToolMessage("<think>", "c1"),
		schema.AssistantMessage("<think>Only this, and then cut off", nil),
		schema.AssistantMessage("<tool_call>{\"name\":\"f\"}</tool_call>", nil),
		schema.AssistantMessage("嗯。\n</think>\n\n是。`<think>` 是标签。", nil),
	}}
	e.append(turn)
	var got []string
	for _, entry := range e.entries(ann) {
		got = append(got, entry.ID+" "+entry.Content)
	}
	require.Equal(t, []string{"t-0 <think> is a tag?", "t-1 ", "t-2 <think>", "t-5 是。`<think>` 是标签。"}, got)
	require.Equal(t, "<think>I read it.</think>", calling.Content)
	for _, item := range e.consolidate(ann).Items {
		require.NotContains(t, item.Memory.Text, "嗯")
	}
}

func TestAppendingTheSameMessagesTwiceIsHarmless(t *testing.T) {
	e := newEnv(t)
	question := &working.Turn{Scope: ann, ID: "t", Messages: []*schema.Message{schema.UserMessage("hi")}}
	answer := &working.Turn{Scope: ann, ID: "t", First: 1, Done: true, Messages: []*schema.Message{schema.AssistantMessage("hello", nil)}}
	e.append(question, question, answer, answer, question)
	assert.Len(t, e.entries(ann), 2)
	assert.Len(t, e.consolidate(ann).Items, 2)
}

func TestAppendFillsInWhatTheTurnLeavesOut(t *testing.T) {
	ids := 0
	e := newEnv(t, func(e *env) {
		e.cfg.TTL = time.Hour
		e.cfg.IDs = func() string { ids++; return fmt.Sprint("new-", ids) }
	})
	turn := said("", backends.Scope{AgentID: " bot "})
	e.append(turn)
	bot := backends.Scope{AgentID: "bot"}
	got := e.entries(bot)
	require.Len(t, got, 2)
	assert.Equal(t, "new-2-0", got[0].ID, "new-1 is the Memory itself")
	assert.Equal(t, e.clock.Now(), got[0].Time)
	assert.Equal(t, e.clock.Now().Add(time.Hour), e.session(bot).Expires)
	assert.Empty(t, turn.ID, "the caller's turn is not changed")
}

func TestRedactRunsOnEveryTextThatIsStored(t *testing.T) {
	e := newEnv(t, func(e *env) {
		e.cfg.Redact = func(s string) string { return strings.ReplaceAll(s, "4711", "[pin]") }
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
	e.append(turn)
	require.NoError(t, e.mem.SaveOpenTurn(t.Context(), ann, "cp", turn))

	p, _ := ann.Speaker()
	blob, err := e.db.GetBlob(t.Context(), p, "s1", "open-turn/cp")
	require.NoError(t, err)
	assert.NotContains(t, string(blob), "4711")
	for _, entry := range e.entries(ann) {
		assert.NotContains(t, entry.String(), "4711")
		assert.NotContains(t, entry.ReasoningContent, "4711")
		assert.Nil(t, entry.Extra)
		assert.Nil(t, entry.ResponseMeta)
	}
	assert.Equal(t, "4711", full.Content, "the agent's own messages are not changed")
	assert.Equal(t, `{"pin":"4711"}`, full.ToolCalls[0].Function.Arguments)
	assert.Equal(t, "in 4711", in.UserInputMultiContent[0].Text)
}

func TestTextsThatNoStoreAcceptsDoNotCostTheTurn(t *testing.T) {
	e := newEnv(t)
	var got []store.Entry
	enough := errors.New("seen enough")
	e.log.Arm(func(c *testkit.StoreCall) error { got = c.Arg.(*store.Append).Entries; return enough })
	long := strings.Repeat("界", store.MaxText/3+5)
	turn := part("t", 0, true, "broken \xff byte", long, "and more")
	result := schema.ToolMessage(long, "call_1")
	turn.Messages = append(turn.Messages, schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Function: schema.FunctionCall{Name: "read"}}}), result)
	require.ErrorIs(t, e.mem.Append(t.Context(), turn), enough)
	require.Len(t, got, 4)
	assert.Equal(t, "broken \uFFFD byte", got[0].Content)
	assert.Equal(t, "and more", got[1].Content)
	assert.Equal(t, "t-2", got[1].ID)
	assert.Equal(t, "call_1", got[3].ToolCallID, "a call keeps its result")
	assert.Contains(t, got[3].Content, "16777230 bytes")
	for _, role := range []string{"user", "tool"} {
		err := <-e.errs
		require.ErrorIs(t, err, backends.ErrInvalid)
		require.ErrorContains(t, err, "append: invalid: a text of 16777230 bytes of role "+role)
	}
	require.Empty(t, e.errs)
	assert.Equal(t, long, result.Content, "the agent's own message is not changed")
}

func TestTurnsThatCanNeverBeAppendedAreRefused(t *testing.T) {
	e := newEnv(t)
	unencodable := schema.UserMessage("")
	unencodable.UserInputMultiContent = []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "x", Extra: map[string]any{"f": func() {}}}}
	for name, tc := range map[string]struct {
		turn *working.Turn
		want error
	}{
		"none":           {nil, backends.ErrInvalid},
		"no user":        {said("t", backends.Scope{SessionID: "s"}), backends.ErrNoScope},
		"only workspace": {said("t", backends.Scope{Workspace: "w"}), backends.ErrNoScope},
		"bad session":    {said("t", backends.Scope{UserID: "ann", SessionID: "*"}), backends.ErrInvalid},
		"long id":        {said(strings.Repeat("x", 600), ann), backends.ErrInvalid},
		"negative first": {&working.Turn{Scope: ann, First: -1}, backends.ErrInvalid},
		"unencodable":    {&working.Turn{Scope: ann, Messages: []*schema.Message{unencodable}}, backends.ErrInvalid},
	} {
		require.ErrorIs(t, e.mem.Append(t.Context(), tc.turn), tc.want, name)
		require.ErrorIs(t, e.mem.Record(t.Context(), tc.turn), tc.want, name)
	}
	assert.Zero(t, e.mem.Stats().Queued)
}

func TestDoneOnMessagesThatTheLogHolds(t *testing.T) {
	open, done := part("t", 0, false, "1", "2"), part("t", 0, true, "1", "2")
	alone := &working.Turn{Scope: ann, ID: "t", Done: true}
	other := part("u", 0, true, "x")
	for name, tc := range map[string]struct {
		turns []*working.Turn
		log   []string // ids, with a full stop behind those that end a turn
	}{
		"at once":                  {[]*working.Turn{done}, []string{"t-0", "t-1."}},
		"twice":                    {[]*working.Turn{done, done, alone, alone}, []string{"t-0", "t-1."}},
		"later":                    {[]*working.Turn{open, done, done, alone}, []string{"t-0", "t-1", "t-1done."}},
		"behind another turn":      {[]*working.Turn{open, other, done, done}, []string{"t-0", "t-1", "u-0.", "t-1done."}},
		"with a new end":           {[]*working.Turn{open, part("t", 0, true, "1", "2", "3"), done}, []string{"t-0", "t-1", "t-2."}},
		"with its beginning":       {[]*working.Turn{open, part("t", 0, true, "1")}, []string{"t-0", "t-1", "t-1done."}},
		"without its beginning":    {[]*working.Turn{part("t", 1, false, "2"), done}, []string{"t-1", "t-0", "t-0done."}},
		"before it goes on":        {[]*working.Turn{done, part("t", 2, false, "3"), alone, part("t", 3, false, "4"), alone}, []string{"t-0", "t-1.", "t-2", "t-2done.", "t-3", "t-3done."}},
		"of nothing":               {[]*working.Turn{alone, alone, other}, []string{"t-done.", "u-0."}},
		"before anything was said": {[]*working.Turn{alone, open, alone}, []string{"t-done.", "t-0", "t-1", "t-1done."}},
		"of notes":                 {[]*working.Turn{open, {Scope: ann, ID: "t", First: 2, Done: true, Messages: []*schema.Message{note("n")}}}, []string{"t-0", "t-1", "t-1done."}},
		"without an id":            {[]*working.Turn{done, {Scope: ann, Done: true}, {Scope: ann, ID: "v"}}, []string{"t-0", "t-1."}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.append(tc.turns...)
			var log []string
			for _, entry := range e.entries(ann) {
				if entry.Done {
					entry.ID += "."
				}
				log = append(log, entry.ID)
			}
			assert.Equal(t, tc.log, log)
			e.consolidate(ann)
			s := e.session(ann)
			assert.Equal(t, s.LastSeq, s.Watermark, "all of it is complete")
			for _, batch := range e.back.stored() {
				assert.NotContains(t, strings.Join(batch, " "), "done", "no mark is offered")
			}
		})
	}
}

func TestDoneFarBehindTheTurn(t *testing.T) {
	e := newEnv(t)
	e.append(part("t", 0, false, "1"))
	for i := range 250 {
		e.append(part(fmt.Sprint("u", i), 0, true, "x"))
	}
	e.append(part("t", 0, true, "1"))
	assert.Equal(t, "t-0done", e.entries(ann)[251].ID)
}

func TestDoneOfWhatWasLearntAddsNothing(t *testing.T) {
	e := newEnv(t)
	e.append(part("t", 0, false, "1"))
	e.clock.Advance(2 * time.Minute) // counts as complete
	assert.Len(t, e.consolidate(ann).Items, 1)
	e.append(part("t", 0, true, "1"))
	assert.Len(t, e.entries(ann), 1)
	assert.False(t, e.session(ann).Pending())
}

// An answer that comes later than OpenTurn, with its question once more.
func TestAQuestionThatWasLearntIsNotLearntAgainWithItsAnswer(t *testing.T) {
	e := newEnv(t)
	e.append(part("a", 0, false, "question a"))
	assert.Empty(t, e.consolidate(ann).Items)
	e.clock.Advance(3 * time.Minute)
	assert.Len(t, e.consolidate(ann).Items, 1)
	e.append(said("a", ann))
	assert.Len(t, e.consolidate(ann).Items, 1)
	assert.Equal(t, [][]string{{"a-0"}, {"a-1"}}, e.back.stored())
}

func TestDoneInAnotherProcessIsLearntOnceTheSessionIsIdle(t *testing.T) {
	e := newEnv(t)
	e.append(part("t", 0, false, "1"))
	learnt := make(chan int, 10)
	other := openEnv(t, e.db, e.clock, func(e *env) {
		e.cfg.Idle = time.Millisecond
		e.back.after = func(r *backends.AddRequest) error { learnt <- len(r.Messages); return nil }
	})
	require.NoError(t, other.mem.Record(t.Context(), part("t", 0, true, "1")))
	assert.Equal(t, 1, <-learnt, "not after OpenTurn")
}

func TestAnEndThatCouldNotBeWrittenIsAnError(t *testing.T) {
	for _, method := range []string{"Read", "Session", "Append"} {
		e := newEnv(t)
		turn := part("t", 0, true, "1")
		if e.append(part("t", 0, false, "1")); method == "Session" {
			turn.Messages = nil
		}
		e.log.Arm(func(c *testkit.StoreCall) error {
			if a, ok := c.Arg.(*store.Append); ok && a.Entries[0].Content != "" || c.Method != method {
				return nil
			}
			return backends.ErrUnavailable
		})
		err := e.mem.Append(t.Context(), turn)
		require.ErrorIs(t, err, backends.ErrUnavailable, method)
		require.ErrorContains(t, err, `turn "t"`, method)
		e.log.Arm(nil)
		assert.Empty(t, e.consolidate(ann).Items, "%s: it is open still", method)
		e.append(turn)
		assert.Equal(t, "t-0done", e.entries(ann)[1].ID, method)
		assert.Len(t, e.consolidate(ann).Items, 1, method)
	}
}

func TestOpenTurnsSurviveTheirProcess(t *testing.T) {
	e := newEnv(t)
	asked := einox.Mark{Turn: "t7"}.On(schema.UserMessage("delete it?"))
	asked.Extra["chan"] = make(chan int)
	turn := &working.Turn{Scope: ann, ID: "t7", First: 2, Time: e.clock.Now(), Messages: []*schema.Message{note("n"), asked, nil}}
	require.NoError(t, e.mem.SaveOpenTurn(t.Context(), ann, "run/1", turn))

	e = e.restart()
	bob := ann
	bob.UserID = "bob"
	for name, tc := range map[string]struct {
		scope      backends.Scope
		checkpoint string
	}{"another checkpoint": {ann, "run/2"}, "another user's turn": {bob, "run/1"}} {
		none, err := e.mem.TakeOpenTurn(t.Context(), tc.scope, tc.checkpoint)
		require.NoError(t, err, name)
		assert.Nil(t, none, name)
	}
	got, err := e.mem.TakeOpenTurn(t.Context(), ann, "run/1")
	require.NoError(t, err)
	assert.True(t, einox.IsNote(got.Messages[0]))
	assert.Equal(t, "t7", einox.MarkOf(got.Messages[1]).Turn)
	assert.NotContains(t, got.Messages[1].Extra, "chan")
	assert.Nil(t, got.Messages[2], "positions stay")
	assert.Equal(t, "delete it?", got.Messages[1].Content)
	got.Messages = nil
	assert.Equal(t, &working.Turn{Scope: ann, ID: "t7", First: 2, Time: e.clock.Now()}, got)
	none, err := e.mem.TakeOpenTurn(t.Context(), ann, "run/1")
	require.NoError(t, err)
	assert.Nil(t, none, "taken")
}

func TestOpenTurnErrors(t *testing.T) {
	e := newEnv(t)
	require.ErrorIs(t, e.mem.SaveOpenTurn(t.Context(), backends.Scope{}, "c", said("a", ann)), backends.ErrNoScope)
	require.ErrorIs(t, e.mem.SaveOpenTurn(t.Context(), ann, "", said("a", ann)), backends.ErrInvalid)
	require.ErrorIs(t, e.mem.SaveOpenTurn(t.Context(), ann, "c", nil), backends.ErrInvalid)
	_, err := e.mem.TakeOpenTurn(t.Context(), backends.Scope{}, "c")
	require.ErrorIs(t, err, backends.ErrNoScope)
	p, _ := ann.Speaker()
	require.NoError(t, e.db.PutBlob(t.Context(), p, "s1", "open-turn/c", []byte("{")))
	_, err = e.mem.TakeOpenTurn(t.Context(), ann, "c")
	require.ErrorIs(t, err, backends.ErrInvalid)
	for _, method := range []string{"GetBlob", "PutBlob"} {
		e.log.FailOn(backends.ErrUnavailable)
		require.NoError(t, e.mem.SaveOpenTurn(t.Context(), ann, "d", said("a", ann)))
		e.log.FailOn(backends.ErrUnavailable, method)
		_, err = e.mem.TakeOpenTurn(t.Context(), ann, "d")
		require.ErrorIs(t, err, backends.ErrUnavailable, method)
	}
	require.ErrorIs(t, e.mem.SaveOpenTurn(t.Context(), ann, "d", said("a", ann)), backends.ErrUnavailable)
}

// block records a turn and returns once its write waits for release; later writes wait
// with it.
func (e *env) block(first *working.Turn) (release func()) {
	gate, entered := make(chan struct{}), make(chan struct{}, 1000)
	e.log.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Append" {
			c.Before = func() { entered <- struct{}{}; <-gate }
		}
		return nil
	})
	require.NoError(e.t, e.mem.Record(context.Background(), first))
	<-entered
	return func() { close(gate) }
}

func TestRecordWaitsOnlyWhileTheQueueIsFull(t *testing.T) {
	e := newEnv(t, func(e *env) { e.cfg.Queue = 2 })
	release := e.block(said("a", ann))
	require.NoError(t, e.mem.Record(t.Context(), said("b", ann)))
	assert.Equal(t, 2, e.mem.Stats().Queued)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := e.mem.Record(ctx, said("c", ann))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, `turn "c" of session default/user/ann "s1": the queue of 2 is full`)

	waiting := make(chan error)
	go func() { waiting <- e.mem.Record(t.Context(), said("d", ann)) }()
	release()
	require.NoError(t, <-waiting)
	require.NoError(t, e.mem.Flush(t.Context()))
	assert.Equal(t, [][]string{{"a-0", "a-1", "b-0", "b-1", "d-0", "d-1"}}, e.back.stored())
}

func TestRecordTakesACopy(t *testing.T) {
	e := newEnv(t)
	release := e.block(said("first", ann))
	turn := said("a", ann)
	require.NoError(t, e.mem.Record(t.Context(), turn))
	turn.Messages[0].Content = "changed"
	turn.Messages[1] = schema.UserMessage("changed")
	release()
	require.NoError(t, e.mem.Flush(t.Context()))
	assert.Equal(t, "question a", e.entries(ann)[2].Content)
	assert.Equal(t, "answer a", e.entries(ann)[3].Content)
}

func TestAppendComesAfterWhatWasRecorded(t *testing.T) {
	e := newEnv(t)
	release := e.block(said("a", ann))
	require.NoError(t, e.mem.Record(t.Context(), said("b", ann)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, e.mem.Append(ctx, said("c", ann)), context.DeadlineExceeded)
	release()
	e.append(said("c", ann))
	got := e.entries(ann)
	assert.Equal(t, []string{"a-0", "b-0", "c-0"}, []string{got[0].ID, got[2].ID, got[4].ID})
}

func TestAppendsThatFailAreRetriedInOrder(t *testing.T) {
	failures := 5
	e := newEnv(t, func(e *env) { e.cfg.Backoff, e.cfg.Workers = time.Millisecond, 1 })
	e.log.Arm(func(c *testkit.StoreCall) error {
		if c.Method != "Append" || failures == 0 {
			return nil
		}
		failures--
		return fmt.Errorf("disk: %w", backends.ErrUnavailable)
	})
	require.NoError(t, e.mem.Record(t.Context(), said("a", ann)))
	require.NoError(t, e.mem.Record(t.Context(), said("b", ann)))
	err := <-e.errs
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.ErrorContains(t, err, `append: turn "a"`)
	assert.ErrorContains(t, err, "3 failures; the turn is kept in memory and retried")
	require.Eventually(t, func() bool { return e.mem.Stats().Queued == 0 }, time.Minute, time.Millisecond)
	got := e.entries(ann)
	require.Len(t, got, 4)
	assert.Equal(t, "a-0", got[0].ID)
	assert.Empty(t, e.errs, "every third failure is reported")
}

func TestFlushAndAppendDoNotWaitForThePause(t *testing.T) {
	away := true
	tried := make(chan struct{}, 100)
	e := newEnv(t, func(e *env) { e.cfg.Backoff = time.Hour })
	e.log.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Append" && away {
			tried <- struct{}{}
			return backends.ErrUnavailable
		}
		return nil
	})
	require.NoError(t, e.mem.Record(t.Context(), said("a", ann)))
	<-tried
	require.NoError(t, e.mem.Record(t.Context(), said("later", ann)))
	err := e.mem.Append(t.Context(), said("b", ann))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.ErrorContains(t, err, "what was queued before comes first")
	require.ErrorIs(t, e.mem.Flush(t.Context()), backends.ErrUnavailable)
	_, err = e.mem.Consolidate(t.Context(), ann)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, 2, e.mem.Stats().Queued)
	assert.Len(t, tried, 3, "each of them tried once; a turn that is recorded behind does not")
	away = false
	require.NoError(t, e.mem.Flush(t.Context()))
	assert.Zero(t, e.mem.Stats().Queued)
	assert.Equal(t, [][]string{{"a-0", "a-1", "later-0", "later-1"}}, e.back.stored())
}

func TestATurnThatTheStoreRefusesForGoodIsReportedAndDropped(t *testing.T) {
	e := newEnv(t)
	e.log.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Append" && len(e.errs) == 0 {
			return fmt.Errorf("no such encoding: %w", backends.ErrInvalid)
		}
		return nil
	})
	require.NoError(t, e.mem.Record(t.Context(), said("a", ann)))
	require.NoError(t, e.mem.Record(t.Context(), said("b", ann)))
	require.NoError(t, e.mem.Flush(t.Context()))
	err := <-e.errs
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.ErrorContains(t, err, `turn "a"`)
	assert.Equal(t, [][]string{{"b-0", "b-1"}}, e.back.stored())
}

func TestConfigIsChecked(t *testing.T) {
	e := newEnv(t)
	for name, cfg := range map[string]*working.Config{
		"nil":        nil,
		"sessions":   {Backend: e.back},
		"backend":    {Sessions: e.db},
		"max turns":  {Sessions: e.db, Backend: e.back, MaxTurns: -1},
		"lease":      {Sessions: e.db, Backend: e.back, Lease: -1},
		"idle":       {Sessions: e.db, Backend: e.back, Idle: -time.Second},
		"open turns": {Sessions: e.db, Backend: e.back, OpenTurn: -1},
	} {
		_, err := working.New(t.Context(), cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	assert.Zero(t, e.cfg.MaxTurns, "the caller's config is not changed")
}

// BenchmarkRecord is what a reply pays for being remembered.
func BenchmarkRecord(b *testing.B) {
	e := newEnv(b, func(e *env) { e.cfg.MaxTurns, e.cfg.MaxTokens, e.cfg.Queue = 1<<30, 1<<30, max(b.N, 1) })
	b.ResetTimer()
	for i := range b.N {
		if err := e.mem.Record(context.Background(), said(strconv.Itoa(i), ann)); err != nil {
			b.Fatal(err)
		}
	}
}

// What is said is found by the next search: in the queue, in the log, and while it goes from
// one to the other, once.
func TestWhatIsNotLearntYetIsFoundOnItsWayToTheLog(t *testing.T) {
	e := newEnv(t)
	listed, written := make(chan struct{}), make(chan struct{})
	e.log.Arm(func(c *testkit.StoreCall) error {
		switch c.Method {
		case "Append":
			c.Before, c.After = func() { <-listed }, func() { close(written) }
		case "List":
			c.After = func() { close(listed); <-written }
		}
		return nil
	})
	require.NoError(t, e.mem.Record(t.Context(), said("t1", ann)))
	texts := func() (out []string) {
		found, _, err := e.mem.Unlearnt(t.Context(), ann)
		require.NoError(t, err)
		for _, m := range found {
			out = append(out, m.Text)
		}
		return out
	}
	require.Equal(t, []string{"question t1", "answer t1"}, texts())
	e.log.Arm(nil)
	require.Equal(t, []string{"question t1", "answer t1"}, texts(), "now from the log")
	e.consolidate(ann)
	require.Empty(t, texts())
}
