// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package modelask_test

import (
	"context"
	"errors"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/modelask"
	"github.com/einomem/einomem/internal/testkit"
)

var tool = &schema.ToolInfo{Name: "answer", Desc: "answers"}

func question() *modelask.Question {
	return &modelask.Question{System: "be brief", User: "how many?", Tool: "answer", Complaint: func(err error) string { return "wrong: " + err.Error() }}
}

func ask(t *testing.T, m model.BaseChatModel, read func(*schema.Message) error) (backends.Usage, error) {
	t.Helper()
	a, err := modelask.New(&modelask.Config{Name: "test", Model: m, Tools: []*schema.ToolInfo{tool}})
	require.NoError(t, err)
	var usage backends.Usage
	err = a.Ask(t.Context(), question(), &usage, read)
	return usage, err
}

func TestAnAnswerThatCannotBeUsedIsExplainedOnce(t *testing.T) {
	m := testkit.New(testkit.Text("none"), testkit.Call("1", "answer", `{"n":3}`))
	var tries int
	usage, err := ask(t, m, func(out *schema.Message) error {
		if tries++; len(out.ToolCalls) == 0 {
			return errors.New("no call")
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 2, tries)
	assert.Equal(t, 2, usage.ModelCalls)
	assert.Equal(t, "how many?\n\nwrong: no call", m.Calls()[1][1].Content)
}

func TestASecondFailureIsErrModel(t *testing.T) {
	usage, err := ask(t, testkit.New(testkit.Text("none")), func(*schema.Message) error { return errors.New("no call") })
	require.ErrorIs(t, err, backends.ErrModel)
	require.ErrorContains(t, err, "no call")
	assert.Equal(t, 2, usage.ModelCalls)
}

func TestASecondTryMayBeForbidden(t *testing.T) {
	m := testkit.New(testkit.Text("none"))
	a, err := modelask.New(&modelask.Config{Name: "test", Model: m, Tools: []*schema.ToolInfo{tool}})
	require.NoError(t, err)
	q, spent := question(), errors.New("spent")
	q.Again = func() error { return spent }
	err = a.Ask(t.Context(), q, &backends.Usage{}, func(*schema.Message) error { return errors.New("no call") })
	require.ErrorIs(t, err, spent)
	require.ErrorContains(t, err, "no call")
	assert.Len(t, m.Calls(), 1)
}

func TestAModelThatCannotBeAskedIsUnavailable(t *testing.T) {
	never := func(*schema.Message) error { t.Error("nothing to read"); return nil }
	panics := testkit.New(func(context.Context, []*schema.Message, *model.Options) (*schema.Message, error) { panic("boo") })
	for name, m := range map[string]model.BaseChatModel{
		"an error": testkit.New(testkit.Fail(errors.New("down"))),
		"a panic":  panics,
		"nothing":  nothing{},
	} {
		t.Run(name, func(t *testing.T) {
			usage, err := ask(t, m, never)
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.NotErrorIs(t, err, backends.ErrModel)
			assert.Equal(t, 1, usage.ModelCalls)
		})
	}
}

type nothing struct{}

func (nothing) Generate(context.Context, []*schema.Message, ...model.Option) (*schema.Message, error) {
	return nil, nil
}

func (nothing) Stream(context.Context, []*schema.Message, ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return nil, errors.New("not asked for")
}

func TestACancelledContextIsNoOutage(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := testkit.New(func(ctx context.Context, _ []*schema.Message, _ *model.Options) (*schema.Message, error) {
		cancel()
		return nil, ctx.Err()
	})
	a, err := modelask.New(&modelask.Config{Name: "test", Model: m, Tools: []*schema.ToolInfo{tool}})
	require.NoError(t, err)
	err = a.Ask(ctx, question(), &backends.Usage{}, func(*schema.Message) error { return nil })
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, backends.ErrUnavailable)
}

func TestTheModelIsMadeToCallTheTool(t *testing.T) {
	var seen *model.Options
	m := testkit.New(func(_ context.Context, _ []*schema.Message, o *model.Options) (*schema.Message, error) {
		seen = o
		return schema.AssistantMessage("ok", nil), nil
	})
	_, err := ask(t, m, func(*schema.Message) error { return nil })
	require.NoError(t, err)
	require.NotNil(t, seen.ToolChoice)
	assert.Equal(t, schema.ToolChoiceForced, *seen.ToolChoice)
}

func TestWithoutAModelThereIsNoAsker(t *testing.T) {
	_, err := modelask.New(&modelask.Config{Name: "test"})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAToolThatTheModelWasNotGivenIsInvalid(t *testing.T) {
	m := testkit.New(testkit.Text("none"))
	a, err := modelask.New(&modelask.Config{Name: "test", Model: m, Tools: []*schema.ToolInfo{tool}})
	require.NoError(t, err)
	q := question()
	q.Tool = "other"
	var usage backends.Usage
	require.ErrorIs(t, a.Ask(t.Context(), q, &usage, func(*schema.Message) error { return nil }), backends.ErrInvalid)
	assert.Zero(t, usage.ModelCalls)
}
