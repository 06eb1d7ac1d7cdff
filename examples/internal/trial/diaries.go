// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"
)

//go:embed diaries.txt
var diariesScript string

// diaries reads made-up diaries, two in Chinese and two in English. In their script "#" begins a
// diary, "=" a session, and "?" a question with its answer. A question is about the entry above it,
// or about the entries that its tags name.
func diaries(string) (out []Conversation, err error) {
	var c *Conversation
	var at time.Time
	tags := map[string]string{}
	for line := range strings.Lines(diariesScript) {
		mark, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch mark {
		case "#":
			out = append(out, Conversation{ID: rest})
			c = &out[len(out)-1]
		case "=":
			if at, err = time.Parse("2006-01-02 15:04", rest); err != nil {
				return nil, err
			}
		case "?":
			parts := strings.Split(rest, " | ")
			q := Question{ID: fmt.Sprint(c.ID, "-", len(c.Questions)+1), Text: parts[0], Answer: Answer(parts[1]), Category: "one entry", Evidence: []string{c.Turns[len(c.Turns)-1].ID}}
			if len(parts) > 2 {
				q.Category, q.Evidence = "several entries", nil
				for tag := range strings.FieldsSeq(parts[2]) {
					q.Evidence = append(q.Evidence, tags[tag])
				}
			}
			c.Questions = append(c.Questions, q)
		default:
			said, tag, _ := strings.Cut(strings.TrimSpace(line), " #")
			t := Turn{ID: fmt.Sprint(c.ID, ":", len(c.Turns)+1), Role: "user", Text: said, Session: c.ID + at.Format(" 2006-01-02"), Time: at}
			c.Turns, at = append(c.Turns, t), at.Add(time.Minute)
			tags[tag] = t.ID
		}
	}
	return slices.Clip(out), nil
}
