// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory_test

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends/reme/trajectory"
)

func benchmarked(steps, size int) *trajectory.Trajectory {
	t := &trajectory.Trajectory{}
	for range steps {
		t.Messages = append(t.Messages, schema.AssistantMessage(strings.Repeat("some words of a step, ", size/22), nil))
	}
	return t
}

func BenchmarkRender(b *testing.B) {
	for name, t := range map[string]*trajectory.Trajectory{"50 steps of 2 kB": benchmarked(50, 2000), "5000 steps of 2 kB": benchmarked(5000, 2000), "one step of 5 MB": benchmarked(1, 5_000_000)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				trajectory.Render(t.Steps(), nil)
			}
		})
	}
}

func BenchmarkSqueeze(b *testing.B) {
	for name, t := range map[string]*trajectory.Trajectory{"50 steps of 2 kB": benchmarked(50, 2000), "5000 steps of 2 kB": benchmarked(5000, 2000), "one step of 5 MB": benchmarked(1, 5_000_000)} {
		segments, _ := t.Segments(nil)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				trajectory.Squeeze(segments, nil)
			}
		})
	}
}
