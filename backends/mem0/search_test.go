// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/internal/test/testredis"
)

// TestFactsStandForTheirTurns: facts and episodes share a search.
func TestFactsStandForTheirTurns(t *testing.T) {
	for name, messages := range map[string]func(string) []backends.Message{
		"with ids": func(s string) []backends.Message {
			m := user(s)
			m[0].ID = "id of " + s
			return m
		},
		"without": func(s string) []backends.Message { return []backends.Message{{Message: user(s)[0].Message}} },
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, with(resident(t)))
			add(t, b, ann, messages("I live in Beijing")...)
			later := backends.Scope{UserID: "ann", SessionID: "s2"}
			add(t, b, later, messages("I moved, Shanghai is where I live")...)
			add(t, b, later, messages("I live for jazz")...)
			q := backends.SearchRequest{Scope: ann, Query: "live"}
			require.ElementsMatch(t, []string{"The user lives in Shanghai.", "I live for jazz"}, search(t, b, q),
				"neither the turn that a fact stands for, nor the one that taught what holds no more")
			q.Kinds = []backends.Kind{backends.KindEpisode}
			require.Len(t, search(t, b, q), 3, "asked for, every turn is there")
		})
	}
}

func TestAFactNamesTheTurnThatTaughtIt(t *testing.T) {
	m := thinking(t, func(s shown) string {
		return operations(fmt.Sprintf(`{"op":"add","text":"The user has a parrot called Kiki.","said_by":"user","messages":[%d]}`, s.new[2].N))
	})
	b := open(t, with(m))
	add(t, b, ann, user("Good morning", "How are you?", "My parrot Kiki woke me up", "Bye")...)
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "What is the parrot called?"})
	require.NoError(t, err)
	require.Equal(t, backends.KindFact, resp.Hits[0].Kind)
	require.Equal(t, []string{"m2"}, resp.Hits[0].Origin.MessageIDs)
}

func TestAFactThatNamesManyTurnsDoesNotHideThem(t *testing.T) {
	b := open(t, with(answering(operations(`{"op":"add","text":"The user talked about parrots."}`))))
	add(t, b, ann, user("parrots are blue", "parrots are red", "parrots are loud", "parrots are old", "parrots are wise")...)
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "parrots", TopK: 10}), 6)
}

