// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Conversation is a long chat with questions about it.
type Conversation struct {
	ID        string     `json:"sample_id"`
	Turns     []Turn     `json:"-"`
	Questions []Question `json:"qa"`
}

// Turn is one message of a conversation.
type Turn struct {
	ID      string `json:"dia_id"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`

	Session string    `json:"-"`
	Time    time.Time `json:"-"` // of its session; zero when unknown
}

// Question is asked about a conversation. Evidence are the ids of the turns that answer it.
type Question struct {
	Text     string   `json:"question"`
	Evidence []string `json:"evidence"`
	Category int      `json:"category"` // 1 to 4 can be answered; see Adversarial
}

// Adversarial is the category of questions that ask one person for what the evidence says
// of the other: nothing that was said answers them.
const Adversarial = 5

// Conversations reads a file in the format of LoCoMo (Maharana et al., ACL 2024). Questions
// without evidence that exists are left out. Answers are not read: retrieval does not need
// them.
func Conversations(path string) ([]Conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw []struct {
		Conversation
		Sessions map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var out []Conversation
	for _, r := range raw {
		c := Conversation{ID: r.ID}
		if c.Turns, err = turnsOf(r.Sessions); err != nil {
			return nil, fmt.Errorf("reading %s: conversation %s: %w", path, r.ID, err)
		}
		for _, q := range r.Questions {
			if q.Evidence = repairEvidence(q.Evidence, c.Turns); len(q.Evidence) > 0 {
				c.Questions = append(c.Questions, q)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

// dateLayout is how the file writes "1:56 pm on 8 May, 2023", quotes and all.
const dateLayout = `"3:04 pm on 2 January, 2006"`

// turnsOf returns the turns of all sessions, which are numbered from 1 on, in their order.
// A number may have a date alone.
func turnsOf(conversation map[string]json.RawMessage) ([]Turn, error) {
	var out []Turn
	for n := range len(conversation) {
		name := fmt.Sprint("session_", n+1)
		session, ok := conversation[name]
		if !ok {
			continue
		}
		var turns []Turn
		if err := json.Unmarshal(session, &turns); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var at time.Time
		if date, ok := conversation[name+"_date_time"]; ok {
			var err error
			if at, err = time.Parse(dateLayout, string(date)); err != nil {
				return nil, fmt.Errorf("%s_date_time: %w", name, err)
			}
		}
		for _, t := range turns {
			t.Session, t.Time = name, at
			out = append(out, t)
		}
	}
	return out, nil
}

var turnID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// repairEvidence returns the ids of turns that exist, each once. In the file several
// stand in one text ("D8:6; D9:17"), some with a colon too many ("D:11:26") or a leading
// zero ("D30:05").
func repairEvidence(evidence []string, turns []Turn) []string {
	var out []string
	for _, e := range evidence {
		for _, m := range turnID.FindAllStringSubmatch(e, -1) {
			session, _ := strconv.Atoi(m[1])
			number, _ := strconv.Atoi(m[2])
			id := fmt.Sprintf("D%d:%d", session, number)
			if !slices.Contains(out, id) && slices.ContainsFunc(turns, func(t Turn) bool { return t.ID == id }) {
				out = append(out, id)
			}
		}
	}
	return out
}
