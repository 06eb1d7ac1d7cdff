// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"fmt"

	"github.com/einomem/einomem/backends/reme/settings"
)

func Example() {
	s := settings.Default()
	err := s.Read("memory.yaml", []byte(`
language: zh
task:
  success_threshold: 0.8
limits:
  calls: 32
  timeout: 90s
prompts:
  task:
    judge: Say whether each experience is worth keeping.
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Override(nil, "limits.calls=16", "freq_threshold=10"))
	fmt.Println(s.Language, s.Task.SuccessThreshold, s.Limits.Calls, s.Limits.Timeout, s.Task.ForgetAfter)

	prompts := struct{ Judge, Success string }{Success: "What made it succeed?"}
	fmt.Println(s.Prompts.Fill("task", &prompts), prompts.Judge)
	fmt.Println(s.Override(nil, "task.succes_threshold=1"))
	// Output:
	// <nil>
	// zh 0.8 16 1m30s 10
	// <nil> Say whether each experience is worth keeping.
	// override: "task.succes_threshold": invalid: no such setting; the nearest is "task.success_threshold"
}
