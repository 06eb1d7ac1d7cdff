// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// client is a connection to a handler that is paced with a patience of a tenth of a second.
func client(t *testing.T, ended chan<- error, serve func(http.ResponseWriter, *http.Request) error) net.Conn {
	t.Helper()
	h := paced(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ended <- serve(w, r) }), 100*time.Millisecond)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, format string, args ...any) {
	t.Helper()
	_, err := fmt.Fprintf(conn, format, args...)
	require.NoError(t, err)
}

func TestAClientThatSendsOrTakesNothingIsCut(t *testing.T) {
	ended := make(chan error, 1)
	read := func(_ http.ResponseWriter, r *http.Request) error {
		_, err := io.Copy(io.Discard, r.Body)
		return err
	}
	conn := client(t, ended, read)
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf of it")
	require.ErrorContains(t, <-ended, "timeout")

	conn = client(t, ended, func(w http.ResponseWriter, _ *http.Request) error {
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
				return err
			}
		}
	})
	send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.ErrorContains(t, <-ended, "timeout")

	conn = client(t, ended, read) // a byte now and then is less than a KiB a second
	send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")
	for {
		_, err := conn.Write([]byte("x"))
		select {
		case err := <-ended:
			require.ErrorContains(t, err, "timeout")
			return
		case <-time.After(5 * time.Millisecond):
			require.NoError(t, err)
		}
	}
}

func TestASlowClientThatGoesOnIsServed(t *testing.T) {
	ended := make(chan error, 1)
	conn := client(t, ended, func(w http.ResponseWriter, r *http.Request) error {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			select { // it works longer than any byte may take
			case <-r.Context().Done():
				err = r.Context().Err()
			case <-time.After(300 * time.Millisecond):
			}
		}
		if err == nil {
			_, err = w.Write(body)
		}
		return err
	})
	for range 2 { // on one connection
		send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10240\r\n\r\n")
		for range 10 {
			send(t, conn, "%s", strings.Repeat("x", 1024))
			time.Sleep(30 * time.Millisecond)
		}
		require.NoError(t, <-ended)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Len(t, body, 10240)
	}
}
