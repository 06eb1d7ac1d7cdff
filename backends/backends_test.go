// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

func TestExpiryIsAnInstant(t *testing.T) {
	m := backends.Memory{Expires: day}
	assert.False(t, m.Expired(day.Add(-time.Nanosecond)))
	assert.True(t, m.Expired(day))
	assert.False(t, (&backends.Memory{}).Expired(day))
}

func TestActiveUntilSupersededOrRetracted(t *testing.T) {
	assert.True(t, (&backends.Memory{}).Active())
	assert.False(t, (&backends.Memory{SupersededBy: "m2"}).Active())
	assert.False(t, (&backends.Memory{Invalidated: day}).Active())
}

func TestMemoryRoundTripsThroughJSON(t *testing.T) {
	want := *sample()
	want.Metadata = map[string]any{"k": "v", "n": 1.5}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "expires", "unset times are left out")
	var got backends.Memory
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want, got)
}

func TestMessageRoundTripsThroughJSON(t *testing.T) {
	want := backends.Message{ID: "t1-0", Turn: "t1", Time: day, Message: &schema.Message{
		Role: schema.Assistant, Content: "好的", ToolCalls: []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: `{"a":1}`}}},
	}}
	text, err := json.Marshal(want)
	require.NoError(t, err)
	var got backends.Message
	require.NoError(t, json.Unmarshal(text, &got))
	assert.Equal(t, want, got)
}

func TestIDsAreUniqueAndOrdered(t *testing.T) {
	last, seen := "", map[string]bool{}
	for range 1000 {
		id := backends.NewID()
		require.False(t, seen[id])
		require.Greater(t, id, last)
		seen[id], last = true, id
	}
}

func TestSystemClockSurvivesStorage(t *testing.T) {
	now := backends.SystemClock()
	parsed, err := time.Parse(time.RFC3339Nano, now.Format(time.RFC3339Nano))
	require.NoError(t, err)
	assert.True(t, now.Equal(parsed))
	assert.Equal(t, time.UTC, now.Location())
}

func TestCloneSharesNothing(t *testing.T) {
	fresh := func() *backends.Memory {
		q := 0.5
		return &backends.Memory{
			ID: "1", Quality: &q, Origin: backends.Origin{MessageIDs: []string{"a"}},
			Metadata: map[string]any{"list": []any{map[string]any{"x": 1.0}}, "none": nil},
		}
	}
	m := fresh()
	c := m.Clone()
	require.Equal(t, *m, c)
	*c.Quality = 1
	c.Origin.MessageIDs[0] = "b"
	c.Metadata["list"].([]any)[0].(map[string]any)["x"] = 2.0
	c.Metadata["new"] = true
	require.Equal(t, fresh(), m)

	bare := backends.Memory{ID: "2"}
	require.Equal(t, bare, bare.Clone(), "what is absent stays absent")
}

func TestAutoLanguageIsChineseFromThreeLettersInTen(t *testing.T) {
	assert.Equal(t, backends.English, backends.LanguageAuto.For())
	assert.Equal(t, backends.English, backends.LanguageAuto.For("Ann bought tea in 北京 yesterday"))
	assert.Equal(t, backends.Chinese, backends.LanguageAuto.For("安娜昨天", "在北京用 API 买茶"))
	assert.Equal(t, backends.English, backends.LanguageAuto.For("123 !?"))
	assert.Equal(t, backends.Chinese, backends.Chinese.For("tea"))
}

type stubBackend struct{ err error }

func (s stubBackend) Search(context.Context, *backends.SearchRequest) (*backends.SearchResponse, error) {
	return &backends.SearchResponse{}, s.err
}

func (s stubBackend) Add(context.Context, *backends.AddRequest) (*backends.AddResponse, error) {
	return &backends.AddResponse{}, s.err
}
func (stubBackend) Close(context.Context) error { return nil }

func TestTracedReportsSearchAndAdd(t *testing.T) {
	var seen []string
	handler := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			require.IsType(t, &backends.CallbackInput{}, in)
			seen = append(seen, "start "+string(info.Component)+" "+info.Type)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			require.IsType(t, &backends.CallbackOutput{}, out)
			seen = append(seen, "end")
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			seen = append(seen, "error "+err.Error())
			return ctx
		}).Build()
	// The context of an agent's hook names the agent's chat model.
	ctx := callbacks.InitCallbacks(context.Background(), &callbacks.RunInfo{Component: components.ComponentOfChatModel}, handler)

	ok := backends.Traced("Stub", stubBackend{})
	_, err := ok.Search(ctx, &backends.SearchRequest{})
	require.NoError(t, err)
	_, err = ok.Add(ctx, &backends.AddRequest{})
	require.NoError(t, err)
	_, err = backends.Traced("Stub", stubBackend{err: errors.New("down")}).Search(ctx, &backends.SearchRequest{})
	require.EqualError(t, err, "down")

	assert.Equal(t, []string{"start Memory Stub", "end", "start Memory Stub", "end", "start Memory Stub", "error down"}, seen)
}

