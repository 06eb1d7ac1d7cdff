// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/text"
)

// A question stays within the context of its model, whatever is known and said, and all that was
// said is asked about.
func TestAQuestionStaysWithinItsTokens(t *testing.T) {
	testkit.SlowUnderRace(t)
	for _, c := range []struct {
		tokens int
		small  bool
	}{{1500, false}, {2500, false}, {6000, false}, {1500, true}} {
		for language, sentence := range map[string]string{"en": "On day %d I planted tomatoes beside the old shed. ", "zh": "第%d天我在旧棚子旁边种了番茄。"} {
			t.Run(fmt.Sprint(c.tokens, c.small, language), func(t *testing.T) {
				read, most, calls := "", 0, 0
				m := testkit.New(func(_ context.Context, in []*schema.Message, o *model.Options) (*schema.Message, error) {
					calls++
					prompt := in[0].Content + in[1].Content
					for _, tool := range o.Tools {
						s, err := tool.ToJSONSchema()
						require.NoError(t, err)
						raw, err := s.MarshalJSON()
						require.NoError(t, err)
						prompt += string(raw) + tool.Name + tool.Desc
					}
					most = max(most, text.Tokens(prompt))
					_, added, _ := strings.Cut(in[1].Content, "<new_messages>")
					if c.small {
						added = in[1].Content
					}
					read += added
					return schema.AssistantMessage(`[]`, nil), nil
				})
				b := open(t, with(m), func(cfg *mem0.Config) { cfg.PromptTokens, cfg.Small = c.tokens, c.small })
				for i := range 60 {
					_, err := b.Remember(ctx, ann, fmt.Sprintf(sentence, 1000+i))
					require.NoError(t, err)
				}
				var long, before string
				for i := range 120 {
					long += fmt.Sprintf(sentence, i)
					before += fmt.Sprintf(sentence, 2000+i)
				}
				r := &backends.AddRequest{Scope: ann, Messages: user(long, "I like tea."), Context: user(before, before, before, before)}
				resp, err := b.Add(ctx, r)
				require.NoError(t, err)
				require.Empty(t, outcomeOf(resp, backends.OutcomeSkipped))
				require.LessOrEqual(t, most, c.tokens)
				require.Equal(t, c.tokens < 6000, calls > 1)
				for i := range 120 {
					require.Equal(t, 1, strings.Count(read, strings.TrimSpace(fmt.Sprintf(sentence, i))), i)
				}
				require.Contains(t, read, "I like tea.")
			})
		}
	}
	_, err := mem0.New(ctx, &mem0.Config{Store: testkit.SQLite(t), Model: testkit.New(), PromptTokens: 500})
	require.ErrorContains(t, err, "at least 1500")
}
