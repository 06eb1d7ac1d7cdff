// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/openai"
)

// events is a stream of server-sent events.
func events(lines ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, l := range lines {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", l)
			w.(http.Flusher).Flush()
		}
	}
}

func delta(d string) string {
	return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]}`
}

const (
	stop  = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage = `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7}}`
)

func (s *service) stream(ctx context.Context, t testing.TB) (*schema.StreamReader[*schema.Message], error) {
	m, err := openai.NewChatModel(ctx, s.config())
	require.NoError(t, err)
	return m.Stream(ctx, []*schema.Message{schema.UserMessage("hi")})
}

func TestGenerateReturnsTheWholeAnswer(t *testing.T) {
	out, err := serve(t, says(`{"role":"assistant","content":"Paris","reasoning_content":"capital…","tool_calls":[
		{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"q\":1}"}}]}`)).ask(t.Context(), t)
	require.NoError(t, err)
	want := &schema.Message{Role: schema.Assistant, Content: "Paris", ReasoningContent: "capital…",
		ToolCalls: []schema.ToolCall{{ID: "c1", Type: "function", Function: schema.FunctionCall{Name: "look", Arguments: `{"q":1}`}}},
		ResponseMeta: &schema.ResponseMeta{FinishReason: "stop", Usage: &schema.TokenUsage{
			PromptTokens: 11, CompletionTokens: 7, TotalTokens: 18, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 3},
			CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 2},
		}},
	}
	assert.Equal(t, want, out)
	for message, content := range map[string]string{
		`{"content":null,"refusal":"I must not"}`:                                       "I must not",
		`{"content":[{"type":"text","text":"in "},{"type":"text","text":"two parts"}]}`: "in two parts",
	} {
		out, err = serve(t, says(message)).ask(t.Context(), t)
		require.NoError(t, err)
		assert.Equal(t, content, out.Content)
	}
}

func TestWhatIsSent(t *testing.T) {
	warm, url, data := float32(0.5), "http://x/a.png", "QUJD"
	hi := schema.UserMessage("hi")
	choose := func(c schema.ToolChoice, names ...string) []model.Option {
		return []model.Option{model.WithToolChoice(c, names...)}
	}
	user := func(parts ...schema.MessageInputPart) *schema.Message {
		return &schema.Message{Role: schema.User, Content: "look", UserInputMultiContent: parts}
	}
	image := func(p schema.MessagePartCommon) schema.MessageInputPart {
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: p, Detail: schema.ImageURLDetailLow}}
	}
	older := func(p schema.ChatMessagePart) *schema.Message {
		return &schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{p}}
	}
	tools := []*schema.ToolInfo{{Name: "search", Desc: "finds", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"q": {Type: schema.String, Required: true},
	})}, {Name: "stop"}}
	const search = `{"type":"function","function":{"name":"search","description":"finds","parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}}}`
	const stop = `{"type":"function","function":{"name":"stop","parameters":{"type":"object","properties":{}}}}`
	for name, tt := range map[string]struct {
		in    *schema.Message
		tools []*schema.ToolInfo
		opts  []model.Option
		want  string // a part of the request, null for what is not in it; empty: ErrInvalid
	}{
		"system": {schema.SystemMessage("be kind"), nil, nil, `{"messages":[{"role":"system","content":"be kind"}]}`},
		"named":  {&schema.Message{Role: schema.User, Content: "hi", Name: " Ann <x> "}, nil, nil, `{"messages":[{"role":"user","content":"hi"}]}`},
		"tool call": {schema.AssistantMessage("", []schema.ToolCall{{ID: "c1", Function: schema.FunctionCall{Name: "f", Arguments: "{}"}}}), nil, nil,
			`{"messages":[{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}]}`},
		"tool result":       {schema.ToolMessage("42", "c1", schema.WithToolName("f")), nil, nil, `{"messages":[{"role":"tool","content":"42","tool_call_id":"c1"}]}`},
		"empty tool result": {schema.ToolMessage("", "c1"), nil, nil, `{"messages":[{"role":"tool","content":" ","tool_call_id":"c1"}]}`},
		"neither extra nor reasoning": {&schema.Message{Role: schema.Assistant, Content: "a", ReasoningContent: "r", Extra: map[string]any{"k": "v"}}, nil, nil,
			`{"messages":[{"role":"assistant","content":"a"}]}`},
		"image by URL": {user(image(schema.MessagePartCommon{URL: &url})), nil, nil,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"http://x/a.png","detail":"low"}}]}]}`},
		"image in base64": {user(image(schema.MessagePartCommon{Base64Data: &data, MIMEType: "image/png"})), nil, nil,
			`{"messages":[{"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD","detail":"low"}}]}]}`},
		"the older field": {older(schema.ChatMessagePart{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: url}}), nil, nil,
			`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/a.png"}}]}]}`},
		"an assistant's parts": {&schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{{Type: schema.ChatMessagePartTypeText, Text: "t"}}},
			nil, nil, `{"messages":[{"role":"assistant","content":[{"type":"text","text":"t"}]}]}`},
		"nil":               {nil, nil, nil, ""},
		"audio":             {user(schema.MessageInputPart{Type: schema.ChatMessagePartTypeAudioURL}), nil, nil, ""},
		"without MIME type": {user(image(schema.MessagePartCommon{Base64Data: &data})), nil, nil, ""},
		"without image":     {older(schema.ChatMessagePart{Type: schema.ChatMessagePartTypeImageURL}), nil, nil, ""},

		"tools":                {hi, tools, nil, `{"tools":[` + search + `,` + stop + `],"tool_choice":null}`},
		"allowed":              {hi, tools, choose(schema.ToolChoiceAllowed), `{"tools":[` + search + `,` + stop + `],"tool_choice":"auto"}`},
		"forbidden":            {hi, tools, choose(schema.ToolChoiceForbidden), `{"tools":[` + search + `,` + stop + `],"tool_choice":"none"}`},
		"forced":               {hi, tools, choose(schema.ToolChoiceForced), `{"tools":[` + search + `,` + stop + `],"tool_choice":"required"}`},
		"forced, one tool":     {hi, tools[1:], choose(schema.ToolChoiceForced), `{"tools":[` + stop + `],"tool_choice":{"type":"function","function":{"name":"stop"}}}`},
		"forced by name":       {hi, tools, choose(schema.ToolChoiceForced, "stop"), `{"tools":[` + stop + `],"tool_choice":{"type":"function","function":{"name":"stop"}}}`},
		"allowed by name":      {hi, tools, choose(schema.ToolChoiceAllowed, "search"), `{"tools":[` + search + `],"tool_choice":"auto"}`},
		"tools of the call":    {hi, tools, []model.Option{model.WithTools(tools[1:])}, `{"tools":[` + stop + `]}`},
		"a choice of none":     {hi, nil, choose(schema.ToolChoiceAllowed), `{"tools":null,"tool_choice":null}`},
		"forced without tools": {hi, nil, choose(schema.ToolChoiceForced), ""},
		"an unknown name":      {hi, tools, choose(schema.ToolChoiceForced, "rm"), ""},
		"an unknown choice":    {hi, tools, choose("perhaps"), ""},
		"a nil tool":           {hi, []*schema.ToolInfo{nil}, nil, ""},

		"defaults": {hi, nil, nil, `{"model":"test-model","temperature":0.5,"max_tokens":9,"top_p":null,"stop":null}`},
		"options": {hi, nil, []model.Option{model.WithTemperature(0.25), model.WithMaxTokens(3), model.WithTopP(0.75), model.WithStop([]string{"x"}), model.WithModel("other")},
			`{"model":"other","temperature":0.25,"max_tokens":3,"top_p":0.75,"stop":["x"]}`},
		"temperature zero": {hi, nil, []model.Option{model.WithTemperature(0)}, `{"temperature":0}`},
		"reasoning model":  {hi, nil, []model.Option{model.WithModel("gpt-5-mini")}, `{"temperature":null,"max_tokens":null,"max_completion_tokens":9}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, says(`{"content":"ok"}`))
			c := s.config()
			c.Temperature, c.MaxTokens = &warm, 9
			plain, err := openai.NewChatModel(t.Context(), c)
			require.NoError(t, err)
			c.Model, c.MaxTokens = "changed", 1 // the config was copied
			m, err := plain.WithTools(tt.tools)
			require.NoError(t, err)
			before, _ := json.Marshal(tt.in)
			_, err = m.Generate(t.Context(), []*schema.Message{tt.in}, tt.opts...)
			if tt.want == "" {
				require.ErrorIs(t, err, backends.ErrInvalid)
				_, err = m.Stream(t.Context(), []*schema.Message{tt.in}, tt.opts...)
				require.ErrorIs(t, err, backends.ErrInvalid)
				require.Empty(t, s.requests, "nothing was sent")
				return
			}
			require.NoError(t, err)
			var want map[string]any
			require.NoError(t, json.Unmarshal([]byte(tt.want), &want))
			for key, value := range want {
				assert.Equal(t, value, s.requests[0][key], key)
			}
			after, _ := json.Marshal(tt.in)
			assert.Equal(t, string(before), string(after), "the caller's message is not changed")
		})
	}
}

// Whatever people are called, the name that is sent is one that the API accepts.
func TestNamesThatAreSentAreLegal(t *testing.T) {
	s := &service{handlers: []http.HandlerFunc{says(`{"content":"ok"}`)}}
	c := s.config()
	c.Names = true
	m, err := openai.NewChatModel(t.Context(), c)
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		_, err := m.Generate(t.Context(), []*schema.Message{{Role: schema.User, Content: "hi", Name: rapid.String().Draw(rt, "name")}})
		require.NoError(rt, err)
		name, _ := s.requests[len(s.requests)-1]["messages"].([]any)[0].(map[string]any)["name"].(string)
		require.False(rt, strings.ContainsAny(name, " \t\n\u00a0\u2028<|\\/>") || len([]rune(name)) > 64, name)
	})
}

func TestCallbacks(t *testing.T) {
	var in *model.CallbackInput
	var out *model.CallbackOutput
	var failed error
	ctx := callbacks.InitCallbacks(t.Context(), &callbacks.RunInfo{}, callbacks.NewHandlerBuilder().
		OnStartFn(func(ctx context.Context, _ *callbacks.RunInfo, i callbacks.CallbackInput) context.Context {
			in = model.ConvCallbackInput(i)
			return ctx
		}).
		OnEndFn(func(ctx context.Context, _ *callbacks.RunInfo, o callbacks.CallbackOutput) context.Context {
			out = model.ConvCallbackOutput(o)
			return ctx
		}).
		OnEndWithStreamOutputFn(func(ctx context.Context, _ *callbacks.RunInfo, s *schema.StreamReader[callbacks.CallbackOutput]) context.Context {
			defer s.Close()
			for o, err := s.Recv(); err == nil; o, err = s.Recv() {
				out = model.ConvCallbackOutput(o)
			}
			return ctx
		}).
		OnErrorFn(func(ctx context.Context, _ *callbacks.RunInfo, err error) context.Context {
			failed = err
			return ctx
		}).Build())
	s := serve(t, says(`{"content":"ok"}`), reply(400, "no"), events(delta(`{"content":"ok"}`), stop, usage, "[DONE]"), reply(403, "no"))
	_, err := s.ask(ctx, t)
	require.NoError(t, err)
	assert.Equal(t, "hi", in.Messages[0].Content)
	assert.Equal(t, "test-model", in.Config.Model)
	assert.Equal(t, "ok", out.Message.Content)
	assert.Equal(t, 18, out.TokenUsage.TotalTokens)
	_, err = s.ask(ctx, t)
	require.ErrorIs(t, err, backends.ErrInvalid)
	assert.Equal(t, err, failed)
	stream, err := s.stream(ctx, t)
	require.NoError(t, err)
	stream.Close()
	assert.Equal(t, 7, out.TokenUsage.TotalTokens)
	_, err = s.stream(ctx, t)
	require.ErrorIs(t, err, backends.ErrUnavailable)
	assert.Equal(t, err, failed)
}

func TestStreamReturnsTheWholeAnswerInPieces(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, ": comment\n\n")
		events(delta(`{"role":"assistant","reasoning_content":"hm"}`), delta(`{"content":"Pa"}`), delta(`{"content":"ris"}`),
			delta(`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":"}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}]}`),
			stop, usage, "[DONE]")(w, r)
	})
	stream, err := s.stream(t.Context(), t)
	require.NoError(t, err)
	out, err := schema.ConcatMessageStream(stream)
	require.NoError(t, err)
	assert.Equal(t, "Paris", out.Content)
	assert.Equal(t, "hm", out.ReasoningContent)
	assert.Equal(t, "stop", out.ResponseMeta.FinishReason)
	assert.Equal(t, 7, out.ResponseMeta.Usage.TotalTokens)
	require.Len(t, out.ToolCalls, 2)
	assert.Equal(t, schema.FunctionCall{Name: "f", Arguments: `{"x":1}`}, out.ToolCalls[0].Function)
	assert.Equal(t, schema.FunctionCall{Name: "g", Arguments: `{}`}, out.ToolCalls[1].Function)
	assert.Equal(t, map[string]any{"include_usage": true}, s.requests[0]["stream_options"])
}

func TestAnIncompleteStreamEndsWithAnError(t *testing.T) {
	piece := delta(`{"content":"Par"}`)
	for name, tt := range map[string]struct {
		stream   http.HandlerFunc
		sentinel error // nil: it is complete
	}{
		"closed in the middle": {events(piece), backends.ErrUnavailable},
		"broken in the middle": {func(w http.ResponseWriter, r *http.Request) {
			events(piece)(w, r)
			panic(http.ErrAbortHandler)
		}, backends.ErrUnavailable},
		"cut in a line":           {reply(200, "data: "+piece+"\n\n"+`data: {"choices":[{"del`), backends.ErrUnavailable},
		"done without a reason":   {events(piece, "[DONE]"), nil},
		"done without an answer":  {events("[DONE]"), backends.ErrUnavailable},
		"broken off, and says so": {events(piece, `{"id":"g","error":{"code":"server_error","message":"gone"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, "[DONE]"), backends.ErrUnavailable},
		"nothing at all":          {events(), backends.ErrUnavailable},
		"malformed piece":         {events(piece, `{"choices":[`), backends.ErrUnavailable},
		"error in the stream":     {events(piece, `{"error":{"message":"overloaded `+secret+`","type":"server_error"}}`), backends.ErrUnavailable},
		"invalid in the stream":   {events(`{"error":{"message":"too long","type":"invalid_request_error"}}`), backends.ErrInvalid},
		"no stream":               {says(`{"content":"plain"}`), backends.ErrUnavailable},
		"one line of JSON":        {reply(200, `{"choices":[]}`+"\n"), backends.ErrUnavailable},
		"only its end is missing": {events(piece, stop), nil},
	} {
		t.Run(name, func(t *testing.T) {
			stream, err := serve(t, tt.stream).stream(t.Context(), t)
			require.NoError(t, err)
			_, err = schema.ConcatMessageStream(stream)
			require.ErrorIs(t, err, tt.sentinel)
			assert.NotContains(t, fmt.Sprint(err), secret)
		})
	}
}

// roundTrip is a transport whose streams stall after a first piece.
type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAStreamThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := roundTrip(func(r *http.Request) (*http.Response, error) {
			body, w := io.Pipe()
			go func() {
				_, _ = io.WriteString(w, "data: "+delta(`{"content":"Par"}`)+"\n\n")
				<-r.Context().Done()
				_ = w.CloseWithError(r.Context().Err())
			}()
			return &http.Response{StatusCode: http.StatusOK, Body: body, Request: r}, nil
		})
		m, err := openai.NewChatModel(t.Context(), &openai.Config{Model: "m", HTTPClient: &http.Client{Transport: stalls}})
		require.NoError(t, err)
		stream, err := m.Stream(t.Context(), []*schema.Message{schema.UserMessage("hi")})
		require.NoError(t, err)
		time.Sleep(time.Hour) // the time that the reader takes does not count
		_, err = stream.Recv()
		require.NoError(t, err)
		start := time.Now()
		_, err = stream.Recv()
		require.ErrorIs(t, err, backends.ErrUnavailable)
		require.ErrorContains(t, err, "no answer within 1m0s")
		require.LessOrEqual(t, time.Since(start), time.Minute)

		ctx, cancel := context.WithCancel(t.Context())
		stream, err = m.Stream(ctx, []*schema.Message{schema.UserMessage("hi")})
		require.NoError(t, err)
		cancel()
		_, err = schema.ConcatMessageStream(stream)
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestClosingAStreamEndsItsGoroutine(t *testing.T) {
	stream, err := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			events(delta(`{"content":"x"}`))(w, r)
		}
	}).stream(t.Context(), t)
	require.NoError(t, err)
	_, err = stream.Recv()
	require.NoError(t, err)
	stream.Close() // goleak in TestMain fails if the goroutine does not end
}

// Whatever a stream holds, it ends without an error only if the model gave its reason to stop,
// or the service said that it is done.
func FuzzStreams(f *testing.F) {
	f.Add("data: " + delta(`{"content":"a"}`) + "\n\ndata: " + stop + "\n\ndata: [DONE]\n")
	f.Add("data: " + delta(`{"content":"a"}`) + "\n\ndata: [DONE]\n")
	f.Add("data: {\"error\":{\"message\":\"" + secret + "\"}}\n\n")
	f.Add(`{"choices":[{"message":{"content":"no stream at all"},"finish_reason":"stop"}]}` + "\n")
	f.Add(": comment\n\ndata:{}\n" + strings.Repeat("\n", 400))
	f.Fuzz(func(t *testing.T, body string) {
		stream, err := (&service{handlers: []http.HandlerFunc{reply(200, body)}}).stream(t.Context(), t)
		require.NoError(t, err)
		defer stream.Close()
		reason := ""
		for {
			m, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				require.True(t, reason != "" || strings.Contains(body, "[DONE]"), "an incomplete stream was taken for an answer")
				return
			}
			if err != nil {
				require.True(t, errors.Is(err, backends.ErrUnavailable) || errors.Is(err, backends.ErrInvalid), err)
				require.NotContains(t, err.Error(), secret)
				return
			}
			if m.ResponseMeta != nil {
				reason += m.ResponseMeta.FinishReason
			}
		}
	})
}
