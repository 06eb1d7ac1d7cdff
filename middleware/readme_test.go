// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
)

func TestTheProgramsOfTheREADMEsRememberAcrossProcesses(t *testing.T) {
	testkit.Once(t)
	testkit.SlowUnderRace(t)
	// The service speaks OpenAI's protocol. It learns one fact from what names Hangzhou, and
	// answers with everything that it is shown.
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Messages []struct{ Role, Content string }
			Tools    []json.RawMessage
			Format   json.RawMessage `json:"response_format"`
			Input    []string
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/embeddings") { // each text has the same vector
			vectors := make([]any, len(request.Input))
			for i := range vectors {
				vectors[i] = map[string]any{"index": i, "embedding": []float32{1, 0}}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": vectors})
			return
		}
		var shown strings.Builder
		for _, m := range request.Messages {
			shown.WriteString(m.Content)
		}
		answer := shown.String()
		if len(request.Tools) == 1 || request.Format != nil { // learning: agents are given two tools
			answer = `{"operations":[]}`
			if strings.Contains(shown.String(), "Hangzhou") {
				answer = `{"operations":[{"op":"add","text":"Ann lives in Hangzhou","sources":[1]}]}`
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "choices": []any{
			map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": answer}},
		}})
	}))
	t.Cleanup(service.Close)
	for _, readme := range []string{"README.md", "README.zh_CN.md"} {
		t.Run(readme, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", readme))
			require.NoError(t, err)
			blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1)
			require.Len(t, blocks, 2, "a program, and its lines for a model")
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(withModel(t, blocks[0][1], blocks[1][1])), 0o600))
			if readme != "README.md" && !testkit.Long() { // the program is the same, its comments are not
				out, err := exec.CommandContext(t.Context(), "go", "vet", filepath.Join(dir, "main.go")).CombinedOutput()
				require.NoError(t, err, "%s", out)
				return
			}
			program := filepath.Join(dir, "program")
			out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Join(dir, "main.go")).CombinedOutput()
			require.NoError(t, err, "%s", out)
			say := func(words string) string {
				cmd := exec.CommandContext(t.Context(), program, words)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "OPENAI_API_KEY=none", "OPENAI_BASE_URL="+service.URL, "OPENAI_MODEL=scripted", "OPENAI_EMBEDDING_MODEL=scripted")
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				return string(out)
			}
			assert.NotContains(t, say("Where do I live?"), "Hangzhou")
			say("I moved to Hangzhou in March.")
			assert.Contains(t, say("Where do I live?"), "Hangzhou")
		})
	}
}

// withModel puts the lines for a model in the place of the program's own, as the README's reader does.
func withModel(t *testing.T, program, lines string) string {
	t.Helper()
	for _, swap := range [][2]string{
		{`(?m)^\tmem := .*\n`, lines},
		{`Model: &demomodel\.Model\{\}`, "Model: model"},
		{`"github.com/einomem/einomem"\n`, "\"github.com/einomem/einomem\"\n\t\"github.com/einomem/einomem/backends/mem0\"\n\t\"github.com/einomem/einomem/backends/openai\"\n"},
	} {
		before := program
		program = regexp.MustCompile(swap[0]).ReplaceAllLiteralString(program, swap[1])
		require.NotEqual(t, before, program, swap[0])
	}
	return program
}
