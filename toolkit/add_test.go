// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit"
)

func TestAddLearnsFromTheContentAlone(t *testing.T) {
	f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return added("likes tea"), nil
	}}
	out := run(t, config(f), toolkit.AddMemory, `{"thinking":"a lasting taste","content":["Ann likes tea."," ","Ann is 30."]}`)

	require.Equal(t, "Successfully recorded to memory (rationale: a lasting taste):\n- added: [id-likes tea] likes tea", out)
	require.Len(t, f.adds, 1)
	r := f.adds[0]
	require.Equal(t, ann, r.Scope)
	require.False(t, r.Verbatim)
	require.Equal(t, toolkit.Author, r.Author)
	require.Empty(t, r.IdempotencyKey, "there is no tool call id outside a run")
	require.Len(t, r.Messages, 1)
	require.Equal(t, schema.User, r.Messages[0].Role)
	require.Equal(t, "Ann likes tea.\nAnn is 30.", r.Messages[0].Content)
	require.Equal(t, noon, r.Messages[0].Time)
	require.NotContains(t, fmt.Sprintf("%+v", r), "lasting taste")
}

func TestAddFallsBackToTheWordsThemselves(t *testing.T) {
	for name, nothing := range map[string]*backends.AddResponse{"empty": {}, "nil": nil} {
		f := &fake{onAdd: func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
			if r.Verbatim {
				return added(r.Messages[0].Content), nil
			}
			return nothing, nil
		}}
		out := run(t, config(f), toolkit.AddMemory, `{"thinking":"","content":["blue"]}`)
		require.Equal(t, "Successfully recorded to memory:\n- added: [id-blue] blue", out, name)
		require.Len(t, f.adds, 2, name)
		require.False(t, f.adds[0].Verbatim, name)
		require.True(t, f.adds[1].Verbatim, name)
		require.Equal(t, f.adds[0].Messages, f.adds[1].Messages, name)
	}
}

// What is known already is an answer, not nothing: storing it word for word then
// would make a duplicate.
func TestAddOfWhatIsKnownStoresNothingTwice(t *testing.T) {
	f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeUnchanged, Memory: backends.Memory{ID: "1", Text: "likes tea"}}}}, nil
	}}
	out := run(t, config(f), toolkit.AddMemory, `{"content":["likes tea"]}`)
	require.Len(t, f.adds, 1)
	require.Equal(t, "Successfully recorded to memory:\n- known already: [1] likes tea", out)
}

func TestAddTellsTheTruthItemByItem(t *testing.T) {
	f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{Items: []backends.Item{
			{Outcome: backends.OutcomeSuperseded, Memory: backends.Memory{ID: "2", Text: "lives in Rome"}, Previous: &backends.Memory{ID: "1", Text: "lives in Oslo"}},
			{Outcome: backends.OutcomeRetracted, Memory: backends.Memory{ID: "3", Text: "has a cat"}},
			{Outcome: backends.OutcomeFailed, Memory: backends.Memory{Text: "has a dog"}, Err: errors.New("disk full")},
		}}, nil
	}}
	cfg := config(f)
	told := 0
	cfg.OnError = func(_ context.Context, stage string, err error) {
		told++
		require.Equal(t, toolkit.StageAddTool, stage)
		require.ErrorContains(t, err, "disk full")
	}
	out := run(t, cfg, toolkit.AddMemory, `{"content":["x"]}`)
	require.Equal(t, `Successfully recorded to memory:
- replaced an older memory: [2] lives in Rome (before: lives in Oslo)
- marked as no longer true: [3] has a cat
- not recorded: has a dog (disk full)`, out)
	require.Equal(t, 1, told)
}

func TestAddDoesNotEchoTheContent(t *testing.T) {
	episode := backends.Item{Outcome: backends.OutcomeAdded, Memory: backends.Memory{ID: "2", Kind: backends.KindEpisode, Text: "likes tea a lot"}}
	fact := backends.Item{Outcome: backends.OutcomeUnchanged, Memory: backends.Memory{ID: "1", Kind: backends.KindFact, Text: "likes tea"}}
	for want, items := range map[string][]backends.Item{
		"Successfully recorded to memory:\n- known already: [1] likes tea": {fact, episode},
		"Successfully recorded to memory:\n- added: [2] likes tea a lot":   {episode},
	} {
		f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
			return &backends.AddResponse{Items: items}, nil
		}}
		require.Equal(t, want, run(t, config(f), toolkit.AddMemory, `{"content":["likes tea a lot"]}`))
		require.Len(t, f.adds, 1)
	}
}

