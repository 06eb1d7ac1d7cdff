// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// reme reads a library of ReMe 0.2, one memory a line, or a folder of them, such as ReMe's own
// folder paper. There the memories bear the query of the task that taught them. They answer it.
func reme(path string) ([]Conversation, error) {
	pools, err := files(path, "*.jsonl")
	var out []Conversation
	for _, file := range pools {
		c := Conversation{ID: strings.TrimSuffix(filepath.Base(file), ".jsonl")}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			if err := c.addLearnt(line); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", filepath.Base(file), len(c.Turns)+1, err)
			}
		}
		out = append(out, c)
	}
	return out, err
}

func (c *Conversation) addLearnt(line []byte) error {
	var m struct {
		ID       string `json:"memory_id"`
		When     string `json:"when_to_use"`
		Content  string `json:"content"`
		Created  string `json:"time_created"`
		Metadata struct {
			Query string `json:"task_query"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return err
	}
	if m.Metadata.Query == "" {
		return errors.New("no metadata.task_query")
	}
	learnt, _ := time.Parse(time.DateTime, m.Created) // zero: the time is unknown
	c.Turns = append(c.Turns, Turn{ID: m.ID, Use: m.When, Text: m.Content, Time: learnt})
	at := slices.IndexFunc(c.Questions, func(q Question) bool { return q.Text == m.Metadata.Query })
	if at < 0 {
		at, c.Questions = len(c.Questions), append(c.Questions, Question{Text: m.Metadata.Query})
	}
	c.Questions[at].Evidence = append(c.Questions[at].Evidence, m.ID)
	return nil
}
