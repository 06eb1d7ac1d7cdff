// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// envServers is the environment variable that names the servers.
const envServers = "EINOMEM_REDIS_SERVERS"

// Flavour is a server program that tests can start.
type Flavour struct {
	Name    string // as in the environment variable: redis7, valkey8
	Program string // its path, or the path of a script that ends in exec
}

// Flavours returns the servers that tests can start here: the ones in
// EINOMEM_REDIS_SERVERS, else redis-server and valkey-server if they are on the PATH. The
// list may be empty.
func Flavours() []Flavour {
	servers, named := os.LookupEnv(envServers)
	if !named {
		servers = "redis=redis-server valkey=valkey-server"
	}
	var all []Flavour
	for entry := range strings.FieldsSeq(servers) {
		name, program, _ := strings.Cut(entry, "=")
		if found, err := exec.LookPath(program); err == nil {
			program = found
		} else if !named {
			continue
		}
		if path, err := filepath.Abs(program); err == nil { // servers run in folders of their own
			program = path
		}
		all = append(all, Flavour{Name: name, Program: program})
	}
	return all
}

const howToGet = "needs a server: " + envServers + `=$(.ci/servers) installs and names some, ` +
	envServers + `="redis8=/path/to/redis-server" names yours; see internal/test/testredis`

// Need returns the first server, or skips the test if there is none.
func Need(t testing.TB) Flavour {
	t.Helper()
	all := Flavours()
	if len(all) == 0 {
		t.Skip(howToGet)
	}
	return all[0]
}

// Each runs f as subtests: "miniredis" on an in-process imitation, then each of [Flavours] by
// its name, then "cluster" on three masters of the first one. With -short it runs the first two
// only. Without any server one subtest is skipped, with the reason.
//
// open returns another client of the subtest's one server, which is closed when its t
// ends. Data stays between subtests: tests that share a server use names of their own.
func Each(t *testing.T, f func(t *testing.T, open func(t testing.TB) redis.UniversalClient)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		s := &Server{Addr: miniredis.RunT(t).Addr()}
		f(t, func(t testing.TB) redis.UniversalClient { return s.Client(t) })
	})
	all := Flavours()
	if len(all) == 0 {
		t.Run("servers", func(t *testing.T) { t.Skip(howToGet) })
		return
	}
	if testing.Short() {
		all = all[:1]
	}
	for _, flavour := range all {
		t.Run(flavour.Name, func(t *testing.T) {
			s := flavour.Start(t)
			f(t, func(t testing.TB) redis.UniversalClient { return s.Client(t) })
		})
	}
	if testing.Short() {
		return
	}
	t.Run("cluster", func(t *testing.T) {
		c := all[0].StartCluster(t, 3)
		f(t, func(t testing.TB) redis.UniversalClient { return c.Client(t) })
	})
}
