// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/examples/internal/trial"
	"github.com/einomem/einomem/internal/text"
)

// serve starts a server of models, which the environment names, that say what reply returns for
// the system's and the user's message. What is to be learnt is JSON. It refuses to reply "".
func serve(t *testing.T, reply func(model, rules, said string, learns bool) string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Model    string
			Messages []struct{ Content string }
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &in) != nil || len(in.Messages) != 2 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		counted := 1
		if in.Model == "uncounted" {
			counted = 0
		}
		said := reply(in.Model, in.Messages[0].Content, in.Messages[1].Content, strings.Contains(in.Messages[1].Content, "<new_messages>"))
		message := map[string]any{"role": "assistant", "content": said}
		if said == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"choices": []any{map[string]any{"message": message, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": counted * len(body) / 4, "completion_tokens": 10},
		})
	}))
	t.Cleanup(srv.Close)
	t.Setenv("OPENAI_BASE_URL", srv.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "made-up")
	t.Setenv("OPENAI_MODEL", "made-up")
}

// Twenty questions about made-up conversations, and two that these leave open, are answered by all
// arms without a key and a network. Every question names both people, so that every search finds all that they said, in
// whatever order. When a prompt was changed, or what a search leaves out, make the record again,
// look at what changed, and commit it:
//
//	EINOMEM_RECORD=1 go test ./examples/bench -run TestTwentyQuestionsAreReplayed
func TestTwentyQuestionsAreReplayed(t *testing.T) {
	const data, record, arms = "testdata/answers.json", "testdata/answers.jsonl", "none,oracle,full,bm25-400,note-400,bm25-1000,note-1000,facts,facts+turns"
	all, err := trial.All("locomo", data)
	require.NoError(t, err)
	if os.Getenv("EINOMEM_RECORD") != "" {
		serve(t, func(model, _, said string, learns bool) string {
			if learns { // the first thing that somebody says of themselves
				m := regexp.MustCompile(`(?m)^\{"n":(\d+),.*"name":"(\w+)".*"text":"I (.*)"\}$`).FindStringSubmatch(said)
				return fmt.Sprintf(`{"operations":[{"op":"add","text":"%s: I %s","messages":[%s]}]}`, m[2], m[3], m[1])
			}
			if question, given, judged := strings.Cut(said, "\nAnswer: "); judged {
				require.Equal(t, "made-up judge", model)
				switch {
				case strings.HasSuffix(question, "\nRight answer: Kit and Ada"):
					return "Perhaps."
				case strings.HasSuffix(question, "\nRight answer: "+given):
					return "Yes."
				}
				return "no"
			}
			for _, c := range all {
				for _, q := range c.Questions {
					if q.Answer != "" && strings.HasSuffix(said, q.Text) && strings.Contains(said, string(q.Answer)) {
						return "<think>That is easy.</think>\n" + string(q.Answer)
					}
				}
			}
			return "I do not know."
		})
		require.NoError(t, os.RemoveAll(record))
		program(t, 0, "answers", "-data", data, "-record", record, "-arms", arms, "-judge", "made-up judge", "-budget", "1000000")
	}
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1") // nobody is there
	wrong := filepath.Join(t.TempDir(), "wrong.txt")
	require.NoError(t, os.WriteFile(wrong, []byte("locomo_0_qa4\nlocomo_9_qa1\n"), 0o600)) // the second one belongs to other data
	flags := []string{"answers", "-data", data, "-replay", record, "-arms", arms, "-model", "made-up", "-judge", "made-up judge"}
	printed := program(t, 0, append(flags, "-wrong", wrong)...)
	const again = "see how to make the record again"
	for _, row := range []string{ // in each the judge answers one question in another form
		`none \| 20 \| 0\.0 \(0\.0–0\.0\) \| 0\.0 \| 0\.0 \(0\.0–0\.0\) \|  \| 0\.0 \| multi-hop 0\.0 \(3\), open-domain 0\.0 \(1\), single-hop 0\.0 \(12\), temporal 0\.0 \(4\) \| 100\.0 \(2\) \| 1 \| \d+ \| 0\.0 \| 42`,
		`none, without wrong answers \| 19 \| .*`,
		`oracle \| 20 \| 80\.0 \(60\.0–95\.0\) \| 80\.0 \| 100\.0 .* \|  \| 75\.0 \| multi-hop 66\.7 .* temporal 50\.0 \(4\) \| 100\.0 \(2\) \| .*`,
		`full \| 20 \| 80\.0 .*`,
		`full, without wrong answers \| 19 \| 84\.2 .*`,
		`bm25-400 \| 20 \| 80\.0 .*`,
		`note-1000 \| 20 \| 80\.0 \(60\.0–95\.0\) \| 80\.0 \| 100\.0 \(100\.0–100\.0\) \| 0\.0 \(0\.0–0\.0\) \| 75\.0 \| .*`,
		`facts \| 20 \| 30\.0 .* \| 37\.5 \(15\.0–60\.0\) \| .* \| 50`, // also eight sessions to learn from
		`facts\+turns \| 20 \| 80\.0 .* \| 50`,
	} {
		require.Regexp(t, `\n\| `+row+` \|\n`, printed, again)
	}
	require.Contains(t, printed, "taken for right: 0 of 16 by the rules, 0 by the judge\n")
	require.Contains(t, printed, "Asked now: 0 calls, 0 tokens\n")
	require.NotContains(t, printed, "partial")

	var out, errs bytes.Buffer
	require.Equal(t, 1, run(t.Context(), append(flags, "-every", "7", "-model", "another"), &out, &errs))
	require.Contains(t, errs.String(), "a call is not in the file")
	require.Contains(t, out.String(), "| none | 0 |")
	require.Contains(t, out.String(), "The table is partial.")
	printed = program(t, 0, append(flags, "-every", "7", "-arms", "none,full")...)
	require.Contains(t, printed, "| full | 5 |")
}

