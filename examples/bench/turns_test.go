// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/backends/working/compaction"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
	"github.com/einomem/einomem/toolkit"
)

// What a user says in a session that is learnt from, and in the ten turns of the next one.
// Behind FACT stands what the scripted model learns.
const (
	earlier = `I'm Wei. FACT The user is called Wei.
I live near the lake. FACT The user lives in Hangzhou.
I work at night. FACT The user is a nurse at a children's hospital.
I miss my sister. FACT The user's sister Anna lives in Berlin.
I felt ill today. FACT The user is allergic to peanuts.
We have a dog. FACT The user has a dog called Rex.
I'm going to be thirty. FACT The user's birthday is on 3 June.
I got a ticket. FACT The user drives a blue Toyota.
I like sports. FACT The user plays badminton on Tuesdays.
I like to cook. FACT The user's favourite dish is mapo tofu.
I study a lot. FACT The user learns Portuguese.
My mother says hello. FACT The user's mother is a retired teacher.`
	tenTurns = `Where does my sister Anna live?
I'd like to see her. FACT The user wants to visit Anna for two weeks.
What should I not eat on the way, am I allergic?
I booked it today. FACT The user's flight to Berlin leaves on 4 October.
Who can look after my dog Rex?
My neighbour could. FACT The user's neighbour Bo takes care of Rex.
When do I play badminton?
My knee hurts. FACT The user plays no badminton any more.
Which car do I drive?
I do not need the Toyota. FACT The user is going to sell the Toyota.`
)

// turnsCost is what turns cost: calls of all models, estimated tokens of their prompts and
// tools, requests to the embedder, and texts in them.
type turnsCost struct{ calls, tokens, requests, texts int }

func (c turnsCost) since(begin turnsCost) turnsCost {
	return turnsCost{c.calls - begin.calls, c.tokens - begin.tokens, c.requests - begin.requests, c.texts - begin.texts}
}

// With -v it logs the costs that README.md shows.
func TestWhatTenTurnsCost(t *testing.T) {
	const header = "user: Today is "
	const answer = "All right. Tell me if there is anything else that I can do for you."
	for _, tt := range []struct {
		name  string
		mode  modes.Mode
		calls bool      // the agent's model calls a memory tool in each turn
		most  turnsCost // of the replies
	}{
		{"static_control", modes.StaticControl, false, turnsCost{10, 6200, 10, 10}},
		{"both, no tool is called", modes.Both, false, turnsCost{10, 10700, 10, 10}},
		// A search is one request more, and add_memory a call of the model and two requests.
		{"both, a tool is called in each turn", modes.Both, true, turnsCost{25, 31500, 20, 25}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := t.Context()
			chat := testkit.New(func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
				said := in[len(in)-1]
				call := schema.FunctionCall{Name: toolkit.AddMemory, Arguments: fmt.Sprintf(`{"thinking":"the user said so","content":[%q]}`, said.Content)}
				if strings.HasSuffix(said.Content, "?") {
					call = schema.FunctionCall{Name: toolkit.SearchMemory, Arguments: fmt.Sprintf(`{"keywords":[%q]}`, said.Content)}
				}
				if !tt.calls || said.Role != schema.User {
					return schema.AssistantMessage(answer, nil), nil
				}
				return schema.AssistantMessage("", []schema.ToolCall{{ID: "call", Type: "function", Function: call}}), nil
			})
			learner, embedder := testkit.New(testkit.Learn), &testkit.Embedder{Dim: 512}
			backend, err := mem0.New(ctx, &mem0.Config{Store: testkit.SQLite(t), Model: learner, Embedder: embedder, EmbeddingModel: "words"})
			require.NoError(t, err)
			mem, err := middleware.New(ctx, &middleware.Config{
				Backend: backend, Mode: tt.mode, SearchTimeout: -1,
				Working: &working.Config{MaxTurns: 100, Idle: time.Hour}, // nothing is learnt before Flush
				OnError: func(_ context.Context, stage string, err error) { t.Errorf("%s: %v", stage, err) },
			})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, mem.Close(context.Background())) })
			runner := mem.WrapRunner(testkit.Runner(testkit.Agent(t, "helpful", chat, func(c *adk.ChatModelAgentConfig) {
				c.Middlewares = []adk.AgentMiddleware{mem.AgentMiddleware()}
			}), false, nil))
			spent := func() turnsCost {
				c := turnsCost{requests: int(embedder.Requests.Load()), texts: int(embedder.Texts.Load())}
				for _, m := range []*testkit.Chat{chat, learner} {
					for _, in := range m.Calls() {
						c.calls++
						c.tokens += compaction.CountTools(m.Offered())
						for _, said := range in {
							c.tokens += compaction.Estimate.Message(said)
						}
					}
				}
				return c
			}

			var replies, learning turnsCost
			var stable []int // how much of a turn's prompt the next one begins with: what a provider has in its cache
			for session, all := range []string{earlier, tenTurns} {
				ctx := middleware.WithScope(ctx, middleware.Scope{UserID: "wei", SessionID: fmt.Sprint(session)})
				begin, last, notes := spent(), "", 0
				var history []*schema.Message // what the program keeps: no calls of tools
				stable = nil
				for _, said := range strings.Split(all, "\n") {
					history = append(history, schema.UserMessage(said))
					n := len(chat.Calls())
					require.Equal(t, "assistant: "+answer, testkit.Last(testkit.Drain(runner.Run(ctx, history))))
					history = append(history, schema.AssistantMessage(answer, nil))
					prompt := strings.Join(testkit.Lines(chat.Calls()[n]), "\n")
					same := 0
					for same < min(len(last), len(prompt)) && last[same] == prompt[same] {
						same++
					}
					if last != "" {
						require.GreaterOrEqual(t, same, strings.Index(last, header), "nothing in front of a note ever changes")
						stable = append(stable, 100*same/len(last))
					}
					notes += strings.Count(prompt, header)
					last = prompt
				}
				require.Equal(t, session == 1 || tt.calls, notes >= 8, "each question has a note, and before anything is known only the allergy stands in one")
				replies = spent().since(begin)
				require.NoError(t, mem.Flush(ctx))
				learning = spent().since(begin).since(replies)
			}
			t.Logf("replies: %+v; learning: %+v; %% of a turn's prompt with which the next begins: %v", replies, learning, stable)
			require.Equal(t, [2]int{tt.most.calls, tt.most.requests}, [2]int{replies.calls, replies.requests})
			require.LessOrEqual(t, replies.tokens, tt.most.tokens)
			require.Equal(t, 1, learning.calls)
			require.LessOrEqual(t, learning.requests, 3)
		})
	}
}
