// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package extract_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/reme/extract"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/trajectory"
	"github.com/einomem/einomem/internal/testkit"
)

var errDown = errors.New("connection refused")

// step is what a question asks, told by its prompt.
type step string

const (
	success, failure, comparative, similar = step("success"), step("failure"), step("comparative"), step("similar")
	judge, segmenting                      = step("judge"), step("segment")
	simple, simpleComparative              = step("simple"), step("simple comparative")
)

func stepOf(system string) step {
	for _, lang := range []flow.Language{flow.English, flow.Chinese} {
		p := extract.DefaultPrompts(lang)
		for s, text := range map[step]string{
			success: p.Success, failure: p.Failure, comparative: p.Comparative, similar: p.Similar, judge: p.Judge, segmenting: p.Segment, simple: p.Simple, simpleComparative: p.SimpleComparative,
		} {
			if strings.HasPrefix(system, text) {
				return s
			}
		}
	}
	return ""
}

// asked is a question that the model was put.
type asked struct {
	step         step
	system, user string
	tool         string // that it is made to call; empty without
}

// teacher is a model that answers each step in its own way.
type teacher struct {
	answers map[step]func(q asked) (string, error)

	mu    sync.Mutex
	calls []asked
}

func (m *teacher) reply(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	q := asked{step: stepOf(in[0].Content), system: in[0].Content, user: in[1].Content}
	if len(opts.Tools) == 1 {
		q.tool = opts.Tools[0].Name
	}
	m.mu.Lock()
	m.calls = append(m.calls, q)
	m.mu.Unlock()
	answer, ok := m.answers[q.step]
	if !ok {
		return nil, fmt.Errorf("nobody answers %q: %s", q.step, q.system)
	}
	text, err := answer(q)
	if err != nil {
		return nil, err
	}
	if q.tool == "" {
		return schema.AssistantMessage(text, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: q.tool, Arguments: text}}}), nil
}

// of returns the questions of a step.
func (m *teacher) of(s step) []asked {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []asked
	for _, q := range m.calls {
		if q.step == s {
			out = append(out, q)
		}
	}
	return out
}

// plain hides that a model can call tools.
type plain struct{ model.BaseChatModel }

func models(t testing.TB, m model.BaseChatModel, limits flow.Limits) *flow.Models {
	t.Helper()
	out, err := flow.New(&flow.Config{Name: "test", Model: m, Tools: extract.AnswerTools(), Limits: limits})
	require.NoError(t, err)
	return out
}

// open returns an extractor whose model is m, and a run.
func open(t testing.TB, m *teacher, change ...func(*extract.Config)) (*extract.Extractor, *flow.Run) {
	t.Helper()
	cfg := &extract.Config{Models: models(t, testkit.New(m.reply), flow.Limits{})}
	for _, f := range change {
		f(cfg)
	}
	e, err := extract.New(cfg)
	require.NoError(t, err)
	return e, cfg.Models.Begin()
}

func limits(t testing.TB, m *teacher, l flow.Limits) func(*extract.Config) {
	return func(c *extract.Config) { c.Models = models(t, testkit.New(m.reply), l) }
}

func withoutTools(t testing.TB, m *teacher) func(*extract.Config) {
	return func(c *extract.Config) { c.Models = models(t, plain{testkit.New(m.reply)}, flow.Limits{}) }
}

// says answers with that many experiences, whose texts begin with a name.
func says(name string, n int) func(asked) (string, error) {
	return func(q asked) (string, error) {
		key, list := "experience", "experiences"
		if q.step == simple || q.step == simpleComparative {
			key, list = "memory", "memories"
		}
		entries := make([]map[string]any, n)
		for i := range entries {
			entries[i] = map[string]any{"when_to_use": fmt.Sprintf("%s when %d", name, i+1), key: fmt.Sprintf("%s text %d", name, i+1)}
		}
		text, err := json.Marshal(map[string]any{list: entries})
		return string(text), err
	}
}

func down(asked) (string, error) { return "", errDown }
func answer(text string) func(asked) (string, error) {
	return func(asked) (string, error) { return text, nil }
}

// approve gives every candidate of a question the score.
func approve(score float64) func(asked) (string, error) {
	return func(q asked) (string, error) {
		var verdicts []string
		for i := range strings.Count(q.user, "\nwhen_to_use:\n") {
			verdicts = append(verdicts, fmt.Sprintf(`{"candidate":%d,"is_valid":true,"score":%v,"feedback":"of use"}`, i+1, score))
		}
		return `{"verdicts":[` + strings.Join(verdicts, ",") + `]}`, nil
	}
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// attempt is a trajectory of three steps and a system prompt.
func attempt(task string, score float64, said string) trajectory.Trajectory {
	return trajectory.Trajectory{
		TaskID: task, Query: "do " + task, Score: score, Session: "s-" + task, Turn: "t", Observed: noon,
		Messages: []*schema.Message{
			schema.SystemMessage("the system prompt"), schema.UserMessage("please do " + task),
			schema.AssistantMessage(said, []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "search", Arguments: `{"q":"x"}`}}}),
			schema.ToolMessage("found by "+said, "1"),
		},
	}
}

func texts(cs []extract.Candidate) []string {
	out := make([]string, len(cs))
	for i, c := range cs {
		out[i] = c.Content
	}
	return out
}
