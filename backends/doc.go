// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package backends is the contract of memory: what a memory is, whom it belongs
// to, and what a [Backend] does with it. Package mem0 below it learns facts from
// conversations; package store keeps what was learnt; package recall ranks it.
//
// # Scopes and partitions
//
// A [Scope] says on whose behalf a call is made. From it follows the [Partition]
// in which a memory lives: what a user says belongs to the user, else to the
// agent; experience goes to a workspace, on purpose or not at all. No call
// crosses partitions, and nothing that a model writes chooses one. Carry a scope
// in the context:
//
//	ctx = backends.WithScope(ctx, backends.Scope{UserID: "ann", SessionID: "s1"})
//
// # Memories
//
// A [Memory] is one thing that is remembered. A fact that changes is superseded,
// not overwritten: the new memory names the old one in Supersedes, the old one
// is hidden from then on, and [Manager.History] returns the whole chain.
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
// Nothing is erased by itself until a backend is told so. A [Retention] has rules by kind
// (older than, ended for, unused for, at most so many):
//
//	Retention: &backends.Retention{
//		Rules: []backends.RetentionRule{
//			{Kinds: []backends.Kind{backends.KindEpisode}, OlderThan: 365 * 24 * time.Hour},
//			{Kinds: []backends.Kind{backends.KindFact}, EndedFor: 90 * 24 * time.Hour, AtMost: 5000},
//		},
//	}
//
// The backend's Retain applies it on demand, and reports beforehand, in a dry run, what would
// go. Sessions end by the TTL of package working.
//
// # Errors
//
// Sentinels such as [ErrNoScope] and [ErrUnavailable] are wrapped with what was
// being done; test for them with errors.Is. A failure to read is never "not
// found", and a failing model is never "nothing to remember".
package backends