func TestScopeRefusesWhatIsNotAName(t *testing.T) {
	for name, part := range map[string]string{
		"wildcard":          "*",
		"wildcard inside":   "ann*",
		"blank":             "  \t",
		"control character": "ann\x00bob",
		"newline inside":    "ann\nbob",
		"not UTF-8":         "ann\xff",
		"too long":          strings.Repeat("a", backends.MaxScopePart+1),
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []backends.Scope{
				{UserID: part},
				{UserID: "ann", Namespace: part},
				{UserID: "ann", SessionID: part},
				{UserID: "ann", AgentID: part},
				{UserID: "ann", Workspace: part},
			} {
				_, err := s.Partition(backends.PartitionUser)
				require.ErrorIs(t, err, backends.ErrInvalid, "%+v", s)
			}
		})
	}
}

func TestScopeAcceptsAnyOtherName(t *testing.T) {
	for _, id := range []string{"ann:bob", "{ann}", "a/b", `"ann"`, "o'hara", "100%", "🙂", "аnn", "  ann  ", "安", strings.Repeat("a", backends.MaxScopePart)} {
		p, err := backends.Scope{UserID: id}.Partition(backends.PartitionUser)
		require.NoError(t, err, "%q", id)
		assert.Equal(t, strings.TrimSpace(id), p.ID)
		require.NoError(t, p.Validate())
	}
}

func TestScopeWithoutTheNamedPartIsNoScope(t *testing.T) {
	s := backends.Scope{Namespace: "app", SessionID: "s1"}
	for _, k := range []backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace} {
		_, err := s.Partition(k)
		require.ErrorIs(t, err, backends.ErrNoScope)
		assert.Contains(t, err.Error(), "set Scope.", "the error names the way out")
	}
	_, err := s.Partition("team")
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestSpeakerIsTheUserElseTheAgentAndNeverAWorkspace(t *testing.T) {
	p, err := backends.Scope{UserID: "ann", AgentID: "bot", Workspace: "w"}.Speaker()
	require.NoError(t, err)
	assert.Equal(t, backends.Partition{Namespace: backends.DefaultNamespace, Kind: backends.PartitionUser, ID: "ann"}, p)

	p, err = backends.Scope{AgentID: "bot", Workspace: "w"}.Speaker()
	require.NoError(t, err)
	assert.Equal(t, backends.PartitionAgent, p.Kind)

	_, err = backends.Scope{Workspace: "w"}.Speaker()
	require.ErrorIs(t, err, backends.ErrNoScope)
}

func TestOrNeverLendsASessionToAnotherUser(t *testing.T) {
	fallback := backends.Scope{Namespace: "app", UserID: "ann", AgentID: "bot", SessionID: "ann's"}
	assert.Equal(t, fallback, backends.Scope{}.Or(fallback))
	assert.Equal(t, backends.Scope{Namespace: "app", UserID: "bob", AgentID: "bot"}, backends.Scope{UserID: "bob"}.Or(fallback))
	assert.Equal(t, "s", backends.Scope{UserID: "bob", SessionID: "s"}.Or(fallback).SessionID)
}

func TestScopeTravelsInTheContext(t *testing.T) {
	_, ok := backends.ScopeFrom(context.Background())
	assert.False(t, ok)
	want := backends.Scope{UserID: "ann"}
	got, ok := backends.ScopeFrom(backends.WithScope(context.Background(), want))
	assert.True(t, ok)
	assert.Equal(t, want, got)
}

func TestDistinctPartitionsHaveDistinctStrings(t *testing.T) {
	part := rapid.StringOf(rapid.RuneFrom([]rune(`ab:/{}%"'.~ +é安🙂`)))
	kind := rapid.SampledFrom([]backends.PartitionKind{backends.PartitionUser, backends.PartitionAgent, backends.PartitionWorkspace})
	rapid.Check(t, func(t *rapid.T) {
		p := backends.Partition{Namespace: part.Draw(t, "ns"), Kind: kind.Draw(t, "kind"), ID: part.Draw(t, "id")}
		q := backends.Partition{Namespace: part.Draw(t, "ns2"), Kind: kind.Draw(t, "kind2"), ID: part.Draw(t, "id2")}
		if p != q && p.String() == q.String() {
			t.Fatalf("%+v and %+v are both %s", p, q, p)
		}
	})
}

func FuzzScope(f *testing.F) {
	for _, s := range []string{"ann", "*", " a ", "a\x00", "\xff", "{em:a}", "安", "\u0085x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, id string) {
		p, err := backends.Scope{UserID: id}.Partition(backends.PartitionUser)
		if err != nil {
			return
		}
		if !utf8.ValidString(p.ID) || p.ID == "" || len(p.ID) > backends.MaxScopePart || strings.ContainsRune(p.ID, '*') || strings.ContainsFunc(p.ID, unicode.IsControl) {
			t.Fatalf("accepted %q", p.ID)
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("a partition from a scope is not valid: %v", err)
		}
	})
}
