// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/test/testkit"
)

// files is what is on a disk: the database and its "-wal" file.
type files struct{ db, wal []byte }

func readFiles(t *testing.T, path string) (out files) {
	t.Helper()
	var err error
	out.db, err = os.ReadFile(path)
	require.NoError(t, err)
	out.wal, err = os.ReadFile(path + "-wal")
	require.NoError(t, err)
	return out
}

// sector is what a disk writes wholly or not at all. A page of the database has eight.
const sector = 512

// torn returns a file in which some sectors are as they were before a write that was not
// synced, and others as they are after it, in no order. Those behind the old end may hold
// anything, and the file may end anywhere behind it.
func torn(r *rand.Rand, before, after []byte) []byte {
	out, likely := slices.Clone(before), r.Float64()
	for at := 0; at < len(after); at += sector {
		end := min(at+sector, len(after))
		for len(out) < end {
			out = append(out, byte(r.IntN(256)*r.IntN(2)))
		}
		if r.Float64() < likely {
			copy(out[at:end], after[at:end])
		}
	}
	if r.IntN(3) == 0 && len(out) > len(before) {
		out = out[:len(before)+r.IntN(len(out)-len(before))]
	}
	return out
}

// afterPowerLoss returns what a power loss during a write may leave. A commit writes to "-wal"
// and syncs it. Then a checkpoint may write to the database, which it syncs before "-wal" is
// used again from its beginning.
func afterPowerLoss(r *rand.Rand, before, after files) files {
	if r.IntN(2) == 0 || slices.Equal(before.db, after.db) {
		return files{before.db, torn(r, before.wal, after.wal)}
	}
	return files{torn(r, before.db, after.db), after.wal}
}

// everythingIn describes all that ann's partition has.
func everythingIn(t testing.TB, s *sqlitestore.Store) string {
	t.Helper()
	ctx, require := context.Background(), require.New(t)
	var out strings.Builder
	set, err := s.Changes(ctx, ann, "")
	require.NoError(err)
	for _, r := range set.Records {
		events, err := s.History(ctx, ann, r.ID)
		require.NoError(err)
		fmt.Fprintln(&out, r.ID, r.Version, r.Text, r.Metadata, len(r.Vector), len(events))
	}
	list, err := s.List(ctx, store.SessionQuery{Partition: &ann})
	require.NoError(err)
	for _, session := range list.Sessions {
		entries, err := s.Read(ctx, ann, session.ID, store.Range{})
		require.NoError(err)
		blobs, err := s.ListBlobs(ctx, ann, session.ID, "", store.Page{})
		require.NoError(err)
		fmt.Fprintln(&out, session.ID, session.Version, session.LastSeq, session.Watermark, len(entries), blobs.Blobs)
		for _, b := range blobs.Blobs {
			_, err := s.GetBlob(ctx, ann, session.ID, b.Name)
			require.NoError(err)
		}
	}
	return out.String()
}

// The power fails in each write of a history: what was acknowledged before is there, and the
// write is there wholly or not at all, whatever of it the disk has kept.
func TestAPowerLossLosesNothingAcknowledged(t *testing.T) {
	testkit.SlowUnderRace(t)
	rounds, losses := 40, 6
	if testkit.Long() {
		rounds, losses = 200, 10
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	path, broken := filepath.Join(t.TempDir(), "mem.db"), filepath.Join(t.TempDir(), "broken.db")
	s := open(t, path, nil)
	apply(t, s, put("counter", ""))
	other := raw(t, path, "SELECT 1")
	write := func(i int) error {
		ctx, log := t.Context(), fmt.Sprint("s", i%3)
		switch i % 8 {
		case 0, 1:
			_, err := s.Append(ctx, ann, log, one(fmt.Sprint("m", i)))
			return err
		case 2, 3:
			b := put(fmt.Sprint("r", i), strings.Repeat("text ", r.IntN(3000)))
			b.Key, b.Mutations[0].Record.Vector = fmt.Sprint("k", i), make([]byte, r.IntN(3000))
			b.Mutations = append(b.Mutations, store.Increment("counter", "n", 1))
			_, err := s.Apply(ctx, ann, b)
			return err
		case 4:
			return s.PutBlob(ctx, ann, log, fmt.Sprint("b", i), make([]byte, r.IntN(60_000)))
		case 5:
			_, err := s.Apply(ctx, ann, &store.Batch{Mutations: []store.Mutation{store.Delete(fmt.Sprint("r", i-2)),
				store.Supersede(fmt.Sprint("r", i-3), &store.Record{Memory: backends.Memory{ID: fmt.Sprint("r", i), Text: "new"}})}})
			return err
		case 6:
			if i%3 == 0 {
				return s.Delete(ctx, ann, log)
			}
			_, err := s.EraseMessages(ctx, ann, log, 1)
			return err
		}
		_, err := other.Exec("PRAGMA wal_checkpoint(PASSIVE)") // as a commit does once in 16 MB
		return err
	}
	before, was := readFiles(t, path), everythingIn(t, s)
	kept, lost := 0, 0
	for i := range rounds {
		require.NoError(t, write(i))
		after, is := readFiles(t, path), everythingIn(t, s)
		for range losses {
			left := afterPowerLoss(r, before, after)
			require.NoError(t, os.RemoveAll(broken+"-shm"))
			require.NoError(t, os.WriteFile(broken, left.db, 0o600))
			require.NoError(t, os.WriteFile(broken+"-wal", left.wal, 0o600))
			again, err := sqlitestore.Open(t.Context(), broken, nil)
			require.NoError(t, err)
			got := everythingIn(t, again)
			if got == is {
				kept++
			} else {
				lost++
				require.Equal(t, was, got, "write %d", i)
			}
			found, err := again.Check(t.Context())
			require.NoError(t, err)
			require.Empty(t, found)
			apply(t, again, put("later", "x"))
			require.NoError(t, again.Close())
		}
		before, was = after, is
	}
	t.Logf("%d power losses: %d kept the write, %d lost it", rounds*losses, kept, lost)
	require.Positive(t, kept)
	require.Positive(t, lost)
}
