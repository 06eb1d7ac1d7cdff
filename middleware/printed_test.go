// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/work"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// What small models print in the place of a call, in two languages.
var printedCalls = map[string]string{
	"en": "Let me note that.\n```json\n{\n  \"name\": \"add_memory\",\n  \"arguments\": {\"thinking\": \"new\", \"content\": [\"The user moved to Hangzhou in March.\"]}\n}\n```",
	"zh": "{{\"name\": \"add_memory\", \"arguments\": {\"thinking\": \"新\", \"content\": [\"用户三月搬到了杭州。\"]}}}",
}

// printing is a world in which a model prints calls.
type printing struct {
	t        *testing.T
	mem      *middleware.MemoryMiddleware
	store    store.Store
	backend  backends.Manager
	failures *testkit.Failures
}

func newPrinting(t *testing.T, mode modes.Mode) *printing {
	p := &printing{t: t, store: testkit.SQLite(t), failures: &testkit.Failures{}}
	b := verbatim(t, p.store)
	p.backend = b
	p.mem = open(t, &middleware.Config{Backend: b, Mode: mode, OnError: p.failures.Add})
	return p
}

// run asks an agent. It returns what a person sees.
func (p *printing) run(ctx context.Context, m model.ToolCallingChatModel, wrap, streaming bool, question string) []string {
	cfg := func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, p.mem) }
	var r testkit.Run = testkit.Runner(testkit.Agent(p.t, "assistant", m, cfg), streaming, nil)
	if wrap {
		r = p.mem.WrapRunner(r.(*adk.Runner))
	}
	return testkit.Drain(r.Query(ctx, question))
}

// logged returns the log of a session.
func (p *printing) logged(s middleware.Scope) (out []string) {
	require.NoError(p.t, p.mem.Flush(context.Background()))
	partition, err := s.Speaker()
	require.NoError(p.t, err)
	log, err := p.store.Read(context.Background(), partition, s.SessionID, store.Range{Limit: 100})
	require.NoError(p.t, err)
	for _, e := range log {
		out = append(out, testkit.Line(e.Message.Message))
	}
	return out
}

// hides asserts that nothing of a printed call is in lines.
func hides(t *testing.T, lines []string, what string) {
	t.Helper()
	for _, line := range lines {
		if !strings.HasPrefix(line, "tool: ") {
			require.NotContains(t, line, `"name"`, what)
			require.NotContains(t, line, "```", what)
		}
	}
}

// A printed call of a memory tool is made, whatever attaches memory to the agent. Where
// something stands around the model, or around the run, nobody sees it.
func TestAPrintedCallIsMadeAndNotShown(t *testing.T) {
	for language, printed := range printedCalls {
		for _, streaming := range []bool{false, true} {
			for _, by := range []string{"middleware", "model", "runner", "model and runner"} {
				name := fmt.Sprintf("%s, %s, streaming %v", language, by, streaming)
				p := newPrinting(t, modes.Both)
				chat := testkit.New(testkit.Text(printed), testkit.Text("Noted. 记住了。"))
				m := model.ToolCallingChatModel(chat)
				if strings.Contains(by, "model") {
					m = p.mem.WrapModel(m)
				}
				seen := p.run(asAnn, m, strings.Contains(by, "runner"), streaming, "I moved to Hangzhou in March.")
				require.Equal(t, "assistant: Noted. 记住了。", testkit.Last(seen), name)
				require.Len(t, seen, 3, name)
				if by != "middleware" || testkit.SeesReturns { // a handler stands around the model, too
					hides(t, seen, name)
					require.Contains(t, seen[0], "calls add_memory", name)
				}
				log := p.logged(ann)
				hides(t, log, name)
				require.Len(t, log, 4, name)
				require.Contains(t, log[1], "calls add_memory", name)
				require.Contains(t, fmt.Sprint(memories(t, p.backend, "ann")), map[string]string{"en": "The user moved", "zh": "用户三月"}[language], name)
				require.NotContains(t, fmt.Sprint(memories(t, p.backend, "ann")), "arguments", name)
			}
		}
	}
}

