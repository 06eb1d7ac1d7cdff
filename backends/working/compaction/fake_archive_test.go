// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/transcript"
)

// shelf is an archive in memory whose references are hashes of what it holds. It
// refuses what fails says.
type shelf struct {
	mu       sync.Mutex
	held     map[string][]*schema.Message
	fails    func(messages []*schema.Message) error
	suffix   string // of references
	puts     int
	refusals int
	busy     int           // puts that run
	most     int           // puts that ran at a time
	came     chan struct{} // gets one from each put, if wait is there
	wait     chan struct{} // puts wait for it
}

func newShelf() *shelf { return &shelf{held: make(map[string][]*schema.Message)} }

// Put implements [compaction.Archive].
func (s *shelf) Put(_ context.Context, messages []*schema.Message) (string, error) {
	s.enter()
	defer s.leave()
	if s.wait != nil {
		s.came <- struct{}{}
		<-s.wait
	}
	if s.fails != nil {
		if err := s.fails(messages); err != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.refusals++
			return "", err
		}
	}
	hash := sha256.New()
	for _, m := range messages {
		text, err := json.Marshal(m)
		if err != nil {
			return "", err
		}
		hash.Write(text)
		fmt.Fprint(hash, einox.Marks(m))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ref := "a-" + hex.EncodeToString(hash.Sum(nil))[:20] + s.suffix
	s.held[ref] = slices.Clone(messages)
	return ref, nil
}

func (s *shelf) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	s.busy++
	s.most = max(s.most, s.busy)
}

func (s *shelf) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
}

// restore brings back what left.
func (s *shelf) restore(t require.TestingT, messages []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, m := range messages {
		ref := einox.RefOf(m)
		if ref == "" {
			out = append(out, m)
			continue
		}
		require.Contains(t, s.held, ref, "a reference to nothing")
		out = append(out, s.restore(t, s.held[ref])...)
	}
	return out
}

// chars counts as ReMe's base counter: 4 characters a token, texts only.
var chars = budget.Tokenizer(func(s string) int { return (len([]rune(s)) + 3) / 4 })

// window is a budget of so many tokens with nothing kept free.
func window(tokens int) budget.Budget {
	return budget.Budget{Window: tokens, Answer: -1, Tools: -1, Memories: -1, Counter: chars}
}

// compacted runs steps and checks what is always so: providers take the result, the
// request is as it was, what is reported is true, and everything can be restored.
func compacted(t require.TestingT, b budget.Budget, messages []*schema.Message, s *shelf, steps ...compaction.Step) (*compaction.Result, error) {
	return compactedWith(t, &compaction.Config{Budget: b, Steps: steps}, messages, s)
}

func compactedWith(t require.TestingT, cfg *compaction.Config, messages []*schema.Message, s *shelf) (*compaction.Result, error) {
	c, err := compaction.New(cfg)
	require.NoError(t, err)
	before := dump(t, messages)
	r := &compaction.Request{Messages: messages}
	if s != nil {
		r.Archive = s
	}
	out, failure := c.Compact(context.Background(), r)
	require.NotNil(t, out)
	require.Equal(t, before, dump(t, messages), "the request was changed")
	full, err := cfg.Budget.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, full.Usage(out.Messages), out.After)
	if len(out.Messages) > 0 && slices.ContainsFunc(out.Messages, func(m *schema.Message) bool { return m.Role != schema.System }) {
		require.NoError(t, transcript.Check(out.Messages))
	}
	if s != nil {
		roomy := *cfg
		roomy.Budget.Window = 1 << 40
		c, err := compaction.New(&roomy)
		require.NoError(t, err)
		repaired, err := c.Compact(context.Background(), &compaction.Request{Messages: messages})
		require.NoError(t, err)
		require.Equal(t, without(s.restore(t, repaired.Messages)), without(s.restore(t, out.Messages)), "not all of it comes back")
	}
	return out, failure
}

// without leaves out what may be lost: notes, and what providers keep in Extra.
func without(messages []*schema.Message) []*schema.Message {
	var out []*schema.Message
	for _, m := range messages {
		if einox.IsRecalled(m) || einox.IsCore(m) || m.Role == schema.System {
			continue
		}
		out = append(out, einox.WithMarks(&schema.Message{
			Role: m.Role, Name: m.Name, Content: m.Content, ReasoningContent: m.ReasoningContent, ToolCalls: m.ToolCalls, ToolCallID: m.ToolCallID,
			ToolName: m.ToolName, MultiContent: m.MultiContent, UserInputMultiContent: m.UserInputMultiContent, AssistantGenMultiContent: m.AssistantGenMultiContent,
		}, einox.Marks(m)))
	}
	return out
}

// dump shows all of messages, Extra included.
func dump(t require.TestingT, messages []*schema.Message) string {
	var b strings.Builder
	for _, m := range messages {
		text, err := json.Marshal(m)
		require.NoError(t, err)
		b.Write(text)
		if m != nil {
			for _, k := range slices.Sorted(maps.Keys(m.Extra)) {
				fmt.Fprintf(&b, " %s=%v", k, m.Extra[k])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// The short forms of messages in these tests.

func system(text string) *schema.Message { return schema.SystemMessage(text) }

func user(text string) *schema.Message { return schema.UserMessage(text) }

func reply(text string) *schema.Message { return schema.AssistantMessage(text, nil) }

// calls is an assistant's message that calls the tool "look" under each id.
func calls(ids ...string) *schema.Message {
	m := schema.AssistantMessage("", nil)
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: `{"at":"` + id + `"}`}})
	}
	return m
}

func result(id, text string) *schema.Message {
	return schema.ToolMessage(text, id, schema.WithToolName("look"))
}

func noteOf(text string) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = "memory"
	einox.MarkNote(m)
	return m
}

func coreOf(text string) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = "core_memory"
	einox.MarkCore(m)
	return m
}

func thinks(m *schema.Message, reasoning string) *schema.Message {
	n := *m
	n.ReasoningContent = reasoning
	return &n
}

// long is a text of so many tokens of 4 characters.
func long(tokens int) string { return strings.Repeat("abc ", tokens) }

// shapeOf shows a context in short: a letter a message, ids of calls and results.
func shapeOf(messages []*schema.Message) string {
	out := make([]string, len(messages))
	for i, m := range messages {
		switch {
		case m.Role == schema.Tool:
			out[i] = "t:" + m.ToolCallID
		case len(m.ToolCalls) > 0:
			ids := make([]string, len(m.ToolCalls))
			for n := range m.ToolCalls {
				ids[n] = m.ToolCalls[n].ID
			}
			out[i] = "a:" + strings.Join(ids, ",")
		default:
			out[i] = string(m.Role[0])
		}
		if einox.IsNote(m) {
			out[i] += "*"
		}
		if einox.RefOf(m) != "" {
			out[i] += "^"
		}
	}
	return strings.Join(out, " ")
}

// repairedOf is what becomes of messages that fit.
func repairedOf(t *testing.T, messages []*schema.Message) []*schema.Message {
	out, err := compacted(t, window(1<<30), messages, newShelf())
	require.NoError(t, err)
	require.Empty(t, out.Steps)
	return out.Messages
}
