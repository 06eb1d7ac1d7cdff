// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript makes up conversations for tests and benchmarks, and reports whether a
// model's provider takes a list of messages.
//
// [New] makes a conversation of any [Shape] from a [Source] of chance: a seed, or a
// property test that shrinks failures (testkit.Drawn). [Check] refuses the lists that
// providers refuse. [WordsOf] returns the words of a list, so a test can name the words
// that another list lacks.
package transcript

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// Source is the chance that a conversation is drawn from. It returns a number from 0 to
// n-1, for an n above 0. It is for one goroutine.
type Source func(n int) int

// Seed returns chance that a number determines.
func Seed(seed uint64) Source { return rand.New(rand.NewPCG(seed, seed)).IntN }

// oneIn reports a chance of one in n. A 0 gives the likely outcome, which property tests
// shrink to.
func oneIn(s Source, n int) bool { return s(n) == n-1 }

// Shape describes the conversations of [New]. The zero value makes short ones of every
// sort that providers take.
type Shape struct {
	Rounds int // the most rounds, each of a user's message and its answers. Defaults to 6.
	Tokens int // about the most tokens of one text. Defaults to 4000.

	// Plain keeps only texts and calls. It leaves out media, reasoning, notes of memory
	// and core messages.
	Plain bool
	// Broken damages some. Calls lack results, at the end and before. Results lack a
	// call, come twice, or come after something else was said. Calls share an id or have
	// none. Messages are nil, blank, or of an unknown role.
	Broken bool
	// Logged loads some from a session's log: the messages carry their places in it, and
	// the oldest of them may have left the context for a placeholder.
	Logged bool
}

// History is a conversation.
type History struct {
	// Messages is the context as an agent has it, before it calls a model.
	Messages []*schema.Message
	// Log is the session's log, each message with its marks: the message at index i has
	// sequence number i+1. It includes every message of Messages with a number. Nil
	// without a log.
	Log []*schema.Message
}

// New makes a conversation up. The same source of chance and shape make the same. A nil
// shape is its zero value.
func New(src Source, shape *Shape) *History {
	w := newWriter(src)
	if shape != nil {
		w.shape = *shape
	}
	work.Default(&w.shape.Rounds, 6)
	work.Default(&w.shape.Tokens, 4000)
	w.ids = src(3)
	rounds := 1 + src(w.shape.Rounds)
	logged := 0 // how many rounds come from the log
	if w.shape.Logged && !oneIn(src, 4) {
		logged = src(rounds + 1)
	}
	left := 0 // and how many of these have left the context
	if logged > 1 && oneIn(src, 3) {
		left = 1 + src(logged-1)
	}
	h := &History{Messages: w.head()}
	for r := range rounds {
		round := w.round(r, r == rounds-1)
		if w.shape.Broken {
			round = w.damage(round)
		}
		if r < logged {
			round = h.log(r, round)
		}
		if r >= left {
			h.Messages = append(h.Messages, round...)
		} else if upto := len(h.Log); r == left-1 && upto > 0 {
			ref := fmt.Sprintf("log-1-%d", upto)
			m := schema.UserMessage(fmt.Sprintf("[Earlier messages are in the archive %s.]", ref))
			h.Messages = append(h.Messages, einox.Mark{Kind: einox.Summary, Ref: ref, Seq: int64(upto)}.On(m))
		}
	}
	return h
}

// log adds the lasting messages of a round to the log, numbered, and returns them.
func (h *History) log(r int, round []*schema.Message) (kept []*schema.Message) {
	for _, m := range round {
		// A log drops notes and messages without content.
		if m == nil || einox.IsNote(m) || m.Role == schema.System {
			continue
		}
		if m.Content != "" || m.Role == schema.Tool || len(m.ToolCalls) > 0 || einox.HasParts(m) {
			m = einox.Mark{Turn: fmt.Sprintf("t%d", r), Nth: len(kept) + 1, Seq: int64(len(h.Log) + 1)}.On(m)
			kept, h.Log = append(kept, m), append(h.Log, m)
		}
	}
	return kept
}

// writer makes one conversation up.
type writer struct {
	texts
	shape Shape
	ids   int // how calls are numbered
}

func newWriter(src Source) *writer { return &writer{texts: texts{src: src}} }

// head returns the messages in front of the conversation.
func (w *writer) head() []*schema.Message {
	var out []*schema.Message
	for range []int{1, 0, 1, 3}[w.src(4)] {
		out = append(out, schema.SystemMessage(w.short()))
	}
	if !w.shape.Plain && oneIn(w.src, 4) {
		core := schema.UserMessage("<core_memory>\n" + w.short() + "\n</core_memory>")
		core.Name = "core_memory"
		core = einox.Mark{Kind: einox.Core}.On(core)
		out = append(out, core)
	}
	return out
}

// round makes a user's message up, and its answers. The last round may still be running:
// it then ends with the user's message, or with the results of tools.
func (w *writer) round(r int, last bool) []*schema.Message {
	var out []*schema.Message
	if !w.shape.Plain && oneIn(w.src, 4) {
		note := schema.UserMessage("<memories>\n" + w.short() + "\n</memories>")
		note = einox.Mark{Kind: einox.Note}.On(note)
		out = append(out, note)
	}
	question := schema.UserMessage(w.text())
	if !w.shape.Plain && oneIn(w.src, 6) {
		question = w.withPicture()
	}
	out = append(out, question)
	for e := range w.src(4) {
		out = append(out, w.exchange(r, e)...)
	}
	if last && w.src(4) > 0 {
		return out
	}
	answer := schema.AssistantMessage(w.text(), nil)
	if w.think(answer); !w.shape.Plain && oneIn(w.src, 8) {
		data := picture
		image := schema.MessageOutputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}}
		answer = &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeText, Text: w.short()},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &image},
		}}
	}
	return append(out, answer)
}

