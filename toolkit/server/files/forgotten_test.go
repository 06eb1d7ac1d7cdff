// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package files_test

import (
	"context"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/toolkit/server/files"
)

// A command that writes belongs to the life of the partition in which it began: where the person
// is forgotten before any of its calls of the store, nothing of it is stored.
func TestCommandsThatBeganBeforeAForgetWriteNothing(t *testing.T) {
	testkit.SlowUnderRace(t)
	for name, c := range map[string]files.Command{
		"create":      create("/memories/late.txt", "late"),
		"overwrite":   create("/memories/a.txt", "late"),
		"str_replace": replace("/memories/a.txt", "file", "late"),
		"insert":      insert("/memories/a.txt", 1, "late"),
		"rename":      rename("/memories/a.txt", "/memories/late.txt"),
		"delete":      remove("/memories/a.txt"),
		"update":      {Path: "/memories/a.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			for at := 0; ; at++ {
				if !forgottenBefore(t, at, c) {
					require.Positive(t, at, "it does not reach the store")
					return
				}
			}
		})
	}
}

// forgottenBefore runs a command, and forgets its person before one of its calls of the store. It
// tells whether the command made that call.
func forgottenBefore(t *testing.T, at int, c files.Command) (reached bool) {
	ctx, db := context.Background(), testkit.SQLite(t)
	spy := testkit.Spy(db)
	f := on(t, spy)
	do(t, f, ann, create("/memories/a.txt", "a file"))
	of, err := ann.Partition(backends.PartitionUser)
	require.NoError(t, err)
	var calls sync.Mutex
	spy.Arm(func(call *testkit.StoreCall) error {
		calls.Lock()
		defer calls.Unlock()
		if call.N == at {
			reached, call.Before = true, func() {
				_, err := store.Forget(ctx, db, of, nil)
				require.NoError(t, err)
			}
		}
		return nil
	})
	if c.Command == "" {
		_ = f.Update(ctx, ann, c.Path, func(before string, _ bool) (string, error) { return before + "late", nil })
	} else {
		_, _ = f.Do(ctx, ann, &c) // ErrForgotten, or that the file is gone
	}
	spy.Arm(nil)
	calls.Lock()
	defer calls.Unlock()
	if !reached {
		return false
	}
	var dump strings.Builder
	n, err := store.Export(ctx, db, of, &dump)
	require.NoError(t, err)
	require.Zero(t, n.Records+n.Deleted+n.Sessions+n.Messages+n.Blobs, "forgotten before call %d of the store: %s", at, dump.String())
	return true
}

// What a call of Files writes goes through Do or Update, which the test above tries.
func TestDoAndUpdateAloneWrite(t *testing.T) {
	var taken []string
	of := reflect.TypeFor[*files.Files]()
	for i := range of.NumMethod() {
		if m := of.Method(i); m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() {
			taken = append(taken, m.Name)
		}
	}
	require.Equal(t, []string{"Do", "History", "Tree", "Update"}, taken, "try a new one that writes, above")
}
