// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package transcript makes up conversations for tests and benchmarks, and says
// whether a list of messages is one that a model's provider takes.
//
// [New] makes a conversation of any [Shape] from a [Source] of chance: a seed, or,
// by package drawn below it, a property test that shrinks what fails. [OpenAI] and
// [Anthropic] refuse lists that these providers refuse. [Words] tells what a list
// says, so that what is missing from another can be named.
package transcript
