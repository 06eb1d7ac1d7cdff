// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/openai"
	"github.com/einomem/einomem/backends/store/sqlitestore"
	"github.com/einomem/einomem/internal/fault"
)

// sent is a request as a server gets it.
type sent struct {
	*http.Request
	body map[string]any
}

func (s *sent) has(name string) bool { return s.body[name] != nil }

// choice returns the tool choice: a text, "object", or "" for none.
func (s *sent) choice() string {
	if text, ok := s.body["tool_choice"].(string); ok {
		return text
	}
	if s.has("tool_choice") {
		return "object"
	}
	return ""
}

func (s *sent) messages() (out []map[string]any) {
	list, _ := s.body["messages"].([]any)
	for _, m := range list {
		out = append(out, m.(map[string]any))
	}
	return out
}

func (s *sent) anyMessage(f func(m map[string]any) bool) bool {
	return slices.ContainsFunc(s.messages(), f)
}

// twice reports whether two messages of a role follow one another.
func (s *sent) twice() bool {
	all := s.messages()
	for i := range all {
		if i > 0 && all[i]["role"] == all[i-1]["role"] {
			return true
		}
	}
	return false
}

// calls reports whether a message has calls, and f holds for it.
func calls(f func(m map[string]any) bool) func(m map[string]any) bool {
	return func(m map[string]any) bool { return m["tool_calls"] != nil && f(m) }
}

// server is a service without a network that refuses what the real one refuses, in its words.
type server struct {
	name   string
	config openai.Config // what a user of it sets
	// refuse returns what the server says against a request; "" takes it.
	refuse  func(s *sent) (status int, says string)
	answer  func(s *sent, learnt string) string // optional: the message in which the model answers
	before  string                              // what a stream begins with
	unended bool                                // its streams have no finish_reason
	noIndex bool                                // its vectors have no index
	most    int                                 // refused requests until everything is learnt

	mu      sync.Mutex
	refused int
	taken   []*sent
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	in := &sent{Request: r, body: map[string]any{}}
	if err := json.NewDecoder(r.Body).Decode(&in.body); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	status, says := http.StatusOK, ""
	if s.refuse != nil {
		status, says = s.refuse(in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case says != "":
		s.refused++
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, says)
		return w.Result(), r.Context().Err()
	case in.has("input"):
		s.embed(w, in)
	default:
		s.say(w, in)
	}
	s.taken = append(s.taken, in)
	return w.Result(), r.Context().Err()
}

func (s *server) embed(w io.Writer, in *sent) {
	var data []string
	for i, text := range in.body["input"].([]any) {
		index := fmt.Sprintf(`"index":%d,`, i)
		if s.noIndex {
			index = ""
		}
		data = append(data, fmt.Sprintf(`{%s"embedding":[%d,1]}`, index, len(text.(string))))
	}
	fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
}

const learnt = `{"operations":[{"op":"add","text":"The user likes tea","messages":[0]}]}`

func quoted(s string) string {
	out, _ := json.Marshal(s)
	return string(out)
}