const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// withPicture is a user's message in parts, of Eino's old or its new form.
func (w *writer) withPicture() *schema.Message {
	data, address := picture, "https://example.com/plan.png"
	m := &schema.Message{Role: schema.User, Name: "ann"}
	if oneIn(w.src, 3) {
		m.MultiContent = []schema.ChatMessagePart{
			{Type: schema.ChatMessagePartTypeText, Text: w.short()},
			{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: address}},
		}
		return m
	}
	m.UserInputMultiContent = []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: w.short()},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{
			MessagePartCommon: schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"}, Detail: schema.ImageURLDetailHigh}},
		{Type: schema.ChatMessagePartTypeText, Text: w.short()},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &address}}},
	}
	return m
}

// think gives a message the additions of a provider.
func (w *writer) think(m *schema.Message) {
	if !w.shape.Plain && oneIn(w.src, 3) {
		m.ReasoningContent = w.short()
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: "stop"}
	}
}

// exchange makes up to five calls up, and their results in any order.
func (w *writer) exchange(r, e int) []*schema.Message {
	n := 1
	if w.src(2) > 0 {
		n += w.src(5)
	}
	m := schema.AssistantMessage("", nil)
	if w.src(2) > 0 {
		m.Content = w.short()
	}
	w.think(m)
	out := []*schema.Message{m}
	for c := range min(n, 5) {
		call, result := w.call(r, e, c), w.text()
		switch w.src(8) {
		case 0:
			result = ""
		case 1, 2:
			result = w.long(w.shape.Tokens)
		}
		m.ToolCalls = append(m.ToolCalls, call)
		out = append(out, schema.ToolMessage(result, call.ID, schema.WithToolName(call.Function.Name)))
		at := 1 + w.src(len(out)-1)
		out[at], out[len(out)-1] = out[len(out)-1], out[at]
	}
	return out
}

// tools are made-up tools. The last is an agent; its result reports its work.
var tools = []string{"search", "read_file", "run_shell", "query_weather", "research_agent"}

func (w *writer) call(r, e, c int) schema.ToolCall {
	name := tools[w.src(len(tools))]
	id := fmt.Sprintf("call_%d_%d_%d", r, e, c)
	switch w.ids {
	case 1:
		id = fmt.Sprintf("call_%d", c)
	case 2:
		id = fmt.Sprintf("%s-%d", name, c)
	}
	arguments, _ := json.Marshal(map[string]string{"request": w.short()}) // a text always marshals
	if w.src(4) == 0 {
		arguments = []byte("{}")
	}
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(arguments)}}
}

// text is short, seldom long.
func (w *writer) text() string {
	switch w.src(12) {
	case 10:
		return w.long(w.shape.Tokens / 8)
	case 11:
		return w.long(w.shape.Tokens)
	}
	return w.short()
}

// damage breaks some rounds, as interrupted runs, lost writes and careless callers do.
func (w *writer) damage(round []*schema.Message) []*schema.Message {
	anywhere := func(m *schema.Message) []*schema.Message {
		return slices.Insert(round, w.src(len(round)+1), m)
	}
	calls, called := w.any(round, func(m *schema.Message) bool { return len(m.ToolCalls) > 0 })
	result, answered := w.any(round, func(m *schema.Message) bool { return m.Role == schema.Tool })
	switch n := w.src(12); {
	case n == 3 && called: // the round ends after calls, and some may be answered
		return round[:calls+1+w.src(len(round[calls].ToolCalls))]
	case n == 4 && answered: // a result is lost
		return slices.Delete(round, result, result+1)
	case n == 5 && answered: // a result comes twice, the second time another
		again := *round[result]
		again.Content = w.short()
		return slices.Insert(round, result+1, &again)
	case n == 6 && answered: // a result comes late
		late := round[result]
		return append(slices.Delete(round, result, result+1), late)
	case n == 7 && called: // the calls of a message share an id, or have none
		id := []string{"same", ""}[w.src(2)]
		for c := range round[calls].ToolCalls {
			round[calls].ToolCalls[c].ID = id
		}
		for i := calls + 1; i < len(round) && round[i].Role == schema.Tool; i++ {
			round[i].ToolCallID = id
		}
	case n == 8:
		return anywhere(schema.ToolMessage(w.short(), "call_without_message", schema.WithToolName("search")))
	case n == 9: // a message without content
		thought := schema.AssistantMessage("", nil)
		thought.ReasoningContent = w.short()
		empty := []*schema.Message{thought, nil, schema.UserMessage(""), schema.AssistantMessage(" \n", nil), schema.SystemMessage("")}
		return anywhere(empty[w.src(len(empty))])
	case n == 10:
		return append(round, &schema.Message{Role: "function", Content: w.short()})
	case n == 11: // the assistant begins
		return append([]*schema.Message{schema.AssistantMessage(w.short(), nil)}, round...)
	}
	return round
}

// any returns the place of a random message for which is returns true.
func (w *writer) any(round []*schema.Message, is func(*schema.Message) bool) (at int, ok bool) {
	var all []int
	for i, m := range round {
		if is(m) {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return all[w.src(len(all))], true
}
