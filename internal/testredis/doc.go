// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package testredis starts real Redis and Valkey servers for tests: single
// servers, replicas and clusters, on free ports of the loopback, in temporary
// folders, stopped when the test ends.
//
// # Which servers
//
// The environment names them, space-separated, name=program:
//
//	EINOMEM_REDIS_SERVERS="redis7=/usr/bin/redis-server redis8=$HOME/redis8.sh valkey8=$HOME/valkey8.sh" go test ./...
//
// When the variable is not set, the redis-server and the valkey-server of the PATH
// serve; when it is set and empty, none does. A program may be a script that sets
// things up, as long as it ends in exec, so that the server keeps the script's
// process id. One that fits a server out of another Debian's tree:
//
//	#!/bin/sh
//	exec TREE/lib64/ld-linux-x86-64.so.2 --library-path TREE/usr/lib/x86_64-linux-gnu TREE/usr/bin/redis-server "$@"
//
// On Debian and Ubuntu, as root, .ci/run installs the package redis-server, makes such a
// tree with debootstrap in the user's cache folder, and runs all tests on all of them.
// Without any server, tests that need one are skipped, and say so: go test -v ./... shows the lines.
//
// # Which tests
//
// [Each] runs a test on an in-process imitation, on each server and on a cluster;
// with -short on the imitation and the first server only. [Need], [NeedNamed]
// and [NeedRedis] give one server's [Flavour] or skip the test.
//
// Names of other servers, such as Redis 6.2, are welcome: a flavour's name is only
// the subtest's name.
package testredis
