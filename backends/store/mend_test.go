// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

// change is one thing that a message of a session did to the memories of a person.
type change struct {
	does    string // add, supersede, retract
	id      string // of the memory that it is done to
	by      string // of a new memory
	session string
}

var (
	ann   = backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: "ann"}
	began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// world is a store in which changes happen at given times, each by a message of its own.
type world struct {
	require.TestingT
	store.Store
	now time.Time
}

func newWorld(t require.TestingT) *world {
	w := &world{TestingT: t, now: began}
	db, err := sqlitestore.Open(context.Background(), sqlitestore.Memory, &sqlitestore.Config{Clock: func() time.Time { return w.now }})
	require.NoError(t, err)
	w.Store = db
	return w
}

// says carries out the nth change.
func (w *world) says(n int, c change) {
	w.now = began.Add(time.Duration(n) * time.Minute)
	message := fmt.Sprint("m", n)
	_, err := w.Append(context.Background(), ann, c.session, &store.Append{Entries: []store.Entry{
		{Message: backends.Message{ID: message, Turn: message, Time: w.now, Message: schema.UserMessage("x")}},
	}})
	require.NoError(w, err)
	r := &store.Record{Memory: backends.Memory{ID: c.by, Kind: backends.KindFact, Text: "text of " + c.by, Scope: ann.Scope(), Observed: w.now,
		Origin: backends.Origin{Session: c.session, MessageIDs: []string{message}}}}
	m := map[string]store.Mutation{"add": store.Put(r), "supersede": store.Supersede(c.id, r), "retract": store.Retract(c.id, w.now)}[c.does]
	m.Session, m.Messages = c.session, []string{message}
	w.apply(m)
}

func (w *world) apply(m ...store.Mutation) {
	_, err := w.Apply(context.Background(), ann, &store.Batch{Mutations: m})
	require.NoError(w, err)
}

// state returns what memories say, how they are linked, and their histories.
func (w *world) state() map[string]string {
	out := map[string]string{}
	all, _, err := store.All(context.Background(), w, ann, nil)
	require.NoError(w, err)
	for id, r := range all {
		out[id] = fmt.Sprintf("%s; before %q, after %q, ended %v", r.Text, r.Supersedes, r.SupersededBy, r.Invalidated)
		events, err := w.History(context.Background(), ann, id)
		require.NoError(w, err)
		for _, e := range events {
			out[id] += fmt.Sprintf("\n%v %s: %q -> %q by %q over %q, of %s %v", e.Time, e.Type, e.Old, e.New, e.By, e.Supersedes, e.Session, e.Messages)
		}
	}
	return out
}

// story draws changes of several chains. Each is done to a memory that holds.
func story(t *rapid.T) (out []change) {
	var holds []string
	for n := range rapid.IntRange(1, 20).Draw(t, "changes") {
		c := change{does: "add", by: fmt.Sprint("f", n), session: fmt.Sprint("s", rapid.IntRange(0, 2).Draw(t, "session"))}
		if len(holds) > 0 {
			c.does = rapid.SampledFrom([]string{"add", "supersede", "supersede", "supersede", "supersede", "retract"}).Draw(t, "does")
		}
		if c.does != "add" {
			at := rapid.IntRange(0, len(holds)-1).Draw(t, "at")
			c.id, holds = holds[at], slices.Delete(slices.Clone(holds), at, at+1)
		}
		if c.does != "retract" {
			holds = append(holds, c.by)
		}
		out = append(out, c)
	}
	return out
}

// without returns the changes that there would be had others never been said: what follows
// such a memory follows the one before it.
func without(all []change, never func(n int) bool) map[int]change {
	out, stands := map[int]change{}, map[string]string{"": ""}
	for n, c := range all {
		before := stands[c.id]
		switch {
		case never(n) && c.by != "" && c.does != "retract":
			stands[c.by] = before
		case never(n), c.does == "retract" && before != c.id:
		default:
			if c.id = before; c.does == "supersede" && before == "" {
				c.does = "add"
			}
			stands[c.by], out[n] = c.by, c
		}
	}
	return out
}

func TestForgettingAPartLeavesWhatWouldBeThereWithoutIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := story(t)
		session := "s0"
		part, never := &backends.Part{Session: &session}, func(n int) bool { return all[n].session == session }
		if rapid.Bool().Draw(t, "by time") {
			from := rapid.IntRange(0, len(all)).Draw(t, "from")
			to := rapid.IntRange(from, len(all)).Draw(t, "to")
			part = &backends.Part{From: began.Add(time.Duration(from) * time.Minute), To: began.Add(time.Duration(to)*time.Minute + time.Second)}
			never = func(n int) bool { return n >= from && n <= to }
		}
		told, wanted := newWorld(t), newWorld(t)
		defer told.Close()
		defer wanted.Close()
		for n, c := range all {
			told.says(n, c)
		}
		left := without(all, never)
		for n := range all {
			if c, ok := left[n]; ok {
				wanted.says(n, c)
			}
		}
		_, err := store.Forget(context.Background(), told, ann, part)
		require.NoError(t, err)
		require.Equal(t, wanted.state(), told.state())
	})
}

