// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/plan"
)

// listing is where a listing stands.
type listing struct {
	Started   bool         `json:"s,omitempty"`
	Namespace string       `json:"n,omitempty"` // of a list of everything: the one that is being read, escaped
	Member    string       `json:"m,omitempty"` // of a list of all partitions: the one that is being read
	Rest      plan.Numbers `json:"r,omitempty"` // sessions of that partition to come
	Done      bool         `json:"-"`
}

// String returns the cursor, empty at the end.
func (l listing) String() string {
	if l.Done {
		return ""
	}
	text, _ := json.Marshal(l) // of strings and bytes: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseListing(cursor string) (listing, error) {
	var l listing
	if cursor == "" {
		return l, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil || !l.Started {
		return l, fmt.Errorf("redisstore: list sessions: cursor %q: %w: not one of this store", cursor, backends.ErrInvalid)
	}
	return l, nil
}
