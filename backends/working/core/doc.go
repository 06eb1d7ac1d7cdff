// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package core keeps core blocks: small named texts (persona, human, task) that are
// always in the prompt, and that an agent edits itself.
//
//	blocks, err := core.New(&core.Config{
//		Records: store,
//		Blocks: []core.Block{
//			{Name: "persona", Description: "Who you are", Owner: backends.PartitionAgent, Initial: "I am a patient tutor.", ReadOnly: true},
//			{Name: "human", Description: "What you know about the user"},
//			{Name: "task", Description: "What is being worked on", Owner: core.OwnerSession, Limit: 500},
//		},
//		Tools: true,
//	})
//	message, err := blocks.Message(ctx, scope) // goes in front of the history
//	tools, err := blocks.Tools(ctx, &backends.ToolSetup{Scope: scopeOf})
//
// # Blocks and owners
//
// A [Block] is configuration: its name, its owner, its limit. Its text is stored as one record
// of kind [backends.KindCore] in the partition of its owner, with a history that says who
// changed it. Searches leave these records out. Package mem0 dumps and erases them with the
// rest; it refuses to change or remove a single one.
//
// Partitions keep owners apart: a call reaches only the blocks of the users, agents, workspaces
// and sessions that its scope names. An agent's block is the same for everybody who talks to
// that agent.
//
// A block with a View shows a text that follows from elsewhere, as a profile does
// (profile.Profile.Block). Such a block takes no edits.
//
// # Edits
//
// [Blocks.Append] and [Blocks.Replace] are for the agent, [Blocks.Set] is for the program. Each
// is a compare-and-swap of the record. After a conflict the agent's edits are retried on top of
// the newer text: two agents that edit one block keep both edits. A replacement whose old text
// is gone returns an error. An edit that would exceed the block's limit is refused, and the text
// stays as it is. If a lowered limit made a text too long, an edit that shortens it is
// accepted.
//
// # Prompts
//
// [Blocks.Message] shows the blocks between tags. It escapes the angle brackets of a text and
// drops invisible characters, so that a text stays within its tag. The stored text keeps both.
// Replace takes old texts in either form.
package core