// A model that prints a second call cannot call tools. It is asked again without those of
// memory, and offered none from then on: what is known is still shown to it, and learnt.
func TestAModelThatPrintsItsCallsGetsNoToolsAnyMore(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		p := newPrinting(t, modes.Both)
		tool := testkit.Reader(t, 5)
		chat := testkit.New(testkit.Text(printedCalls["en"]), testkit.Text("Noted."),
			testkit.Text("<tool_call>\n{\"name\": \"search_memory\", \"arguments\": {\"keywords\": [\"live\"]}}\n</tool_call>"), testkit.Text("In Hangzhou."),
			testkit.Text("Hello."))
		ask := func(ctx context.Context, question string) []string {
			a := testkit.Agent(t, "assistant", p.mem.WrapModel(chat), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, p.mem) }, tool)
			return testkit.Drain(testkit.Runner(a, streaming, nil).Query(ctx, question))
		}
		ask(as("ann", "s1"), "I moved to Hangzhou in March.")
		require.Empty(t, p.failures.At(work.StageLearnt), "one may be a slip")
		require.NoError(t, p.mem.Flush(t.Context()))
		require.Equal(t, []string{"assistant: In Hangzhou."}, ask(as("ann", "s2"), "Where do I live?"))
		require.Len(t, chat.Calls(), 4)
		require.Len(t, p.failures.At(work.StageLearnt), 1)
		require.ErrorContains(t, p.failures.At(work.StageLearnt)[0], "prints calls")

		require.Equal(t, []string{"assistant: Hello."}, ask(as("ann", "s3"), "Do you know where I live?"))
		require.Len(t, chat.Calls(), 5)
		require.Len(t, chat.Offered(), 1, "the program's own tool stays")
		shown := fmt.Sprint(testkit.Lines(chat.Calls()[4]))
		require.Contains(t, shown, "Hangzhou", "the note is there")
		require.NotContains(t, shown, "search_memory")
		require.Len(t, p.failures.At(work.StageLearnt), 1, "it is reported once")
		require.Equal(t, []string{"user: Do you know where I live?", "assistant: Hello."}, p.logged(middleware.Scope{UserID: "ann", SessionID: "s3"}))
	}
}

// A model that sees the call that it printed prints it again: it is asked as if there were none.
func TestWhatWasPrintedIsNotShownToTheModelAgain(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		p := newPrinting(t, modes.Both)
		chat := testkit.New(testkit.Text(printedCalls["en"]), testkit.Text(printedCalls["zh"]), testkit.Text("Welcome to Hangzhou."))
		seen := p.run(asAnn, p.mem.WrapModel(chat), false, streaming, "I moved to Hangzhou in March.")
		require.Equal(t, "assistant: Welcome to Hangzhou.", testkit.Last(seen))
		require.Contains(t, fmt.Sprint(testkit.Lines(chat.Calls()[1])), "calls add_memory")
		asked := testkit.Lines(chat.Calls()[2])
		require.NotContains(t, fmt.Sprint(asked), "add_memory")
		require.Equal(t, "user: I moved to Hangzhou in March.", testkit.Last(asked))
	}
}

// A printed call that nobody makes is no speech either: of a graph, or a second one in a turn.
func TestAPrintedCallIsNeverLogged(t *testing.T) {
	for _, printed := range printedCalls {
		p := newPrinting(t, modes.Both)
		require.NoError(t, p.mem.Finish(asAnn, []*schema.Message{schema.UserMessage("Hi."), schema.AssistantMessage(printed, nil)}))
		for _, line := range p.logged(ann) {
			require.NotContains(t, line, "add_memory")
		}
		for _, wrap := range []bool{false, true} {
			p.run(as("ann", "s2"), testkit.New(testkit.Text(printed)), wrap, false, "I moved.")
			hides(t, p.logged(middleware.Scope{UserID: "ann", SessionID: "s2"}), printed)
		}
		require.NotContains(t, fmt.Sprint(memories(t, p.backend, "ann")), "arguments")
	}
}

