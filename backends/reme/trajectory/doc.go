// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package trajectory is about what an agent did on a task, and how it went: the
// material of experience. A [Trajectory] is read from and written as the JSON of
// ReMe 0.2, and divided, compared and shown to models without anything being left out
// unsaid.
//
//	success, failure := trajectory.Split(all, trajectory.DefaultThreshold)
//	for _, p := range trajectory.Pairs(all) {      // best and worst of the same task
//		fmt.Println(p.Better.Score, p.Worse.Score)
//	}
//	parts, _ := all[0].Segments(all[0].Points())   // as metadata.segments says, else one
//	for _, part := range parts {
//		for _, chunk := range trajectory.Render(part.Steps, &trajectory.Rendering{Limit: 4000}) {
//			prompt := trajectory.Fence("trajectory", chunk.Text)
//		}
//	}
//
// What a trajectory holds is data: [Render] writes every line of it indented, so that
// none looks like a heading, and nothing in a [Fence] can close it.
package trajectory
