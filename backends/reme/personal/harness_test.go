// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package personal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/backends/reme/personal"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/keeper"
	"github.com/einomem/einomem/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx   = context.Background()
	ann   = backends.Scope{UserID: "ann", SessionID: "s1"}
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

func fixed() time.Time { return start }

// setting is what a world is made of.
type setting struct {
	personal.Config
	model    model.BaseChatModel
	limits   flow.Limits
	store    store.Store
	embedder *testkit.Embedder
	redact   func(string) string
}

// world is the flows and what they stand on.
type world struct {
	*personal.Flows
	keeper *keeper.Keeper
	store  store.Store
}

func openStore(t testing.TB) store.Store {
	t.Helper()
	st, err := sqlitestore.Open(ctx, ":memory:", &sqlitestore.Config{Clock: fixed})
	require.NoError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func open(t testing.TB, change ...func(*setting)) *world {
	t.Helper()
	s := &setting{model: newMind()}
	for _, f := range change {
		f(s)
	}
	if s.store == nil {
		s.store = openStore(t)
	}
	rc := &recall.Config{Records: s.store, Keys: keeper.Keys, Clock: fixed}
	if s.embedder != nil {
		rc.Embedder, rc.EmbeddingModel = s.embedder, "hash"
	}
	ranker, err := recall.New(ctx, rc)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ranker.Close() })
	s.Keeper, err = keeper.New(&keeper.Config{Name: "test", Store: s.store, Ranker: ranker, Embeds: s.embedder != nil, Redact: s.redact, Clock: fixed})
	require.NoError(t, err)
	s.Models, err = flow.New(&flow.Config{Name: "test", Model: s.model, Tools: personal.AnswerTools(), Limits: s.limits})
	require.NoError(t, err)
	f, err := personal.New(&s.Config)
	require.NoError(t, err)
	return &world{Flows: f, keeper: s.Keeper, store: s.store}
}

func with(m model.BaseChatModel) func(*setting) { return func(s *setting) { s.model = m } }
func on(st store.Store) func(*setting)          { return func(s *setting) { s.store = st } }
func within(l flow.Limits) func(*setting)       { return func(s *setting) { s.limits = l } }
func inWorkspace(s *setting)                    { s.InWorkspace = true }

// said is a message of the user at a time of day days after the start.
func said(days int, text string) backends.Message {
	return backends.Message{ID: fmt.Sprintf("%d/%s", days, shortened(text)), Turn: "t", Time: start.AddDate(0, 0, days), Message: schema.UserMessage(text)}
}

func answered(days int, text string) backends.Message {
	m := said(days, text)
	m.Message = schema.AssistantMessage(text, nil)
	return m
}

func shortened(s string) string { return s[:min(len(s), 40)] }

func (w *world) summarize(t testing.TB, scope backends.Scope, messages ...backends.Message) *personal.SummaryResponse {
	t.Helper()
	resp, err := w.Summarize(ctx, &personal.SummaryRequest{Scope: scope, Messages: messages})
	require.NoError(t, err)
	require.NoError(t, resp.Report.Err())
	return resp
}

func (w *world) all(t testing.TB, p backends.Partition) []*backends.Memory {
	t.Helper()
	all, err := w.keeper.All(ctx, p)
	require.NoError(t, err)
	return all
}

func partitionOf(t testing.TB, s backends.Scope) backends.Partition {
	t.Helper()
	p, err := s.Speaker()
	require.NoError(t, err)
	return p
}

// known returns the texts of what holds, and those of what does no more, in the order
// in which they were said.
func (w *world) known(t testing.TB, s backends.Scope) (active, past []string) {
	t.Helper()
	for _, m := range w.all(t, partitionOf(t, s)) {
		if m.Active() {
			active = append(active, m.Text)
		} else {
			past = append(past, m.Text)
		}
	}
	return active, past
}

func outcomes(r *personal.SummaryResponse) []backends.Outcome {
	var out []backends.Outcome
	for _, i := range r.Items {
		out = append(out, i.Outcome)
	}
	return out
}

// shown is what a question shows, as a model reads it.
type shown struct {
	system, user string
	target       string
	lines        []shownLine
	statements   []shownStatement
}

type shownLine struct {
	N                      *int
	Part, Time, Role, Name string
	Dates                  []string
	Text                   string
}

type shownStatement struct {
	N                        int
	Status, Said, When, Text string
}

func read(in []*schema.Message) (shown, error) {
	s := shown{system: in[0].Content, user: in[1].Content}
	section := ""
	for line := range strings.Lines(s.user) {
		line = strings.TrimSuffix(line, "\n")
		var err error
		switch {
		case strings.HasPrefix(line, "</"):
			section = ""
		case strings.HasPrefix(line, "<"):
			section = line
		case section == "<conversation>":
			var l shownLine
			err = json.Unmarshal([]byte(line), &l)
			s.lines = append(s.lines, l)
		case section == "<statements>":
			var l shownStatement
			err = json.Unmarshal([]byte(line), &l)
			s.statements = append(s.statements, l)
		case strings.Contains(line, `"`) && section == "":
			_ = json.Unmarshal([]byte(line[strings.Index(line, `"`):]), &s.target)
		}
		if err != nil {
			return s, fmt.Errorf("%w: %s", err, line)
		}
	}
	return s, nil
}

