// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package faultproxy

import (
	"slices"
	"strings"
)

// setUp are the commands by which clients set up a connection or learn who serves what.
var setUp = []string{"auth", "client", "cluster", "command", "hello", "ping", "readonly", "readwrite", "select"}

// commandName returns the name of the first command of a piece of the Redis protocol, in lower
// case, or nothing for what is not the beginning of a command: *2\r\n$3\r\nGET\r\n…
func commandName(piece []byte) string {
	lines := strings.SplitN(string(piece[:min(len(piece), 128)]), "\r\n", 4)
	if len(lines) < 4 || !strings.HasPrefix(lines[0], "*") || !strings.HasPrefix(lines[1], "$") {
		return ""
	}
	return strings.ToLower(lines[2])
}

// loses says whether the reply to a command is one to lose, and counts it.
func (f *faults) loses(command string) bool {
	if f.lose <= 0 || !f.wants(command) {
		return false
	}
	f.lose--
	return true
}

func (f *faults) wants(command string) bool {
	if len(f.of) == 0 {
		return !slices.Contains(setUp, command)
	}
	return slices.ContainsFunc(f.of, func(c string) bool { return strings.EqualFold(c, command) })
}