func TestTopK(t *testing.T) {
	b := open(t, with(thinking(t, func(shown) string { return operations() })))
	for _, s := range []string{"tea one", "tea two", "tea three", "tea four", "tea five", "tea six", "tea seven"} {
		add(t, b, ann, user(s)...)
	}
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "tea"}), 5)
	require.Len(t, search(t, b, backends.SearchRequest{Scope: ann, Query: "tea", TopK: 2}), 2)
	require.Empty(t, search(t, b, backends.SearchRequest{Scope: ann, Query: " "}))
	require.Empty(t, search(t, b, backends.SearchRequest{Scope: backends.Scope{UserID: "nobody"}, Query: "tea"}))
	for _, wrong := range []int{-1, 1001} {
		_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea", TopK: wrong})
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

// With another embedding model words answer, and learning goes on, until everyone's
// memories were embedded anew.
func TestWithAnotherEmbeddingModelWordsAnswer(t *testing.T) {
	st := openStore(t)
	model := func(name string, dim int) func(*mem0.Config) {
		return func(c *mem0.Config) { c.Embedder, c.EmbeddingModel = &testkit.Embedder{Dim: dim}, name }
	}
	old, bob := open(t, on(st), model("small", 16)), backends.Scope{UserID: "bob"}
	resp := add(t, old, ann, user("I like tea")...)
	require.Equal(t, 1, resp.Usage.EmbeddedTexts)
	add(t, old, bob, user("I like tea")...)

	renamed := open(t, on(st), model("large", 32))
	add(t, renamed, ann, user("I like coffee")...)
	for word, text := range map[string]string{"tea": "I like tea", "coffee": "I like coffee"} {
		found, err := renamed.Search(ctx, &backends.SearchRequest{Scope: ann, Query: word})
		require.NoError(t, err)
		require.ErrorIs(t, found.Degraded, backends.ErrDimension)
		require.Equal(t, text, found.Hits[0].Text)
	}
	steps := []int{}
	n, err := renamed.ReembedAll(ctx, ann.Namespace, func(done, total int) { steps = append(steps, done, total) })
	require.NoError(t, err)
	require.Equal(t, 3, n)
	require.Equal(t, []int{1, 2, 2, 2}, steps)
	require.Equal(t, "I like tea", search(t, renamed, backends.SearchRequest{Scope: ann, Query: "tea"})[0])
	require.Equal(t, []string{"I like tea"}, search(t, renamed, backends.SearchRequest{Scope: bob, Query: "tea"}))
	_, err = renamed.ReembedAll(ctx, "no\nname", nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestAnEmbedderThatFailsStoresNothing(t *testing.T) {
	e := &testkit.Embedder{Dim: 16, Err: errors.New("no route")}
	b := open(t, embedded(e))
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	e.Err = nil
	require.Empty(t, list(t, b, ann))
	add(t, b, ann, user("tea")...)
	e.Err = errors.New("no route")
	resp, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.NoError(t, err)
	require.Len(t, resp.Hits, 1)
	require.Error(t, resp.Degraded, "lexical alone")
}

func TestCallbacksSeeMemory(t *testing.T) {
	var seen []string
	note := func(what string, info *callbacks.RunInfo) {
		seen = append(seen, what+" "+string(info.Component)+" "+info.Type)
	}
	h := callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
			if _, ok := in.(*backends.CallbackInput); ok {
				note("start", info)
			} else {
				note("other", info)
			}
			return ctx
		}).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, _ callbacks.CallbackOutput) context.Context {
			note("end", info)
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, _ error) context.Context {
			note("error", info)
			return ctx
		}).Build()
	traced := callbacks.InitCallbacks(ctx, &callbacks.RunInfo{Name: "agent", Component: "ChatModel"}, h)
	b := open(t, with(resident(t)))
	_, err := b.Add(traced, &backends.AddRequest{Scope: ann, Messages: user("I live in Beijing")})
	require.NoError(t, err)
	_, err = b.Search(traced, &backends.SearchRequest{Query: "x"})
	require.Error(t, err)
	require.Equal(t, []string{"start Memory Mem0", "end Memory Mem0", "start Memory Mem0", "error Memory Mem0"}, seen,
		"the model call of memory's own is no event of the agent")
}

func TestCloseRefusesAndWaits(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan struct{})
	m := thinking(t, func(shown) string { close(asked); <-answer; return operations() })
	b := open(t, with(m))
	done := make(chan error, 1)
	go func() {
		_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
		done <- err
	}()
	<-asked
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.Close(cancelled), context.Canceled, "a call is under way")
	_, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	close(answer)
	require.NoError(t, <-done)
	require.NoError(t, b.Close(ctx))
	require.NoError(t, b.Close(ctx))
}

func TestEveryCallNeedsAScope(t *testing.T) {
	b := open(t)
	one := "x"
	calls := map[string]func(s backends.Scope) error{
		"Search": func(s backends.Scope) error {
			_, err := b.Search(ctx, &backends.SearchRequest{Scope: s, Query: "x"})
			return err
		},
		"Add": func(s backends.Scope) error {
			_, err := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: user("x")})
			return err
		},
		"Get": func(s backends.Scope) error {
			_, err := b.Get(ctx, &backends.GetRequest{Scope: s, ID: "x"})
			return err
		},
		"List": func(s backends.Scope) error { _, err := b.List(ctx, &backends.ListRequest{Scope: s}); return err },
		"Update": func(s backends.Scope) error {
			_, err := b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: "x", Text: &one})
			return err
		},
		"Delete": func(s backends.Scope) error { return b.Delete(ctx, &backends.DeleteRequest{Scope: s, ID: "x"}) },
		"DeleteAll": func(s backends.Scope) error {
			_, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: s})
			return err
		},
		"History": func(s backends.Scope) error {
			_, err := b.History(ctx, &backends.HistoryRequest{Scope: s, ID: "x"})
			return err
		},
		"Export": func(s backends.Scope) error { _, err := b.Export(ctx, s, &strings.Builder{}); return err },
		"Import": func(s backends.Scope) error { _, err := b.Import(ctx, s, strings.NewReader(""), nil); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, call(backends.Scope{}), backends.ErrNoScope)
			require.ErrorIs(t, call(backends.Scope{SessionID: "s", Workspace: "w"}), backends.ErrNoScope, "a workspace is no speaker")
			require.ErrorIs(t, call(backends.Scope{UserID: "*"}), backends.ErrInvalid)
			require.ErrorIs(t, call(backends.Scope{UserID: "  "}), backends.ErrInvalid)
		})
	}
}

