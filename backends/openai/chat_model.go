// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// ChatModel is a chat model as an Eino component. It runs the callbacks itself.
// It is safe for concurrent use.
type ChatModel struct {
	client   *client
	defaults model.Options
	names    bool
	answers  string           // Config.Answers
	answer   *schema.ToolInfo // the form of an answer, as the parameters of a tool
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel returns a chat model, which connects with the first call. It returns
// backends.ErrInvalid without Model or with a malformed BaseURL.
func NewChatModel(_ context.Context, c *Config) (*ChatModel, error) {
	connection, err := newClient(c)
	if err != nil {
		return nil, err
	}
	config := *c
	m := &ChatModel{client: connection, names: c.Names, answers: c.Answers, defaults: model.Options{Model: &config.Model, MaxTokens: &config.MaxTokens}}
	if c.Temperature != nil {
		temperature := *c.Temperature
		m.defaults.Temperature = &temperature
	}
	return m, nil
}

// Generate implements model.BaseChatModel with the options model, temperature, top p, max
// tokens, stop, tools and tool choice. ResponseMeta.FinishReason has the model's reason
// to stop; a refusal is the content.
func (m *ChatModel) Generate(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	request, start, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	ctx = m.start(ctx, start)
	bounded, cancel := m.client.bound(ctx)
	defer cancel()
	resp, err := m.client.CreateChatCompletion(bounded, request)
	switch {
	case err != nil:
	case len(resp.Choices) == 0:
		err = fmt.Errorf("%w: the answer has no choices", backends.ErrModel)
	case resp.Choices[0].FinishReason == brokenOff:
		err = errBrokenOff
	}
	if err != nil {
		err = m.client.failure(bounded, "asking "+request.Model, err)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	out := fromAnswer(&resp)
	callbacks.OnEnd(ctx, output(out, start.Config))
	return out, nil
}

// Stream implements model.BaseChatModel. A stream may end before the model gave its reason
// to stop, and without [DONE]. Then its error wraps backends.ErrUnavailable, and the pieces
// before it are incomplete. Close the stream; the request ends with the next piece, the
// timeout or the context.
func (m *ChatModel) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	request, start, err := m.prepare(in, opts)
	if err != nil {
		return nil, err
	}
	request.StreamOptions = &api.StreamOptions{IncludeUsage: true}
	ctx = m.start(ctx, start)
	bounded, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(m.client.timeout, func() { cancel(errTimeout) })
	pieces, err := m.client.CreateChatCompletionStream(bounded, request)
	if err != nil {
		err = m.client.failure(bounded, "asking "+request.Model, err)
		timer.Stop()
		cancel(nil)
		callbacks.OnError(ctx, err)
		return nil, err
	}
	reader, writer := schema.Pipe[callbacks.CallbackOutput](1)
	go func() {
		defer cancel(nil)
		defer func() { _ = pieces.Close() }()
		defer writer.Close()
		if err := m.pass(pieces, timer, writer, start.Config); err != nil {
			writer.Send(nil, m.client.failure(bounded, "asking "+request.Model, err))
		}
	}()
	_, reader = callbacks.OnEndWithStreamOutput(ctx, reader)
	return schema.StreamReaderWithConvert(reader, func(o callbacks.CallbackOutput) (*schema.Message, error) {
		return o.(*model.CallbackOutput).Message, nil
	}), nil
}

// pass passes the pieces of a stream on until the answer is complete or its reader has
// gone. The timer bounds each piece.
func (m *ChatModel) pass(from *api.ChatCompletionStream, timer *time.Timer, to *schema.StreamWriter[callbacks.CallbackOutput], c *model.Config) error {
	for began, finished := false, false; ; {
		timer.Reset(m.client.timeout)
		piece, err := from.Recv()
		timer.Stop() // the reader's own time is free
		if err != nil && (finished || began && errors.Is(err, io.EOF)) {
			return nil // after the reason to stop comes at most the usage; io.EOF is [DONE]
		}
		if err != nil {
			return err
		}
		out := fromPiece(&piece)
		began = began || len(piece.Choices) > 0
		finished = finished || out.ResponseMeta != nil && out.ResponseMeta.FinishReason != ""
		if finished && out.ResponseMeta != nil && out.ResponseMeta.FinishReason == string(brokenOff) {
			return errBrokenOff
		}
		if to.Send(output(out, c), nil) {
			return nil
		}
	}
}

// WithTools implements model.ToolCallingChatModel: the returned model offers the tools; m
// is unchanged. The option model.WithTools replaces them for one call.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	with := *m
	with.defaults.Tools = slices.Clone(tools)
	return &with, nil
}

