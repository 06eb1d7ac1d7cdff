// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
)

// steps is a model of TwoStep: facts is asked first, decide second.
func steps(t testing.TB, facts func(s shown) []string, decide func(s shown) string) func(*mem0.Config) {
	return func(c *mem0.Config) {
		c.Mode = mem0.TwoStep
		c.FactsOnly = true
		c.Model = thinking(t, func(s shown) string {
			if len(s.facts) > 0 {
				return decide(s)
			}
			quoted := facts(s)
			for i := range quoted {
				quoted[i] = fmt.Sprintf("%q", quoted[i])
			}
			return `{"facts":[` + strings.Join(quoted, ",") + `]}`
		})
	}
}

// echo takes every message for a fact.
func echo(s shown) []string { return strings.Split(s.said(), "\n") }

// everyMode runs a test in each mode, with a model that answers one fact.
func everyMode(t *testing.T, test func(t *testing.T, mode mem0.Mode, b *mem0.Backend)) {
	for _, mode := range []mem0.Mode{mem0.Reconcile, mem0.Additive, mem0.TwoStep, mem0.Verbatim} {
		t.Run(string(mode), func(t *testing.T) {
			m := thinking(t, func(s shown) string {
				if len(s.facts) > 0 {
					return `{"decisions":[{"fact":0,"event":"NONE","index":0}]}`
				}
				return operations(`{"op":"add","text":"Ann likes tea."}`)
			})
			test(t, mode, open(t, in(mode), with(m)))
		})
	}
}

func TestTwoStep(t *testing.T) {
	decide := func(s shown) string {
		var out []string
		for _, f := range s.facts {
			switch {
			case strings.Contains(f.Text, "husky"):
				out = append(out, fmt.Sprintf(`{"fact":%d,"event":"UPDATE","index":%d,"text":"The dog Rex is a husky"}`, f.Fact, s.indexOf("Rex")))
			case s.indexOf(f.Text) >= 0:
				out = append(out, fmt.Sprintf(`{"fact":%d,"event":"NONE","index":%d}`, f.Fact, s.indexOf(f.Text)))
			default:
				out = append(out, fmt.Sprintf(`{"fact":%d,"event":"ADD"}`, f.Fact))
			}
		}
		return `{"decisions":[` + strings.Join(out, ",") + `]}`
	}
	b := open(t, steps(t, echo, decide))
	first := add(t, b, ann, user("The dog is called Rex")...)
	require.Equal(t, 1, first.Usage.ModelCalls, "nothing is known: there is nothing to decide")
	second := add(t, b, ann, user("It is a husky", "I have a bike", "The dog is called Rex")...)
	require.Equal(t, 2, second.Usage.ModelCalls)
	require.Equal(t, backends.OutcomeSuperseded, second.Items[0].Outcome)
	require.Equal(t, "The dog is called Rex", second.Items[0].Previous.Text)
	require.Equal(t, []string{"The dog Rex is a husky", "I have a bike"}, facts(t, b, ann)[:2])
}

