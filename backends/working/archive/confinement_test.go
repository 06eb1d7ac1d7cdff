// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/archive"
)

// hostile are ids that name nothing here, whoever else has something of the kind.
var hostile = []string{
	"", "#", "#0", "log", "log-", "log-0", "log-0-0", "log--1", "log-1-", "log-2-1", "log-01", "log-+1", "log-1-2-3", "log-1#", "log-1#-1", "log-1#00", "log-1##0",
	"log-99999999999999999999-1", "log-1-99999999999999999999", "log-9223372036854775807", "log-1-9223372036854775807", "LOG-1", " log-1", "log-1 ", "log-1\n", "log-１",
	"a-", "a", "a-short", "a-" + strings.Repeat("A", 20), "a-" + strings.Repeat("a", 21), "a-" + strings.Repeat("1", 20), "a-../../../../etc/pass", "a-\x00aaaaaaaaaaaaaaaaaaa",
	"../", "../../etc/passwd", "/etc/passwd", "archive/aaaaaaaaaaaaaaaaaaaa", "open-turn/x", "a-aaaaaaaaaaaaaaaaaaaa/..", "s2/a-aaaaaaaaaaaaaaaaaaaa", "\x00", "\xff", strings.Repeat("log-1", 10_000),
}

func TestDEF27NothingElseIsReached(t *testing.T) {
	w := newWorld(t)
	w.log(ann, schema.UserMessage("mine"))
	p := partition(t, ann)
	for _, name := range []string{"open-turn/x", "archive/../x", "archive/short", "a-aaaaaaaaaaaaaaaaaaaa"} {
		require.NoError(t, w.store.PutBlob(t.Context(), p, ann.SessionID, name, []byte(`{"format":1,"messages":[{"role":"user","content":"secret"}]}`)))
	}
	x := w.of(ann)
	for _, id := range hostile {
		_, err := x.Messages(t.Context(), id)
		require.ErrorIs(t, err, backends.ErrInvalid, "%q", id)
		require.Less(t, len(err.Error()), 400)
		_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id})
		require.ErrorIs(t, err, backends.ErrInvalid, "%q", id)
		_, err = x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret", Refs: []string{id}})
		require.ErrorIs(t, err, backends.ErrInvalid, "%q", id)
	}
	for _, id := range []string{"log-2", "log-2-9", "log-1#1", "log-1-9#1", "log-9007199254740992", "a-aaaaaaaaaaaaaaaaaaaa", "a-aaaaaaaaaaaaaaaaaaaa#0"} {
		_, err := x.Messages(t.Context(), id)
		require.ErrorIs(t, err, backends.ErrNotFound, id)
		_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id})
		require.ErrorIs(t, err, backends.ErrNotFound, id)
	}
	found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret"})
	require.NoError(t, err)
	require.Empty(t, found.Matches)
	require.Empty(t, found.Unreadable)
}

// Two users may give a session the same id, and a user has several sessions: an id
// of one opens nothing in another.
func TestSessionsDoNotSeeOneAnother(t *testing.T) {
	w := newWorld(t)
	scopes := []backends.Scope{
		ann, {UserID: "ann", SessionID: "s2"}, {UserID: "bob", SessionID: "s1"}, {AgentID: "ann", SessionID: "s1"}, {UserID: "ann", SessionID: "s1", Namespace: "other"}, {UserID: "ann"},
	}
	refs := make([]string, len(scopes))
	for i, s := range scopes {
		w.log(s, schema.UserMessage(fmt.Sprint("logged secret ", i)), schema.UserMessage("x"))
		refs[i] = w.put(s, schema.UserMessage(fmt.Sprint("archived secret ", i)))
	}
	for i, s := range scopes {
		x := w.of(s)
		found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret"})
		require.NoError(t, err)
		require.Len(t, found.Matches, 2)
		for _, m := range found.Matches {
			require.True(t, strings.HasSuffix(m.Text, fmt.Sprint("secret ", i)), m.Text)
		}
		log, err := x.Messages(t.Context(), "log-1-1000")
		require.NoError(t, err)
		require.Len(t, log, 2)
		require.Equal(t, fmt.Sprint("logged secret ", i), log[0].Content)
		for k, ref := range refs {
			got, err := x.Messages(t.Context(), ref)
			_, errRead := x.Read(t.Context(), &archive.ReadRequest{Ref: ref})
			_, errGrep := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "secret", Refs: []string{ref}})
			if k == i {
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint("archived secret ", i), got[0].Content)
				continue
			}
			for _, err := range []error{err, errRead, errGrep} {
				require.ErrorIs(t, err, backends.ErrNotFound)
				require.NotContains(t, err.Error(), "secret")
			}
		}
	}
}

