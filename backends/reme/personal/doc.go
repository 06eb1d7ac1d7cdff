// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package personal learns about people from what they say, and finds what is known
// about them: ReMe's personal memory.
//
//	flows, err := personal.New(&personal.Config{Keeper: keeper, Models: models})
//	…
//	_, err = flows.Summarize(ctx, &personal.SummaryRequest{Scope: ann, Messages: said})
//	resp, err := flows.Retrieve(ctx, &personal.RetrieveRequest{Scope: ann, Query: "Where did Ann live in 2023?"})
//	fmt.Println(resp.Answer)
//
// # Learning
//
// [Flows.Summarize] goes through four stages, each a model call for as much of the
// conversation as a prompt has room for:
//
//   - [StageFilter] scores what users say from 0 to 3 and keeps 2 and 3. Long messages
//     are divided between sentences, never cut; what assistants say is shown, so that
//     "the second one" has a meaning.
//   - [StageObserve] writes statements with keywords. Every message is shown with the
//     time at which it was said, and words such as "last week" with the days that they
//     mean, computed by rules: an import of old messages has the same dates as if it
//     had been learnt then. (ReMe asks twice, for messages with a word for time and for
//     those without; one question that shows the times of all does both, and sees the
//     conversation whole.)
//   - [StageReconcile] compares the statements with what is known, of all sessions, and
//     with each other. The model says which contradict each other and which say no
//     more than others. Nothing is asked where there is nothing to compare.
//   - [StageStore] writes one batch.
//
// Of two statements that contradict each other the one that was said later holds, and
// takes the place of the other, which is kept as its history. When things were
// said decides, and not when they were learnt: a statement of an old log that is older
// than what it contradicts is stored as superseded by it. A statement that is known,
// word for word or contained in another, changes nothing; so that it was repeated is
// not known to an older log that is learnt later. What stands between two statements of
// the past is not looked for: an old statement becomes the history of what holds now.
//
// Memory.Observed is when it was said. Memory.Valid is the time that it is about, if
// that is not ahead: a plan holds since it was made. Metadata["event_time"] has either.
//
// # Finding
//
// [Flows.Retrieve] finds personal memories alone, and orders them by similarity, type
// and time; [FindPeriods] reads the times in queries.
//
// # Whose memory it is
//
// Memories live in the partition of the user, else of the agent. With
// Config.InWorkspace they live in the workspace, told apart by Metadata["target"],
// which every call then stays within.
//
// There are no insights or profiles: the package writes down what was said, and draws
// no conclusions. (ReMe 0.2 has them in its documentation, not in its flows.)
package personal