func (s *server) say(w io.Writer, in *sent) {
	message := `{"role":"assistant","content":` + quoted(learnt) + `}`
	if in.has("tools") {
		message = `{"role":"assistant","tool_calls":[{"index":0,"id":"1","type":"function","function":{"name":"remember","arguments":` + quoted(learnt) + `}}]}`
	}
	if s.answer != nil {
		message = s.answer(in, learnt)
	}
	if in.body["stream"] != true {
		fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":"stop"}]}`, message)
		return
	}
	_, _ = io.WriteString(w, s.before)
	fmt.Fprintf(w, "data: %s\n\n", delta(message))
	if !s.unended {
		fmt.Fprintf(w, "data: %s\n\n", stop)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// said is a refusal as most servers write it.
func said(message string) string {
	return `{"error":{"message":` + quoted(message) + `,"type":"invalid_request_error","param":null,"code":null}}`
}

var warm = float32(0.2)

// servers are the services that the README lists.
var servers = []*server{
	{
		name: "OpenAI, a reasoning model", config: openai.Config{Model: "gpt-5-mini", Temperature: &warm, MaxTokens: 500}, most: 0,
		refuse: refusesSampling,
	},
	{
		name: "OpenAI, a model of another name", config: openai.Config{Model: "ft:mine", Temperature: &warm, MaxTokens: 500}, most: 2,
		refuse: refusesSampling,
	},
	{
		name:   "Azure",
		config: openai.Config{BaseURL: "https://mine.openai.azure.com/openai/deployments/mine?api-version=2024-02-01", Model: "mine", Temperature: &warm, MaxTokens: 500}, most: 3,
		refuse: func(s *sent) (int, string) {
			switch {
			case s.URL.Query().Get("api-version") == "" || !strings.HasPrefix(s.URL.Path, "/openai/deployments/mine/"):
				return 404, `{"error":{"code":"404","message":"Resource not found"}}`
			case s.Header.Get("api-key") != secret || s.Header.Get("Authorization") != "":
				return 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`
			case s.has("response_format"):
				return 400, said("response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later")
			}
			return refusesSampling(s)
		},
	},
	{
		name: "DeepSeek, thinking", config: openai.Config{BaseURL: "https://api.deepseek.com", Model: "deepseek-v4-pro"}, most: 3,
		before: strings.Repeat(": keep-alive\n\n", 1000),
		refuse: func(s *sent) (int, string) {
			switch {
			case s.has("response_format"):
				return 400, said("This response_format type is unavailable now")
			case s.choice() == "object" || s.choice() == "required":
				return 400, said("Thinking mode does not support this tool_choice")
			case s.anyMessage(calls(func(m map[string]any) bool { return m["reasoning_content"] == nil })):
				return 400, said("The `reasoning_content` in the thinking mode must be passed back to the API.")
			}
			return 0, ""
		},
	},
	{
		name: "DashScope, Qwen thinking", config: openai.Config{BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", Model: "qwen3.5-plus", Answers: "forced"}, most: 2,
		refuse: func(s *sent) (int, string) {
			if texts, _ := s.body["input"].([]any); len(texts) > 10 {
				return 400, `{"error":{"code":"InvalidParameter","param":null,"message":"<400> InternalError.Algo.InvalidParameter: Value error, batch size is invalid, it should not be larger than 10.: input.contents","type":"InvalidParameter"}}`
			}
			if s.choice() == "object" || s.choice() == "required" {
				return 400, said("<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being set to required or object in thinking mode")
			}
			return 0, ""
		},
	},
	{
		name: "DashScope, Qwen without thinking", most: 0,
		config: openai.Config{BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", Model: "qwen3-32b", Extra: map[string]any{"enable_thinking": false}},
		refuse: func(s *sent) (int, string) {
			if s.body["enable_thinking"] != false && !s.has("input") {
				return 400, said("parameter.enable_thinking must be set to false for non-streaming calls")
			}
			return 0, ""
		},
	},
	{
		name: "Kimi", most: 0, unended: true,
		config: openai.Config{BaseURL: "https://api.moonshot.ai/v1", Model: "kimi-k2.5", Extra: map[string]any{"thinking": map[string]any{"type": "disabled"}}},
		refuse: func(s *sent) (int, string) {
			if thinking, _ := s.body["thinking"].(map[string]any); thinking["type"] != "disabled" && !s.has("input") {
				return 400, said("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2")
			}
			return 0, ""
		},
	},
	{
		name: "Kimi, thinking", config: openai.Config{BaseURL: "https://api.moonshot.ai/v1", Model: "kimi-k2-thinking"}, most: 1,
		refuse: func(s *sent) (int, string) {
			if s.anyMessage(calls(func(m map[string]any) bool { return m["reasoning_content"] == nil })) {
				return 400, said("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2")
			}
			return 0, ""
		},
	},
	{
		name: "Mistral", config: openai.Config{BaseURL: "https://api.mistral.ai/v1", Model: "mistral-small-latest", Names: true}, most: 1,
		refuse: func(s *sent) (int, string) {
			var detail []string
			for i, m := range s.messages() {
				for _, field := range []string{"name", "reasoning_content"} {
					if m[field] != nil {
						detail = append(detail, fmt.Sprintf(`{"type":"extra_forbidden","loc":["body","messages",%d,%q,%q],"msg":"Extra inputs are not permitted","input":%s}`, i, m["role"], field, quoted(m[field].(string))))
					}
				}
			}
			if detail != nil {
				return 422, `{"object":"error","message":{"detail":[` + strings.Join(detail, ",") + `]},"type":"invalid_request_error","param":null,"code":null}`
			}
			return 0, ""
		},
	},
	{
		name: "Gemini's endpoint", config: openai.Config{BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Model: "gemini-2.5-flash"}, noIndex: true, most: 0,
		refuse: func(s *sent) (int, string) {
			if texts, _ := s.body["input"].([]any); len(texts) > 100 {
				return 400, `[{"error":{"code":400,"message":"* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch\n","status":"INVALID_ARGUMENT"}}]`
			}
			if s.anyMessage(calls(lacksArguments)) {
				return 400, `[{"error":{"code":400,"message":"Invalid value at 'messages[2].tool_calls[0].function.arguments'","status":"INVALID_ARGUMENT"}}]`
			}
			return 0, ""
		},
	},
	{
		name: "Gemma at Gemini's endpoint", config: openai.Config{BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", Model: "gemma-3-27b-it"}, most: 4,
		refuse: func(s *sent) (int, string) {
			switch {
			case s.has("response_format"):
				return 400, `[{"error":{"code":400,"message":"JSON mode is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`
			case s.has("tools"):
				return 400, `[{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`
			case s.anyMessage(func(m map[string]any) bool { return m["role"] == "system" }):
				return 400, `[{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}]`
			}
			return 0, ""
		},
	},
	{
		name: "vLLM without a parser of tools", config: openai.Config{BaseURL: "http://vllm:8000/v1", Model: "mistral-7b", Answers: "auto"}, most: 2,
		refuse: func(s *sent) (int, string) {
			switch {
			case s.has("tools"):
				return 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","type":"BadRequestError","param":null,"code":400}`
			case s.twice():
				return 400, `{"object":"error","message":"After the optional system message, conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}`
			}
			return 0, ""
		},
	},
	{
		name: "vLLM, Gemma's template", config: openai.Config{BaseURL: "http://vllm:8000/v1", Model: "gemma-2-9b-it"}, most: 2,
		refuse: func(s *sent) (int, string) {
			switch {
			case s.anyMessage(func(m map[string]any) bool { return m["role"] == "system" }):
				return 400, `{"object":"error","message":"System role not supported","type":"BadRequestError","param":null,"code":400}`
			case s.twice():
				return 400, `{"object":"error","message":"Conversation roles must alternate user/assistant/user/assistant/...","type":"BadRequestError","param":null,"code":400}`
			}
			return 0, ""
		},
	},
	{
		name: "Ollama, a model without tools", config: openai.Config{BaseURL: "http://localhost:11434/v1", Model: "gemma:2b", Answers: "forced", Extra: map[string]any{"num_ctx": 8192}}, most: 2,
		refuse: func(s *sent) (int, string) {
			if s.has("tools") {
				return 400, said("registry.ollama.ai/library/gemma:2b does not support tools")
			}
			return 0, ""
		},
		answer: func(_ *sent, learnt string) string {
			return `{"role":"assistant","content":` + quoted("<think>hm</think>\n<tool_call>\n{\"name\":\"remember\",\"arguments\":"+learnt+"}\n</tool_call>") + `}`
		},
	},
	{
		name: "llama.cpp without a template for tools", config: openai.Config{BaseURL: "http://localhost:8080/v1", Model: "qwen", Temperature: new(float32), Answers: "forced"}, most: 3,
		refuse: func(s *sent) (int, string) {
			switch {
			case s.has("tools"):
				return 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`
			case s.twice():
				return 500, `{"error":{"code":500,"message":"\n------------\nWhile executing CallExpression at line 189, column 32 in source:\n...\nError: Jinja Exception: After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results.","type":"server_error"}}`
			}
			return 0, ""
		},
		answer: func(s *sent, learnt string) string {
			if t, ok := s.body["temperature"].(float64); ok && t > 0 && t < math.SmallestNonzeroFloat32*2 { // infinite logits
				return `{"role":"assistant","content":"!!!!!!!!"}`
			}
			return `{"role":"assistant","content":` + quoted("{"+learnt[:len(learnt)-1]+"}}") + `}`
		},
	},
	{
		name: "llama.cpp", config: openai.Config{BaseURL: "http://localhost:8080/v1", Model: "qwen-tools"}, most: 0,
		answer: func(s *sent, learnt string) string { // it ignores the choice of a tool, and holds to a schema
			content := "I will remember that."
			if format, _ := s.body["response_format"].(map[string]any); format["type"] == "json_schema" {
				content = learnt
			}
			return `{"role":"assistant","content":` + quoted(content) + `}`
		},
	},
	{
		name: "LM Studio", config: openai.Config{BaseURL: "http://localhost:1234/v1", Model: "granite", Answers: "forced"}, most: 1,
		refuse: func(s *sent) (int, string) {
			if s.choice() == "object" {
				return 400, `{"error":"Invalid tool_choice type: 'object'. Supported string values: none, auto, required"}`
			}
			if format, _ := s.body["response_format"].(map[string]any); format != nil && format["type"] != "json_schema" {
				return 400, `{"error":"'response_format.type' must be 'json_schema' or 'text'"}`
			}
			return 0, ""
		},
	},
	{
		name: "OpenRouter, a provider without tools", config: openai.Config{BaseURL: "https://openrouter.ai/api/v1", Model: "google/gemma-3n", Answers: "forced"}, most: 2,
		refuse: func(s *sent) (int, string) {
			if s.has("tools") {
				return 404, `{"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}`
			}
			return 0, ""
		},
	},
	{
		name: "OpenRouter, a reasoning model", config: openai.Config{BaseURL: "https://openrouter.ai/api/v1", Model: "openai/gpt-5-mini", Temperature: &warm, MaxTokens: 500}, most: 0,
		refuse: refusesSampling,
	},
	{
		name: "a gateway that knows few fields", config: openai.Config{BaseURL: "http://old/v1", Model: "o3-mini", MaxTokens: 500}, most: 2,
		refuse: func(s *sent) (int, string) {
			for _, field := range []string{"max_completion_tokens", "stream_options"} {
				if s.has(field) {
					return 400, said("Unrecognized request argument supplied: " + field)
				}
			}
			return 0, ""
		},
	},
	{
		name: "a server that refuses everything about the form", config: openai.Config{BaseURL: "http://strict/v1", Model: "strict"}, most: 6, noIndex: true, unended: true,
		refuse: func(s *sent) (int, string) {
			texts, _ := s.body["input"].([]any)
			switch {
			case s.has("response_format"), s.has("tools"):
				return 422, said("Extra inputs are not permitted")
			case s.anyMessage(func(m map[string]any) bool { return m["name"] != nil }):
				return 400, said("1 validation error for ChatCompletionRequest\nmessages.1.user.name\n  Extra inputs are not permitted [type=extra_forbidden, input_value='memory', input_type=str]")
			case s.twice():
				return 400, said("roles must alternate")
			case len(texts) > 1:
				return 400, said("only one input is supported")
			}
			return 0, ""
		},
	},
}

func refusesSampling(s *sent) (int, string) {
	switch {
	case s.has("max_tokens"):
		return 400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
	case s.has("temperature"):
		return 400, `{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`
	}
	return 0, ""
}

func lacksArguments(m map[string]any) bool {
	call := m["tool_calls"].([]any)[0].(map[string]any)["function"].(map[string]any)
	return call["arguments"] == nil || call["arguments"] == ""
}

// connect returns the config of a server, with an endpoint of its own. reports gets what was
// learnt.
func (s *server) connect(t *testing.T, reports *[]string) *openai.Config {
	c := s.config
	c.APIKey, c.MaxRetries = secret, -1
	c.HTTPClient = &http.Client{Transport: s}
	var mu sync.Mutex
	c.OnError = func(_ context.Context, _ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		*reports = append(*reports, err.Error())
	}
	return &c
}

// use does with a server what memory and an agent do: it learns from a turn, replies to what has
// a note and a call in it, whole and in a stream, and embeds.
func use(t *testing.T, c *openai.Config) {
	t.Helper()
	chat, err := openai.NewChatModel(t.Context(), c)
	require.NoError(t, err)
	db, err := sqlitestore.Open(t.Context(), ":memory:", nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	embedder, err := openai.NewEmbedder(t.Context(), c)
	require.NoError(t, err)
	memory, err := mem0.New(t.Context(), &mem0.Config{Store: db, Model: chat, FactsOnly: true, Embedder: embedder, EmbeddingModel: c.Model})
	require.NoError(t, err)
	resp, err := memory.Add(t.Context(), &backends.AddRequest{Scope: backends.Scope{UserID: "ann"}, Messages: []backends.Message{{Message: schema.UserMessage("I like tea.")}}})
	require.NoError(t, err)
	require.Len(t, resp.Items, 1)
	require.Equal(t, "The user likes tea", resp.Items[0].Memory.Text)
	found, err := memory.Search(t.Context(), &backends.SearchRequest{Scope: backends.Scope{UserID: "ann"}, Query: "tea"})
	require.NoError(t, err)
	require.NoError(t, found.Degraded, "with vectors")
	require.Len(t, found.Hits, 1)
	require.NoError(t, memory.Close(t.Context()))

	note := schema.UserMessage("<memories>\n</memories>")
	note.Name = "memory"
	call := func(thought string) *schema.Message {
		m := schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Type: "function", Function: schema.FunctionCall{Name: "now"}}})
		m.ReasoningContent = thought
		return m
	}
	in := []*schema.Message{schema.SystemMessage("be kind"), note, schema.UserMessage("What do I drink?"),
		call("I need the time."), schema.ToolMessage("noon", "1"), schema.AssistantMessage("Hm.", nil), schema.UserMessage("And?")}
	out, err := chat.Generate(t.Context(), in)
	require.NoError(t, err)
	require.NotEmpty(t, out.Content)
	in[3] = call("") // of another model
	stream, err := chat.Stream(t.Context(), in)
	require.NoError(t, err)
	out, err = schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	require.NotEmpty(t, out.Content)

	for _, text := range []string{"x", "xx"} { // servers that take one text, too
		vectors, err := embedder.EmbedStrings(t.Context(), []string{text})
		require.NoError(t, err)
		require.Equal(t, [][]float64{{float64(len(text)), 1}}, vectors)
	}
}

// Memory works with each server after a few refused requests in the life of the process, each
// of which is reported once.
func TestServersThatRefuseForms(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			var reports []string
			c := s.connect(t, &reports)
			use(t, c)
			assert.Equal(t, s.most, s.refused)
			use(t, c)
			assert.Equal(t, s.most, s.refused, "nothing is refused again")
			slices.Sort(reports)
			assert.Equal(t, slices.Compact(slices.Clone(reports)), reports, "each is told once")
			for _, report := range reports {
				assert.Contains(t, report, c.Model+" at ")
				assert.NotContains(t, report, secret)
			}
			thought := func(m map[string]any) bool { return m["reasoning_content"] == "I need the time." }
			assert.Equal(t, s.name != "Mistral", slices.ContainsFunc(s.taken, func(in *sent) bool { return in.anyMessage(thought) }), "thoughts go back with calls")
			for _, in := range s.taken {
				for name, value := range s.config.Extra {
					assert.Equal(t, fmt.Sprint(value), fmt.Sprint(in.body[name]))
				}
			}
		})
	}
}

// What was learnt can be set by hand: then nothing is refused.
func TestAdaptationsAreSetByHand(t *testing.T) {
	for name, by := range map[string]func(c *openai.Config){
		"OpenAI, a model of another name": func(c *openai.Config) { c.Adapt = []string{"max_completion_tokens", "no_temperature"} },
		"DeepSeek, thinking":              func(c *openai.Config) { c.Answers, c.Adapt = "auto", []string{"reasoning"} },
		"Mistral":                         func(c *openai.Config) { c.Adapt = []string{"no_names", "no_reasoning"} },
		"a server that refuses everything about the form": func(c *openai.Config) {
			c.Answers, c.Adapt, c.BatchSize, c.Names = "prompt", []string{"alternate"}, 1, false
		},
	} {
		i := slices.IndexFunc(servers, func(s *server) bool { return s.name == name })
		like := servers[i]
		s := &server{config: like.config, refuse: like.refuse, noIndex: like.noIndex, unended: like.unended}
		s.config.Model += "-by-hand"
		by(&s.config)
		var reports []string
		use(t, s.connect(t, &reports))
		require.Zero(t, s.refused, name)
		require.Empty(t, reports, name)
	}
	for _, c := range []openai.Config{{Adapt: []string{"nothing"}}, {Answers: "yes"}, {BatchSize: -1}, {EmptyMessages: -1}} {
		c.Model = "m"
		_, err := openai.NewChatModel(t.Context(), &c)
		require.ErrorIs(t, err, backends.ErrInvalid)
	}
}

func TestFieldsThatAreRefusedAreLeftOut(t *testing.T) {
	for field, words := range map[string]string{
		"top_p":       "Unsupported parameter: 'top_p' is not supported with this model.",
		"stop":        "Unsupported parameter: 'stop' is not supported with this model.",
		"temperature": "property 'temperature' is unsupported",
	} {
		s := &server{config: openai.Config{Model: "without " + field + rand.Text()}, refuse: func(s *sent) (int, string) {
			if s.has(field) {
				return 400, said(words)
			}
			return 0, ""
		}}
		chat, err := openai.NewChatModel(t.Context(), s.connect(t, new([]string)))
		require.NoError(t, err)
		for range 2 {
			_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")}, model.WithTopP(0.5), model.WithStop([]string{"x"}), model.WithTemperature(1))
			require.NoError(t, err, field)
		}
		require.Equal(t, 1, s.refused, field)
	}
}

// Content that is refused is refused at once, whatever else the words of the refusal are about.
func TestRefusedContentIsNotAdapted(t *testing.T) {
	for i, says := range []string{
		said("The response was filtered due to the prompt triggering Azure OpenAI's content management policy. temperature is not supported"),
		said("Content Exists Risk"), said("The request was rejected because it was considered high risk"),
		`{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content. roles must alternate"}}`,
		said("This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in max_tokens)."),
	} {
		s := &server{config: openai.Config{Model: fmt.Sprint("content", i), Temperature: &warm, MaxTokens: 9}, refuse: func(*sent) (int, string) { return 400, says }}
		var reports []string
		chat, err := openai.NewChatModel(t.Context(), s.connect(t, &reports))
		require.NoError(t, err)
		_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("a"), schema.UserMessage("b")})
		require.ErrorIs(t, err, fault.ErrContent, says)
		require.ErrorIs(t, err, backends.ErrInvalid, says)
		require.Equal(t, 1, s.refused, says)
		require.Empty(t, reports)
	}
}

