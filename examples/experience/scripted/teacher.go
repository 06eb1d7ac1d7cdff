// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Teacher returns the model that learns. It reads the attempts and the calls that it is
// shown, and nothing else:
//
//   - When an attempt ended as a place was reached, what the place was said to be like
//     is suspect, less what was stood on in the same attempt without harm.
//   - What was stood on without harm holds.
//   - When calls of a tool with some values of an argument worked and with others
//     failed, it says what the former have in common: a range, a way to write.
//
// It may be wrong: of two suspects one is innocent.
func Teacher() *Model { return &Model{name: "teacher", answer: teach, calls: &atomic.Int64{}} }

type object = map[string]any

// answers are what the teacher can be asked, by the tool that the answer is given by.
var answers = map[string]func(prompt string) (any, error){
	"extract_experiences": experiences,
	"judge_experiences":   judgements,
	"task_duplicates":     decisions,
	"tool_guideline":      guidelines,
	"tool_judge":          scores,
	"personal_statements": nothingPersonal,
}

var errNoMaterial = errors.New("the question has no material that I know")

// teach answers by the last tool that it is offered.
func teach(in []*schema.Message, tools []*schema.ToolInfo) (*schema.Message, error) {
	name := ""
	if len(tools) > 0 {
		name = tools[len(tools)-1].Name
	}
	answer := answers[name]
	if answer == nil || len(in) == 0 {
		return nil, fmt.Errorf("%w: I cannot answer by tool %q", backends.ErrInvalid, name)
	}
	v, err := answer(in[len(in)-1].Content)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", backends.ErrInvalid, name, err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return call("answer", name, string(text)), nil
}

// section returns the material between the tags of a name, which stand on lines of
// their own.
func section(prompt, name string) (string, bool) {
	_, rest, opened := strings.Cut("\n"+prompt, "\n<"+name+">\n")
	text, _, closed := strings.Cut("\n"+rest, "\n</"+name+">")
	return strings.TrimPrefix(text, "\n"), opened && closed
}

// experiences answers what an attempt teaches, or two at the same task.
func experiences(prompt string) (any, error) {
	if attempt, ok := section(prompt, "data-trajectory"); ok {
		return object{"experiences": readHistory(attempt).lessons()}, nil
	}
	better, ok := section(prompt, "data-better")
	worse, both := section(prompt, "data-worse")
	if !ok || !both {
		return nil, errNoMaterial
	}
	return object{"experiences": avoid(readHistory(worse).suspects(readHistory(better)))}, nil
}

var (
	candidateText = regexp.MustCompile(`(?m)^candidate (\d+)$`)
	pairText      = regexp.MustCompile(`(?m)^pair (\d+)$`)
)

// numbered returns an answer for each part of a text under a heading with a number.
func numbered(text string, heading *regexp.Regexp, answer func(n int, part string) object) []object {
	out := []object{}
	headings, parts := heading.FindAllStringSubmatch(text, -1), heading.Split(text, -1)
	for i, m := range headings {
		out = append(out, answer(number(m[1]), parts[i+1]))
	}
	return out
}

// judgements answers how likely each candidate is.
func judgements(prompt string) (any, error) {
	list, ok := section(prompt, "data-candidates")
	if !ok {
		return nil, errNoMaterial
	}
	return object{"judgements": numbered(list, candidateText, func(n int, candidate string) object {
		score := judge(candidate)
		return object{"candidate": n, "is_valid": true, "score": score, "feedback": fmt.Sprintf("supported by %.2f", score)}
	})}, nil
}

// decisions answers which of pairs of experiences say the same.
func decisions(prompt string) (any, error) {
	text, ok := section(prompt, "data-pairs")
	if !ok {
		return nil, errNoMaterial
	}
	return object{"decisions": numbered(text, pairText, func(n int, pair string) object {
		fresh, known, _ := strings.Cut(pair, "\nknown\n")
		_, fresh, _ = strings.Cut(fresh, "\nexperience:\n")
		_, known, _ = strings.Cut(known, "\nexperience:\n")
		decision := "distinct"
		if same(fresh, known) {
			decision = "same"
		}
		return object{"pair": n, "decision": decision}
	})}, nil
}

// shownCall is a call as tool memory shows it.
type shownCall struct {
	N      int  `json:"n"`
	Input  any  `json:"input"`
	Failed bool `json:"failed"`
}

func shownCalls(prompt string) ([]shownCall, error) {
	text, ok := section(prompt, "calls")
	if !ok {
		return nil, errNoMaterial
	}
	var out []shownCall
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, "{") { // it says what is left out
			continue
		}
		var c shownCall
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, fmt.Errorf("a call: %w", err)
		}
		out = append(out, c)
	}
	return out, nil
}

// guidelines answers how a tool is best called.
func guidelines(prompt string) (any, error) {
	quoted, _ := section(prompt, "tool")
	var tool string
	if err := json.Unmarshal([]byte(quoted), &tool); err != nil {
		return nil, errNoMaterial
	}
	calls, err := shownCalls(prompt)
	if err != nil {
		return nil, err
	}
	trials := map[string]*trial{}
	for _, c := range calls {
		arguments, _ := c.Input.(object)
		if text, ok := c.Input.(string); ok {
			_ = json.Unmarshal([]byte(text), &arguments) // else it has no arguments by name
		}
		for name, v := range arguments {
			if trials[name] == nil {
				trials[name] = &trial{}
			}
			list := &trials[name].worked
			if c.Failed {
				list = &trials[name].failed
			}
			*list = append(*list, fmt.Sprint(v))
		}
	}
	return object{"guideline": guideline(tool, trials)}, nil
}

// scores answers whether each call served: whether it did not fail.
func scores(prompt string) (any, error) {
	calls, err := shownCalls(prompt)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, c := range calls {
		score := object{"n": c.N, "score": 1, "summary": "It worked.", "evaluation": "It answered."}
		if c.Failed {
			score = object{"n": c.N, "score": 0, "summary": "It failed.", "evaluation": "It did not answer."}
		}
		out = append(out, score)
	}
	return object{"judgements": out}, nil
}

// nothingPersonal answers what the messages say about the user: nothing. A task is no
// statement about a person.
func nothingPersonal(prompt string) (any, error) {
	if !strings.Contains(prompt, "<new_messages>") {
		return nil, errNoMaterial
	}
	return object{"statements": []string{}}, nil
}
