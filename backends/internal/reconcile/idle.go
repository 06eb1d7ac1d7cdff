// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// Idle reports whether users said nothing for a model to learn from. They may greet, thank, ask or
// hand over code, and answer no question. Or they say one thing, and the agent noted something down
// in that turn. With answers, the words of assistants count as well. The model is always asked
// about notes and wishes to forget.
func (c *Call) Idle(ctx context.Context, answers bool) (bool, error) {
	if c.Author != "" || len(c.wishes) > 0 {
		return false, nil
	}
	noted, err := c.notedTurns(ctx)
	if err != nil {
		return false, err
	}
	for _, u := range c.said {
		switch {
		case u.Role != string(schema.User):
			if answers && u.learn && speech.ClassifyAnswer(code.ReplaceAllString(u.Text, "")) == speech.Statement {
				return false, nil
			}
		case u.learn && !u.silent && (u.insists || !noted[u.Turn] || !speech.StatesOnce(code.ReplaceAllString(u.Text, ""))):
			return false, nil
		}
	}
	return true, nil
}

// listen notes which messages of users state nothing: greetings, thanks, questions and code. A
// message insists if it answers a question, asks to keep something, corrects, or shows a picture.
func (c *Call) listen() {
	asked := false // by the assistant, right before
	for _, u := range append(c.context[max(0, len(c.context)-1):len(c.context):len(c.context)], c.said...) {
		said := code.ReplaceAllString(u.Text, "")
		if u.Role != string(schema.User) {
			asked = speech.ClassifyAnswer(lastLine(said)) == speech.Question || speech.EndsAsking(said)
			continue
		}
		u.insists = len(u.media) > 0 || asked && replies.MatchString(text.Simplified(said)) || instruction.MatchString(text.Simplified(u.Text)) || speech.Corrects(said)
		u.silent, asked = !u.insists && speech.Classify(said) != speech.Statement, false
	}
}

var (
	// code is the text between fences, and lines that only a machine writes. A doubtful line
	// counts as speech: at worst it costs a call.
	code = regexp.MustCompile("(?s:```.*?(?:```|$))" + `|(?m:^.*[(=<].*[{};]\s*$)`)
	// replies are words that state something only behind a question.
	replies = regexp.MustCompile(`(?i)^\W*(?:yes|yeah|yep|yup|no|nope|not|right|exactly|correct|sure|of course|ok(?:ay)?|please|go ahead|indeed|absolutely|never)\b|^(?:是|对|不|没|嗯|好|当然|可以|行|要)`)
)

// lastLine returns the last line of a text.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// notedTurns returns the turns of the session in which the agent noted something down.
func (c *Call) notedTurns(ctx context.Context) (map[string]bool, error) {
	known, err := c.statements(ctx)
	turns := map[string]bool{}
	for _, m := range known {
		if o := m.Origin; o.Author == backends.AuthorAgent && o.Turn != "" && o.Session == c.Scope.SessionID {
			turns[o.Turn] = true
		}
	}
	return turns, err
}
