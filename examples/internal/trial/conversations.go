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
	Use     string // when to use a memory of a library; empty for messages
	Session string
	Time    time.Time // zero when unknown
}

// Question is a question about a conversation. Evidence has the ids of the turns that answer it.
type Question struct {
	// ID is locomo_C_qaQ in LoCoMo, as lists of wrong answers name it: C and Q number the
	// conversation and the question in the file, from 0 on; empty in other formats than that and
	// REALTALK's.
	ID       string
	Text     string
	Answer   Answer // read where the ID is; empty for Adversarial
	Evidence []string
	Category string // as the data set has them; see Adversarial
	Shows    string // the part of the evidence that must be seen; empty: any part of the turn will do

	// Options are the possible answers, as the file has them, and Answer is the letter of one:
	// "(a)". Empty: the answer is free.
	Options string
	After   int       // the number of turns before the question; 0: all
	Time    time.Time // the time of the question; zero when unknown
}

// Adversarial is the category of LoCoMo's questions that ask one person for the other's words in
// the evidence: the conversation leaves them unanswered.
const Adversarial = "adversarial"

// formats read data sets. The README of the bench names their origins.
var formats = map[string]func(path string) ([]Conversation, error){
	"locomo": locomo, "realtalk": realtalk, "beam": beam, "memdaily": memdaily, "memdaily-pooled": memdailyPooled, "reme": reme,
	"long-answers": longAnswers, "diaries": diaries, "longmemeval": longMemEval, "personamem": personaMem,
}

// Formats returns the names that Conversations takes.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// All reads a file or folder in one of the Formats. "long-answers" and "diaries" are made up, so their path is
// ignored.
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

// Conversations reads like [All], and drops questions whose evidence is missing.
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

// files returns the path itself if it is a file, and else the matches in that folder, in the order
// in which people count.
func files(path, pattern string) ([]string, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return []string{path}, err
	}
	out, err := filepath.Glob(filepath.Join(path, pattern))
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return out, err
}