func TestACallWithoutARequestIsInvalid(t *testing.T) {
	b, scoped := open(t), backends.WithScope(ctx, ann)
	calls := map[string]func() error{
		"Search":    func() error { _, err := b.Search(scoped, nil); return err },
		"Add":       func() error { _, err := b.Add(scoped, nil); return err },
		"Get":       func() error { _, err := b.Get(scoped, nil); return err },
		"List":      func() error { _, err := b.List(scoped, nil); return err },
		"Update":    func() error { _, err := b.Update(scoped, nil); return err },
		"Delete":    func() error { return b.Delete(scoped, nil) },
		"DeleteAll": func() error { _, err := b.DeleteAll(scoped, nil); return err },
		"History":   func() error { _, err := b.History(scoped, nil); return err },
	}
	for name, call := range calls {
		require.ErrorIs(t, call(), backends.ErrInvalid, name)
	}
}

func TestScopeOfTheContext(t *testing.T) {
	b := open(t)
	_, err := b.Add(backends.WithScope(ctx, ann), &backends.AddRequest{Messages: user("I like tea")})
	require.NoError(t, err)
	require.Equal(t, []string{"I like tea"}, list(t, b, ann))
	require.Empty(t, list(t, b, backends.Scope{AgentID: "ann"}))
}

func TestNothingCrossesPartitions(t *testing.T) {
	b := open(t)
	scopes := []backends.Scope{
		{UserID: "ann"}, {UserID: "bob"}, {AgentID: "ann"}, {UserID: "ann", Namespace: "other"}, {UserID: "ann:bob"}, {UserID: "{ann}"},
	}
	ids := make([]string, len(scopes))
	for i, s := range scopes {
		ids[i] = add(t, b, s, user(fmt.Sprintf("my secret number is %d", i))...).Items[0].Memory.ID
	}
	for i, s := range scopes {
		require.Equal(t, []string{fmt.Sprintf("my secret number is %d", i)}, list(t, b, s))
		require.Len(t, search(t, b, backends.SearchRequest{Scope: s, Query: "secret number"}), 1)
		for j, id := range ids {
			_, err := b.Get(ctx, &backends.GetRequest{Scope: s, ID: id})
			if i == j {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, backends.ErrNotFound)
			text := "stolen"
			_, err = b.Update(ctx, &backends.UpdateRequest{Scope: s, ID: id, Text: &text})
			require.ErrorIs(t, err, backends.ErrNotFound)
			require.ErrorIs(t, b.Delete(ctx, &backends.DeleteRequest{Scope: s, ID: id}), backends.ErrNotFound)
			_, err = b.History(ctx, &backends.HistoryRequest{Scope: s, ID: id})
			require.ErrorIs(t, err, backends.ErrNotFound)
		}
	}
	n, err := b.DeleteAll(ctx, &backends.DeleteAllRequest{Scope: scopes[0]})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	for _, s := range scopes[1:] {
		require.Len(t, list(t, b, s), 1)
	}
}

