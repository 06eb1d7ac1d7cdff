// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx     = context.Background()
	start   = testkit.NewClock().Now()
	shop    = backends.Scope{Workspace: "shop"}
	inn     = backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "shop"}
	errDown = errors.New("the model is down")
)

// Experiences as attempts teach them: "when | what".
const (
	pages     = "When reading paginated results of an API | Read page after page until one is empty, and count what came."
	pagesNear = "When reading paginated results from an API | Read page after page until one comes empty, and count what came."
	login     = "When a login is refused | Ask for a new token once, then stop."
)

func what(taught string) string {
	_, s, _ := strings.Cut(taught, " | ")
	return s
}

func given(taught ...string) []backends.Memory {
	var out []backends.Memory
	for _, s := range taught {
		when, content, _ := strings.Cut(s, " | ")
		out = append(out, backends.Memory{WhenToUse: when, Text: content})
	}
	return out
}

// attempted is a trajectory that teaches experiences.
func attempted(score float64, taught ...string) Trajectory {
	t := Trajectory{Query: "sell a kettle", Score: score, Observed: start.Add(-time.Hour), Messages: []*schema.Message{schema.UserMessage("sell a kettle")}}
	for _, s := range taught {
		t.Messages = append(t.Messages, schema.AssistantMessage("TEACHES "+s, nil))
	}
	return t
}

// doing is an attempt at a task with a tool call.
func doing(task string, score float64, said string) Trajectory {
	return Trajectory{TaskID: task, Query: "do " + task, Score: score, Session: "s-" + task, Turn: "t", Observed: start, Messages: []*schema.Message{
		schema.SystemMessage("the system prompt"), schema.UserMessage("please do " + task),
		schema.AssistantMessage(said, []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "search", Arguments: `{"q":"x"}`}}}),
		schema.ToolMessage("found by "+said, "1"),
	}}
}

// asked is a question that the model was put. Its step is the name of its prompt.
type asked struct{ step, system, user, tool string }

// brain is a model whose answers depend on what it is shown. It answers by the tool that
// it is given, else in text.
type brain struct {
	mu     sync.Mutex
	calls  []asked
	failAt int // the number of the call that fails, from 1 on; 0: none

	decide func(fresh, known string) (decision, when, content string) // about two experiences
	says   map[string]func(asked) string                              // the answers of a step
}

func says(s string) func(asked) string { return func(asked) string { return s } }

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

type object = map[string]any

var (
	teaches   = regexp.MustCompile(`(?m)TEACHES (.+?) \| (.+)$`)
	pairShown = regexp.MustCompile(`(?m)^pair (\d+)\nnew\nwhen_to_use:\n  .*\nexperience:\n  (.*)\nknown\nwhen_to_use:\n  (.*)\nexperience:\n  (.*)$`)
	judged    = regexp.MustCompile(`(?m)^candidate (\d+)\n(?:attempt:.*\n)?when_to_use:\n.*\nexperience:\n(.*)$`)
)

func (b *brain) reply(_ context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
	q := asked{system: in[0].Content, user: in[1].Content}
	for _, l := range []backends.Language{backends.English, backends.Chinese} {
		p := reflect.ValueOf(*promptsIn[l])
		for i := range p.NumField() {
			if strings.HasPrefix(q.system, p.Field(i).String()) {
				q.step = p.Type().Field(i).Name
			}
		}
	}
	if len(opts.Tools) == 1 {
		q.tool = opts.Tools[0].Name
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls = append(b.calls, q); len(b.calls) == b.failAt {
		return nil, errDown
	}
	answer := b.answer(q)
	if q.tool == "" {
		return schema.AssistantMessage(answer, nil), nil
	}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: q.tool, Arguments: answer}}}), nil
}

