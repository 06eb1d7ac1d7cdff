// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends_test

import (
	"context"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
)

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