// WithJSONSchema returns a model whose answers are JSON in the form of a tool's parameters.
// It calls no tools; m is unchanged. Services that lack response_format refuse its requests:
// see Config.Answers.
func (m *ChatModel) WithJSONSchema(answer *schema.ToolInfo) (model.BaseChatModel, error) {
	with := *m
	with.defaults.Tools, with.answer = nil, answer
	return &with, nil
}

// Endpoint returns the name of the model and its address, and Config.Answers. Models of the
// same endpoint share the knowledge about it.
func (m *ChatModel) Endpoint() (name, answers string) {
	return *m.defaults.Model + " at " + m.client.wire.base, m.answers
}

// GetType implements components.Typer.
func (m *ChatModel) GetType() string { return "OpenAI" }

// IsCallbacksEnabled implements components.Checker: the model runs the callbacks
// itself.
func (m *ChatModel) IsCallbacksEnabled() bool { return true }

func (m *ChatModel) start(ctx context.Context, in *model.CallbackInput) context.Context {
	return callbacks.OnStart(callbacks.EnsureRunInfo(ctx, m.GetType(), components.ComponentOfChatModel), in)
}

func output(m *schema.Message, config *model.Config) *model.CallbackOutput {
	out := &model.CallbackOutput{Message: m, Config: config}
	if m.ResponseMeta != nil && m.ResponseMeta.Usage != nil {
		u := m.ResponseMeta.Usage
		out.TokenUsage = &model.TokenUsage{
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens,
			PromptTokenDetails:      model.PromptTokenDetails(u.PromptTokenDetails),
			CompletionTokensDetails: model.CompletionTokensDetails(u.CompletionTokensDetails),
		}
	}
	return out
}

// prepare makes a request of messages and options, and the input of the callbacks for it.
// It returns backends.ErrInvalid if the API lacks a form for them.
func (m *ChatModel) prepare(in []*schema.Message, opts []model.Option) (api.ChatCompletionRequest, *model.CallbackInput, error) {
	defaults := m.defaults // a copy: options overwrite its fields
	o := model.GetCommonOptions(&defaults, opts...)
	r := api.ChatCompletionRequest{Model: *o.Model, Stop: o.Stop, MaxTokens: *o.MaxTokens}
	setSampling(&r, o)
	var err error
	if r.Messages, err = m.toMessages(in); err == nil {
		err = setTools(&r, o)
	}
	if err == nil && m.answer != nil {
		r.ResponseFormat, err = toFormat(m.answer)
	}
	if err != nil {
		return r, nil, fmt.Errorf("openai: asking %s: %w", r.Model, err)
	}
	config := &model.Config{Model: r.Model, MaxTokens: *o.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, Stop: r.Stop}
	return r, &model.CallbackInput{Messages: in, Tools: o.Tools, ToolChoice: o.ToolChoice, Config: config}, nil
}

// setSampling sets temperature and top p, except for reasoning models, which refuse them.
// go-openai leaves out a zero: the smallest number takes its place until it is sent.
func setSampling(r *api.ChatCompletionRequest, o *model.Options) {
	name := r.Model[strings.LastIndexByte(r.Model, '/')+1:] // of a router, as in openai/gpt-5-mini
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5"} {
		if strings.HasPrefix(name, prefix) {
			r.MaxTokens, r.MaxCompletionTokens = 0, r.MaxTokens //nolint:staticcheck // the other models of all servers know max_tokens alone
			return
		}
	}
	if o.Temperature != nil {
		r.Temperature = max(*o.Temperature, math.SmallestNonzeroFloat32)
	}
	if o.TopP != nil {
		r.TopP = max(*o.TopP, math.SmallestNonzeroFloat32)
	}
}

