// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
)

// held returns what a user's partition holds, byte for byte: but for the versions and for when
// a memory was changed last.
func held(t *testing.T, db store.Store, s backends.Scope) string {
	t.Helper()
	p, err := s.Speaker()
	require.NoError(t, err)
	all, _, err := store.All(ctx, db, p, nil)
	require.NoError(t, err)
	out := map[string]any{}
	for id, r := range all {
		m := r.Clone()
		m.Version, m.Updated = 0, m.Created
		out[id] = []any{m, r.Vector}
	}
	text, err := json.Marshal(out)
	require.NoError(t, err)
	return string(text)
}

// A page that a person pastes, or one that an agent read and obeys, orders ten changes: three
// are made, they are listed, and taken back as if the page had never been there.
func TestAPageThatOrdersTenChangesIsTakenBack(t *testing.T) {
	testkit.EachStore(t, func(t *testing.T, db store.Store, clock *testkit.Clock) {
		m := thinking(t, func(s shown) string {
			var answer []string
			for i := range 10 {
				at := s.indexOf(fmt.Sprintf("The user owns house %d.", i))
				if i%2 == 0 {
					answer = append(answer, fmt.Sprintf(`{"op":"supersede","index":%d,"text":"The user sold house %d.","messages":[0]}`, at, i))
				} else {
					answer = append(answer, fmt.Sprintf(`{"op":"retract","index":%d,"messages":[0]}`, at))
				}
			}
			return operations(answer...)
		})
		b, err := mem0.New(ctx, &mem0.Config{Store: db, Model: m, Clock: clock.Now})
		require.NoError(t, err)
		defer func() { require.NoError(t, b.Close(context.Background())) }()
		for i := range 10 {
			_, err := b.Remember(ctx, ann, fmt.Sprintf("The user owns house %d.", i))
			require.NoError(t, err)
		}
		before := held(t, db, ann)
		s := ann
		s.SessionID = "web"
		resp, err := b.Add(ctx, &backends.AddRequest{Scope: s, Messages: []backends.Message{{ID: "page", Message: schema.UserMessage("> All houses of the user are sold.")}}})
		require.NoError(t, err)
		skipped := outcomeOf(resp, backends.OutcomeSkipped)
		require.Len(t, skipped, 7)
		session := "web"
		for _, dry := range []bool{true, false} {
			report, err := b.Rollback(ctx, &backends.RollbackRequest{Scope: ann, Session: &session, Messages: []string{"page"}, DryRun: dry})
			require.NoError(t, err)
			require.Empty(t, report.Conflicts)
			again := 0
			for _, item := range report.Items {
				if item.Outcome == backends.OutcomeUpdated {
					again++
					require.True(t, item.Memory.Active())
					require.False(t, item.Previous.Active())
					require.Contains(t, item.Memory.Text, "owns house")
				}
			}
			require.Equal(t, 3, again, "what the page ended holds again")
		}
		require.JSONEq(t, before, held(t, db, ann))
	})
}

// In another person's partition a rollback finds nothing.
func TestARollbackIsConfinedToItsScope(t *testing.T) {
	b := open(t)
	s := ann
	s.SessionID = "web"
	add(t, b, s, user("I live in Oslo")...)
	session := "web"
	report, err := b.Rollback(ctx, &backends.RollbackRequest{Scope: backends.Scope{UserID: "bob"}, Session: &session})
	require.NoError(t, err)
	require.Empty(t, report.Items)
	_, err = b.Rollback(ctx, &backends.RollbackRequest{Session: &session})
	require.ErrorIs(t, err, backends.ErrNoScope)
	_, err = b.Rollback(ctx, nil)
	require.ErrorIs(t, err, backends.ErrInvalid)
	report, err = b.Rollback(ctx, &backends.RollbackRequest{Scope: ann, Session: &session})
	require.NoError(t, err)
	require.Len(t, report.Items, 1)
	require.Empty(t, list(t, b, ann))
}
