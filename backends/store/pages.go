// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"iter"

	"github.com/einomem/einomem/backends"
)

// changes yields all changes of a partition, page by page.
func changes(ctx context.Context, s Records, p backends.Partition) iter.Seq2[*ChangeSet, error] {
	return func(yield func(*ChangeSet, error) bool) {
		for cursor := ""; ; {
			set, err := s.Changes(ctx, p, cursor)
			if !yield(set, err) || err != nil || !set.More {
				return
			}
			cursor = set.Cursor
		}
	}
}

// All returns the records of a partition by their ids, and the space of their vectors. The
// function trim is called with each record and may drop unused fields. Optional.
func All(ctx context.Context, s Records, p backends.Partition, trim func(*Record)) (map[string]*Record, *Embedding, error) {
	var space *Embedding
	all := map[string]*Record{}
	for set, err := range changes(ctx, s, p) {
		if err != nil {
			return nil, nil, err
		}
		if space = set.Embedding; set.Reset {
			clear(all)
		}
		for i := range set.Records {
			r := set.Records[i]
			if trim != nil {
				trim(&r)
			}
			all[r.ID] = &r
		}
		for _, id := range set.Removed {
			delete(all, id)
		}
	}
	return all, space, nil
}

// transferPage is how many things are read and written together.
const transferPage = 1000

// listing is a page of a listing, and the cursor of the next. (The linter overlooks that
// Each uses it.)
type listing[T any] interface{ page() ([]T, string) }

func (l *PartitionPage) page() ([]backends.Partition, string) { return l.Partitions, l.Next } //nolint:unused // see listing
func (l *IDPage) page() ([]string, string)                    { return l.IDs, l.Next }        //nolint:unused // see listing
func (l *SessionPage) page() ([]Session, string)              { return l.Sessions, l.Next }   //nolint:unused // see listing
func (l *BlobPage) page() ([]BlobInfo, string)                { return l.Blobs, l.Next }      //nolint:unused // see listing

// Each calls do for every entry of a listing, such as [Records].Partitions, page by page.
// It returns the first error.
func Each[T any, L listing[T]](list func(Page) (L, error), do func(T) error) error {
	for at := (Page{Limit: transferPage}); ; {
		found, err := list(at)
		if err != nil {
			return err
		}
		all, next := found.page()
		for i := range all {
			if err := do(all[i]); err != nil {
				return err
			}
		}
		if at.Cursor = next; next == "" {
			return nil
		}
	}
}
