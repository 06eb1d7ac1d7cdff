// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// EnvServers is the environment variable that names the servers.
const EnvServers = "EINOMEM_REDIS_SERVERS"

// Flavour is a server program that tests can start.
type Flavour struct {
	Name    string // as in the environment variable: redis7, valkey8
	Program string // its path, or that of a script that ends in exec
}

// Flavours returns the servers that tests can start here: those that
// EINOMEM_REDIS_SERVERS names, else redis-server and valkey-server if they are on
// the PATH. There may be none.
func Flavours() []Flavour {
	if named, ok := os.LookupEnv(EnvServers); ok {
		return parse(named)
	}
	var found []Flavour
	for _, name := range []string{"redis-server", "valkey-server"} {
		if program, err := exec.LookPath(name); err == nil {
			found = append(found, Flavour{Name: strings.TrimSuffix(name, "-server"), Program: absolute(program)})
		}
	}
	return found
}

// parse reads "name=program name=program"; a program alone is called by its file's name.
func parse(named string) []Flavour {
	var found []Flavour
	for entry := range strings.FieldsSeq(named) {
		name, program, ok := strings.Cut(entry, "=")
		if !ok {
			name, program = filepath.Base(entry), entry
		}
		found = append(found, Flavour{Name: name, Program: absolute(program)})
	}
	return found
}

// absolute because servers run in folders of their own.
func absolute(program string) string {
	if found, err := exec.LookPath(program); err == nil {
		program = found
	}
	if path, err := filepath.Abs(program); err == nil {
		return path
	}
	return program
}

// Need returns the first Redis 7 or later, else the first server, and skips the
// test when there is none.
func Need(t testing.TB) Flavour {
	t.Helper()
	all := Flavours()
	if len(all) == 0 {
		t.Skip(howToGet("a server"))
	}
	for _, f := range all {
		if r := f.Release(t); r.Product == Redis && r.Major >= 7 {
			return f
		}
	}
	return all[0]
}

func howToGet(what string) string {
	return "needs " + what + ": " + EnvServers + `=$(.ci/servers) installs and names some, ` +
		EnvServers + `="redis8=/path/to/redis-server" names yours; see internal/testredis`
}