func TestAddNeverClaimsWhatDidNotHappen(t *testing.T) {
	boom := func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return nil, fmt.Errorf("%w: garbled", backends.ErrModel)
	}
	failed := func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{Items: []backends.Item{{Outcome: backends.OutcomeFailed, Memory: backends.Memory{Text: "x"}}}}, nil
	}
	nothing := func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{}, nil
	}
	secondFails := func(_ context.Context, r *backends.AddRequest) (*backends.AddResponse, error) {
		if r.Verbatim {
			return nil, errors.New("disk full")
		}
		return nil, nil
	}
	for name, c := range map[string]struct {
		add  func(context.Context, *backends.AddRequest) (*backends.AddResponse, error)
		want string
	}{
		"the backend fails":          {boom, "Error recording memory: model output not understood: garbled"},
		"every item failed":          {failed, `Error recording memory: not stored: "x"`},
		"nothing, not even verbatim": {nothing, "Nothing was recorded"},
		"verbatim fails":             {secondFails, "Error recording memory: disk full"},
	} {
		out := run(t, config(&fake{onAdd: c.add}), toolkit.AddMemory, `{"content":["x"]}`)
		require.True(t, strings.HasPrefix(out, c.want), "%s: %s", name, out)
		require.NotContains(t, out, "Successfully", name)
	}
}

func TestAddOfNothing(t *testing.T) {
	for _, arguments := range []string{``, `{}`, `{"thinking":"t"}`, `{"thinking":"t","content":[]}`, `{"content":["  ",""]}`, `{"content":null}`} {
		f := &fake{}
		require.Equal(t, "`content` is empty — nothing to record.", run(t, config(f), toolkit.AddMemory, arguments), arguments)
		require.Empty(t, f.adds, arguments)
	}
}

// inRun calls a tool the way that an agent does, with the given tool call id.
func inRun(t *testing.T, cfg *toolkit.Config, callID, name, arguments string) {
	t.Helper()
	tools, err := toolkit.New(context.Background(), cfg)
	require.NoError(t, err)
	node, err := compose.NewToolNode(context.Background(), &compose.ToolsNodeConfig{Tools: tools})
	require.NoError(t, err)
	_, err = node.Invoke(context.Background(), schema.AssistantMessage("", []schema.ToolCall{{ID: callID, Function: schema.FunctionCall{Name: name, Arguments: arguments}}}))
	require.NoError(t, err)
}

func TestARepeatedCallHasTheKeyOfTheFirst(t *testing.T) {
	f := &fake{onAdd: func(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
		return &backends.AddResponse{}, nil
	}}
	cfg := config(f)
	for _, call := range []struct{ session, id, content string }{
		{"s1", "call_1", "tea"}, {"s1", "call_1", "tea"}, // the run was resumed
		{"s1", "call_2", "tea"}, {"s2", "call_1", "tea"}, {"s1", "call_1", "jazz"},
	} {
		cfg.Scope = func(context.Context) (backends.Scope, error) {
			return backends.Scope{UserID: "ann", SessionID: call.session}, nil
		}
		inRun(t, cfg, call.id, toolkit.AddMemory, fmt.Sprintf(`{"content":[%q]}`, call.content))
	}
	keys := map[string]int{}
	for _, a := range f.adds {
		require.NotEmpty(t, a.IdempotencyKey)
		keys[a.IdempotencyKey]++
	}
	require.Len(t, f.adds, 10, "each call also stores verbatim, under a key of its own")
	require.Equal(t, f.adds[0].IdempotencyKey, f.adds[2].IdempotencyKey)
	require.Equal(t, f.adds[1].IdempotencyKey, f.adds[3].IdempotencyKey)
	require.Len(t, keys, 8)
}
