// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/testredis"
)

// imitate writes a program that says it is that server, and returns its path.
func imitate(t *testing.T, name, version string) string {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o700))
	return path
}

func TestFlavoursAreThoseNamed(t *testing.T) {
	a, b := imitate(t, "redis-server", ""), imitate(t, "other", "")
	t.Setenv(testredis.EnvServers, "  one="+a+"\n "+b+" ")
	assert.Equal(t, []testredis.Flavour{{Name: "one", Program: a}, {Name: "other", Program: b}}, testredis.Flavours())
	t.Setenv(testredis.EnvServers, "")
	assert.Empty(t, testredis.Flavours())
}

func TestFlavoursAreThoseOnThePath(t *testing.T) {
	t.Setenv(testredis.EnvServers, "") // restores it at the end
	require.NoError(t, os.Unsetenv(testredis.EnvServers))
	valkey := imitate(t, "valkey-server", "")
	t.Setenv("PATH", filepath.Dir(valkey))
	assert.Equal(t, []testredis.Flavour{{Name: "valkey", Program: valkey}}, testredis.Flavours())
	redis := imitate(t, "redis-server", "")
	t.Setenv("PATH", filepath.Dir(valkey)+string(os.PathListSeparator)+filepath.Dir(redis))
	assert.Equal(t, []testredis.Flavour{{Name: "redis", Program: redis}, {Name: "valkey", Program: valkey}}, testredis.Flavours())
}

func TestNeedPrefersRedis7AndSkipsWithout(t *testing.T) {
	const (
		old    = "Redis server v=6.2.14 sha=00000000:0 malloc=libc bits=64 build=1"
		middle = "Redis server v=7.4.1 sha=00000000:0 malloc=libc bits=64 build=1"
		recent = "Redis server v=8.0.2 sha=00000000:0 malloc=libc bits=64 build=1"
		valkey = "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64 build=1"
	)
	six, seven := "six="+imitate(t, "a", old), " seven="+imitate(t, "b", middle)
	eight, key := " eight="+imitate(t, "c", recent), " key="+imitate(t, "d", valkey)
	for _, c := range []struct {
		name, servers string
		want          string // empty: skipped
	}{
		{"none", "", ""},
		{"prefers 7", six + key + seven + eight, "seven"},
		{"takes what there is", key + " " + six, "key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(testredis.EnvServers, c.servers)
			var got testredis.Flavour
			skipped := true
			t.Run("need", func(t *testing.T) {
				defer func() {
					if t.Skipped() && c.want != "" {
						t.Errorf("skipped")
					}
				}()
				got = testredis.Need(t)
				skipped = false
			})
			assert.Equal(t, c.want == "", skipped)
			assert.Equal(t, c.want, got.Name)
		})
	}
}

func TestRelease(t *testing.T) {
	f := testredis.Flavour{Name: "x", Program: imitate(t, "x", "Valkey server v=8.1.1 sha=00000000:0 malloc=libc bits=64 build=1")}
	got := f.Release(t)
	assert.Equal(t, testredis.Release{Product: testredis.Valkey, Major: 8, Minor: 1}, got)
	assert.Equal(t, "Valkey 8.1", got.String())
}