// A memory that somebody deleted takes what it says out of the histories beside it, and what
// it replaced stays ended, unless the forgotten words taught it.
func TestForgettingMendsAroundDeletedMemories(t *testing.T) {
	for session, holds := range map[string]bool{"s2": true, "s3": false} {
		w := newWorld(t)
		w.says(0, change{"add", "", "a", "s1"})
		w.says(1, change{"supersede", "a", "b", "s2"})
		w.says(2, change{"add", "", "c", "s3"})
		w.apply(store.Delete("b"))
		_, err := store.Forget(context.Background(), w, ann, &backends.Part{Session: &session})
		require.NoError(t, err)
		state := w.state()["a"]
		require.NotContains(t, state, "text of b")
		require.Contains(t, state, `after ""`)
		require.Equal(t, holds, strings.Contains(state, "ended 0001"), state)
		require.NoError(t, w.Close())
	}
}

// What an agent answers with the whole text of a forgotten message, or wrote down, goes with it,
// in other sessions, too. What the user says there, and what is short, stays.
func TestForgettingAPartTakesTheAnswersThatQuoteIt(t *testing.T) {
	const secret = "I was diagnosed with diabetes in   March."
	w := newWorld(t)
	defer w.Close()
	said := func(session, id, turn string, m *schema.Message) {
		_, err := w.Append(context.Background(), ann, session, &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: id, Turn: turn, Time: began, Message: m}}}})
		require.NoError(t, err)
	}
	for session, quoted := range map[string]string{"s1": secret, "s2": "我去年三月在上海被诊断出糖尿病", "s3": "Good morning."} {
		said(session, "told "+session, "t", schema.UserMessage(quoted))
		said("later", "asked "+session, session, schema.UserMessage("What did I say?"))
		said("later", "call "+session, session, schema.AssistantMessage("", []schema.ToolCall{{ID: "c", Function: schema.FunctionCall{Name: "search_memory", Arguments: "{}"}}}))
		said("later", "result "+session, session, schema.ToolMessage("found: "+strings.ToUpper(quoted), "c"))
		said("later", "answer "+session, session, schema.AssistantMessage("You said: \n"+quoted, nil))
		said("later", "thanks "+session, session, schema.AssistantMessage("You are welcome.", nil))
		note := &store.Record{Memory: backends.Memory{ID: "note " + session, Kind: backends.KindFact, Text: "Ann said: " + quoted, Scope: ann.Scope(),
			Created: began.AddDate(0, 1, 0), Origin: backends.Origin{Session: "later", Author: backends.AuthorAgent}}}
		w.apply(store.Put(note))
	}
	said("later", "again", "again", schema.UserMessage("Good. I was diagnosed, you know."))
	for _, session := range []string{"s1", "s2", "s3"} {
		_, err := store.Forget(context.Background(), w, ann, &backends.Part{Session: &session})
		require.NoError(t, err)
	}
	log, err := w.Read(context.Background(), ann, "later", store.Range{})
	require.NoError(t, err)
	var erased []string
	for _, e := range log {
		if e.Erased {
			erased = append(erased, e.ID)
		}
	}
	require.ElementsMatch(t, []string{"call s1", "result s1", "answer s1", "call s2", "result s2", "answer s2"}, erased)
	require.Equal(t, []string{"note s3"}, slices.Collect(maps.Keys(w.state())))
}

// What the user says elsewhere, too, is no quotation of the forgotten message.
func TestForgettingAPartLeavesAnswersToWhatWasSaidAgain(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	const said = "I was diagnosed with diabetes in March."
	for i, m := range []*schema.Message{schema.UserMessage(said), schema.UserMessage("As I said: " + said), schema.AssistantMessage("Noted: "+said, nil)} {
		session := fmt.Sprint("s", min(i, 1))
		_, err := w.Append(context.Background(), ann, session, &store.Append{Entries: []store.Entry{{Message: backends.Message{ID: fmt.Sprint(i), Time: began, Message: m}}}})
		require.NoError(t, err)
	}
	w.apply(store.Put(&store.Record{Memory: backends.Memory{ID: "note", Kind: backends.KindFact, Text: "Ann said: " + said, Scope: ann.Scope(),
		Created: began, Origin: backends.Origin{Session: "s1", Author: backends.AuthorAgent}}}))
	first := "s0"
	receipt, err := store.Forget(context.Background(), w, ann, &backends.Part{Session: &first})
	require.NoError(t, err)
	require.Equal(t, 1, receipt.Messages)
	require.Contains(t, w.state(), "note")
}

// A copy in a workspace goes with its original, also with one that was made from others.
func TestForgettingAPartTakesPromotedCopies(t *testing.T) {
	w := newWorld(t)
	defer w.Close()
	w.says(0, change{"add", "", "a", "s1"})
	w.says(1, change{"add", "", "b", "s2"})
	insight := store.Put(&store.Record{Memory: backends.Memory{ID: "i", Kind: backends.KindInsight, Text: "an insight", Scope: ann.Scope(), Origin: backends.Origin{Evidence: []string{"a"}}}})
	w.apply(insight)
	team := backends.Partition{Namespace: "default", Kind: backends.PartitionWorkspace, ID: "team"}
	for _, id := range []string{"i", "b"} {
		c := store.Put(&store.Record{Memory: backends.Memory{ID: "copy of " + id, Kind: backends.KindFact, Text: "x", Scope: backends.Scope{UserID: "ann", Workspace: "team"},
			Metadata: map[string]any{backends.MetaPromotedFrom: id}}})
		_, err := w.Apply(context.Background(), team, &store.Batch{Mutations: []store.Mutation{c}})
		require.NoError(t, err)
	}
	session := "s1"
	_, err := store.Forget(context.Background(), w, ann, &backends.Part{Session: &session})
	require.NoError(t, err)
	left, _, err := store.All(context.Background(), w, team, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"copy of b"}, slices.Collect(maps.Keys(left)))
}
