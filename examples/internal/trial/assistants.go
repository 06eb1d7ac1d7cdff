// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// beamMark ends main questions of BEAM: a reference to the plan behind them.
var beamMark = regexp.MustCompile(`\s*->->[\s\d,]*$`)

type beamMessage struct {
	ID     int    `json:"id"`
	Role   string `json:"role"`
	Text   string `json:"content"`
	Anchor string `json:"time_anchor"` // "March-15-2024", of the first message of a batch
}

// beam reads a folder of BEAM (Tavakoli et al., 2025), such as chats/100K: each chat is a folder
// with chat.json and probing_questions/probing_questions.json. It cannot read chats of 10M, which
// consist of ten plans.
func beam(path string) ([]Conversation, error) {
	chats, err := files(path, filepath.Join("*", "chat.json"))
	var out []Conversation
	for _, file := range chats {
		folder := filepath.Dir(file)
		c := Conversation{ID: filepath.Base(folder)}
		var questions map[string][]struct {
			Text    string          `json:"question"`
			Sources json.RawMessage `json:"source_chat_ids"`
		}
		if err := readJSON(filepath.Join(folder, "probing_questions", "probing_questions.json"), &questions); err != nil {
			return nil, fmt.Errorf("chat %s: %w", c.ID, err)
		}
		for _, category := range slices.Sorted(maps.Keys(questions)) {
			for _, q := range questions[category] {
				c.Questions = append(c.Questions, Question{Text: q.Text, Category: category, Evidence: numbersIn(q.Sources)})
			}
		}
		if c.Turns, err = beamTurns(file); err != nil {
			return nil, fmt.Errorf("chat %s: %w", c.ID, err)
		}
		out = append(out, c)
	}
	return out, err
}

// beamTurns returns the messages of a chat; each batch is a session.
func beamTurns(path string) ([]Turn, error) {
	var batches []struct {
		Threads [][]beamMessage `json:"turns"`
	}
	if err := readJSON(path, &batches); err != nil {
		return nil, err
	}
	var out []Turn
	for n, batch := range batches {
		var at time.Time
		for _, m := range slices.Concat(batch.Threads...) {
			if anchor, err := time.Parse("January-2-2006", m.Anchor); err == nil {
				at = anchor
			}
			text := beamMark.ReplaceAllString(m.Text, "")
			out = append(out, Turn{ID: strconv.Itoa(m.ID), Role: m.Role, Text: text, Session: fmt.Sprint("batch ", n+1), Time: at})
		}
	}
	return out, nil
}

// numbersIn returns the ids of messages: a list, or several under names.
func numbersIn(sources json.RawMessage) (out []string) {
	d := json.NewDecoder(bytes.NewReader(sources))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil { // the end: it was decoded before
			return out
		}
		if n, ok := token.(json.Number); ok {
			out = append(out, n.String())
		}
	}
}

var weekday = regexp.MustCompile(`周. `)

// memdaily reads memdaily.json of MemSim (Zhang et al., 2024): messages of people to an assistant
// in Chinese, by the type of the question and by its subject, with one question each.
func memdaily(path string) ([]Conversation, error) {
	var raw map[string]map[string][]struct {
		Number   int `json:"tid"`
		Messages []struct {
			Number int    `json:"mid"`
			Text   string `json:"message"`
			Time   string `json:"time"` // "2024年04月01日 周一 08:39"
		} `json:"message_list"`
		Question struct {
			Text     string `json:"question"`
			Evidence []int  `json:"target_step_id"`
		} `json:"QA"`
	}
	if err := readJSON(path, &raw); err != nil {
		return nil, err
	}
	var out []Conversation
	for _, category := range slices.Sorted(maps.Keys(raw)) {
		for _, about := range slices.Sorted(maps.Keys(raw[category])) {
			for _, r := range raw[category][about] {
				c := Conversation{ID: fmt.Sprintf("%s/%s/%d", category, about, r.Number)}
				id := func(message int) string { return fmt.Sprintf("%s:%d", c.ID, message) }
				for _, m := range r.Messages {
					at, _ := time.Parse("2006年01月02日 15:04", weekday.ReplaceAllString(m.Time, "")) // zero: unknown
					c.Turns = append(c.Turns, Turn{ID: id(m.Number), Role: "user", Text: m.Text, Session: c.ID, Time: at})
				}
				q := Question{Text: r.Question.Text, Category: category}
				for _, n := range r.Question.Evidence {
					q.Evidence = append(q.Evidence, id(n))
				}
				c.Questions = []Question{q}
				out = append(out, c)
			}
		}
	}
	return out, nil
}

// memdailyPooled is memdaily with the messages of all in one memory. Many say nearly the same, and
// only one person's are evidence.
func memdailyPooled(path string) ([]Conversation, error) {
	all, err := memdaily(path)
	pool := Conversation{ID: "pool"}
	for _, c := range all {
		pool.Turns, pool.Questions = append(pool.Turns, c.Turns...), append(pool.Questions, c.Questions...)
	}
	return []Conversation{pool}, err
}
