// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRepairEvidence(t *testing.T) {
	known := map[string]bool{"D1:1": true, "D4:6": true, "D8:6": true, "D9:17": true, "D11:26": true, "D30:5": true}
	for _, c := range []struct {
		name string
		in   []string
		want []string
	}{
		{"as it should be", []string{"D1:1"}, []string{"D1:1"}},
		{"two in one, by semicolon", []string{"D8:6; D9:17"}, []string{"D8:6", "D9:17"}},
		{"several in one, by space", []string{"D1:1 D4:4 D4:6"}, []string{"D1:1", "D4:6"}},
		{"a colon too many", []string{"D:11:26"}, []string{"D11:26"}},
		{"a leading zero", []string{"D30:05"}, []string{"D30:5"}},
		{"twice", []string{"D1:1", "D1:1"}, []string{"D1:1"}},
		{"no such turn", []string{"D10:19", "D"}, nil},
		{"none", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, repairEvidence(c.in, known)) })
	}
}

func TestLoadDataset(t *testing.T) {
	all, err := loadDataset(smallFile(t))
	require.NoError(t, err)
	require.Len(t, all, 1)
	c := all[0]
	require.Equal(t, "conv-1", c.ID)
	require.Equal(t, turn{ID: "D2:1", Session: "session_2", Speaker: "Ann", Text: "Tom has broken a vase.",
		Time: time.Date(2023, 6, 3, 9, 5, 0, 0, time.UTC)}, c.Turns[2])
	require.Equal(t, question{Text: "What does Bob play, and what took him?", Category: 1, Evidence: []string{"D1:2", "D2:2"}}, c.Questions[1])
}

func TestSessionsAreInOrderOfTheirNumbers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.json")
	require.NoError(t, os.WriteFile(path, []byte(`[{"conversation": {
		"session_10": [{"dia_id": "D10:1"}], "session_2": [{"dia_id": "D2:1"}], "session_1": [{"dia_id": "D1:1"}], "session_x": 7}}]`), 0o600))
	all, err := loadDataset(path)
	require.NoError(t, err)
	var got []string
	for _, turn := range all[0].Turns {
		got = append(got, turn.ID)
		require.True(t, turn.Time.IsZero(), "a session without a date")
	}
	require.Equal(t, []string{"D1:1", "D2:1", "D10:1"}, got)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	for name, content := range map[string]string{
		"no JSON":        `[{`,
		"another form":   `{"qa": []}`,
		"session":        `[{"conversation": {"session_1": "none"}}]`,
		"date":           `[{"conversation": {"session_1": [], "session_1_date_time": "yesterday"}}]`,
		"date, a number": `[{"conversation": {"session_1": [], "session_1_date_time": 7}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "d.json")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			_, err := loadDataset(path)
			require.ErrorContains(t, err, path)
			bench(t, 1, "locomo", "-data", path)
		})
	}
}