// The mem0 of the paper deletes on a contradiction and forgets to add.
func TestTwoStepKeepsTheNewFactOfAContradiction(t *testing.T) {
	for name, decision := range map[string]string{
		"ours":         `{"decisions":[{"fact":0,"event":"DELETE","index":0}]}`,
		"said nothing": `{"decisions":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, steps(t, echo, func(shown) string { return decision }))
			love := add(t, b, ann, user("I love X")...).Items[0].Memory
			add(t, b, ann, user("I hate X")...)
			now := facts(t, b, ann)
			require.Contains(t, now, "I hate X")
			if name != "said nothing" {
				require.Equal(t, []string{"I hate X"}, now)
			}
			old, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: love.ID})
			require.NoError(t, err, "the old one is hidden, not lost")
			require.Equal(t, "I love X", old.Text)
		})
	}
}

// In the mem0 of the paper, saying a thing again could delete it.
func TestTwoStepKeepsWhatIsSaidAgain(t *testing.T) {
	for _, decision := range []string{
		`{"decisions":[{"fact":0,"event":"DELETE","index":0}]}`,
		`{"decisions":[{"fact":0,"event":"UPDATE","index":0,"text":"I love X."}]}`,
		`{"decisions":[{"fact":0,"event":"ADD"}]}`,
	} {
		b := open(t, steps(t, echo, func(shown) string { return decision }))
		add(t, b, ann, user("I love X")...)
		resp := add(t, b, ann, user("I love X")...)
		require.Equal(t, backends.OutcomeUnchanged, resp.Items[0].Outcome, decision)
		require.Equal(t, []string{"I love X"}, facts(t, b, ann))
	}
}

func TestTwoStepThatIsNotUnderstoodAddsTheFacts(t *testing.T) {
	for _, decision := range []string{`{"decisions":null}`, `{"decisions":[{"fact":0,"event":"sing"}]}`, `{"decisions":[{"event":"ADD"}]}`, "?"} {
		b := open(t, steps(t, echo, func(shown) string { return decision }))
		add(t, b, ann, user("I love X")...)
		resp := add(t, b, ann, user("I hate X")...)
		require.ErrorIs(t, outcomeOf(resp, backends.OutcomeFailed)[0].Err, backends.ErrModel, decision)
		require.Equal(t, []string{"I love X", "I hate X"}, facts(t, b, ann))
	}
	b := open(t, steps(t, echo, nil), with(answering("?")))
	resp := add(t, b, ann, user("I hate X")...)
	require.Len(t, outcomeOf(resp, backends.OutcomeFailed), 1)
	require.Empty(t, facts(t, b, ann))
	require.Equal(t, []string{"I hate X"}, list(t, b, ann))
}

func TestTwoStepWithoutFactsAsksOnce(t *testing.T) {
	b := open(t, steps(t, func(shown) []string { return nil }, nil))
	require.Equal(t, 1, add(t, b, ann, user("I saw a bird")...).Usage.ModelCalls)
}

func TestAdditiveOnlyAdds(t *testing.T) {
	b := open(t, in(mem0.Additive), factsOnly, with(answering(
		`{"facts":["The user lives in Beijing."]}`,
		`{"memory":[{"op":"supersede","index":0,"text":"The user lives in Shanghai, no longer in Beijing."},{"op":"retract","index":0}]}`,
	)))
	add(t, b, ann, user("Beijing")...)
	resp := add(t, b, ann, user("Shanghai")...)
	require.Equal(t, []backends.Outcome{"added"}, outcomes(resp, backends.KindFact))
	require.Len(t, facts(t, b, ann), 2)
}

func TestVerbatimKeepsEachMessage(t *testing.T) {
	b := open(t)
	named := schema.UserMessage("I live in Beijing.")
	named.Name = "Ann"
	resp := add(t, b, ann,
		backends.Message{Message: schema.SystemMessage("You are helpful.")},
		backends.Message{ID: "a", Turn: "t1", Time: start, Message: named},
		backends.Message{ID: "b", Turn: "t1", Time: start, Message: schema.AssistantMessage("Noted: Beijing.", nil)},
		backends.Message{Message: schema.ToolMessage("dump", "call")},
		backends.Message{Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "call"}})},
	)
	require.Len(t, resp.Items, 2)
	require.Equal(t, []string{"I live in Beijing.", "Noted: Beijing."}, list(t, b, ann))
	m := resp.Items[0].Memory
	require.Equal(t, backends.KindEpisode, m.Kind)
	require.Equal(t, backends.Origin{Session: "s1", Turn: "t1", MessageIDs: []string{"a"}, Role: "user", Speaker: "Ann", Author: "verbatim"}, m.Origin)
	require.Equal(t, "assistant", resp.Items[1].Memory.Origin.Role)
	require.Zero(t, resp.Usage)
}

func TestVerbatimFacts(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Kind: backends.KindFact, Verbatim: true})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Items[0].Memory.Kind)
	require.Equal(t, "verbatim", resp.Items[0].Memory.Origin.Author)
}

func TestVerbatimDoesNotWaitForTheModel(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	m := thinking(t, func(shown) string { close(asked); <-answer; return operations() })
	b := open(t, with(m))
	done := make(chan error, 1)
	go func() {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("slow")})
		done <- err
	}()
	<-asked
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("fast"), Verbatim: true})
	require.NoError(t, err)
	require.Equal(t, []string{"fast"}, list(t, b, ann))

	impatient, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Add(impatient, &backends.AddRequest{Scope: ann, Messages: user("third")})
	require.ErrorIs(t, err, context.Canceled, "one call at a time learns for a partition")
	close(answer)
	require.NoError(t, <-done)
	require.Equal(t, []string{"fast", "slow"}, list(t, b, ann))
}

// What an agent writes down is its statement: no episode repeats it.
func TestAnAuthorWritesFactsAlone(t *testing.T) {
	everyMode(t, func(t *testing.T, _ mem0.Mode, b *mem0.Backend) {
		r := &backends.AddRequest{Scope: ann, Messages: user("Ann likes tea."), Author: "agent"}
		resp, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Len(t, resp.Items, 1)
		require.Equal(t, []string{"Ann likes tea."}, list(t, b, ann))
		require.Equal(t, []string{"Ann likes tea."}, facts(t, b, ann))
		require.Equal(t, "agent", resp.Items[0].Memory.Origin.Author)
		require.Equal(t, "agent", historyOf(t, b, resp.Items[0].Memory.ID)[0].Actor)

		again, err := b.Add(ctx, r)
		require.NoError(t, err)
		require.Equal(t, []backends.Outcome{backends.OutcomeUnchanged}, outcomes(again, backends.KindFact))
		said := add(t, b, ann, user("Ann likes tea.")...)
		require.Contains(t, outcomes(said, backends.KindEpisode), backends.OutcomeAdded, "what is said is kept as ever")
	})
}

func TestAnAuthorMayAskForEpisodes(t *testing.T) {
	b := open(t)
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Author: "import", Kind: backends.KindEpisode})
	require.NoError(t, err)
	require.Equal(t, backends.KindEpisode, resp.Items[0].Memory.Kind)
	require.Equal(t, "import", resp.Items[0].Memory.Origin.Author)
}

func TestOtherKindsAreRefused(t *testing.T) {
	b := open(t, with(answering("")))
	for _, verbatim := range []bool{true, false} {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Kind: backends.KindTool, Messages: user("tea"), Verbatim: verbatim})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// What an agent did is written down by the model, with what its tools returned.
func TestProcedure(t *testing.T) {
	helper := backends.Scope{AgentID: "helper"}
	did := []backends.Message{
		{ID: "1", Message: schema.UserMessage("Deploy it")},
		{ID: "2", Message: schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "deploy", Arguments: `{"env":"prod"}`}}})},
		{ID: "3", Message: schema.ToolMessage("build 77 failed: disk full", "c")},
		{ID: "4", Message: assistant("It failed.")},
	}
	m := answering("```\n1. deploy(prod): build 77 failed: disk full\n```")
	b := open(t, with(m))
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, backends.KindProcedure, resp.Items[0].Memory.Kind)
	require.Equal(t, "1. deploy(prod): build 77 failed: disk full", resp.Items[0].Memory.Text)
	prompt := m.Calls()[0][1].Content
	require.Contains(t, prompt, "disk full")
	require.Contains(t, prompt, `deploy({\"env\":\"prod\"})`)

	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrInvalid, "an agent did it")
	b = open(t, with(answering("``` \n```", "<think>hm</think>")))
	_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: did})
	require.ErrorIs(t, err, backends.ErrModel)
	_, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: []backends.Message{{Message: schema.ToolMessage("\xff", "c")}}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	resp, err = b.Add(ctx, &backends.AddRequest{Scope: helper, Kind: backends.KindProcedure, Messages: []backends.Message{{}, {Message: schema.SystemMessage("Be brief.")}}})
	require.NoError(t, err)
	require.Empty(t, resp.Items, "nothing was done")
}
