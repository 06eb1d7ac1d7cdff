// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"context"
	"errors"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/library"
	"github.com/einomem/einomem/backends/store"
)

// late is a store that gives no answer to one Apply and carries it out later, as one
// does behind a slow network.
type late struct {
	store.Store
	left  int
	batch *store.Batch
	came  bool
	err   error // of its coming
}

func (l *late) Apply(ctx context.Context, p backends.Partition, b *store.Batch) (*store.Applied, error) {
	if l.left--; l.left == 0 {
		l.batch = b
		return nil, backends.ErrUnavailable
	}
	return l.Store.Apply(ctx, p, b)
}

// ListBlobs carries out what is late, so that it comes while a load tidies up.
func (l *late) ListBlobs(ctx context.Context, p backends.Partition, session, prefix string, page store.Page) (*store.BlobPage, error) {
	if l.batch != nil && !l.came {
		l.came = true
		_, l.err = l.Store.Apply(ctx, p, l.batch)
	}
	return l.Store.ListBlobs(ctx, p, session, prefix, page)
}

// The same where it comes before the load has given its lease back.
func TestR21AWriteThatComesLateWhileTidying(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	was := w.all(shop)
	st := &late{Store: w.store, left: 1}
	_, err := open(t, options{store: st, clock: w.clock, config: library.Config{OneBatch: staging}}).Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
	require.ErrorContains(t, err, "it is as it was)")
	require.True(t, st.came)
	require.ErrorIs(t, st.err, backends.ErrConflict)
	require.Equal(t, was, w.all(shop))
	require.Equal(t, 51, w.load(shop, after).Loaded)
}

// A load that says that the workspace is as it was says so for good: the write that was
// under way is refused when it comes at last.
func TestR21AWriteThatComesLate(t *testing.T) {
	for name, oneBatch := range map[string]int{"at once": 0, "staged": staging} {
		t.Run(name, func(t *testing.T) {
			w := open(t, options{})
			w.load(shop, before)
			was := w.all(shop)
			st := &late{Store: w.store, left: 1}
			slow := open(t, options{store: st, clock: w.clock, config: library.Config{OneBatch: oneBatch}})
			_, err := slow.Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
			require.ErrorIs(t, err, backends.ErrUnavailable)
			require.ErrorContains(t, err, "it is as it was)")
			require.NotNil(t, st.batch)
			_, err = w.store.Apply(w.ctx, partition(shop), st.batch)
			require.ErrorIs(t, err, backends.ErrConflict)
			require.Equal(t, was, w.all(shop))
			w.nothingStaged(shop)
			require.Equal(t, 51, w.load(shop, after).Loaded)
		})
	}
}

// What was decided is finished as soon as the store is there again, by whoever asks:
// nobody waits for a lease that nobody needs any more.
func TestR21ResumedAtOnce(t *testing.T) {
	w := open(t, options{})
	w.load(shop, before)
	f := &faulty{Store: w.store}
	applied := 0
	f.before = func(_ int, name string) error {
		if name == "Apply" {
			applied++
		}
		return failIf(name == "Apply" && applied > 2)
	}
	got, err := open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}}).Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.True(t, got.Committed)
	f.before = func(_ int, name string) error { return failIf(name == "Apply") }
	_, err = open(t, options{store: f, clock: w.clock}).Resume(w.ctx, shop)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	_, err = open(t, options{store: f, clock: w.clock, config: library.Config{OneBatch: staging}}).Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(before))
	require.ErrorIs(t, err, backends.ErrUnavailable)
	resumed, err := w.Resume(w.ctx, shop)
	require.NoError(t, err)
	require.Equal(t, 51, resumed.Finished)
	require.True(t, whole(t, w, nil))
	w.nothingStaged(shop)
}

// Where something is lost of what was staged, each call says so and names a way out.
func TestR21DamagedStaging(t *testing.T) {
	for name, damage := range map[string][]byte{"gone": nil, "no JSON": []byte("{"), "no memory": []byte("{}"), "another kind of JSON": []byte("[[")} {
		for _, part := range []string{"put", "gone"} {
			t.Run(name+", "+part, func(t *testing.T) {
				w := open(t, options{})
				w.load(shop, before)
				w.dieDecided(options{})
				w.clock.pass(library.LeaseFor)
				page, err := w.store.ListBlobs(w.ctx, partition(shop), library.SessionID, "", anyPage)
				require.NoError(t, err)
				hit := 0
				for _, b := range page.Blobs {
					if blobPart(b.Name) == part {
						hit++
						require.NoError(t, w.store.PutBlob(w.ctx, partition(shop), library.SessionID, b.Name, damage))
					}
				}
				require.NotZero(t, hit)
				for range 2 {
					for _, call := range []func() error{
						func() error { _, err := w.Resume(w.ctx, shop); return err },
						func() error {
							_, err := w.Load(w.ctx, &library.LoadRequest{Scope: shop}, reader(after))
							return err
						},
						func() error { _, err := w.Delete(w.ctx, &library.DeleteRequest{Scope: shop}); return err },
					} {
						err := call()
						require.ErrorIs(t, err, backends.ErrUnavailable)
						require.False(t, errors.Is(err, backends.ErrNotFound) || errors.Is(err, backends.ErrConflict), "%v", err)
						require.ErrorContains(t, err, "Erase")
					}
				}
				_, err = w.Delete(w.ctx, &library.DeleteRequest{Scope: shop, Erase: true})
				require.NoError(t, err)
				require.Equal(t, 4, w.load(shop, before).Loaded)
			})
		}
	}
}

// blobPart is the middle of a staged blob's name.
func blobPart(name string) string { return path.Base(path.Dir(name)) }
