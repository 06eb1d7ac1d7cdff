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
// A [Block] is configured: its name, whose it is, how long it may be. What it holds
// is stored, one record of kind [backends.KindCore] in the partition of its owner,
// with a history that says who changed it. A search never finds it; package mem0
// neither changes nor removes it one by one, and dumps and erases it with the rest.
//
// Partitions keep owners apart: no call reaches the block of another user, agent,
// workspace or session. A block of an agent is the same for all who talk to that
// agent.
//
// A block with a View shows what follows from elsewhere, as a profile does
// (profile.Profile.Block), and nobody edits it.
//
// # Edits
//
// [Blocks.Append] and [Blocks.Replace] are the agent's, [Blocks.Set] is the program's. Each
// is a compare-and-swap of the record, and the agent's are made again on top of what another
// process wrote meanwhile: two agents on one block lose nothing, and a replacement whose old
// text is gone says so. An edit that would make a block longer than its limit changes
// nothing; one that makes a text shorter which is too long already, because the limit was
// lowered, is carried out.
//
// # What models see
//
// [Blocks.Message] shows the blocks between tags. Angle brackets in a text are
// escaped, and characters that show nothing are left out, so that no text can close
// its tag; the stored text stays as it was written. Replace takes old texts in
// either form.
package core