func TestAnswersKeepToTheBudgetAndGoOnWhereTheyStopped(t *testing.T) {
	dir := t.TempDir()
	data, record := filepath.Join(dir, "small.json"), filepath.Join(dir, "record.jsonl")
	require.NoError(t, os.WriteFile(data, []byte(`[{"sample_id": "conv-1", "conversation": {
  "session_1_date_time": "9:05 am on 3 June, 2023", "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat called Tom."}]},
 "qa": [
  {"question": "Which pet?", "answer": "a cat", "evidence": ["D1:1"], "category": 4},
  {"question": "Called how?", "answer": "Tom", "evidence": ["D1:1"], "category": 4},
  {"question": "Which dog?", "evidence": ["D1:1"], "category": 5}]}]`), 0o600))
	asked := map[string]int{}
	long := strings.Repeat("very ", 1000)
	serve(t, func(model, rules, said string, _ bool) string {
		asked[said]++
		if rules == judgeRules && model == "stern" {
			return "yes"
		}
		if strings.Contains(said, "Which dog?") {
			return "I do not know."
		}
		return "a " + long + "nice cat" // longer than the estimate
	})
	answers := func(code int, flags ...string) string {
		return program(t, code, append([]string{"answers", "-data", data, "-record", record, "-arms", "full,oracle", "-judge", "stern"}, flags...)...)
	}
	printed := answers(1)
	estimated := regexp.MustCompile(`Estimated: 11 calls, (\d+) tokens`).FindStringSubmatch(printed)
	require.NotNil(t, estimated, printed)
	require.Regexp(t, `Estimated: 7 calls, [3-9]\d{3} tokens`, answers(1, "-arms", "facts"), "three questions with as many memories as are shown, and what is learnt")
	require.Empty(t, asked, "nothing is asked without a budget")

	printed = answers(1, "-budget", estimated[1])
	require.Contains(t, printed, "| full | 1 | 100.0 (100.0–100.0) | 0.2 |", "the second verdict is over the budget")
	require.Contains(t, printed, "Asked now: 3 calls")
	require.Contains(t, printed, "The table is partial.")
	made, err := os.ReadFile(record)
	require.NoError(t, err)
	require.Equal(t, 3, bytes.Count(made, []byte("\n")))
	require.Contains(t, string(made), `"prompt_tokens":`)

	printed = answers(0, "-budget", "100000")
	require.Contains(t, printed, "Estimated: 5 calls", "what is recorded costs nothing")
	require.Contains(t, printed, "Asked now: 3 calls")
	require.Contains(t, printed, "| oracle | 2 | 50.0 (0.0–100.0) | 0.1 | 100.0 (0.0–100.0) |  | 100.0 |  | 100.0 (1) | 0 |", "it is shown what the other arm is, and asks nothing more")
	require.Contains(t, printed, "taken for right: 0 of 1 by the rules, 1 by the judge")
	require.Len(t, asked, 6)
	for said, times := range asked {
		require.Equal(t, 1, times, said)
	}

	require.NoError(t, os.WriteFile(record, made[:len(made)-9], 0o600))
	answers(1, "-budget", "100000") // half a line
	require.NoError(t, os.WriteFile(record, nil, 0o600))
	serve(t, func(_, rules, said string, _ bool) string {
		switch {
		case strings.Contains(said, "Which pet?"):
			return "" // is refused
		case rules == judgeRules:
			return "yes and no"
		}
		return "Tom"
	})
	printed = answers(0, "-budget", "100000")
	require.Contains(t, printed, "| full | 2 | 50.0 (0.0–100.0) | 50.0 | 100.0 (0.0–100.0) |  | 0.0 |  | 0.0 (1) | 2 |", "neither a refusal nor another word than yes is right")
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	t.Setenv("OPENAI_BASE_URL", gone.URL+"/v1")
	require.NoError(t, os.WriteFile(record, nil, 0o600))
	for _, flags := range [][]string{{"-arms", "full,nobody"}, {"-replay", "missing"}, {"-record", dir}, {"-format", "nothing"}, {"-data", record}} {
		answers(1, append(flags, "-budget", "100000")...)
	}
}

