// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx   = context.Background()
	ann   = backends.Scope{UserID: "ann", SessionID: "s1"}
	start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
)

func fixed() time.Time { return start }

func openStore(t testing.TB) *sqlitestore.Store {
	return testkit.SQLite(t, func(c *sqlitestore.Config) { c.Clock = fixed })
}

// open returns a backend on a store of its own.
func open(t testing.TB, change ...func(*mem0.Config)) *mem0.Backend {
	t.Helper()
	c := &mem0.Config{Clock: fixed}
	for _, f := range change {
		f(c)
	}
	if c.Store == nil {
		c.Store = openStore(t)
	}
	b, err := mem0.New(ctx, c)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.Close(ctx) })
	return b
}

func on(st store.Store) func(*mem0.Config) { return func(c *mem0.Config) { c.Store = st } }

func with(m model.BaseChatModel) func(*mem0.Config) { return func(c *mem0.Config) { c.Model = m } }

func factsOnly(c *mem0.Config) { c.FactsOnly = true }

func embedded(e *testkit.Embedder) func(*mem0.Config) {
	return func(c *mem0.Config) { c.Embedder, c.EmbeddingModel = e, "hash" }
}

func user(texts ...string) []backends.Message {
	var out []backends.Message
	for i, s := range texts {
		out = append(out, backends.Message{ID: fmt.Sprintf("m%d", i), Turn: "t", Time: start, Message: schema.UserMessage(s)})
	}
	return out
}

func assistant(s string) *schema.Message { return schema.AssistantMessage(s, nil) }

func add(t testing.TB, b *mem0.Backend, s backends.Scope, messages ...backends.Message) *backends.AddResponse {
	t.Helper()
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: messages})
	require.NoError(t, err)
	return resp
}

func list(t testing.TB, b *mem0.Backend, s backends.Scope, kinds ...backends.Kind) []string {
	t.Helper()
	resp, err := b.List(ctx, &backends.ListRequest{Scope: s, Kinds: kinds})
	require.NoError(t, err)
	var texts []string
	for _, m := range resp.Memories {
		texts = append(texts, m.Text)
	}
	return texts
}

func facts(t testing.TB, b *mem0.Backend, s backends.Scope) []string {
	t.Helper()
	return list(t, b, s, backends.KindFact)
}

func outcomes(r *backends.AddResponse, kind backends.Kind) []backends.Outcome {
	var out []backends.Outcome
	for _, i := range r.Items {
		if i.Memory.Kind == kind {
			out = append(out, i.Outcome)
		}
	}
	return out
}

func search(t testing.TB, b *mem0.Backend, r backends.SearchRequest) []string {
	t.Helper()
	resp, err := b.Search(ctx, &r)
	require.NoError(t, err)
	require.NoError(t, resp.Degraded)
	var texts []string
	for _, h := range resp.Hits {
		texts = append(texts, h.Text)
	}
	return texts
}

// changes renders what happened to a fact along its chain.
func changes(t *testing.T, b *mem0.Backend, id string) (out []string) {
	t.Helper()
	for _, e := range historyOf(t, b, id) {
		out = append(out, string(e.Type)+" "+cmp.Or(e.New, e.Old))
	}
	return out
}

func historyOf(t *testing.T, b *mem0.Backend, id string) []backends.Event {
	t.Helper()
	events, err := b.History(ctx, &backends.HistoryRequest{Scope: ann, ID: id})
	require.NoError(t, err)
	return events
}

// shown is what the prompt of a call holds, as a model reads it.
type shown struct {
	system   string
	user     string
	memories []struct {
		Index  int    `json:"index"`
		Text   string `json:"text"`
		SaidBy string `json:"said_by"`
		Since  string `json:"since"`
	}
	earlier, new []struct {
		N          int
		Time, Role string
		Name, Text string
	}
}

func read(t testing.TB, input []*schema.Message) shown {
	t.Helper()
	require.Len(t, input, 2)
	s := shown{system: input[0].Content, user: input[1].Content}
	section := ""
	lines := bufio.NewScanner(strings.NewReader(s.user))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "</"):
			section = ""
		case strings.HasPrefix(line, "<"):
			section = strings.Trim(line, "<>")
		case section == "existing_memories":
			decodeInto(t, line, &s.memories)
		case section == "new_messages":
			decodeInto(t, line, &s.new)
		case section == "earlier_messages":
			decodeInto(t, line, &s.earlier)
		}
	}
	return s
}

func decodeInto[T any](t testing.TB, line string, to *[]T) {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal([]byte(line), &v), line)
	*to = append(*to, v)
}

// indexOf returns the number under which a memory with the text in it is shown.
func (s *shown) indexOf(text string) int {
	for _, m := range s.memories {
		if strings.Contains(m.Text, text) {
			return m.Index
		}
	}
	return -1
}

func (s *shown) said() string {
	var texts []string
	for _, m := range s.new {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "\n")
}

// thinking is a model whose answers depend on what it is shown, and on nothing
// else. It answers by tool when it was given one.
func thinking(t testing.TB, think func(s shown) string) *testkit.Chat {
	return testkit.New(func(_ context.Context, input []*schema.Message, o *model.Options) (*schema.Message, error) {
		answer := think(read(t, input))
		if len(o.Tools) == 0 {
			return schema.AssistantMessage(answer, nil), nil
		}
		return schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: o.Tools[0].Name, Arguments: answer}}}), nil
	})
}

