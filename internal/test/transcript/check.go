// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// Check returns an error for a list of messages that OpenAI's chat completions or
// Anthropic's messages API refuse, or that Eino's clients cannot send there. The rules:
//
//   - OpenAI: every call is answered, once, before anything else is said, and no result
//     is without its call; the fields belong to the role
//     (https://platform.openai.com/docs/guides/function-calling and …/docs/api-reference/chat/create).
//   - Anthropic: the user begins, and no text is blank
//     (https://platform.claude.com/docs/en/api/messages).
//
// An id may come again where all calls before it are answered: clients give unique ids
// where a provider wants that.
func Check(messages []*schema.Message) error {
	c := &checker{}
	for i, m := range messages {
		if err := c.message(m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if !c.begun {
		return errors.New("there is no message beside the system prompt")
	}
	if err := c.answered(); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	return nil
}

// checker reads a list.
type checker struct {
	begun bool
	open  map[string]bool // the calls of the last message before the results, and whether each waits for one
}

func (c *checker) message(m *schema.Message) error {
	if m == nil {
		return errors.New("it is nil")
	}
	if err := checkParts(m); err != nil {
		return err
	}
	if m.Role == schema.Tool {
		open, known := c.open[m.ToolCallID]
		switch {
		case !known:
			return fmt.Errorf("result of %q, which is not called right before", m.ToolCallID)
		case !open:
			return fmt.Errorf("second result of %q", m.ToolCallID)
		}
		c.open[m.ToolCallID] = false
		return nil
	}
	if err := c.answered(); err != nil {
		return err
	}
	c.open = map[string]bool{}
	switch {
	case m.Role != schema.System && m.Role != schema.User && m.Role != schema.Assistant:
		return fmt.Errorf("unknown role %q", m.Role)
	case m.Role == schema.Assistant && !c.begun:
		return errors.New("the assistant begins")
	case m.Role != schema.Assistant && len(m.ToolCalls) > 0:
		return fmt.Errorf("calls by the %s", m.Role)
	case m.Content == "" && !einox.HasParts(m) && len(m.ToolCalls) == 0:
		return errors.New("no content")
	case m.Content != "" && strings.TrimSpace(m.Content) == "":
		return errors.New("blank content")
	}
	c.begun = c.begun || m.Role != schema.System
	for _, call := range m.ToolCalls {
		if c.open[call.ID] || call.ID == "" || call.Function.Name == "" {
			return fmt.Errorf("call %q of %q: ids and names are required, and ids unique", call.ID, call.Function.Name)
		}
		c.open[call.ID] = true
	}
	return nil
}

func (c *checker) answered() error {
	for id, open := range c.open {
		if open {
			return fmt.Errorf("call %q has no result", id)
		}
	}
	return nil
}

// checkParts checks the parts of a message as Eino's clients send them. A user's parts
// and an assistant's parts cannot change places, and a message has parts or a content.
func checkParts(m *schema.Message) error {
	switch {
	case len(m.UserInputMultiContent) > 0 && m.Role != schema.User, len(m.AssistantGenMultiContent) > 0 && m.Role != schema.Assistant:
		return fmt.Errorf("parts of another role on a message of %q", m.Role)
	case einox.HasParts(m) && m.Content != "":
		return errors.New("both parts and content")
	}
	for _, p := range einox.Parts(m) {
		switch {
		case p.Media == "" && strings.TrimSpace(p.Text) == "":
			return errors.New("blank part")
		case p.Media != "" && p.URL == "" && p.Data == "":
			return fmt.Errorf("%s without an address or data", p.Media)
		}
	}
	return nil
}
