// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheVersionIsThatOfTheProject(t *testing.T) {
	module := func(path, version string) debug.Module { return debug.Module{Path: path, Version: version} }
	library, server := module(path, "v0.3.0"), module(path+"/toolkit/server", "v0.3.0")
	fork := library
	fork.Replace = &debug.Module{Path: "../einomem"}
	for want, info := range map[string]*debug.BuildInfo{
		"v0.4.0":  {Main: module(path+"/examples/einomem", "v0.4.0"), Deps: []*debug.Module{&library, &server}},
		"v0.3.0":  {Main: module("example.com/shop", "v7.0.0"), Deps: []*debug.Module{{Path: path + "x", Version: "v9.0.0"}, &server}},
		"(devel)": {Main: module("example.com/shop", "v7.0.0"), Deps: []*debug.Module{&fork}},
	} {
		require.Equal(t, want, versionIn(info))
	}
	require.Equal(t, "(devel)", versionIn(&debug.BuildInfo{Main: module("example.com/shop", "v7.0.0")}))
	require.Equal(t, "(devel)", versionIn(nil))
	require.NotEmpty(t, Version())
}
