// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends/reme/trajectory"
)

func Example() {
	var attempts []trajectory.Trajectory
	err := json.Unmarshal([]byte(`[
		{"task_id": "door", "score": 0, "messages": [{"role": "user", "content": "Open the door."}, {"role": "assistant", "content": "I push it."}]},
		{"task_id": "door", "score": 1, "messages": [{"role": "user", "content": "Open the door."},
			{"role": "assistant", "content": "The key first.", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "find", "arguments": "{\"what\":\"key\"}"}}]},
			{"role": "tool", "content": "Under the mat."}]}
	]`), &attempts)
	if err != nil {
		panic(err)
	}
	success, failure := trajectory.Split(attempts, trajectory.DefaultThreshold)
	fmt.Println(len(success), "success,", len(failure), "failure,", len(trajectory.Pairs(attempts)), "pair")
	for _, chunk := range trajectory.Render(success[0].Steps(), &trajectory.Rendering{Limit: 4000}) {
		fmt.Println(trajectory.Fence("trajectory", chunk.Text))
	}
	// Output:
	// 1 success, 1 failure, 1 pair
	// <data-trajectory>
	// step 1 user
	//   Open the door.
	// step 2 assistant
	//   The key first.
	// calls find:
	//   {"what":"key"}
	// step 3 tool, result of find
	//   Under the mat.
	// </data-trajectory>
}
