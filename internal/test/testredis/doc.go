// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package testredis starts real Redis and Valkey servers for tests: single servers and
// clusters, on ports of the loopback, in temporary folders, stopped when the test ends.
// It also puts a network that fails in front of them.
//
// # Which servers
//
// The environment names them, space-separated, name=program. On Debian and Ubuntu one
// line runs all tests on all servers that the project supports. As root it installs the
// missing ones, in a minute, the newer ones in the user's cache folder:
//
//	EINOMEM_REDIS_SERVERS=$(.ci/servers) go test ./...
//
// Elsewhere name what you have:
//
//	EINOMEM_REDIS_SERVERS="redis8=/opt/redis8/bin/redis-server valkey8=$HOME/valkey8.sh" go test ./...
//
// If the variable is unset, the redis-server and the valkey-server of the PATH serve. If
// it is set and empty, tests that need a server are skipped with a line that go test -v
// shows. A program may be a script that sets things up, as long as it ends in exec, so
// that the server keeps the script's process id. A name is only the subtest's name.
//
// # Which tests
//
// [Each] runs a test on an in-process imitation, on each server and on a cluster;
// with -short on the imitation and the first server only. [Need] gives
// the first server's [Flavour] or skips the test.
//
// # Faults
//
// A [Network] breaks connections on purpose: it resets, refuses and delays them, and cuts
// them in the middle of their data. It also loses replies to commands that the server has
// carried out, which leaves a client with an unknown outcome:
//
//	var network testredis.Network
//	client := redis.NewClient(&redis.Options{Addr: server.Addr, Dialer: network.Dial})
//	network.LoseReplies(1) // the next command runs, and its client learns nothing
//
// A server that hangs is a [Server.Freeze].
//
// [Hook] lets the commands of one client fail, before they are sent or after they were
// answered.
package testredis