// mind is a model whose answers depend on what it is shown, and on nothing else. It
// knows where people live and what they like, in two languages.
type mind struct {
	*testkit.Chat
	mu     sync.Mutex
	asked  []string // the tools of the questions so far
	seen   []shown
	change func(tool string, s shown, answer string) string // what is answered instead
	fail   func(tool string) error
}

func newMind() *mind {
	m := &mind{}
	m.Chat = testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
		s, err := read(in)
		if err != nil {
			return nil, err
		}
		tool := toolOf(s.system, o)
		m.mu.Lock()
		m.asked, m.seen = append(m.asked, tool), append(m.seen, s)
		m.mu.Unlock()
		if m.fail != nil {
			if err := m.fail(tool); err != nil {
				return nil, err
			}
		}
		answer := think(tool, s)
		if m.change != nil {
			answer = m.change(tool, s, answer)
		}
		if len(o.Tools) == 0 {
			return schema.AssistantMessage(answer, nil), nil
		}
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: tool, Arguments: answer}}}), nil
	})
	return m
}

func (m *mind) calls(tool string) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.asked {
		if t == tool || tool == "" {
			n++
		}
	}
	return n
}

func (m *mind) last(tool string) shown {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.asked) - 1; i >= 0; i-- {
		if m.asked[i] == tool {
			return m.seen[i]
		}
	}
	return shown{}
}

const (
	scores       = "personal_scores"
	observations = "personal_observations"
	relations    = "personal_relations"
	period       = "personal_period"
)

// toolOf names the question: by its tool, else by the JSON that it asks for.
func toolOf(system string, o *model.Options) string {
	if len(o.Tools) > 0 {
		return o.Tools[0].Name
	}
	for key, tool := range map[string]string{`{"scores":`: scores, `{"observations":`: observations, `{"relations":`: relations, `{"period":`: period} {
		if strings.Contains(system, key) {
			return tool
		}
	}
	return ""
}

// textual hides that a model can call tools.
type textual struct{ model.BaseChatModel }

func think(tool string, s shown) string {
	var list []any
	switch tool {
	case scores:
		for _, l := range s.lines {
			if l.N != nil {
				list = append(list, map[string]any{"n": *l.N, "score": score(l.Text)})
			}
		}
		return answer("scores", list)
	case observations:
		for i, l := range s.lines {
			if l.N == nil {
				continue
			}
			before := ""
			if i > 0 {
				before = s.lines[i-1].Text
			}
			for _, o := range observe(s.target, before, l.Text, l.Dates) {
				o["n"] = *l.N
				list = append(list, o)
			}
		}
		return answer("observations", list)
	case relations:
		for _, a := range s.statements {
			for _, b := range s.statements {
				if a.Status == "new" && a.N > b.N {
					if r := relate(a.Text, b.Text); r != "" {
						list = append(list, map[string]any{"n": a.N, "relation": r, "other": b.N})
					}
				}
			}
		}
		return answer("relations", list)
	}
	return `{"period":""}`
}

func answer(name string, list []any) string {
	if list == nil {
		list = []any{}
	}
	text, err := json.Marshal(map[string]any{name: list})
	if err != nil {
		panic(err)
	}
	return string(text)
}

var (
	lives = regexp.MustCompile(`I (?:live in|moved to|am moving to) (\w+)`)
	likes = regexp.MustCompile(`I like (\w+)`)
	zhu   = regexp.MustCompile(`我(?:住在|搬到了)(北京|上海)`)
	ai    = regexp.MustCompile(`我喜欢([^，。]+)`)
	yes   = regexp.MustCompile(`^Yes, the (\w+) one`)
	place = regexp.MustCompile(`lives in (\w+)|住在(北京|上海)`)
)

func score(text string) int {
	switch {
	case strings.Contains(text, "imagine"), strings.Contains(text, "假如"):
		return 1
	case lives.MatchString(text), likes.MatchString(text), zhu.MatchString(text), ai.MatchString(text), yes.MatchString(text):
		return 3
	}
	return 0
}

func observe(target, before, text string, dates []string) (out []map[string]any) {
	add := func(statement, keywords string) {
		o := map[string]any{"text": statement, "keywords": keywords}
		if len(dates) > 0 {
			_, o["when"], _ = strings.Cut(dates[0], " = ")
		}
		out = append(out, o)
	}
	for _, m := range lives.FindAllStringSubmatch(text, -1) {
		add(target+" lives in "+m[1]+".", "home, "+m[1])
	}
	for _, m := range likes.FindAllStringSubmatch(text, -1) {
		add(target+" likes "+m[1]+".", m[1])
	}
	for _, m := range zhu.FindAllStringSubmatch(text, -1) {
		add(target+"住在"+m[1]+"。", "住处，"+m[1])
	}
	for _, m := range ai.FindAllStringSubmatch(text, -1) {
		add(target+"喜欢"+m[1]+"。", m[1])
	}
	if m := yes.FindStringSubmatch(text); m != nil && strings.Contains(before, "?") {
		add(target+" wants the "+m[1]+" of: "+before, m[1])
	}
	return out
}

func relate(a, b string) string {
	inA, inB := place.FindString(a), place.FindString(b)
	bare := func(s string) string { return strings.TrimRight(s, ".。") }
	switch {
	case inA != "" && inB != "" && inA != inB:
		return "contradicts"
	case strings.HasPrefix(b, bare(a)):
		return "contained"
	case strings.HasPrefix(a, bare(b)):
		return "extends"
	}
	return ""
}

var errDown = errors.New("down")
