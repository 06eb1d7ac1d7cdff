// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package player is a chat model that plays by a fixed policy: it goes where it has
// not been until it knows where things are, and then the shortest way. All that it
// knows stands in the messages that it is given: the task, what tools answered, and
// what memories and the instruction say about ground and about arguments of tools.
// It keeps nothing between calls, knows nothing of any cellar's rules, and takes a
// lesson for what it says, right or wrong.
package player