func TestAScopeThatNamesNobody(t *testing.T) {
	w := newWorld(t)
	_, err := w.Of(backends.Scope{SessionID: "s1", Workspace: "w"})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = w.Of(backends.Scope{UserID: "a*"})
	require.ErrorIs(t, err, backends.ErrInvalid)
	for _, cfg := range []*archive.Config{nil, {}} {
		_, err = archive.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
	x, err := w.Of(backends.Scope{UserID: " ann ", SessionID: " s1"})
	require.NoError(t, err)
	require.Equal(t, `session default/user/ann "s1"`, x.String())
}

func TestArchivesEndWithTheSession(t *testing.T) {
	w := newWorld(t)
	w.log(ann, schema.UserMessage("x"))
	ref := w.put(ann, schema.UserMessage("y"))
	require.NoError(t, w.store.Delete(t.Context(), partition(t, ann), ann.SessionID))
	for _, id := range []string{ref, "log-1"} {
		_, err := w.of(ann).Messages(context.Background(), id)
		require.ErrorIs(t, err, backends.ErrNotFound)
	}
}

// damage changes a letter of each blob of the session: it is still JSON.
func (w *world) damage(s backends.Scope) {
	w.Helper()
	for _, name := range w.blobs(s) {
		data, err := w.store.GetBlob(context.Background(), partition(w, s), s.SessionID, name)
		require.NoError(w, err)
		data = bytes.Replace(data, []byte("word"), []byte("ward"), 1)
		require.NoError(w, w.store.PutBlob(context.Background(), partition(w, s), s.SessionID, name, data))
	}
}

func TestADamagedBlobIsSaidToBe(t *testing.T) {
	w := newWorld(t)
	ref := w.put(ann, schema.UserMessage("one word"))
	w.damage(ann)
	w.log(ann, schema.UserMessage("another word"))
	x := w.of(ann)
	_, err := x.Messages(t.Context(), ref)
	require.ErrorIs(t, err, backends.ErrInvalid)
	require.ErrorIs(t, err, archive.ErrDamaged)
	require.ErrorContains(t, err, ref)
	_, err = x.Grep(t.Context(), &archive.GrepRequest{Pattern: "word", Refs: []string{ref}})
	require.ErrorIs(t, err, backends.ErrInvalid)
	found, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "word"})
	require.NoError(t, err)
	require.Len(t, found.Matches, 1, "one damaged blob does not hide the rest")
	require.Equal(t, []string{ref}, found.Unreadable)
}

func TestAStoreThatIsDownIsNotAnEmptyOne(t *testing.T) {
	w := newWorld(t)
	w.log(ann, schema.UserMessage("x"))
	ref := w.put(ann, schema.UserMessage("y"))
	w.fail = func(string) error { return backends.ErrUnavailable }
	x := w.of(ann)
	for _, id := range []string{ref, "log-1"} {
		_, err := x.Messages(t.Context(), id)
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.NotErrorIs(t, err, backends.ErrNotFound)
		_, err = x.Read(t.Context(), &archive.ReadRequest{Ref: id})
		require.ErrorIs(t, err, backends.ErrUnavailable)
	}
	_, err := x.Grep(t.Context(), &archive.GrepRequest{Pattern: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	w.fail = func(op string) error {
		if op == "GetBlob" {
			return backends.ErrUnavailable
		}
		return nil
	}
	_, err = x.Grep(t.Context(), &archive.GrepRequest{Pattern: "x"})
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = w.store.List(t.Context(), store.SessionQuery{})
	require.NoError(t, err)
}