func (b *brain) answer(q asked) string {
	if say := b.says[q.step]; say != nil {
		return say(q)
	}
	out := []object{}
	switch q.step {
	case "Judge": // everything is worth 0.8, but rubbish
		for _, m := range judged.FindAllStringSubmatch(q.user, -1) {
			n, _ := strconv.Atoi(m[1])
			out = append(out, object{"candidate": n, "is_valid": true, "score": map[bool]float64{true: 0.1, false: 0.8}[strings.Contains(m[2], "rubbish")]})
		}
		return encoded(object{"judgements": out})
	case "Duplicates":
		for _, m := range pairShown.FindAllStringSubmatch(q.user, -1) {
			n, _ := strconv.Atoi(m[1])
			decision, when, content := "distinct", "", ""
			if b.decide != nil {
				decision, when, content = b.decide(m[2], m[4])
			}
			out = append(out, object{"pair": n, "decision": decision, "when_to_use": when, "content": content})
		}
		return encoded(object{"decisions": out})
	}
	for _, m := range teaches.FindAllStringSubmatch(q.user, -1) {
		out = append(out, object{"when_to_use": m[1], "experience": m[2], "tags": []string{"kettle"}, "confidence": 0.7, "step_type": "action", "tools_used": []string{"sell"}})
	}
	return encoded(object{"task": "Selling something.", "experiences": out})
}

// of returns the questions of a step; of no step all.
func (b *brain) of(step string) []asked {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []asked
	for _, q := range b.calls {
		if step == "" || q.step == step {
			out = append(out, q)
		}
	}
	return out
}

// merging has the model merge what is similar.
func merging(_, known string) (decision, when, content string) {
	return "merge", "When reading pages", known + " Then stop."
}

func always(decision string) func(_, known string) (string, string, string) {
	return func(string, string) (string, string, string) { return decision, "When reading pages", "All of it." }
}

// noTools hides that a model can call tools.
type noTools struct{ model.BaseChatModel }

// setup is what a world is made of.
type setup struct {
	Config
	Limits       ask.Limits
	PromptTokens int
	Language     backends.Language
	store        store.Store
	embedder     embedding.Embedder
	model        model.BaseChatModel
	clock        backends.Clock
	redact       func(string) string
}

// world is task memory and what it stands on.
type world struct {
	*Memory
	*brain
	t testing.TB
}

func open(t testing.TB, change ...func(*setup)) *world {
	t.Helper()
	w := &world{t: t, brain: &brain{says: map[string]func(asked) string{}}}
	s := &setup{PromptTokens: 12_000, model: testkit.New(w.reply), clock: testkit.NewClock().Now}
	for _, f := range change {
		f(s)
	}
	if s.store == nil {
		s.store = testkit.SQLite(t)
	}
	ranker, err := recall.New(ctx, &recall.Config{Records: s.store, Clock: s.clock, Keys: keeper.Keys, Embedder: s.embedder, EmbeddingModel: map[bool]string{true: "test"}[s.embedder != nil]})
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	k, err := keeper.New(&keeper.Config{Name: "test", Store: s.store, Ranker: ranker, Redact: s.redact, Clock: s.clock})
	require.NoError(t, err)
	var m *ask.Model
	if s.model != nil {
		m, err = ask.New(&ask.Config{Name: "test", Model: s.model})
		require.NoError(t, err)
	}
	w.Memory, err = New(s.Config, learning(learner.Learner{Keeper: k, Model: m, Limits: s.Limits, Prompt: s.PromptTokens, Language: s.Language}))
	require.NoError(t, err)
	return w
}

// learning returns a backend for New.
func learning(l learner.Learner) backends.Backend {
	return struct {
		backends.Backend
		*learner.Holder
	}{Holder: learner.Hold(l)}
}

func on(st store.Store) func(*setup)             { return func(s *setup) { s.store = st } }
func embedded(e embedding.Embedder) func(*setup) { return func(s *setup) { s.embedder = e } }
func noModel(s *setup)                           { s.model = nil }

