// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
)

// published returns the memories of a file of ReMe's, or skips the test.
func published(t *testing.T, name string) []backends.Memory {
	t.Helper()
	folder := os.Getenv("EINOMEM_REME")
	if folder == "" {
		t.Skip("EINOMEM_REME is not set: it names the folder of the memories that ReMe's authors published")
	}
	f, err := os.Open(filepath.Join(folder, name))
	require.NoError(t, err)
	defer f.Close()
	var out []backends.Memory
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var m struct {
			When    string `json:"when_to_use"`
			Content string `json:"content"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &m))
		out = append(out, backends.Memory{Kind: backends.KindTask, WhenToUse: m.When, Text: m.Content})
	}
	return out
}

// How many of the published memories resemble one before them: the numbers that the
// comment of DuplicateWords states. All of them were thought worth publishing beside
// each other, so none may be dropped without a look at it.
func TestR8TheThresholdOnPublishedMemories(t *testing.T) {
	all, near, nearer, dropped := 0, 0, 0, 0
	for _, name := range []string{"appworld.jsonl", "bfcl_v3.jsonl", "paper/appworld_qwen3_8b.jsonl", "paper/bfcl_qwen3_8b.jsonl"} {
		memories := published(t, name)
		sets := make([]wordSet, len(memories))
		all += len(memories)
		for i := range memories {
			sets[i] = wordsOf(textOfBoth(&memories[i]))
			best, drop := 0.0, 0
			for j := range i {
				d := dice(sets[i], sets[j])
				best = max(best, d)
				if d >= 0.95 && sameSense(textOfBoth(&memories[i]), textOfBoth(&memories[j])) {
					drop = 1
				}
			}
			dropped += drop
			if best >= DefaultDuplicateWords {
				near++
			}
			if best >= 0.9 {
				nearer++
			}
		}
	}
	t.Logf("of %d memories %d have a neighbour at %v, %d at 0.9; without a model %d would count as known", all, near, DefaultDuplicateWords, nearer, dropped)
	assert.Equal(t, 970, all)
	assert.InDelta(t, 0.09, float64(near)/float64(all), 0.015)
	assert.Equal(t, 1, nearer)
	assert.Zero(t, dropped)
}