func TestOptionsAreChosenFromWhatWasSaidUntilThen(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "questions_32k.csv")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shared_contexts_32k.jsonl"), []byte(`{"c1": [{"role": "system", "content": "The user is a baker who likes rye."}, {"role": "user", "content": "I bake rye bread."}, {"role": "assistant", "content": "Rye is healthy."}, {"role": "system", "content": "The user is a baker who likes rye."}, {"role": "user", "content": "Now I bake spelt bread."}]}`+"\n"), 0o600))
	require.NoError(t, os.WriteFile(data, []byte(`question_id,question_type,user_question_or_message,correct_answer,all_options,shared_context_id,end_index_in_shared_context
q2,recall,Which bread?,(b),"['(a) Rye.', ""(b) Now it's spelt, with a longer text.""]",c1,5
q1,recall,Which bread today?,(a),"['(a) Rye.', '(b) Spelt, with a longer text.']",c1,3
`), 0o600))
	var shown []string
	serve(t, func(_, _, said string, learns bool) string {
		if learns {
			return `{"operations":[{"op":"add","text":"Bakes bread.","messages":[0]}]}`
		}
		shown = append(shown, said)
		switch {
		case strings.Contains(said, "today"):
			return "(A) Rye."
		case strings.Contains(said, "bake spelt"):
			return "b"
		}
		return "(a) or (b)"
	})
	printed := program(t, 0, "answers", "-format", "personamem", "-data", data, "-arms", "longest,none,full,bm25-400,facts,note-400", "-budget", "100000")
	require.Contains(t, printed, "| longest | 2 | 50.0 (0.0–100.0) | 0.0 |")
	require.Contains(t, printed, "| none | 2 | 50.0 (0.0–100.0) | 0.0 |  |  |  |  | 0.0 (0) | 1 |", "two letters are no answer")
	for _, arm := range []string{"full", "bm25-400", "note-400"} {
		require.Contains(t, printed, "| "+arm+" | 2 | 100.0 (100.0–100.0) |")
	}
	all := strings.Join(shown, "\n")
	require.NotContains(t, all, "baker", "what describes the user is shown to no arm")
	require.Contains(t, all, "<memories>\n- user: I bake rye bread.\n- assistant: Rye is healthy.\n")
	require.Contains(t, all, "- Bakes bread. (said 1 Jan 2025)\n")
	require.NotContains(t, shown[1], "bake spelt", "the first question is asked before that was said")
}

