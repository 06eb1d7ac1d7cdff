// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"fmt"
	"strings"
	"testing"

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

func TestC1_15_TwoStep(t *testing.T) {
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
func TestC1_15_ContradictionKeepsTheNewFact_4536(t *testing.T) {
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
func TestC1_15_SayingItAgainKeepsIt_1674(t *testing.T) {
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

func TestC1_15_NoFactsNoSecondCall(t *testing.T) {
	b := open(t, steps(t, func(shown) []string { return nil }, nil))
	require.Equal(t, 1, add(t, b, ann, user("hi")...).Usage.ModelCalls)
}

func TestC1_03_AdditiveOnlyAdds(t *testing.T) {
	b := open(t, in(mem0.Additive), factsOnly, with(answering(
		`{"facts":["The user lives in Beijing."]}`,
		`{"memory":[{"op":"supersede","index":0,"text":"The user lives in Shanghai, no longer in Beijing."},{"op":"retract","index":0}]}`,
	)))
	add(t, b, ann, user("Beijing")...)
	resp := add(t, b, ann, user("Shanghai")...)
	require.Equal(t, []backends.Outcome{"added"}, outcomes(resp, backends.KindFact))
	require.Len(t, facts(t, b, ann), 2)
}

func TestD3_ReplayingLeavesTheCount(t *testing.T) {
	answer := `{"facts":[{"text":"The user likes tea.","said_by":"user"},{"text":"The user has a cat.","said_by":"user"}]}`
	for _, mode := range []mem0.Mode{mem0.Verbatim, mem0.Reconcile, mem0.Additive, mem0.TwoStep} {
		t.Run(string(mode), func(t *testing.T) {
			b := open(t, in(mode), with(answering(answer)))
			messages := append(user("I like tea", "I have a cat"), backends.Message{ID: "a", Message: assistant("Noted.")})
			want := 0
			for i := range 100 {
				for k := range messages {
					messages[k].ID = fmt.Sprintf("%d-%d", i, k) // the ids differ, what is said does not
				}
				add(t, b, ann, messages...)
				n := len(list(t, b, ann))
				if i == 0 {
					want = n
				}
				require.Equal(t, want, n)
			}
		})
	}
}
