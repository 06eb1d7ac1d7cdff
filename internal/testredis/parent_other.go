// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package testredis

import "os/exec"

// dieWithParent does nothing: a server outlives a test that is killed.
func dieWithParent(*exec.Cmd) {}