func TestHistoriesHaveDays(t *testing.T) {
	data := filepath.Join(t.TempDir(), "longmemeval_s.json")
	var long strings.Builder
	for i := range 40 {
		fmt.Fprintf(&long, `,{"role": "user", "content": "About lamps, part %d:%s"}`, i, strings.Repeat(" they shine", 30))
	}
	require.NoError(t, os.WriteFile(data, []byte(`[{"question_id": "q1", "question_type": "multi-session", "question": "How many lamps did I buy?", "answer": 2,
 "question_date": "2023/05/30 (Tue) 23:40", "haystack_dates": ["2023/05/21 (Sun) 02:21", "2023/05/20 (Sat) 10:00"], "haystack_session_ids": ["b", "a"],
 "haystack_sessions": [
  [{"role": "user", "content": "I bought a second lamp.\nIt is red.", "has_answer": true}, {"role": "assistant", "content": ""}`+long.String()+`],
  [{"role": "user", "content": "I bought a lamp.", "has_answer": true}, {"role": "assistant", "content": "And "}]]}]`), 0o600))
	var shown []string
	serve(t, func(_, rules, said string, _ bool) string {
		if rules == judgeRules {
			require.Contains(t, said, "\nRight answer: 2\n")
			return "yes"
		}
		require.Contains(t, said, "Today is Tuesday, 30 May 2023")
		shown = append(shown, said)
		return "two"
	})
	printed := program(t, 0, "answers", "-format", "longmemeval", "-data", data, "-arms", "oracle,bm25-1000", "-model", "uncounted", "-judge", "stern", "-budget", "100000")
	require.Regexp(t, `\n\| oracle \| 1 \| 100\.0 .* \| 100\.0 \|  \| 0\.0 \(0\) \| 0 \| [1-9]\d+ \| 0\.0 \| 2 \|`, printed)
	require.Contains(t, shown[0], "- 2023-05-20 (Sat) user: I bought a lamp.\n- 2023-05-21 (Sun) user: I bought a second lamp.\n  It is red.\n</memories>")
	require.Contains(t, shown[1], "I bought a lamp.")
	require.InDelta(t, 1000, text.Tokens(shown[1]), 150, "as many of forty long turns as fit")
}

func TestLettersOfOptions(t *testing.T) {
	for said, want := range map[string]string{
		"(c)": "c", " B ": "b", "d.": "d", "(a) Rye bread.": "a", "A good idea": "", "(a) or (b)": "", "Rye": "", "": "", "(aa)": "",
	} {
		require.Equal(t, want, letterOf(said), said)
	}
}

// The notes from a mem0 server and from an embedder are in the record, so that a replay needs none.
func TestOtherServersAreAskedOnceAndReplayed(t *testing.T) {
	known, asked := map[string]string{}, 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		var in struct {
			User     string `json:"user_id"`
			Messages []struct{ Content string }
			Filters  map[string]string
			Input    []string
		}
		switch err := json.NewDecoder(r.Body).Decode(&in); {
		case r.URL.Path == "/v1/embeddings":
			var data []any
			for i, text := range in.Input {
				data = append(data, map[string]any{"index": i, "embedding": []int{1, len(text)}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
		case err != nil || r.Header.Get("X-API-Key") != "made-up key":
			w.WriteHeader(http.StatusBadRequest)
		case r.URL.Path == "/memories":
			for _, m := range in.Messages {
				known[in.User] += m.Content + "\n"
			}
			fmt.Fprint(w, `{"results":[]}`)
		case r.URL.Path == "/search":
			user := in.Filters["user_id"]
			row := map[string]any{"id": "1", "memory": known[user], "score": 0.9, "user_id": user}
			_ = json.NewEncoder(w).Encode(map[string]any{"results": []any{row}})
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(srv.Close)
	t.Setenv("MEM0_API_KEY", "made-up key")
	t.Setenv("OPENAI_EMBEDDING_BASE_URL", srv.URL+"/v1")
	serve(t, func(_, rules, said string, _ bool) string {
		if strings.Contains(rules, "You compare") {
			return "yes"
		}
		require.Regexp(t, `(?m)^(- 2024-|.* 2024:$)`, said, "the day of what was said")
		return "whatever"
	})
	record := filepath.Join(t.TempDir(), "record.jsonl")
	flags := []string{"answers", "-data", "testdata/answers.json", "-every", "5", "-arms", "mem0,note-400+vectors"}
	table := regexp.MustCompile(`(?m)^\| mem0 \| 6 \| 0\.0 .*\n\| note-400\+vectors \| 6 \| 0\.0 .*$`)
	program(t, 1, append(flags, "-budget", "1000000")...) // an embedder is needed
	t.Setenv("OPENAI_EMBEDDING_MODEL", "made-up vectors")
	first := table.FindString(program(t, 0, append(flags, "-mem0", srv.URL, "-record", record, "-budget", "1000000")...))
	require.NotEmpty(t, first)
	need := asked
	require.Positive(t, need)
	t.Setenv("OPENAI_EMBEDDING_MODEL", "")
	require.Equal(t, first, table.FindString(program(t, 0, append(flags, "-replay", record)...)))
	require.Equal(t, need, asked)

	var out, errs bytes.Buffer
	require.Equal(t, 1, run(t.Context(), append(flags, "-arms", "mem0", "-mem0", srv.URL+"/nowhere", "-budget", "1000000"), &out, &errs))
	require.Contains(t, errs.String(), "404")
}
