// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/einomem/einomem/internal/text"
)

// scripted is a server with OpenAI's API. Its model answers the questions of ReMe and of einomem
// alike: two lessons from each attempt and each comparison, all of them good, and none a duplicate.
// It counts the tokens of prompts, with the form of the answer that a question brings along.
type scripted struct {
	mu     sync.Mutex
	calls  int
	tokens int
	random *rand.Rand
}

func (s *scripted) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.tokens, s.random = 0, 0, rand.New(rand.NewPCG(1, 2))
}

// spent returns the calls and the tokens of prompts since the last reset.
func (s *scripted) spent() [2]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return [2]int{s.calls, s.tokens}
}

// question is a request. Members of the form of the answer stay as they are.
type question struct {
	Stream   bool `json:"stream"`
	Messages []struct {
		Content string `json:"content"`
	} `json:"messages"`
	Format json.RawMessage `json:"response_format"`
	Tools  json.RawMessage `json:"tools"`
	Input  any             `json:"input"` // of a request for vectors
}

// ServeHTTP implements http.Handler.
func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/embeddings") {
		s.embed(w, q.Input)
		return
	}
	said := strings.TrimSpace(string(q.Format) + string(q.Tools))
	form := said
	for _, m := range q.Messages {
		said += "\n" + m.Content
	}
	s.mu.Lock()
	s.calls++
	s.tokens += text.Tokens(said)
	answer := s.answer(form, said)
	s.mu.Unlock()
	s.reply(w, q.Stream, answer)
}

var (
	candidate = regexp.MustCompile(`(?m)^candidate (\d+)`)
	pair      = regexp.MustCompile(`(?m)^pair (\d+)`)
)

// answer answers a question in the form in which it was put. ReMe's questions have the form of the
// answer in their text.
func (s *scripted) answer(form, said string) any {
	list := func(n int, entry func(i int) any) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = entry(i)
		}
		return out
	}
	judged := func(i int) any {
		return map[string]any{"candidate": i + 1, "is_valid": true, "score": 0.8, "feedback": sentence(s.random, 12)}
	}
	switch {
	case strings.Contains(form, "extract_experiences"):
		return map[string]any{"task": sentence(s.random, 8), "experiences": list(2, s.lesson)}
	case strings.Contains(form, "judge_experiences"):
		return map[string]any{"judgements": list(len(candidate.FindAllString(said, -1)), judged)}
	case strings.Contains(form, "task_duplicates"):
		return map[string]any{"decisions": list(len(pair.FindAllString(said, -1)), func(i int) any {
			return map[string]any{"pair": i, "decision": "distinct"}
		})}
	case strings.Contains(form, "tool_guideline"):
		return map[string]any{"guideline": sentence(s.random, 150), "judgements": list(20, func(i int) any {
			return map[string]any{"n": i, "score": 1, "reason": sentence(s.random, 12)}
		})}
	case strings.Contains(said, `"is_valid"`):
		return judged(0)
	case strings.Contains(said, `"when_to_use"`):
		return list(2, s.lesson)
	case strings.Contains(said, `"evaluation"`):
		return map[string]any{"summary": sentence(s.random, 12), "evaluation": sentence(s.random, 35), "score": 1.0}
	}
	return "```txt\n" + sentence(s.random, 150) + "\n```"
}

// lesson is an experience as long as ReMe's published ones are on average. It cites steps.
func (s *scripted) lesson(i int) any {
	return map[string]any{
		"when_to_use": "When " + sentence(s.random, 13), "experience": "Do " + sentence(s.random, 29), "confidence": 0.8,
		"tags": strings.Fields(sentence(s.random, 3)), "step_type": "action", "tools_used": []string{"find_" + sentence(s.random, 1)},
		"steps": []int{2*i + 2, 2*i + 3},
	}
}

// reply sends an answer, as a stream of one piece where it is asked for: a text, or JSON in a fence.
func (s *scripted) reply(w http.ResponseWriter, stream bool, answer any) {
	content, ok := answer.(string)
	if !ok {
		raw, _ := json.Marshal(answer) // plain data
		content = "```json\n" + string(raw) + "\n```"
	}
	message := map[string]string{"role": "assistant", "content": content}
	if !stream {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"object": "chat.completion", "choices": []any{map[string]any{"message": message, "finish_reason": "stop"}},
		})
		return
	}
	raw, _ := json.Marshal(map[string]any{
		"object": "chat.completion.chunk", "choices": []any{map[string]any{"delta": message, "finish_reason": "stop"}},
	})
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", raw)
}

// embed gives each text a vector of its own, far from all others.
func (s *scripted) embed(w http.ResponseWriter, input any) {
	texts, ok := input.([]any)
	if !ok {
		texts = []any{input}
	}
	var data []any
	for i, t := range texts {
		vector := make([]float64, 1024)
		seed := fnv.New64a()
		_, _ = fmt.Fprint(seed, t)
		r := rand.New(rand.NewPCG(seed.Sum64(), 0))
		for j := range vector {
			vector[j] = r.NormFloat64()
		}
		data = append(data, map[string]any{"index": i, "object": "embedding", "embedding": vector})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data})
}
