// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package demomodel is the chat model of the examples when there is no key for a
// real one. It needs no network and understands nothing: it repeats the sentence,
// of those in the messages, that shares most words with the question. So what it
// answers shows what memory brought into the conversation, and nothing else.
//
// It reads English and Chinese. It imports public packages alone: copy the folder
// with an example. It is no model to build on.
package demomodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	einoext "github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/einox"
)

// Notice is the line that a program prints once on standard error when it uses
// this model.
const Notice = "OPENAI_API_KEY is not set: a built-in demo model answers. It only repeats what memory gives it."

// Model is the demo model. Its zero value answers questions. It is safe for concurrent
// use.
type Model struct {
	// Notes has the model call add_memory for a statement, when it is offered that
	// tool: what a real model does by itself under agent_control. Optional.
	Notes bool
	// Reads names a tool that returns a document for {"number": n}, which says in
	// its text "n of all". The model then reads the documents one after the other
	// when it is asked to, and answers questions by what it finds with
	// grep_working_memory. Optional.
	Reads string
	// Answer, if it is set, answers instead, from the messages and the tools that are
	// offered: a script of the program's own. Optional.
	Answer func(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error)

	tools []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*Model)(nil)

// Choose returns the model that answers in an example, and sets those by which
// config learns and searches: the models that the environment names
// ([openai.FromEnv]), or demo, which is announced on stderr and leaves config as it
// is, so that what is said is remembered word for word. The one that answers is a chat
// model of eino-ext, as any agent may have; the others are clients of this project.
func Choose(ctx context.Context, demo *Model, config *mem0.Config, stderr io.Writer) (model.ToolCallingChatModel, error) {
	chatConfig, embedderConfig := openai.FromEnv()
	if chatConfig == nil {
		fmt.Fprintln(stderr, Notice)
		return demo, nil
	}
	chatConfig.ErrorText = true // who reads the errors of an example is who talks to it
	learner, err := openai.NewChatModel(ctx, chatConfig)
	config.Model = learner
	if err == nil && embedderConfig != nil {
		embedderConfig.ErrorText = true
		config.EmbeddingModel = embedderConfig.Model
		config.Embedder, err = openai.NewEmbedder(ctx, embedderConfig)
	}
	if err != nil {
		return nil, err
	}
	return einoext.NewChatModel(ctx, &einoext.ChatModelConfig{APIKey: chatConfig.APIKey, BaseURL: chatConfig.BaseURL, Model: chatConfig.Model})
}

// ErrorText returns the text of an error as a program shows it: providers quote the key that
// they refuse.
func ErrorText(err error) string { return redact.Text(err.Error()) }

// Generate implements model.BaseChatModel. Without Answer it fails if there is no user's
// message.
func (m *Model) Generate(_ context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	offered := model.GetCommonOptions(&model.Options{Tools: m.tools}, opts...).Tools
	in = einox.Unfold(in) // it reads less well than a real one: the user's words alone ask
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

// lastSaid returns where the user spoke last, or -1.
func lastSaid(in []*schema.Message) int {
	for i, m := range slices.Backward(in) {
		if m.Role == schema.User && !isNote(m) && strings.TrimSpace(m.Content) != "" {
			return i
		}
	}
	return -1
}

// needsSearch reports whether a question has no answer yet, or has words in the
// table of synonyms: the latest news may use another of them, and the note not
// bring it.
func needsSearch(in []*schema.Message, said int, asked []string) bool {
	return slices.ContainsFunc(asked, func(q string) bool {
		return len(find(evidence(in, said), q)) == 0 || len(related(q)) > 0
	})
}

func call(in []*schema.Message, tool string, arguments map[string]any) *schema.Message {
	return Call(fmt.Sprintf("demo-%s-%d", tool, len(in)), tool, arguments) // each call of a turn has another id
}

// Call is an answer that calls a tool, with arguments that JSON can express: texts,
// numbers, lists and maps of them, or JSON itself.
func Call(id, tool string, arguments any) *schema.Message {
	raw, _ := json.Marshal(arguments) // such arguments always marshal
	function := schema.FunctionCall{Name: tool, Arguments: string(raw)}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: function}})
}

// Messages reads a run of an agent to its end and returns what came of it: calls of tools,
// what the tools answered, and last the answer. A run without an answer is an error.
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
	lineMark = regexp.MustCompile(`(?m)^\d+[:-] `) // before each line that grep_working_memory found
)

// readOn returns the answer of a model that has documents to read, or its next call:
// the document after the last one, or for a question a search for one of its words after
// the other. All that it knows is in the messages since the user spoke.
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
