// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package backends is the contract of memory. It defines a memory, its owner, and the
// work of a [Backend]. Package mem0 below it learns facts from conversations; package
// store keeps them; package recall ranks them.
//
// # Scopes and partitions
//
// A [Scope] says on whose behalf a call is made. The [Partition] of a memory follows from
// it: the words of a user belong to the user, else to the agent. Experience goes to a
// workspace, and only on purpose. Every call stays in one partition, and the program
// alone chooses it, never a model. Carry a scope in the context:
//
//	ctx = backends.WithScope(ctx, backends.Scope{UserID: "ann", SessionID: "s1"})
//
// # Memories
//
// A [Memory] is one thing that is remembered. A fact that changes is superseded: the new
// memory names the old one in Supersedes, and hides it from then on. [Manager.History]
// returns the whole chain.
//
// # Finding
//
// [Backend.Search] returns [Hit] values, best first. A [Filter] narrows the
// search by typed fields; it means the same on every store, because one piece of
// code evaluates it.
//
// # Two backends
//
// [Join] makes one backend of two: one that learns what people say and one that learns
// from what agents do. [As] finds what either can do beyond [Backend].
//
// # Retention
//
// Everything stays until a backend is told to erase it. A [Retention] has rules by kind
// (older than, ended for, unused for, at most so many):
//
//	Retention: &backends.Retention{
//		Rules: []backends.RetentionRule{
//			{Kinds: []backends.Kind{backends.KindEpisode}, OlderThan: 365 * 24 * time.Hour},
//			{Kinds: []backends.Kind{backends.KindFact}, EndedFor: 90 * 24 * time.Hour, AtMost: 5000},
//		},
//	}
//
// The backend's Retain applies it on demand. A dry run reports beforehand what would go.
// Sessions end by the TTL of package working.
//
// # Errors
//
// Errors wrap sentinels such as [ErrNoScope] and [ErrUnavailable] and say what the call
// was doing; test for them with errors.Is. A failure to read is never "not found", and a
// failing model is never "nothing to remember".
package backends
