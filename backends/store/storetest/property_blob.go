// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// blob puts a blob or removes one, and looks at all of its session.
func (r *run) blob() {
	id, name := r.sessionID(), r.pick("name", "a", "a/b", "a/c", "{d}", "é")
	data := []byte(r.pick("data", "", "x", "yy"))
	if rapid.IntRange(0, 2).Draw(r.rt, "remove") == 0 {
		data = nil
	}
	r.putBlob(id, name, data)
	r.model.putBlob(id, name, data, r.clock.Now())
	r.sameBlobs(id, r.pick("prefix", "", "a", "a/", "b"))
}

func (r *run) sameBlobs(id, prefix string) {
	limit := rapid.IntRange(0, 3).Draw(r.rt, "limit")
	require.Equal(r, r.model.listBlobs(id, prefix, r.clock.Now()), r.listBlobs(id, prefix, limit, nil))
	for name, data := range r.model.blobs[id] {
		require.Equal(r, data, r.env.blob(id, name))
	}
}

func (r *run) deleteSession() {
	id := r.sessionID()
	require.NoError(r, r.Delete(r.ctx, r.p, id))
	delete(r.model.sessions, id)
	delete(r.model.blobs, id)
	delete(r.token, id)
}
