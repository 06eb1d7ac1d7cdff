// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

var blobBehaviours = []behaviour{
	{"a blob comes back as it was put", blobsAreKept},
	{"a blob is put over what is there, nil removes it", blobsAreReplaced},
	{"a blob belongs to its session and partition", blobsAreLocal},
	{"a blob may come before its session", blobBeforeSession},
}

func (e *env) blob(session, name string) []byte {
	e.Helper()
	out, err := e.GetBlob(e.ctx, e.p, session, name)
	require.NoError(e, err)
	return out
}

func (e *env) noBlob(session, name string) {
	e.Helper()
	_, err := e.GetBlob(e.ctx, e.p, session, name)
	require.ErrorIs(e, err, backends.ErrNotFound)
}

func (e *env) putBlob(session, name string, data []byte) {
	e.Helper()
	require.NoError(e, e.PutBlob(e.ctx, e.p, session, name, data))
}

func blobsAreKept(e *env) {
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("x"), "bytes": {0, 0xff, 0, '\'', '"'}, "large": bytes.Repeat([]byte("0123456789abcdef"), 1<<16),
	} {
		e.noBlob("s", name)
		e.putBlob("s", name, data)
		got := e.blob("s", name)
		require.NotNil(e, got, name)
		require.True(e, bytes.Equal(data, got), name)
	}
}

func blobsAreReplaced(e *env) {
	data := []byte("1")
	e.putBlob("s", "b", data)
	data[0] = 'x'
	require.Equal(e, []byte("1"), e.blob("s", "b"))
	e.putBlob("s", "b", []byte("22"))
	require.Equal(e, []byte("22"), e.blob("s", "b"))
	e.putBlob("s", "b", nil)
	e.noBlob("s", "b")
	e.putBlob("s", "b", nil)
	e.putBlob("s", "b", []byte("3"))
	require.Equal(e, []byte("3"), e.blob("s", "b"))
}

func blobsAreLocal(e *env) {
	e.putBlob("s", "b", []byte("1"))
	e.noBlob("t", "b")
	e.noBlob("", "b")
	e.noBlob("s", "c")
	e.user("bob").noBlob("s", "b")
	e.user("bob").putBlob("s", "b", nil)
	require.Equal(e, []byte("1"), e.blob("s", "b"))
}

func blobBeforeSession(e *env) {
	e.putBlob("s", "b", []byte("1"))
	_, err := e.Session(e.ctx, e.p, "s")
	require.ErrorIs(e, err, backends.ErrNotFound)
	e.append("s", message("m1", "x"))
	require.Equal(e, []byte("1"), e.blob("s", "b"))
}
