// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// conversation is a long chat with questions about it.
type conversation struct {
	ID        string
	Turns     []turn
	Questions []question
}

// turn is one message of a conversation.
type turn struct {
	ID, Session, Speaker, Text string
	Time                       time.Time // of its session; zero when unknown
}

// question is asked about a conversation. Evidence are the ids of the turns that
// answer it.
type question struct {
	Text     string
	Category int
	Evidence []string
}

// rawConversation is the file's form. Answers are not read: some are numbers,
// and retrieval does not need them.
type rawConversation struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	Questions    []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	} `json:"qa"`
}

// loadDataset reads a file in LoCoMo's format. Questions without evidence that
// exists are left out.
func loadDataset(path string) ([]conversation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var raw []rawConversation
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	out := make([]conversation, len(raw))
	for i := range raw {
		if out[i], err = raw[i].conversation(); err != nil {
			return nil, fmt.Errorf("reading %s: conversation %s: %w", path, raw[i].ID, err)
		}
	}
	return out, nil
}

func (r *rawConversation) conversation() (conversation, error) {
	c := conversation{ID: r.ID}
	known := map[string]bool{}
	for _, n := range r.sessions() {
		turns, err := r.session(n)
		if err != nil {
			return c, err
		}
		for _, t := range turns {
			known[t.ID] = true
		}
		c.Turns = append(c.Turns, turns...)
	}
	for _, q := range r.Questions {
		if evidence := repairEvidence(q.Evidence, known); len(evidence) > 0 {
			c.Questions = append(c.Questions, question{Text: q.Question, Category: q.Category, Evidence: evidence})
		}
	}
	return c, nil
}

var sessionKey = regexp.MustCompile(`^session_(\d+)$`)

// sessions returns the numbers of the sessions that are there: a date may stand
// without its session.
func (r *rawConversation) sessions() []int {
	var out []int
	for key := range r.Conversation {
		if m := sessionKey.FindStringSubmatch(key); m != nil {
			n, _ := strconv.Atoi(m[1])
			out = append(out, n)
		}
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}

// dateLayout is how the file writes "1:56 pm on 8 May, 2023".
const dateLayout = "3:04 pm on 2 January, 2006"

func (r *rawConversation) session(n int) ([]turn, error) {
	name := fmt.Sprintf("session_%d", n)
	var raw []struct {
		Speaker string `json:"speaker"`
		ID      string `json:"dia_id"`
		Text    string `json:"text"`
	}
	if err := json.Unmarshal(r.Conversation[name], &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var at time.Time
	if date, ok := r.Conversation[name+"_date_time"]; ok {
		var s string
		if err := json.Unmarshal(date, &s); err != nil {
			return nil, fmt.Errorf("%s_date_time: %w", name, err)
		}
		var err error
		if at, err = time.Parse(dateLayout, s); err != nil {
			return nil, fmt.Errorf("%s_date_time: %w", name, err)
		}
	}
	turns := make([]turn, len(raw))
	for i, t := range raw {
		turns[i] = turn{ID: t.ID, Session: name, Speaker: t.Speaker, Text: t.Text, Time: at}
	}
	return turns, nil
}

var turnID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// repairEvidence returns the ids of turns that exist, each once. In the file
// several stand in one text ("D8:6; D9:17"), some with a colon too many
// ("D:11:26") or a leading zero ("D30:05").
func repairEvidence(evidence []string, known map[string]bool) []string {
	var out []string
	for _, e := range evidence {
		for _, m := range turnID.FindAllStringSubmatch(e, -1) {
			session, _ := strconv.Atoi(m[1])
			number, _ := strconv.Atoi(m[2])
			id := fmt.Sprintf("D%d:%d", session, number)
			if known[id] && !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out
}
