// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"strings"
)

const (
	// forkOf begins what a session says of itself while it is copied, where others
	// say why they are not learnt from now.
	forkOf = "einomem fork "
	// forkBlob is the blob that says the same for ever.
	forkBlob = "fork"
)

// forkID says of what a session is a fork. A session that is deleted and begun
// again under its old name is another one, by its birth.
type forkID struct {
	Session string `json:"session"`
	Born    int64  `json:"born"` // microseconds since 1970
	Upto    int64  `json:"upto"`
}

// String returns the id as sessions keep it.
func (id forkID) String() string {
	text, _ := json.Marshal(id) // of a legal session id: cannot fail
	return forkOf + string(text)
}

func parseFork(text string) (id forkID, ok bool) {
	text, ok = strings.CutPrefix(text, forkOf)
	return id, ok && json.Unmarshal([]byte(text), &id) == nil
}
