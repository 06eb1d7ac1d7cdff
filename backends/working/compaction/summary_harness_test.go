// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/budget"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/testkit"
)

// vault is an archive in memory. Its references are of the log where all messages
// are, from the first on.
type vault struct {
	mu    sync.Mutex
	held  map[string][]*schema.Message
	full  bool
	order []string
}

var errFull = errors.New("the disk is full")

func newVault() *vault { return &vault{held: map[string][]*schema.Message{}} }

// Put implements [compaction.Archive].
func (v *vault) Put(_ context.Context, messages []*schema.Message) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full {
		return "", errFull
	}
	ref := fmt.Sprintf("a-%s", strings.Repeat(string(rune('b'+len(v.held)%20)), 20))
	next := int64(1)
	for _, m := range messages {
		if einox.IsSummary(m) && einox.RefOf(m) == fmt.Sprintf("log-1-%d", einox.SeqOf(m)) {
			next = einox.SeqOf(m)
		} else if einox.SeqOf(m) != next {
			next = -1
			break
		}
		next++
	}
	if next > 0 {
		ref = fmt.Sprintf("log-1-%d", next-1)
	}
	v.held[ref] = messages
	v.order = append(v.order, ref)
	return ref, nil
}

// answer is what a model writes down.
type answer struct {
	Goal       string   `json:"goal"`
	Directives []string `json:"directives"`
	Facts      []string `json:"facts"`
	Failed     []string `json:"failed"`
	Open       []string `json:"open"`
	Next       []string `json:"next"`
}

func (a answer) json(t *testing.T) string {
	b, err := json.Marshal(a)
	require.NoError(t, err)
	return string(b)
}

// calls answers with the tool.
func (a answer) calls(t *testing.T) testkit.Reply {
	return testkit.Call("c1", "keep_summary", a.json(t))
}

// plain is a model that calls no tools.
type plain struct{ model.BaseChatModel }

// quarters counts four characters a token, so that sizes are exact.
var quarters = budget.Tokenizer(func(s string) int { return (len([]rune(s)) + 3) / 4 })

// chat returns a system prompt, rounds of two messages with size characters each,
// numbered from 1 on and marked as entries 1, 2, … of the log, and a last user
// message.
func chat(rounds, size int) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You are a helpful agent.")}
	seq := int64(0)
	say := func(m *schema.Message) {
		seq++
		out = append(out, einox.MarkSeq(m, seq))
	}
	for n := 1; n <= rounds; n++ {
		say(schema.UserMessage(padded(fmt.Sprintf("question %d about the harbour", n), size)))
		say(schema.AssistantMessage(padded(fmt.Sprintf("answer %d about the harbour", n), size), nil))
	}
	return append(out, schema.UserMessage("and now?"))
}

func padded(s string, size int) string {
	return s + " " + strings.Repeat("x", max(0, size-len([]rune(s))-1))
}

// work returns a system prompt, a user's request and steps exchanges of one call
// each with results of size characters.
func work(steps, size int) []*schema.Message {
	out := []*schema.Message{schema.SystemMessage("You are a helpful agent."), schema.UserMessage("Find the harbour master.")}
	for n := 1; n <= steps; n++ {
		id := fmt.Sprint("call", n)
		out = append(out,
			schema.AssistantMessage("", []schema.ToolCall{{ID: id, Type: "function", Function: schema.FunctionCall{Name: "search", Arguments: fmt.Sprintf(`{"page":%d}`, n)}}}),
			schema.ToolMessage(padded(fmt.Sprintf("page %d says the harbour is closed", n), size), id, schema.WithToolName("search")))
	}
	return out
}

func compactorOf(t *testing.T, limit int, steps ...compaction.Step) *compaction.Compactor {
	c, err := compaction.New(&compaction.Config{Budget: exactly(limit), Steps: steps, Language: compaction.LanguageEnglish})
	require.NoError(t, err)
	return c
}

func exactly(limit int) budget.Budget {
	return budget.Budget{Window: limit, Answer: -1, Tools: -1, Memories: -1, Counter: quarters}
}

// outline is one line a message: the role, and the beginning of what it says.
func outline(messages []*schema.Message) []string {
	out := make([]string, len(messages))
	for i, m := range messages {
		text, _, _ := strings.Cut(m.Content, " x")
		if einox.IsSummary(m) {
			text = "summary of " + einox.RefOf(m)
		}
		if len(m.ToolCalls) > 0 {
			text = m.ToolCalls[0].Function.Name + m.ToolCalls[0].Function.Arguments
		}
		out[i] = string(m.Role) + ": " + text
	}
	return out
}
