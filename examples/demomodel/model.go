// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package demomodel is the chat model of the examples when a key for a real one is missing. It
// works offline and understands nothing: it repeats the sentence of the messages that shares most
// words with the question. So its answers show exactly the memories that came into the
// conversation.
//
// It reads English and Chinese, and is not for real use. Package choose prefers a real model, where
// the environment names one.
package demomodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/einox"
)

// Notice is the line that a program prints once on standard error when it uses
// this model.
const Notice = "OPENAI_API_KEY is not set: a built-in demo model answers. It only repeats what memory gives it."

// Model is the demo model. Its zero value answers questions. It is safe for concurrent
// use.
type Model struct {
	// Notes lets the model call add_memory for a statement, when it gets that tool, as a real model
	// does by itself under agent_control. Optional.
	Notes bool
	// Reads names a tool that returns a document for {"number": n}, which says in its text "n of
	// all". On request the model then reads the documents one after the other, and answers
	// questions by the hits of grep_working_memory. Optional.
	Reads string
	// Answer, if it is set, answers instead, from the messages and the tools of the call: a script
	// of the program's own. Optional.
	Answer func(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error)

	tools []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*Model)(nil)

// ErrorText returns the text of an error in a form to print: providers quote the key that they
// refuse.
func ErrorText(err error) string { return redact.Text(err.Error()) }

// Generate implements model.BaseChatModel. If Answer is nil, it needs a message of the user.
func (m *Model) Generate(_ context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	offered := model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools
	in = einox.Encode(einox.Unfold(in)) // it reads less well than a real one: the user's words alone ask
	if m.Answer != nil {
		return m.Answer(in, offered)
	}
	said := lastSaid(in)
	if said < 0 {
		return nil, errors.New("demo model: there is no user message with a text")
	}
	has := func(tool string) bool {
		return slices.ContainsFunc(offered, func(t *schema.ToolInfo) bool { return t.Name == tool })
	}
	text, asked := in[said].Content, questions(in[said].Content)
	switch {
	case m.Reads != "":
		return readOn(in, in[said+1:], m.Reads, asked), nil
	case slices.ContainsFunc(in[said:], func(m *schema.Message) bool { return m.Role == schema.Tool }): // one call a turn
	case has("search_memory") && needsSearch(in, said, asked):
		keywords := append(asked, related(strings.Join(asked, " "))...)
		return call(in, "search_memory", map[string]any{"keywords": keywords[:min(len(keywords), 10)], "limit": 30}), nil
	case has("add_memory") && m.Notes && len(asked) == 0 && States(text):
		return call(in, "add_memory", map[string]any{"thinking": "the user said so", "content": []string{text}}), nil
	}
	return schema.AssistantMessage(reply(evidence(in, said), asked, text), nil), nil
}

// Stream implements model.BaseChatModel: a text comes word by word, a tool call with
// the last.
func (m *Model) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, err := m.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	var pieces []*schema.Message
	for word := range strings.SplitAfterSeq(out.Content, " ") {
		pieces = append(pieces, schema.AssistantMessage(word, nil))
	}
	pieces[len(pieces)-1].ToolCalls = out.ToolCalls
	return schema.StreamReaderFromArray(pieces), nil
}

// WithTools implements model.ToolCallingChatModel.
func (m *Model) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := *m
	with.tools = slices.Clone(tools)
	return &with, nil
}

// isNote reports whether memory put a message into the conversation.
func isNote(m *schema.Message) bool { return m.Role == schema.User && m.Name == "memory" }

// lastSaid returns the place of the user's last message, or -1.
func lastSaid(in []*schema.Message) int {
	for i, m := range slices.Backward(in) {
		if m.Role == schema.User && !isNote(m) && strings.TrimSpace(m.Content) != "" {
			return i
		}
	}
	return -1
}

// needsSearch reports whether a question is still open, or has words in the table of synonyms. The
// latest news may use another word, which the note would miss.
func needsSearch(in []*schema.Message, said int, asked []string) bool {
	return slices.ContainsFunc(asked, func(q string) bool {
		return len(find(evidence(in, said), q)) == 0 || len(related(q)) > 0
	})
}

func call(in []*schema.Message, tool string, arguments map[string]any) *schema.Message {
	return Call(fmt.Sprintf("demo-%s-%d", tool, len(in)), tool, arguments) // each call of a turn has an id of its own
}

// Call is an answer that calls a tool, with arguments that JSON can express: texts,
// numbers, lists and maps of them, or JSON itself.
func Call(id, tool string, arguments any) *schema.Message {
	raw, _ := json.Marshal(arguments) // such arguments always marshal
	function := schema.FunctionCall{Name: tool, Arguments: string(raw)}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: function}})
}

// Ask has one turn with an agent, and returns its answer.
func Ask(ctx context.Context, agent adk.Agent, text string) (string, error) {
	said, err := Messages(adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent}).Query(ctx, text))
	if err != nil {
		return "", err
	}
	return said[len(said)-1].Content, nil
}

// Messages reads a run of an agent to its end and returns its messages: calls of tools, their
// answers, and last the answer. A run without an answer is an error.
func Messages(events *adk.AsyncIterator[*adk.AgentEvent]) (said []*schema.Message, err error) {
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		m, _, err := adk.GetMessage(e)
		if err = errors.Join(e.Err, err); err != nil {
			return nil, err
		}
		if m != nil {
			said = append(said, m)
		}
	}
	if len(said) == 0 || said[len(said)-1].Content == "" {
		return nil, errors.New("it gave no answer")
	}
	return said, nil
}

var (
	ofAll    = regexp.MustCompile(`(\d+) of (\d+)`)
	lineMark = regexp.MustCompile(`(?m)^\d+[:-] `) // before each line of grep_working_memory
)

// readOn returns the answer of a model that has documents to read, or its next call: the next
// document, or for a question a search for its next word. It knows only the messages since the user
// spoke.
func readOn(in, since []*schema.Message, tool string, asked []string) *schema.Message {
	last, all, searches := 0, 0, 0
	var found []statement
	for _, m := range since {
		if m.Role != schema.Tool {
			continue
		}
		searches++
		found = append(found, statements(lineMark.ReplaceAllString(m.Content, ""), "")...)
		if n := ofAll.FindStringSubmatch(m.Content); n != nil {
			last, _ = strconv.Atoi(n[1])
			all, _ = strconv.Atoi(n[2])
		}
	}
	switch {
	case len(asked) == 0 && last > 0 && last >= all:
		return schema.AssistantMessage(fmt.Sprintf("I have read all %d of them.", all), nil)
	case len(asked) == 0:
		return call(in, tool, map[string]any{"number": last + 1})
	}
	phrase, patterns := phrases[han.MatchString(asked[0])], patterns(asked[0])
	if answers := find(found, asked[0]); len(answers) > 0 {
		return schema.AssistantMessage(fmt.Sprintf(phrase.read, answers[0].text), nil)
	}
	if searches < len(patterns) {
		return call(in, "grep_working_memory", map[string]any{"pattern": patterns[searches], "limit": 20})
	}
	return schema.AssistantMessage(phrase.unknown, nil)
}

// patterns are what to search for: the words of a question, the longest first.
func patterns(question string) []string {
	out := strings.FieldsFunc(plain.Replace(question), isMark)
	out = slices.DeleteFunc(out, func(w string) bool { return len(words(w)) == 0 })
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return out
}
