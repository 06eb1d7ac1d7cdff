// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// listing is how far a list of sessions has come: since when, and which were met.
// An order alone would not do, because a session that changes goes to its front.
type listing struct {
	began time.Time // the last change of any session when it began
	met   map[print]bool
	list  []print // met, in order
}

// print stands for a session's id. Of a million sessions, two have the same one
// with a chance of two in a thousand.
type print [6]byte

var errCursor = errors.New("not one of a list of sessions")

// parseListing reads a cursor; the empty one is a new listing.
func parseListing(cursor string) (*listing, error) {
	l := &listing{met: make(map[print]bool)}
	if cursor == "" {
		return l, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(data) < 8 || (len(data)-8)%len(print{}) != 0 {
		return nil, errCursor
	}
	l.began = time.UnixMicro(int64(binary.BigEndian.Uint64(data)))
	for data = data[8:]; len(data) > 0; data = data[len(print{}):] {
		l.add(print(data))
	}
	return l, nil
}

// String returns the cursor.
func (l *listing) String() string {
	// Stores keep times to the microsecond or finer: rounded up, so that no session is newer.
	data := binary.BigEndian.AppendUint64(nil, uint64(l.began.Add(time.Microsecond-1).UnixMicro()))
	for _, p := range l.list {
		data = append(data, p[:]...)
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

func (l *listing) has(id string) bool { return l.met[printOf(id)] }

func (l *listing) meet(id string) { l.add(printOf(id)) }

func (l *listing) add(p print) {
	l.met[p] = true
	l.list = append(l.list, p)
}

func printOf(id string) print {
	h := sha256.Sum256([]byte(id))
	return print(h[:len(print{})])
}
