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
	materialText  = regexp.MustCompile(`(?m)^<(data-material-of-(\d+)-to-(\d+))>$`)
)

// verdict is what is said of one candidate.
type verdict struct {
	Candidate int     `json:"candidate"`
	Valid     bool    `json:"is_valid"`
	Score     float64 `json:"score"`
	Feedback  string  `json:"feedback"`
}

// verdicts answers how well the material bears out each candidate.
func verdicts(prompt string) (any, error) {
	list, ok := section(prompt, "data-candidates")
	if !ok {
		return nil, errNoMaterial
	}
	starts := candidateText.FindAllStringSubmatchIndex(list, -1)
	var out []verdict
	for i, at := range starts {
		end := len(list)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		n, err := strconv.Atoi(list[at[2]:at[3]])
		if err != nil {
			return nil, err
		}
		score := judge(list[at[1]:end], materialOf(prompt, n))
		out = append(out, verdict{n, score > 0, score, fmt.Sprintf("borne out by %.2f", score)})
	}
	return listed("verdicts", out), nil
}

// materialOf returns what taught a candidate.
func materialOf(prompt string, candidate int) string {
	for _, m := range materialText.FindAllStringSubmatch(prompt, -1) {
		from, _ := strconv.Atoi(m[2])
		to, _ := strconv.Atoi(m[3])
		if from <= candidate && candidate <= to {
			text, _ := section(prompt, m[1])
			return text
		}
	}
	return ""
}

// decision is what is said of a pair of experiences.
type decision struct {
	Pair    int    `json:"pair"`
	Verdict string `json:"verdict"`
}

// decisions answers which of pairs of experiences say the same.
func decisions(prompt string) (any, error) {
	text, ok := section(prompt, "pairs")
	if !ok {
		return nil, errNoMaterial
	}
	var out []decision
	for line := range strings.SplitSeq(text, "\n") {
		var p struct {
			Pair       int
			New, Known struct{ Content string }
		}
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			return nil, fmt.Errorf("a pair: %w", err)
		}
		d := decision{p.Pair, "distinct"}
		if same(p.New.Content, p.Known.Content) {
			d.Verdict = "same"
		}
		out = append(out, d)
	}
	return listed("decisions", out), nil
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

// callVerdicts answers whether each call served: whether it did not fail.
func callVerdicts(prompt string) (any, error) {
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
	return listed("verdicts", out), nil
}

// nothingPersonal answers what the messages say about the user: nothing. A task is no
// statement about a person.
func nothingPersonal(prompt string) (any, error) {
	if !strings.Contains(prompt, "<new_messages>") {
		return nil, errNoMaterial
	}
	return listed("statements", []string{}), nil
}
