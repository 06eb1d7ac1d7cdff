// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports are taken from below the range that systems give to outgoing connections,
// so that a server that comes back finds its port free; a cluster's nodes also
// listen ten thousand ports above.
const (
	lowestPort = 11000
	busOffset  = 10000
)

// freePort returns a port that was free a moment ago.
func freePort(t testing.TB) int {
	t.Helper()
	for range 200 {
		port := lowestPort + rand.IntN(busOffset)
		if listens(port) && listens(port+busOffset) {
			return port
		}
	}
	t.Fatal("no free port on the loopback")
	return 0
}

func listens(port int) bool {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
