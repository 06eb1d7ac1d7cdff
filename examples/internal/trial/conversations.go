// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Conversation is a long chat with questions about it, or a library of experience with the tasks it is for.
type Conversation struct {
	ID        string
	Turns     []Turn // in the order in which they were said
	Questions []Question
}

// Turn is one message of a conversation, or a memory of a library.
type Turn struct {
	ID      string
	Speaker string // the name of who says it; empty in chats with an assistant
	Role    string // "user" or "assistant" in these; empty among people
	Text    string
	Use     string // when a memory of a library is to be used; empty for what was said
	Session string
	Time    time.Time // zero when unknown
}

// Question is asked about a conversation. Evidence are the ids of the turns that answer it.
type Question struct {
	// ID is locomo_C_qaQ in LoCoMo, the numbers from 0 on of the conversation and of the
	// question in the file, as lists of wrong answers name it; empty in other formats than
	// that and REALTALK's.
	ID       string
	Text     string
	Answer   Answer // read where the ID is; empty for Adversarial
	Evidence []string
	Category string // as the data set has them; see Adversarial
	Shows    string // what has to be seen of the evidence; empty: any part of the turn will do

	// Options are what the answer is chosen from, as the file has them, and Answer is the letter
	// of one: "(a)". Empty: the answer is free.
	Options string
	After   int       // so many turns were said when it is asked; 0: all
	Time    time.Time // when it is asked; zero when unknown
}

// Adversarial is the category of LoCoMo's questions that ask one person for what the evidence
// says of the other: nothing that was said answers them.
const Adversarial = "adversarial"

// formats read data sets. The README of the bench says where each comes from.
var formats = map[string]func(path string) ([]Conversation, error){
	"locomo": locomo, "realtalk": realtalk, "beam": beam, "memdaily": memdaily, "memdaily-pooled": memdailyPooled, "reme": reme,
	"long-answers": longAnswers, "longmemeval": longMemEval, "personamem": personaMem,
}

// Formats returns the names that Conversations takes.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// All reads a file or folder in one of the Formats; "long-answers" needs none, since they are
// made up.
func All(format, path string) ([]Conversation, error) {
	read := formats[format]
	if read == nil {
		return nil, fmt.Errorf("no format %q: use one of %s", format, strings.Join(Formats(), ", "))
	}
	all, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s in format %s: %w", path, format, err)
	}
	return all, nil
}

// Conversations reads like [All], and leaves out questions without evidence that exists.
func Conversations(format, path string) ([]Conversation, error) {
	all, err := All(format, path)
	questions := 0
	for i := range all {
		all[i].Questions = all[i].answered()
		questions += len(all[i].Questions)
	}
	if err == nil && questions == 0 {
		err = fmt.Errorf("reading %s in format %s: no question has evidence", path, format)
	}
	return all, err
}

// answered returns the questions with evidence that exists, each turn of it once.
func (c *Conversation) answered() []Question {
	turns := map[string]bool{}
	for _, t := range c.Turns {
		turns[t.ID] = true
	}
	for i := range c.Questions {
		q := &c.Questions[i]
		q.Evidence = slices.Compact(slices.Sorted(slices.Values(q.Evidence)))
		q.Evidence = slices.DeleteFunc(q.Evidence, func(id string) bool { return !turns[id] })
	}
	return slices.DeleteFunc(c.Questions, func(q Question) bool { return len(q.Evidence) == 0 })
}

// readJSON reads a file into a value.
func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// files returns the path itself if it is a file, and else what matches in that folder, in the
// order in which people count.
func files(path, pattern string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, err
	}
	out, err := filepath.Glob(filepath.Join(path, pattern))
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out, err
}
