// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

//go:embed long_answers.json
var longAnswersScript []byte

// script holds the texts that longAnswers puts together.
type script struct {
	Messages             []string // of users, with a fact
	Undecided            string   // in place of a fact
	Suggestion, Question string   // a sentence of an answer, and the question for it
	Openings             []string // of questions

	Projects []string // plans of users
	Aspects  []aspect // questions about each plan
	Advice   []string // the sentences of answers, which hold no facts
	Methods  []string // possible suggestions
}

type aspect struct {
	Name     string
	Fact     string // the user's statement of it
	Direct   string // a question with the name of the aspect
	Indirect string // the same question in other words
	Values   []string
}

const (
	longChats    = 5
	longSessions = 10  // of a chat, each about two projects
	longAnswer   = 200 // words that an answer has at least; at most it has twice as many
)

// longAnswers makes up chats of users with an assistant that answers everything in 200 to 400
// words, and repeats the question in them: the same chats in each call. The exchanges of a session
// are about aspects of two projects; the session before shares one of them. Half of them say
// nothing that a question asks for. A third of the questions ask for a user's message in the words
// of the user, and a third ask for it in other words. The rest ask for the one sentence of an
// answer that suggests something.
func longAnswers(string) ([]Conversation, error) {
	var s script
	if err := json.Unmarshal(longAnswersScript, &s); err != nil {
		return nil, err
	}
	out := make([]Conversation, longChats)
	for n := range out {
		out[n].ID = fmt.Sprint("chat-", n+1)
		rnd := rand.New(rand.NewPCG(5, uint64(n)))
		shuffle := func(texts []string) {
			rnd.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
		}
		shuffle(s.Projects)
		shuffle(s.Methods)
		for _, a := range s.Aspects {
			shuffle(a.Values)
		}
		for session := range longSessions {
			for place, i := range rnd.Perm(2 * len(s.Aspects)) {
				s.exchange(&out[n], rnd, session, place, i)
			}
		}
	}
	return out, nil
}

// exchange adds a message of the user and its answer, and for the lower half of the numbers a
// question about one of them. Each value is said once in a chat.
func (s *script) exchange(c *Conversation, rnd *rand.Rand, session, place, number int) {
	a, project, asked := &s.Aspects[number%len(s.Aspects)], s.Projects[(session+number%2)%longSessions], len(c.Questions)
	value := a.Values[session]
	if asked%3 == 2 {
		value = s.Methods[asked/3]
	}
	fill := strings.NewReplacer("{aspect}", a.Name, "{project}", project, "{value}", value).Replace
	at := time.Date(2024, time.January, 8+7*session, 9, 5*place, 0, 0, time.UTC)
	user := Turn{ID: fmt.Sprint(len(c.Turns)), Role: "user", Session: fmt.Sprint("session-", session+1), Time: at}
	answer := Turn{ID: fmt.Sprint(len(c.Turns) + 1), Role: "assistant", Session: user.Session, Time: at.Add(time.Minute)}
	fact, advice, q := s.Undecided, s.advise(fill, rnd), Question{Evidence: []string{user.ID}, Shows: value}
	switch {
	case number >= len(s.Aspects):
	case asked%3 == 0:
		fact, q.Category, q.Text = a.Fact, "said by the user", fill(a.Direct)
	case asked%3 == 1:
		fact, q.Category, q.Text = a.Fact, "said by the user, in other words", fill(a.Indirect)
	default:
		advice[rnd.IntN(len(advice))] = fill(s.Suggestion)
		q.Category, q.Text, q.Evidence[0] = "within an answer", fill(s.Question), answer.ID
	}
	message := s.Messages[rnd.IntN(len(s.Messages))]
	user.Text, answer.Text = fill(strings.Replace(message, "{fact}", fact, 1)), strings.Join(advice, " ")
	c.Turns = append(c.Turns, user, answer)
	if q.Text != "" {
		q.Text = s.Openings[rnd.IntN(len(s.Openings))] + q.Text
		c.Questions = append(c.Questions, q)
	}
}

// advise returns the sentences of an answer.
func (s *script) advise(fill func(string) string, rnd *rand.Rand) (out []string) {
	words, enough := 0, longAnswer+20+rnd.IntN(longAnswer-60)
	for {
		for _, i := range rnd.Perm(len(s.Advice)) {
			if words >= enough {
				return out
			}
			out = append(out, fill(s.Advice[i]))
			words += len(strings.Fields(out[len(out)-1]))
		}
	}
}