func TestScopesNeverMeet(t *testing.T) {
	b := open(t)
	part := rapid.SampledFrom([]string{"", "ann", "Ann", "ann ", "a:b", "a/b", "{ann}", "安", "ann|user", "user/ann", "%2F"})
	held := map[string]map[string]bool{} // by partition
	rapid.Check(t, func(rt *rapid.T) {
		s := backends.Scope{Namespace: part.Draw(rt, "namespace"), UserID: part.Draw(rt, "user"), AgentID: part.Draw(rt, "agent"), SessionID: part.Draw(rt, "session")}
		p, err := s.Speaker()
		text := rapid.StringMatching(`fact [a-z]{3}`).Draw(rt, "text")
		_, addErr := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: user(text)})
		if err != nil {
			require.ErrorIs(rt, addErr, backends.ErrNoScope)
			return
		}
		require.NoError(rt, addErr)
		key := p.String()
		if held[key] == nil {
			held[key] = map[string]bool{}
		}
		held[key][text] = true
		page, err := b.List(ctx, &backends.ListRequest{Scope: s, Limit: 1000})
		require.NoError(rt, err)
		require.Len(rt, page.Memories, len(held[key]))
		for _, m := range page.Memories {
			require.True(rt, held[key][m.Text], "%s holds %q", key, m.Text)
		}
	})
}

func TestFieldsOfAMemory(t *testing.T) {
	b := open(t, with(resident(t)))
	scope := backends.Scope{UserID: "ann", AgentID: "helper", SessionID: "s1"}
	expires := start.Add(time.Hour)
	resp, err := b.Add(ctx, &backends.AddRequest{
		Scope: scope, Messages: user("I live in Beijing"), Metadata: map[string]any{"source": "test", "user_id": "bob"}, Expires: expires,
	})
	require.NoError(t, err)
	m := resp.Items[0].Memory
	require.Equal(t, backends.Memory{
		ID: m.ID, Kind: backends.KindFact, Text: "The user lives in Beijing.",
		Scope:    backends.Scope{Namespace: "default", UserID: "ann", AgentID: "helper", SessionID: "s1"},
		Metadata: map[string]any{"source": "test", "user_id": "bob"},
		Observed: start, Created: start, Updated: start, Expires: expires, Version: 1,
		Origin: backends.Origin{Session: "s1", Turn: "t", MessageIDs: []string{"m0"}, Role: "user", Author: "Scripted"},
	}, m)
	stored, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: m.ID})
	require.NoError(t, err)
	require.Equal(t, m, *stored)
}

func TestConfigIsChecked(t *testing.T) {
	st := openStore(t)
	for name, c := range map[string]*mem0.Config{
		"nil": nil, "no store": {}, "language": {Store: st, Language: "fr"}, "embedder without a name": {Store: st, Embedder: &testkit.Embedder{Dim: 8}},
	} {
		_, err := mem0.New(ctx, c)
		require.ErrorIs(t, err, backends.ErrInvalid, name)
	}
	c := &mem0.Config{Store: st}
	_, err := mem0.New(ctx, c)
	require.NoError(t, err)
	require.Nil(t, c.Clock, "the caller's configuration stays as it is")
}

func TestWhatIsNeverLearntFrom(t *testing.T) {
	b := open(t)
	note := schema.UserMessage("Relevant memories: the user lives in Rome")
	note.Extra = map[string]any{"_einomem": "note"}
	add(t, b, ann,
		backends.Message{Message: note},
		backends.Message{Message: schema.UserMessage("For context: [planner] said: I found three hotels.")},
		backends.Message{Message: schema.UserMessage("For context: [planner] called tool: `search` with arguments: {}.")},
		backends.Message{Message: schema.UserMessage("For context: [planner] `search` tool returned result: ok.")},
		backends.Message{Message: schema.SystemMessage("Be brief.")},
		backends.Message{Message: schema.ToolMessage("{\"dump\":1}", "c")},
		backends.Message{Message: schema.UserMessage(" \n\t")},
		backends.Message{},
		backends.Message{Message: &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeText, Text: "Look at this"}, {Type: schema.ChatMessagePartTypeImageURL}}}},
		backends.Message{Message: schema.UserMessage("For context: I work in Oslo.")},
	)
	require.Equal(t, []string{"Look at this", "For context: I work in Oslo."}, list(t, b, ann))
}