// answering is a model that gives these texts, by tool or not.
func answering(answers ...string) *testkit.Chat {
	script := make([]testkit.Reply, len(answers))
	for i, a := range answers {
		script[i] = testkit.Text(a)
	}
	return testkit.New(script...)
}

// textual hides that a model can call tools.
type textual struct{ model.BaseChatModel }

func operations(ops ...string) string { return `{"operations":[` + strings.Join(ops, ",") + `]}` }

// resident is a model that knows where people live.
func resident(t testing.TB) *testkit.Chat {
	return thinking(t, func(s shown) string {
		var ops []string
		for _, place := range []string{"Beijing", "Shanghai", "北京", "上海"} {
			if !strings.Contains(s.said(), place) {
				continue
			}
			text := "The user lives in " + place + "."
			if slices.Contains([]string{"北京", "上海"}, place) {
				text = "用户住在" + place + "。"
			}
			old := s.indexOf("lives in")
			if old < 0 {
				old = s.indexOf("住在")
			}
			switch {
			case s.indexOf(text) >= 0:
			case old >= 0:
				ops = append(ops, fmt.Sprintf(`{"op":"supersede","index":%d,"text":%q,"said_by":"user","since":"2026-03-01"}`, old, text))
			default:
				ops = append(ops, fmt.Sprintf(`{"op":"add","text":%q,"said_by":"user","messages":[0]}`, text))
			}
		}
		return operations(ops...)
	})
}

// BenchmarkAddVerbatim stores a turn of two messages in a file that is synced to
// the disk with every write.
func BenchmarkAddVerbatim(b *testing.B) {
	for _, held := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("held=%d", held), func(b *testing.B) {
			st, err := sqlitestore.Open(ctx, b.TempDir()+"/memory.db", nil)
			require.NoError(b, err)
			defer st.Close()
			m, err := mem0.New(ctx, &mem0.Config{Store: st})
			require.NoError(b, err)
			turn := func(n int) *backends.AddRequest {
				return &backends.AddRequest{Scope: ann, Messages: []backends.Message{
					{Message: schema.UserMessage(fmt.Sprintf("On day %d I went to see the lighthouse with my sister and her two dogs", n))},
					{Message: schema.AssistantMessage(fmt.Sprintf("That sounds lovely, day %d must have been windy out there", n), nil)},
				}}
			}
			all := &backends.AddRequest{Scope: ann}
			for i := range held / 2 {
				all.Messages = append(all.Messages, turn(-i-1).Messages...)
			}
			_, err = m.Add(ctx, all)
			require.NoError(b, err)
			n := 0
			for b.Loop() {
				n++
				if _, err := m.Add(ctx, turn(n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestAFactThatEndedLeavesWithTheWordsThatTaughtIt(t *testing.T) {
	clock := testkit.NewClock()
	b := open(t, with(resident(t)), func(c *mem0.Config) {
		c.Clock, c.Store = clock.Now, testkit.SQLite(t, func(s *sqlitestore.Config) { s.Clock = clock.Now })
		rule := backends.RetentionRule{Kinds: []backends.Kind{backends.KindFact}, EndedFor: 24 * time.Hour}
		c.Retention = &backends.Retention{Rules: []backends.RetentionRule{rule}, Every: -1}
	})
	add(t, b, ann, user("I live in Beijing")...)
	clock.Advance(time.Hour)
	moved := user("I moved to Shanghai")
	moved[0].ID = "m9"
	add(t, b, ann, moved...)
	where := backends.SearchRequest{Scope: ann, Query: "Where does the user live, in Beijing?"}
	before := search(t, b, where)
	clock.Advance(48 * time.Hour)
	report, err := b.Retain(ctx, &backends.RetainRequest{})
	require.NoError(t, err)
	require.Equal(t, map[backends.RetainReason]int{backends.RetainEnded: 2}, report.Erased, "the fact, and the words that taught it")
	require.Equal(t, before, search(t, b, where))
	var dump strings.Builder
	_, err = b.Export(ctx, ann, &dump)
	require.NoError(t, err)
	require.NotContains(t, dump.String(), "Beijing")
}

// BenchmarkSearch finds among 10,000 memories, half of them facts that stand for
// the other half, and folds.
func BenchmarkSearch(b *testing.B) {
	m := open(b, with(thinking(b, func(shown) string { return operations() })))
	batch := &store.Batch{}
	for i := range 5000 {
		said := backends.Origin{Session: "s", MessageIDs: []string{fmt.Sprint("m", i)}}
		batch.Mutations = append(batch.Mutations,
			store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint("e", i), Kind: backends.KindEpisode, Origin: said, Text: fmt.Sprintf("On day %d I saw the lighthouse with my sister %d", i, i%97)}}),
			store.Put(&store.Record{Memory: backends.Memory{ID: fmt.Sprint("f", i), Kind: backends.KindFact, Origin: said, Text: fmt.Sprintf("The user saw lighthouse %d with a sister on day %d", i%97, i)}}))
	}
	own, err := ann.Speaker()
	require.NoError(b, err)
	_, err = m.Sessions().(store.Store).Apply(ctx, own, batch)
	require.NoError(b, err)
	for name, kinds := range map[string][]backends.Kind{"folded": nil, "unfolded": {backends.KindFact, backends.KindEpisode}, "facts": {backends.KindFact}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "Who saw lighthouse 42 on day 4242?", Kinds: kinds}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
