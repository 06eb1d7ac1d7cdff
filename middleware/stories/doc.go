// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package stories tests memory by stories: conversations over several sessions, with the texts
// that the note of a question must have and must lack. Programs run them in their own CI, against
// memory of their own configuration: backend, store, embedder and prompts, with a scripted
// model that learns what the story says, or with their own. [Parse] reads stories, and
// [Story.Run] tells one to a memory that goes by [Story.Now].
//
// # How a story is written
//
// The lines before the first story are a comment. A story reads from top to bottom, a line each:
//
//	## She moved                        its name
//	clock: Fri 2026-11-20 07:30 Asia/Shanghai
//	                                    the time that it is, and where the user lives; in the
//	                                    middle of a story it begins a new session. It
//	                                    defaults to Sat 2026-03-07 12:00 UTC
//	user: I live in Oslo.               a message of the user
//	user[Ben]: Me too.                  or of a named speaker in the same chat
//	> And I like it.                    the message goes on, on a new line
//	  + The user lives in Oslo.         a fact that the scripted model learns from the message
//	  The user lives in Oslo. => …      a known fact that it supersedes by another
//	  - The user lives in Oslo.         a known fact that it retracts
//	  ! lives in Oslo | live in Oslo    what it forgets: each known fact, and each thing said
//	                                    before, that has one of these texts
//	assistant: A fine city!             the answer to the message above; it defaults to
//	                                    "Let me think."
//	-- 9 days                           so much later (minutes, hours, days, weeks), in a new session
//	ask: Where do I live?               a message whose note is looked at
//
// A fact may end with marks: [standing], [delicate], [since: 2026-05-01] and
// [about: food, recipe], which are the fields of an answer of package mem0's model.
//
// Below an ask stand the wants of its note. Several lines have all to hold; the bar
// stands between texts:
//
//	says: Oslo | Bergen    the note has one of the texts
//	first: Oslo | Bergen   one of them stands before the second bullet
//	never: Rome | Paris    the note lacks all of them
//	stale: Rome | Paris    the note shows none of them as true: each is missing, or behind
//	                       "until" or "before", or its line says that it ended. It is checked
//	                       where a model learns
//	small: 120             the note has at most so many estimated tokens
//	empty: yes             memory stays silent
//
// The questions of a story are told to the memory as other messages are, and a story may
// go on after each.
package stories
