// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// imported sends an export of so many memories of a KiB.
func (s *server) imported(user string, n int) {
	s.t.Helper()
	r, w := io.Pipe()
	go func() {
		fmt.Fprintf(w, `{"partition":{"namespace":"default","kind":"user","id":%q},"export_version":1}`+"\n", user)
		for i := range n {
			fmt.Fprintf(w, `{"memory":{"id":"m%d","kind":"fact","text":"%d %s"}}`+"\n", i, i, strings.Repeat("tea ", 256))
		}
		fmt.Fprintf(w, `{"end":{"partitions":1,"records":%d}}`+"\n", n)
		_ = w.Close()
	}()
	res, err := http.Post(s.url+"/api/v1/import?user_id="+user, "application/jsonl", r)
	require.NoError(s.t, err)
	require.NoError(s.t, res.Body.Close())
	require.Equal(s.t, http.StatusOK, res.StatusCode)
}

// heap returns the bytes that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestReadersThatTakeNothingHoldLittle(t *testing.T) {
	s := newServer(t, nil, nil)
	s.imported("ann", 8000)
	before := heap()
	for range 40 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(4096))
		_, err = io.WriteString(conn, "GET /api/v1/export?user_id=ann HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { return len(s.streams[false]) == exports }, 10*time.Second, 10*time.Millisecond)
	for range 20 { // while they fill what the system buffers
		require.Less(t, (heap()-before)>>20, int64(160)) // 40 whole answers are 320 MiB and more
		time.Sleep(20 * time.Millisecond)
	}
}

func TestAnImportWaitsForTheOneBefore(t *testing.T) {
	s := newServer(t, nil, nil)
	r, w := io.Pipe()
	first := make(chan int)
	go func() {
		res, err := http.Post(s.url+"/api/v1/import?user_id=ann", "application/jsonl", r)
		if err != nil {
			first <- 0
			return
		}
		_ = res.Body.Close()
		first <- res.StatusCode
	}()
	_, err := io.WriteString(w, "{")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.streams[true]) == imports }, 10*time.Second, time.Millisecond)
	second := make(chan struct{})
	go func() {
		s.imported("bob", 3)
		close(second)
	}()
	select {
	case <-second:
		t.Fatal("it did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	require.NoError(t, w.Close())
	require.Equal(t, http.StatusBadRequest, <-first)
	<-second
}
