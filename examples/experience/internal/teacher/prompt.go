// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package teacher

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// section returns the material between the tags of a name, which stand on lines of
// their own.
func section(prompt, name string) (string, bool) {
	_, rest, opened := strings.Cut("\n"+prompt, "\n<"+name+">\n")
	text, _, closed := strings.Cut("\n"+rest, "\n</"+name+">")
	return strings.TrimPrefix(text, "\n"), opened && closed
}

var errNoMaterial = errors.New("the question has no material that I know")

// experiences answers what an attempt teaches, or two at the same task.
func experiences(prompt string) (any, error) {
	better, both := section(prompt, "data-better")
	worse, _ := section(prompt, "data-worse")
	if both {
		return listed("experiences", compare(read(better), read(worse))), nil
	}
	text, ok := section(prompt, "data-trajectory")
	if !ok {
		return nil, errNoMaterial
	}
	return listed("experiences", read(text).lessons()), nil
}

// listed is an answer with one list.
func listed[T any](name string, list []T) any {
	if list == nil {
		list = []T{}
	}
	return map[string]any{name: list}
}

var (
	candidateText = regexp.MustCompile(`(?m)^candidate (\d+)$`)
	pairText      = regexp.MustCompile(`(?m)^pair (\d+)$`)
)

// judgement is what is said of one candidate.
type judgement struct {
	Candidate int     `json:"candidate"`
	Valid     bool    `json:"is_valid"`
	Score     float64 `json:"score"`
	Feedback  string  `json:"feedback"`
}

// judgements answers how well the material supports each candidate.
func judgements(prompt string) (any, error) {
	list, ok := section(prompt, "data-candidates")
	if !ok {
		return nil, errNoMaterial
	}
	better, both := section(prompt, "data-better")
	worse, _ := section(prompt, "data-worse")
	if !both {
		worse, _ = section(prompt, "data-trajectory")
	}
	var out []judgement
	err := eachOf(list, candidateText, func(n int, candidate string) {
		score := judge(candidate, better, worse)
		out = append(out, judgement{n, score > 0, score, fmt.Sprintf("supported by %.2f", score)})
	})
	return listed("judgements", out), err
}

// eachOf calls f for each stretch of a text under a heading with a number.
func eachOf(text string, heading *regexp.Regexp, f func(n int, stretch string)) error {
	starts := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		n, err := strconv.Atoi(text[at[2]:at[3]])
		if err != nil {
			return err
		}
		f(n, text[at[1]:end])
	}
	return nil
}

// decision is what is said of a pair of experiences.
type decision struct {
	Pair     int    `json:"pair"`
	Decision string `json:"decision"`
}

// decisions answers which of pairs of experiences say the same.
func decisions(prompt string) (any, error) {
	text, ok := section(prompt, "data-pairs")
	if !ok {
		return nil, errNoMaterial
	}
	var out []decision
	err := eachOf(text, pairText, func(n int, pair string) {
		fresh, known, _ := strings.Cut(pair, "\nknown\n")
		d := decision{n, "distinct"}
		if same(content(fresh), content(known)) {
			d.Decision = "same"
		}
		out = append(out, d)
	})
	return listed("decisions", out), err
}

// content is the experience of one that is shown.
func content(shown string) string {
	_, text, _ := strings.Cut(shown, "\nexperience:\n")
	return strings.TrimSpace(text)
}

// shownCall is a call as tool memory shows it.
type shownCall struct {
	N      int    `json:"n"`
	Input  any    `json:"input"`
	Output string `json:"output"`
	Failed bool   `json:"failed"`
}

func shownCalls(prompt string) ([]shownCall, error) {
	text, ok := section(prompt, "calls")
	if !ok {
		return nil, errNoMaterial
	}
	var out []shownCall
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "{") { // a word on what is left out
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
	shown, err := shownCalls(prompt)
	if err != nil {
		return nil, err
	}
	var calls []call
	for _, c := range shown {
		arguments, _ := c.Input.(map[string]any)
		if text, ok := c.Input.(string); ok {
			_ = json.Unmarshal([]byte(text), &arguments) // else it has no arguments by name
		}
		calls = append(calls, call{arguments, c.Failed})
	}
	return map[string]any{"guideline": guideline(tool, calls)}, nil
}

// callJudgements answers whether the result of each call is useful: whether it did not fail.
func callJudgements(prompt string) (any, error) {
	shown, err := shownCalls(prompt)
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, c := range shown {
		v := map[string]any{"n": c.N, "score": 1, "summary": "It worked.", "evaluation": "It answered."}
		if c.Failed {
			v["score"], v["summary"], v["evaluation"] = 0, "It failed.", "It did not answer."
		}
		out = append(out, v)
	}
	return listed("judgements", out), nil
}

// nothingPersonal answers what the messages say about the user: nothing. A task is no
// statement about a person.
func nothingPersonal(prompt string) (any, error) {
	if !strings.Contains(prompt, "<new_messages>") {
		return nil, errNoMaterial
	}
	return listed("statements", []string{}), nil
}