func TestRedactBeforeModelAndStore(t *testing.T) {
	hide := func(s string) string { return strings.ReplaceAll(s, "4242", "****") }
	m := thinking(t, func(s shown) string {
		require.NotContains(t, s.user, "4242")
		return operations(`{"op":"add","text":"The PIN ends in 4242."}`)
	})
	b := open(t, with(m), func(c *mem0.Config) { c.Redact = hide })
	_, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("my PIN is 4242"), Context: user("card 4242")})
	require.NoError(t, err)
	require.Equal(t, []string{"The PIN ends in ****.", "my PIN is ****"}, list(t, b, ann))
	text := "again 4242"
	id := add(t, b, ann, user("my PIN is 4242")...).Items[0].Memory.ID
	got, err := b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &text})
	require.NoError(t, err)
	require.Equal(t, "again ****", got.Text)

	said := user("my PIN is 4242 too")
	said[0].ID, said[0].Turn, said[0].Name = "m1", "t1", "4242"
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: said, Verbatim: true, Metadata: map[string]any{"card": "4242", "deep": []any{"4242"}}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"card": "****", "deep": []any{"****"}}, resp.Items[0].Memory.Metadata)
	require.Equal(t, "****", resp.Items[0].Memory.Origin.Speaker)
}

func TestMessagesThatCannotBeStored(t *testing.T) {
	b := open(t)
	bad := func(text string) *backends.AddRequest {
		return &backends.AddRequest{Scope: ann, Messages: append(user("fine"), backends.Message{ID: "bad-one", Message: schema.UserMessage(text)})}
	}
	_, err := b.Add(ctx, bad("ab\xff"))
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorContains(t, err, "bad-one")
	require.Empty(t, list(t, b, ann))
	resp, err := b.Add(ctx, bad(strings.Repeat("x", store.MaxText+1)))
	require.NoError(t, err)
	require.Equal(t, []string{"fine"}, list(t, b, ann), "the others are learnt from")
	skipped := resp.Items[0]
	require.Equal(t, backends.OutcomeSkipped, skipped.Outcome)
	require.Equal(t, []string{"bad-one"}, skipped.Memory.Origin.MessageIDs)
	require.ErrorContains(t, skipped.Err, "16777217 bytes")
}

func TestExpiry(t *testing.T) {
	now := time.Date(2026, 3, 2, 23, 59, 59, 0, time.UTC)
	b := open(t, func(c *mem0.Config) { c.Clock = func() time.Time { return now } })
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("the offer ends"), Expires: now.Add(time.Second)})
	require.NoError(t, err)
	id := resp.Items[0].Memory.ID
	q := backends.SearchRequest{Scope: ann, Query: "offer"}
	require.Len(t, search(t, b, q), 1, "its day is part of it")

	now = now.Add(time.Second)
	require.Empty(t, search(t, b, q))
	require.Empty(t, list(t, b, ann))
	_, err = b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
	require.ErrorIs(t, err, backends.ErrNotFound)
	q.IncludeExpired = true
	require.Len(t, search(t, b, q), 1)
	again := add(t, b, ann, user("the offer ends")...)
	require.Equal(t, backends.OutcomeAdded, again.Items[0].Outcome, "what expired is not known any more")

	never := time.Time{}
	_, err = b.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: id, Expires: &never})
	require.NoError(t, err)
	require.Len(t, list(t, b, ann), 2, "cleared")
	_, err = b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("x"), Expires: now})
	require.ErrorIs(t, err, backends.ErrInvalid)
}

func TestMemoriesAreTheCallersOwn(t *testing.T) {
	b := open(t)
	metadata := map[string]any{"tags": []any{"x"}}
	resp, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea"), Metadata: metadata})
	require.NoError(t, err)
	metadata["tags"].([]any)[0] = "mine"
	id := resp.Items[0].Memory.ID
	want := map[string]any{"tags": []any{"x"}}
	for range 2 {
		got, err := b.Get(ctx, &backends.GetRequest{Scope: ann, ID: id})
		require.NoError(t, err)
		page, err := b.List(ctx, &backends.ListRequest{Scope: ann})
		require.NoError(t, err)
		found, err := b.Search(ctx, &backends.SearchRequest{Scope: ann, Query: "tea"})
		require.NoError(t, err)
		known, err := b.Add(ctx, &backends.AddRequest{Scope: ann, Messages: user("tea")})
		require.NoError(t, err)
		for _, m := range []*backends.Memory{got, &page.Memories[0], &found.Hits[0].Memory, &known.Items[0].Memory} {
			require.Equal(t, want, m.Metadata)
			m.Metadata["tags"].([]any)[0] = "changed"
			m.Origin.MessageIDs[0] = "changed"
		}
	}
}

