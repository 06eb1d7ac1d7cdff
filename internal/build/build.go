// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package build says which version of this project a program holds.
package build

import (
	"runtime/debug"
	"strings"
)

const (
	path  = "github.com/einomem/einomem"
	devel = "(devel)" // built from a tree
)

// Version returns the version of this project in the running program, or "(devel)".
func Version() string {
	info, _ := debug.ReadBuildInfo()
	return versionIn(info)
}

// versionIn returns the version of a program of this project, else of the modules that it links: they
// are published together.
func versionIn(info *debug.BuildInfo) string {
	if info == nil {
		return devel
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == path || strings.HasPrefix(m.Path, path+"/") {
			if m.Replace != nil {
				m = m.Replace
			}
			if m.Version != "" {
				return m.Version
			}
			return devel
		}
	}
	return devel
}