// deciding returns the world with a model that decides so about what is similar.
func (w *world) deciding(decide func(fresh, known string) (string, string, string)) *world {
	w.decide = decide
	return w
}

// eachStore runs a test on SQLite, on the imitation of Redis, and on the servers that
// there are.
func eachStore(t *testing.T, f func(t *testing.T, st store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, testkit.SQLite(t)) })
	t.Run("miniredis", func(t *testing.T) { f(t, testkit.Redis(t, nil)) })
	for _, server := range testredis.Flavours() {
		t.Run(server.Name, func(t *testing.T) { f(t, testkit.Redis(t, server.Start(t).Client(t))) })
	}
}

// beforeTheBatch calls f before the batch of a request is stored. The write before that one
// asks whether the request is known.
func beforeTheBatch(spy *testkit.Store, f func()) {
	writes := 0
	spy.Arm(func(c *testkit.StoreCall) error {
		if c.Method == "Apply" {
			if writes++; writes == 2 {
				f()
			}
		}
		return nil
	})
}

func (w *world) learn(r SummaryRequest) *SummaryResponse {
	w.t.Helper()
	r.Scope = shop
	resp, err := w.Summarize(ctx, &r)
	require.NoError(w.t, err)
	return resp
}

func (w *world) summarize(taught ...string) *SummaryResponse {
	w.t.Helper()
	return w.learn(SummaryRequest{Trajectories: []Trajectory{attempted(1, taught...)}})
}

// held returns the memories that hold, in the order stored.
func (w *world) held() []backends.Memory {
	w.t.Helper()
	resp, err := w.keeper.List(ctx, inn, &backends.ListRequest{Limit: 1000})
	require.NoError(w.t, err)
	return resp.Memories
}

func (w *world) active() []string {
	w.t.Helper()
	out := []string{}
	for _, m := range w.held() {
		out = append(out, m.Text)
	}
	return out
}

// find returns the memory that holds and has the text.
func (w *world) find(text string) *backends.Memory {
	w.t.Helper()
	for _, m := range w.held() {
		if m.Text == text {
			return &m
		}
	}
	require.Fail(w.t, "no memory", text)
	return nil
}

// version is that of the partition: it rises with every write.
func (w *world) version() int64 {
	w.t.Helper()
	c, err := w.keeper.Store().Changes(ctx, inn, "")
	require.NoError(w.t, err)
	return c.Version
}

// put stores memories as they are.
func (w *world) put(memories ...backends.Memory) {
	w.t.Helper()
	b := &store.Batch{}
	stamp := w.keeper.Stamps(len(memories))
	for i, m := range memories {
		if m.Kind == "" {
			m.Kind = backends.KindTask
		}
		m.Created = stamp.Add(time.Duration(i) * time.Microsecond)
		b.Mutations = append(b.Mutations, store.Put(&store.Record{Memory: m}))
	}
	_, err := w.keeper.Commit(ctx, inn, b, nil)
	require.NoError(w.t, err)
}

func (w *world) retrieve(r RetrieveRequest) *RetrieveResponse {
	w.t.Helper()
	r.Scope = shop
	resp, err := w.Retrieve(ctx, &r)
	require.NoError(w.t, err)
	return resp
}

func outcomes(resp *SummaryResponse) string {
	var out []string
	for _, i := range resp.Items {
		out = append(out, string(i.Outcome))
	}
	return strings.Join(out, " ")
}

func textsOf(candidates []backends.Memory) []string {
	out := []string{}
	for _, c := range candidates {
		out = append(out, c.Text)
	}
	return out
}

func pool(n int) []backends.Memory {
	var out []backends.Memory
	for i := range n {
		out = append(out, backends.Memory{ID: fmt.Sprint(i), WhenToUse: "When selling a kettle" + strings.Repeat(" soon", i), Text: fmt.Sprintf("hint %d", i)})
	}
	return out
}

func ptr[T any](v T) *T { return &v }