// brokenOff is OpenRouter's reason to stop for an answer whose model failed in the
// middle.
const brokenOff api.FinishReason = "error"

var errBrokenOff = errors.New("the service ended its answer with an error")

// The API's names of the tool choices.
var toolChoices = map[schema.ToolChoice]string{
	schema.ToolChoiceForced: "required", schema.ToolChoiceAllowed: "auto", schema.ToolChoiceForbidden: "none",
}

// setTools sets the tools and the tool choice. Allowed tool names narrow the tools
// themselves, which every service understands; a single forced tool is named.
func setTools(r *api.ChatCompletionRequest, o *model.Options) error {
	for _, t := range o.Tools {
		if t == nil {
			return fmt.Errorf("tools: %w: one of them is nil", backends.ErrInvalid)
		}
		parameters, err := t.ToJSONSchema()
		if err != nil {
			return fmt.Errorf("parameters of tool %q: %w: %w", t.Name, backends.ErrInvalid, err)
		}
		function := &api.FunctionDefinition{Name: t.Name, Description: t.Desc, Parameters: parameters}
		if parameters == nil {
			function.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if len(o.AllowedToolNames) == 0 || slices.Contains(o.AllowedToolNames, t.Name) {
			r.Tools = append(r.Tools, api.Tool{Type: api.ToolTypeFunction, Function: function})
		}
	}
	if o.ToolChoice == nil {
		return nil
	}
	choice, n := *o.ToolChoice, len(r.Tools)
	switch {
	case toolChoices[choice] == "":
		return fmt.Errorf("tool choice %q: %w: use forced, allowed or forbidden", choice, backends.ErrInvalid)
	case n < len(o.AllowedToolNames), n == 0 && choice == schema.ToolChoiceForced:
		return fmt.Errorf("tool choice %q %q: %w: not offered", choice, o.AllowedToolNames, backends.ErrInvalid)
	case n == 1 && choice == schema.ToolChoiceForced:
		r.ToolChoice = api.ToolChoice{Type: api.ToolTypeFunction, Function: api.ToolFunction{Name: r.Tools[0].Function.Name}}
	case n > 0: // the API refuses a choice among no tools
		r.ToolChoice = toolChoices[choice]
	}
	return nil
}

// toFormat returns the form of an answer with the parameters of a tool.
func toFormat(answer *schema.ToolInfo) (*api.ChatCompletionResponseFormat, error) {
	parameters, err := answer.ToJSONSchema()
	if err != nil {
		return nil, fmt.Errorf("schema of the answer %q: %w: %w", answer.Name, backends.ErrInvalid, err)
	}
	raw, err := json.Marshal(parameters)
	if err != nil {
		return nil, fmt.Errorf("schema of the answer %q: %w: %w", answer.Name, backends.ErrInvalid, err)
	}
	form := &api.ChatCompletionResponseFormatJSONSchema{Name: answer.Name, Description: answer.Desc, Schema: json.RawMessage(raw)}
	return &api.ChatCompletionResponseFormat{Type: api.ChatCompletionResponseFormatTypeJSONSchema, JSONSchema: form}, nil
}

func (m *ChatModel) toMessages(in []*schema.Message) (out []api.ChatCompletionMessage, err error) {
	names := m.names
	for i, m := range in {
		if m == nil {
			return nil, fmt.Errorf("message %d: %w: nil", i, backends.ErrInvalid)
		}
		message := api.ChatCompletionMessage{Role: string(m.Role), Content: m.Content, ToolCallID: m.ToolCallID}
		if names {
			message.Name = fmt.Sprintf("%.64s", illegalInNames.ReplaceAllString(strings.TrimSpace(m.Name), "_")) // 64 characters at most
		}
		for _, c := range m.ToolCalls { // services want the thoughts that led to a call back
			message.ReasoningContent = m.ReasoningContent
			function := api.FunctionCall{Name: c.Function.Name, Arguments: cmp.Or(c.Function.Arguments, "{}")}
			message.ToolCalls = append(message.ToolCalls, api.ToolCall{ID: c.ID, Type: api.ToolTypeFunction, Function: function})
		}
		if message.MultiContent, err = toParts(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		switch {
		case len(message.MultiContent) > 0:
			message.Content = "" // it is the first part
		case m.Content == "" && len(m.ToolCalls) == 0:
			message.Content = " " // go-openai leaves out an empty content, which the API refuses
		}
		out = append(out, message)
	}
	return out, nil
}

// toParts returns the content and the parts of a message that has parts: texts, and images
// in a user's message.
func toParts(m *schema.Message) (out []api.ChatMessagePart, err error) {
	if einox.HasParts(m) && m.Content != "" {
		out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: m.Content})
	}
	for _, p := range einox.Parts(m) {
		url := p.URL
		if url == "" && p.Data != "" && p.MIME != "" {
			url = "data:" + p.MIME + ";base64," + p.Data
		}
		switch {
		case p.Media == "":
			out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeText, Text: p.Text})
		case p.Media == "image" && url != "" && m.Role == schema.User:
			image := &api.ChatMessageImageURL{URL: url, Detail: api.ImageURLDetail(p.Detail)}
			out = append(out, api.ChatMessagePart{Type: api.ChatMessagePartTypeImageURL, ImageURL: image})
		default:
			return nil, fmt.Errorf("part of type %q: %w: only texts, and images of a user (by URL, or base64 with a MIME type), can be sent", p.Media, backends.ErrInvalid)
		}
	}
	return out, nil
}