// exported returns an export of ann, and its lines but for what is a store's own: the versions
// of memories and events, the versions and the times of sessions.
func exported(t *testing.T, b *mem0.Backend) (text string, lines []map[string]any) {
	t.Helper()
	var out strings.Builder
	_, err := b.Export(ctx, ann, &out)
	require.NoError(t, err)
	for line := range strings.Lines(out.String()) {
		var l map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		memory, _ := l["memory"].(map[string]any)
		session, _ := l["session"].(map[string]any)
		delete(memory, "version")
		events, _ := l["events"].([]any)
		for _, e := range events {
			delete(e.(map[string]any), "version")
		}
		for _, own := range []string{"version", "created", "updated"} {
			delete(session, own)
		}
		lines = append(lines, l)
	}
	return out.String(), lines
}

func TestAUserMovesFromSQLiteToRedisToAClusterAndBack(t *testing.T) {
	flavour := testredis.Need(t)
	said := []string{
		"drinks green tea", "has a cat called Mimi", "moved to Shanghai in May", "works as a nurse", "plays the cello", "is allergic to peanuts",
		"runs ten kilometres on Sundays", "has a sister in Oslo", "reads crime novels", "speaks Danish", "grows tomatoes", "drives an old van",
	}
	first := open(t, with(testkit.New(testkit.Learn)))
	for i, text := range said {
		s := backends.Scope{UserID: "ann", SessionID: fmt.Sprint("s", i%3)}
		m := backends.Message{ID: fmt.Sprint("m", i), Turn: fmt.Sprint("t", i), Time: start, Message: schema.UserMessage("FACT ann " + text)}
		add(t, first, s, m)
		own, err := s.Speaker()
		require.NoError(t, err)
		_, err = first.Sessions().Append(ctx, own, s.SessionID, &store.Append{Scope: s, Entries: []store.Entry{{Message: m, Done: true}}, Learnt: i%2 == 0})
		require.NoError(t, err)
	}
	page, err := first.List(ctx, &backends.ListRequest{Scope: ann, Kinds: []backends.Kind{backends.KindFact}})
	require.NoError(t, err)
	text, err := "ann drives a new van", first.Delete(ctx, &backends.DeleteRequest{Scope: ann, ID: page.Memories[10].ID})
	require.NoError(t, err)
	_, err = first.Update(ctx, &backends.UpdateRequest{Scope: ann, ID: page.Memories[11].ID, Text: &text})
	require.NoError(t, err)

	carried, want := exported(t, first)
	require.Len(t, want, 1+23+1+3+12+1, "the head, facts and words, one deleted, sessions, messages, the end")
	for _, db := range []store.Store{testkit.Redis(t, flavour.Start(t).Client(t)), testkit.Redis(t, flavour.StartCluster(t, 3).Client(t)), openStore(t)} {
		b := open(t, on(db))
		_, err := b.Import(ctx, ann, strings.NewReader(carried), &store.ImportOptions{Learn: true})
		require.NoError(t, err)
		var got []map[string]any
		carried, got = exported(t, b)
		require.Equal(t, want, got)
		for _, query := range append(said, "Where does her sister live?", "Who is a nurse in Shanghai?") {
			r := backends.SearchRequest{Scope: ann, Query: query, TopK: 8}
			ranking := search(t, first, r)
			require.Equal(t, query == "grows tomatoes", len(ranking) == 0, "%s: what taught the fact that was deleted is silent", query)
			require.Equal(t, ranking, search(t, b, r), query)
		}
	}
}
