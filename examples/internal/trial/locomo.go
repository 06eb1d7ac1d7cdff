// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// locomoCategories are the categories of LoCoMo and REALTALK, by number.
var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: Adversarial}

// locomo reads a file of LoCoMo (Maharana et al., ACL 2024): a list of conversations.
func locomo(path string) ([]Conversation, error) {
	var raw []struct {
		ID        string                     `json:"sample_id"`
		Questions []locomoQuestion           `json:"qa"`
		Sessions  map[string]json.RawMessage `json:"conversation"`
	}
	if err := readJSON(path, &raw); err != nil {
		return nil, err
	}
	var out []Conversation
	for i, r := range raw {
		turns, err := turnsOf(r.Sessions, "3:04 pm on 2 January, 2006")
		if err != nil {
			return nil, fmt.Errorf("conversation %s: %w", r.ID, err)
		}
		out = append(out, Conversation{ID: r.ID, Turns: turns, Questions: questionsOf(r.Questions, fmt.Sprint("locomo_", i))})
	}
	return out, nil
}

// realtalk reads a file of REALTALK (Lee et al., 2025), which is one conversation, or a folder
// of them. It is LoCoMo's format with other dates.
func realtalk(path string) ([]Conversation, error) {
	chats, err := files(path, "*.json")
	var out []Conversation
	for _, file := range chats {
		var raw map[string]json.RawMessage
		if err := readJSON(file, &raw); err != nil {
			return nil, err
		}
		turns, err := turnsOf(raw, "02.01.2006, 15:04:05")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		var questions []locomoQuestion
		if err := json.Unmarshal(raw["qa"], &questions); err != nil {
			return nil, fmt.Errorf("%s: qa: %w", filepath.Base(file), err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		out = append(out, Conversation{ID: name, Turns: turns, Questions: questionsOf(questions, "realtalk_"+name)})
	}
	return out, err
}

type locomoTurn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
	Clean   string `json:"clean_text"` // REALTALK's text
	Caption string `json:"blip_caption"`
	Date    string `json:"date_time"` // REALTALK's
}

// turnsOf returns the turns of all sessions, numbered from 1 on, in their order. A number may have
// a date alone. A picture without a word has its caption as text.
func turnsOf(conversation map[string]json.RawMessage, layout string) ([]Turn, error) {
	var out []Turn
	for n := range len(conversation) {
		name := fmt.Sprint("session_", n+1)
		session, ok := conversation[name]
		if !ok {
			continue
		}
		var turns []locomoTurn
		if err := json.Unmarshal(session, &turns); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var begin string
		if date, ok := conversation[name+"_date_time"]; ok {
			if err := json.Unmarshal(date, &begin); err != nil {
				return nil, fmt.Errorf("%s_date_time: %w", name, err)
			}
		}
		for _, t := range turns {
			date := cmp.Or(t.Date, begin)
			at, err := time.Parse(layout, date)
			if err != nil && date != "" {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if text := cmp.Or(t.Clean, t.Text, t.Caption); text != "" {
				out = append(out, Turn{ID: t.ID, Speaker: t.Speaker, Text: text, Session: name, Time: at})
			}
		}
	}
	return out, nil
}

type locomoQuestion struct {
	Text     string   `json:"question"`
	Answer   Answer   `json:"answer"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"`
}

// Answer is the right answer to a question. Files have numbers among the texts.
type Answer string

// UnmarshalJSON reads a text, and keeps any other value as written.
func (a *Answer) UnmarshalJSON(data []byte) error {
	var s string
	if json.Unmarshal(data, &s) != nil {
		s = string(data)
	}
	*a = Answer(s)
	return nil
}

var turnID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// questionsOf names questions and repairs evidence: in the file several turns stand in one text ("D8:6; D9:17"),
// some with a colon too many ("D:11:26") or a leading zero ("D30:05").
func questionsOf(raw []locomoQuestion, conversation string) []Question {
	var out []Question
	for i, r := range raw {
		q := Question{ID: fmt.Sprint(conversation, "_qa", i), Text: r.Text, Answer: r.Answer, Category: locomoCategories[r.Category]}
		for _, m := range turnID.FindAllStringSubmatch(strings.Join(r.Evidence, " "), -1) {
			session, _ := strconv.Atoi(m[1])
			number, _ := strconv.Atoi(m[2])
			q.Evidence = append(q.Evidence, fmt.Sprintf("D%d:%d", session, number))
		}
		out = append(out, q)
	}
	return out
}
