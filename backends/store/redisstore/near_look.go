// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// nearFormat is the number of the index's layout. An index of another one is
	// built anew.
	nearFormat = 1
	// nearLease is after how long without a word from whoever builds an index
	// another one goes on with it.
	nearLease = 10 * time.Second
)

// outlook is what a look at the index of a partition showed.
type outlook struct {
	inc     string // of the partition; empty: it has no vectors
	version int64  // of the partition
	space   *store.Embedding
	text    string // of the space
	card    int    // elements of the index
	dead    int    // those of them that do not count any more
	name    string // of the index; empty: there is none that fits
	at      int64  // the version that the index has reached
	cursor  string
	todo    int           // changes that it lacks
	busy    time.Duration // how long the lease of others has left
	mine    bool          // the lease is the caller's
}

// reaches reports whether everything up to a version of the partition is in the
// index.
func (o *outlook) reaches(version int64) bool { return o.name != "" && o.at >= version }

// look reads the state of the index. If it is behind, by no more than ready changes,
// and nobody works on it, owner gets the lease.
func (s *Store) look(ctx context.Context, p backends.Partition, owner string, ready int) (*outlook, error) {
	k := s.keys(p)
	reply, err := nearLookScript.Run(ctx, s.client, []string{k.meta(), k.changed(), k.deleted(), k.near(), k.nearState()},
		nearFormat, s.config.Near.quantisation(), owner, nearLease.Milliseconds(), ready, newNonce()).Slice()
	if err != nil {
		return nil, err
	}
	switch len(reply) {
	case 1:
		return &outlook{}, nil
	case 2:
		return nil, nearRefusal(texts(reply)[1])
	case 12:
	default:
		return nil, fmt.Errorf("%w: unexpected answer of a script: %d values", backends.ErrUnavailable, len(reply))
	}
	word := texts(reply)
	if err := s.mayUseNear(word[0]); err != nil {
		return nil, err
	}
	o := &outlook{inc: word[1], text: word[3], name: word[6], cursor: word[8], mine: reply[11] == int64(1)}
	if o.space, err = parseSpace(o.text); err != nil {
		return nil, err
	}
	var n [6]int64
	for i, at := range []int{2, 4, 5, 7, 9, 10} {
		if n[i], err = number(reply[at]); err != nil {
			return nil, err
		}
	}
	o.version, o.card, o.dead, o.at, o.todo = n[0], int(n[1]), int(n[1]-n[2]), n[3], int(n[4])
	o.busy = time.Duration(n[5]) * time.Millisecond
	return o, nil
}

// nearRefusal says what it means that a server refuses a command on the index.
func nearRefusal(said string) error {
	switch lower := strings.ToLower(said); {
	case strings.Contains(lower, "unknown"):
		return fmt.Errorf("%w: %w: the server has no vector sets: they came with Redis 8", backends.ErrUnavailable, errors.ErrUnsupported)
	case strings.Contains(lower, "permission"), strings.Contains(lower, "noperm"):
		return fmt.Errorf("%w: %w: vector sets are forbidden: let the user run VADD, VREM, VSIM, VCARD, VINFO and VLINKS: %s", backends.ErrUnavailable, errors.ErrUnsupported, said)
	}
	return fmt.Errorf("%w: the server refuses it: %s", backends.ErrUnavailable, said)
}

// release gives the lease back, as far as it is the owner's.
func (s *Store) release(ctx context.Context, p backends.Partition, owner string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = nearReleaseScript.Run(ctx, s.client, []string{s.keys(p).nearState()}, owner).Err() // else it ends by itself
}