// Under agent_control tools are all there is: printed calls are made, of one answer in each
// turn, so that no turn goes round in circles.
func TestUnderAgentControlPrintedCallsAreMade(t *testing.T) {
	p := newPrinting(t, modes.AgentControl)
	search := testkit.Text(`<tools>{"name":"search_memory","arguments":{"keywords":["one"]}}</tools>`)
	chat := testkit.New(search, testkit.Text("One."), search, search, testkit.Text("Enough."), search, search, search, testkit.Text("never said"))
	m := p.mem.WrapModel(chat)
	calls := "assistant:  calls search_memory"
	require.Equal(t, []string{calls, "assistant: One."}, spokenBy(p.run(as("ann", "s1"), m, false, false, "Search.")))
	require.Equal(t, []string{calls, "assistant: Enough."}, spokenBy(p.run(as("ann", "s1"), m, false, true, "And again.")))
	require.Empty(t, chat.Offered(), "the last answer is one without tools")
	require.Equal(t, []string{calls, "assistant: "}, spokenBy(p.run(as("ann", "s1"), m, false, false, "Once more.")), "what is printed without a tool on offer is not shown either")
	require.Len(t, p.failures.At(work.StageLearnt), 1)
}

func spokenBy(lines []string) (out []string) {
	for _, line := range lines {
		if strings.HasPrefix(line, "assistant: ") {
			out = append(out, line)
		}
	}
	return out
}

// Where tools are offered, ordinary answers come as they did: word by word, and as they are.
func TestAnOrdinaryAnswerIsNotHeldBack(t *testing.T) {
	p := newPrinting(t, modes.Both)
	answer := "It is <b>4</b>.\n```go\nfunc main() { print(4) }\n```\nAs JSON: {\"name\": \"Ann\", \"n\": 4}"
	at := make(chan struct{})
	slow := &slowly{Chat: testkit.New(), pieces: []string{"It is ", answer[6:]}, at: at}
	a := testkit.Agent(t, "assistant", p.mem.WrapModel(slow), func(cfg *adk.ChatModelAgentConfig) { testkit.Attach(cfg, p.mem) })
	events := testkit.Runner(a, true, nil).Query(asAnn, "What is 2+2?")
	e, ok := events.Next()
	require.True(t, ok)
	stream := e.Output.MessageOutput.MessageStream
	first, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, "It is ", first.Content, "while the model still writes")
	close(at)
	rest, err := schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	require.Equal(t, answer[6:], rest.Content)
	testkit.Drain(events)
	require.Equal(t, []string{"user: What is 2+2?", "assistant: " + answer}, p.logged(ann))
}

// slowly is a model that streams pieces, of which the second waits.
type slowly struct {
	*testkit.Chat
	pieces []string
	at     chan struct{}
}

func (s *slowly) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }

func (s *slowly) IsCallbacksEnabled() bool { return false }

func (s *slowly) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	out, w := schema.Pipe[*schema.Message](1)
	go func() {
		defer w.Close()
		w.Send(schema.AssistantMessage(s.pieces[0], nil), nil)
		<-s.at
		w.Send(schema.AssistantMessage(s.pieces[1], nil), nil)
	}()
	return out, nil
}

// What a model thinks aloud goes to the program, and no further.
func TestThoughtsAreNotRemembered(t *testing.T) {
	p := newPrinting(t, modes.Both)
	said := "<think>\nThe user is surely a spy from Lisbon.\n</think>\n\nWelcome to Hangzhou."
	seen := p.run(as("ann", "s1"), testkit.New(testkit.Text(said)), false, true, "I moved to Hangzhou in March.")
	require.Equal(t, []string{"assistant: " + said}, seen)
	require.Equal(t, []string{"user: I moved to Hangzhou in March.", "assistant: Welcome to Hangzhou."}, p.logged(middleware.Scope{UserID: "ann", SessionID: "s1"}))
	require.NotContains(t, fmt.Sprint(memories(t, p.backend, "ann")), "Lisbon")
	chat := testkit.New()
	p.run(as("ann", "s2"), chat, false, false, "Where do I live, and am I a spy from Lisbon?")
	require.NotContains(t, strings.ReplaceAll(fmt.Sprint(testkit.Lines(chat.Calls()[0])), "am I a spy", ""), "a spy")
}
