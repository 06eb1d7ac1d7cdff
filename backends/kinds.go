// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

// Kind says what sort of thing a memory is.
type Kind string

// The kinds of memory.
const (
	KindFact      Kind = "fact"      // one statement that holds until superseded
	KindEpisode   Kind = "episode"   // what was said, as it was said
	KindTask      Kind = "task"      // experience from a task's trajectory
	KindPersonal  Kind = "personal"  // an observation about a person
	KindTool      Kind = "tool"      // how a tool behaves and is best used
	KindProcedure Kind = "procedure" // what an agent did, step by step
	KindCore      Kind = "core"      // a core block of package core
)

// KindTraits says how memories of a kind are found. The zero value is that of a kind that
// is not in the table: a program's own. All of [Memory.WhenToUse] and Text is searched by
// words; the traits say what else holds.
type KindTraits struct {
	// InPrompt memories are always in the prompt: no search finds them, nothing of them is
	// embedded, and package core alone changes them.
	InPrompt bool
	// Timeless memories are not found by the day on which they were observed: questions do
	// not ask for experience by its day, and the numbers of a date would match a task's.
	Timeless bool
	// Named memories have the name of what they are about in WhenToUse. It is embedded in
	// front of the text. Else WhenToUse is the situation in which the memory helps, and is
	// embedded alone: a question resembles it more than it resembles the advice.
	Named bool
	// Keywords stand in WhenToUse, and say nothing that the text does not: the text alone is
	// embedded, and memories that differ in keywords alone are duplicates.
	Keywords bool
}

// kinds is the one place that says how a kind is found. A new kind is a constant above and
// a row here.
var kinds = map[Kind]KindTraits{
	KindFact:      {},
	KindEpisode:   {},
	KindTask:      {Timeless: true},
	KindPersonal:  {Keywords: true},
	KindTool:      {Timeless: true, Named: true},
	KindProcedure: {Timeless: true},
	KindCore:      {InPrompt: true},
}

// Traits returns how memories of the kind are found.
func (k Kind) Traits() KindTraits { return kinds[k] }