// What nothing helps against is no fault of the content, and names what it is about.
func TestARefusedFormIsUnavailable(t *testing.T) {
	s := &server{config: openai.Config{Model: "odd"}, refuse: func(*sent) (int, string) { return 400, said("ZEBRA: unknown parameter in your tool_choice") }}
	chat, err := openai.NewChatModel(t.Context(), s.connect(t, new([]string)))
	require.NoError(t, err)
	_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("ZEBRA")})
	require.ErrorIs(t, err, fault.ErrForm)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	require.NotErrorIs(t, err, backends.ErrInvalid)
	require.EqualError(t, err, "openai: asking odd: the form of the request is refused: unavailable: status 400 (invalid_request_error) about unknown parameter")
}

// OpenRouter answers 200 with an error inside: it is retried by its code, and named.
func TestAnErrorInsideAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := 2
		s := &server{config: openai.Config{Model: "routed"}, refuse: func(*sent) (int, string) {
			if fails--; fails >= 0 {
				return 200, `{"error":{"message":"Provider returned error","code":502,"metadata":{"provider_name":"x"}},"user_id":"u"}`
			}
			return 0, ""
		}}
		c := s.connect(t, new([]string))
		c.MaxRetries, c.ErrorText = 3, true
		chat, err := openai.NewChatModel(t.Context(), c)
		require.NoError(t, err)
		ask := func() error {
			_, err := chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")})
			return err
		}
		require.NoError(t, ask())
		require.Equal(t, 2, s.refused)
		fails = 99
		err = ask()
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "status 502 (502): Provider returned error")
		s.refuse = func(*sent) (int, string) { return 200, `{"error":{"message":"Insufficient credits","code":402}}` }
		before := s.refused
		require.ErrorContains(t, ask(), "the account's quota is spent")
		require.Equal(t, before+1, s.refused, "402 is not retried")
	})
}

