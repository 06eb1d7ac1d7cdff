// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"bufio"
	"net"
	"strconv"
	"strings"
	"testing"
)

// Monitor calls see with each command that the server carries out from now on, those of
// scripts too, in order and in a goroutine of its own, until see returns false. Then, or
// when the connection ends, it closes the channel. The server must have no password, and be
// a Redis where words have quotes or backslashes: Valkey 8 does not escape them.
func (s *Server) Monitor(t testing.TB, see func(command []string) bool) <-chan struct{} {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.Addr)
	if err != nil {
		t.Fatalf("monitor %s: %v", s.Addr, err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	lines := bufio.NewReaderSize(conn, 1<<20)
	_, _ = conn.Write([]byte("MONITOR\r\n"))
	if first, err := lines.ReadString('\n'); first != "+OK\r\n" {
		t.Fatalf("monitor %s: %q: %v", s.Addr, first, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := lines.ReadString('\n')
			if err != nil || !see(monitored(line)) {
				return
			}
		}
	}()
	return done
}

// monitored splits a line of MONITOR: +time [db client] "word" "word".
func monitored(line string) (words []string) {
	_, rest, _ := strings.Cut(line, "] ")
	for strings.HasPrefix(rest, `"`) {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return append(words, rest)
		}
		word, _ := strconv.Unquote(quoted) // the server escapes as Go does
		words = append(words, word)
		rest = strings.TrimPrefix(rest[len(quoted):], " ")
	}
	return words
}

// KeysOf returns the keys that a command of [Server.Monitor] names, by the rules for the
// commands that this project uses.
func KeysOf(command []string) []string {
	args := command[1:]
	switch strings.ToLower(command[0]) {
	case "multi", "exec", "echo", "ping", "client", "hello", "script", "info", "config", "time", "select", "scan":
		return nil
	case "eval", "evalsha":
		n, _ := strconv.Atoi(args[1])
		return args[2:min(2+n, len(args))]
	case "del", "unlink", "exists":
		return args
	}
	return args[:min(1, len(args))]
}

// Dump returns the content of each key of the server, as DUMP serialises it.
func (s *Server) Dump(t testing.TB) map[string]string {
	t.Helper()
	c, out := s.Client(t), map[string]string{}
	keys := c.Scan(t.Context(), 0, "*", 1000).Iterator()
	for keys.Next(t.Context()) {
		if text, err := c.Dump(t.Context(), keys.Val()).Result(); err == nil { // else it ended meanwhile
			out[keys.Val()] = text
		}
	}
	if err := keys.Err(); err != nil {
		t.Fatalf("dump %s: %v", s.Addr, err)
	}
	return out
}
