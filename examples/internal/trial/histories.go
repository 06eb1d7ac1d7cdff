// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// longMemEval reads a file of LongMemEval (Wu et al., ICLR 2025), in which each question has a
// history of its own: in longmemeval_oracle.json it is unordered.
func longMemEval(path string) ([]Conversation, error) {
	var raw []struct {
		ID       string   `json:"question_id"`
		Type     string   `json:"question_type"`
		Text     string   `json:"question"`
		Answer   Answer   `json:"answer"`
		Date     string   `json:"question_date"`
		Dates    []string `json:"haystack_dates"`
		Sessions [][]struct {
			Role, Content string
			Answers       bool `json:"has_answer"`
		} `json:"haystack_sessions"`
	}
	if err := readJSON(path, &raw); err != nil {
		return nil, err
	}
	const layout = "2006/01/02 (Mon) 15:04"
	var out []Conversation
	for _, r := range raw {
		c, q := Conversation{ID: r.ID}, Question{ID: r.ID, Text: r.Text, Answer: r.Answer, Category: r.Type}
		q.Time, _ = time.Parse(layout, r.Date) // else it is unknown
		if strings.HasSuffix(r.ID, "_abs") {
			q.Category = "abstention"
		}
		if len(r.Sessions) != len(r.Dates) {
			return nil, fmt.Errorf("question %s has %d sessions, but %d dates", r.ID, len(r.Sessions), len(r.Dates))
		}
		for i, session := range r.Sessions {
			at, _ := time.Parse(layout, r.Dates[i])
			for j, said := range session {
				t := Turn{ID: fmt.Sprintf("%d:%d", i, j), Role: said.Role, Text: said.Content, Session: strconv.Itoa(i), Time: at}
				c.Turns = append(c.Turns, t)
				if said.Answers {
					q.Evidence = append(q.Evidence, t.ID)
				}
			}
		}
		slices.SortStableFunc(c.Turns, func(a, b Turn) int { return a.Time.Compare(b.Time) })
		c.Questions = []Question{q}
		out = append(out, c)
	}
	return out, nil
}

// personaMem reads a file of PersonaMem (Jiang et al., COLM 2025), such as questions_32k.csv,
// and shared_contexts_32k.jsonl beside it. Its system messages begin the sessions.
func personaMem(path string) ([]Conversation, error) {
	folder, name := filepath.Split(path)
	contexts, err := os.ReadFile(folder + strings.NewReplacer("questions", "shared_contexts", ".csv", ".jsonl").Replace(name))
	if err != nil {
		return nil, err
	}
	var out []Conversation
	for line := range bytes.Lines(contexts) {
		var context map[string][]struct{ Role, Content string }
		if err := json.Unmarshal(line, &context); err != nil {
			return nil, fmt.Errorf("line %d of the contexts: %w", len(out)+1, err)
		}
		for id, messages := range context { // one
			c, session := Conversation{ID: id}, 0
			for i, m := range messages {
				if m.Role == "system" {
					session++
				}
				c.Turns = append(c.Turns, Turn{ID: strconv.Itoa(i), Role: m.Role, Text: m.Content, Session: strconv.Itoa(session)})
			}
			out = append(out, c)
		}
	}
	questions, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(bytes.NewReader(questions)).ReadAll()
	for i := 1; i < len(rows); i++ {
		cell := func(column string) string { return rows[i][max(0, slices.Index(rows[0], column))] }
		q := Question{
			ID: cell("question_id"), Text: cell("user_question_or_message"), Category: cell("question_type"),
			Answer: Answer(cell("correct_answer")), Options: cell("all_options"),
		}
		at := slices.IndexFunc(out, func(c Conversation) bool { return c.ID == cell("shared_context_id") })
		if q.After, err = strconv.Atoi(cell("end_index_in_shared_context")); err != nil || at < 0 || q.After > len(out[at].Turns) {
			return nil, fmt.Errorf("question %s: its shared_context_id or end_index_in_shared_context is missing or unknown", q.ID)
		}
		if q.After > 0 { // some of questions_128k.csv come before all turns
			out[at].Questions = append(out[at].Questions, q)
		}
	}
	return out, err
}
