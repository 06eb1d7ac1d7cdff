// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

func TestNoRequestIsInvalid(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	for name, call := range map[string]func(context.Context) error{
		"Search":        func(ctx context.Context) error { return only(b.Search(ctx, nil)) },
		"Add":           func(ctx context.Context) error { return only(b.Add(ctx, nil)) },
		"RecordOutcome": func(ctx context.Context) error { return only(b.RecordOutcome(ctx, nil)) },
		"RecordCalls":   func(ctx context.Context) error { return b.RecordCalls(ctx, nil) },
		"Get":           func(ctx context.Context) error { return only(b.Get(ctx, nil)) },
		"List":          func(ctx context.Context) error { return only(b.List(ctx, nil)) },
		"Update":        func(ctx context.Context) error { return only(b.Update(ctx, nil)) },
		"Delete":        func(ctx context.Context) error { return b.Delete(ctx, nil) },
		"DeleteAll":     func(ctx context.Context) error { return only(b.DeleteAll(ctx, nil)) },
		"History":       func(ctx context.Context) error { return only(b.History(ctx, nil)) },

		"Task.Summarize":     func(ctx context.Context) error { return only(b.Task().Summarize(ctx, nil)) },
		"Task.Retrieve":      func(ctx context.Context) error { return only(b.Task().Retrieve(ctx, nil)) },
		"Task.Record":        func(ctx context.Context) error { return only(b.Task().Record(ctx, nil)) },
		"Task.Forget":        func(ctx context.Context) error { return only(b.Task().Forget(ctx, nil)) },
		"Task.Retry":         func(ctx context.Context) error { return only(b.Task().Retry(ctx, nil)) },
		"Personal.Summarize": func(ctx context.Context) error { return only(b.Personal().Summarize(ctx, nil)) },
		"Personal.Retrieve":  func(ctx context.Context) error { return only(b.Personal().Retrieve(ctx, nil)) },
		"Tools.Record":       func(ctx context.Context) error { return only(b.Tools().Record(ctx, nil)) },
		"Tools.Summarize":    func(ctx context.Context) error { return only(b.Tools().Summarize(ctx, nil)) },
		"Tools.Retrieve":     func(ctx context.Context) error { return only(b.Tools().Retrieve(ctx, nil)) },
		"Library.Load":       func(ctx context.Context) error { return only(b.Library().Load(ctx, nil, nil)) },
		"Library.Dump":       func(ctx context.Context) error { return only(b.Library().Dump(ctx, nil, nil)) },
		"Library.Copy":       func(ctx context.Context) error { return only(b.Library().Copy(ctx, nil)) },
		"Library.Delete":     func(ctx context.Context) error { return only(b.Library().Delete(ctx, backends.Scope{})) },
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(t.Context()); !errors.Is(err, backends.ErrNoScope) { // to a library it is an empty one
				require.ErrorIs(t, err, backends.ErrInvalid)
			}
		})
	}
}

func TestTopKIsChecked(t *testing.T) {
	b, _ := newBackend(t, open(t), nil)
	for _, kinds := range [][]backends.Kind{nil, {backends.KindCore}, {backends.KindTask}} {
		for _, k := range []int{-1, 1001} {
			_, err := b.Search(t.Context(), &backends.SearchRequest{Scope: ann, Query: "x", TopK: k, Kinds: kinds})
			require.ErrorIs(t, err, backends.ErrInvalid)
		}
	}
}