// A model that needs three minutes works where that is set, whatever the client's default.
func TestTheLimitOfTimeThatStruckIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{config: openai.Config{Model: "slow"}, answer: func(_ *sent, learnt string) string {
			time.Sleep(2 * time.Minute)
			return `{"role":"assistant","content":` + quoted(learnt) + `}`
		}}
		slow := roundTrip(func(r *http.Request) (*http.Response, error) {
			done := make(chan *http.Response, 1)
			go func() {
				resp, _ := s.RoundTrip(r)
				done <- resp
			}()
			select {
			case resp := <-done:
				return resp, nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		c := s.connect(t, new([]string))
		c.HTTPClient = &http.Client{Transport: slow}
		ask := func(limit time.Duration) error {
			chat, err := openai.NewChatModel(t.Context(), c)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err = chat.Generate(ctx, []*schema.Message{schema.UserMessage("hi")})
			time.Sleep(time.Hour)
			return err
		}
		require.NoError(t, ask(3*time.Minute))
		require.ErrorIs(t, ask(time.Minute), context.DeadlineExceeded)
		c.Timeout = 30 * time.Second
		require.ErrorContains(t, ask(3*time.Minute), "no answer within 30s: raise openai.Config.Timeout")
	})
}

func TestKeepAlivesAreBoundedOnRequest(t *testing.T) {
	s := &server{config: openai.Config{Model: "m", EmptyMessages: 999}, before: strings.Repeat(": keep-alive\n\n", 1000)}
	chat, err := openai.NewChatModel(t.Context(), s.connect(t, new([]string)))
	require.NoError(t, err)
	stream, err := chat.Stream(t.Context(), []*schema.Message{schema.UserMessage("hi")})
	require.NoError(t, err)
	_, err = schema.ConcatMessageStream(stream)
	require.ErrorContains(t, err, "Config.EmptyMessages")
}