// illegalInNames are characters that the API refuses in the name of a speaker.
var illegalInNames = regexp.MustCompile(`[\s\p{Z}\p{C}<|\\/>]`)

// fromAnswer returns the message of a complete answer's first choice.
func fromAnswer(resp *api.ChatCompletionResponse) *schema.Message {
	choice := resp.Choices[0]
	content := cmp.Or(choice.Message.Content, choice.Message.Refusal)
	for _, p := range choice.Message.MultiContent { // some services answer in parts
		content += p.Text
	}
	return fromParts(content, choice.Message.ReasoningContent, choice.Message.ToolCalls, choice.FinishReason, &resp.Usage)
}

// fromPiece returns the message of one piece of a stream, which may be empty.
func fromPiece(resp *api.ChatCompletionStreamResponse) *schema.Message {
	var choice api.ChatCompletionStreamChoice
	if len(resp.Choices) > 0 {
		choice = resp.Choices[0]
	}
	d := &choice.Delta
	return fromParts(d.Content+d.Refusal, d.ReasoningContent, d.ToolCalls, choice.FinishReason, resp.Usage)
}

// fromParts keeps the index of the tool calls, which shows which pieces of a stream
// belong together.
func fromParts(content, reasoning string, calls []api.ToolCall, finish api.FinishReason, used *api.Usage) *schema.Message {
	m := &schema.Message{Role: schema.Assistant, Content: content, ReasoningContent: reasoning}
	for _, c := range calls {
		function := schema.FunctionCall{Name: c.Function.Name, Arguments: c.Function.Arguments}
		m.ToolCalls = append(m.ToolCalls, schema.ToolCall{Index: c.Index, ID: c.ID, Type: string(c.Type), Function: function})
	}
	if used != nil || finish != "" {
		m.ResponseMeta = &schema.ResponseMeta{FinishReason: string(finish), Usage: fromUsage(used)}
	}
	return m
}

func fromUsage(u *api.Usage) *schema.TokenUsage {
	if u == nil {
		return nil
	}
	out := &schema.TokenUsage{PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
	if u.PromptTokensDetails != nil {
		out.PromptTokenDetails.CachedTokens = u.PromptTokensDetails.CachedTokens
	}
	if u.CompletionTokensDetails != nil {
		out.CompletionTokensDetails.ReasoningTokens = u.CompletionTokensDetails.ReasoningTokens
	}
	return out
}