// Texts of parts are joined, and pictures stay.
func TestMessagesOfARoleInARowAreJoined(t *testing.T) {
	s := &server{config: openai.Config{Model: "joined", Adapt: []string{"alternate"}}}
	chat, err := openai.NewChatModel(t.Context(), s.connect(t, new([]string)))
	require.NoError(t, err)
	url := "http://x/a.png"
	look := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{URL: &url}}}}}
	_, err = chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("a"), schema.UserMessage("b"), look, schema.AssistantMessage("c", nil), schema.UserMessage("d")}, model.WithTemperature(0))
	require.NoError(t, err)
	want := `[{"role":"user","content":[{"type":"text","text":"a\n\nb"},{"type":"image_url","image_url":{"url":"http://x/a.png"}}]},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]`
	got, err := json.Marshal(s.taken[0].body["messages"])
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
	require.InDelta(t, 0, s.taken[0].body["temperature"], 0)
}

// Many calls at the same time learn the same.
func TestAdaptationsAreLearntAtTheSameTime(t *testing.T) {
	s := &server{config: openai.Config{Model: "crowded" + rand.Text(), Temperature: &warm, MaxTokens: 5}, refuse: refusesSampling}
	var reports []string
	chat, err := openai.NewChatModel(t.Context(), s.connect(t, &reports))
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			_, err := chat.Generate(t.Context(), []*schema.Message{schema.UserMessage("hi")})
			assert.NoError(t, err)
		})
	}
	all.Wait()
	require.Len(t, reports, 2)
}
