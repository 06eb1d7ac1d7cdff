// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"fmt"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// Request asks for a prompt. Either Question or Message is required.
type Request struct {
	// Scope says whose memories are searched, and names the session of the history;
	// without a session there is none.
	Scope backends.Scope

	Question string          // The question, as a text.
	Message  *schema.Message // The question, of the role user, with images or whatever it has. It is not changed.

	System string // Optional. The system prompt.
	// Context is a text to show in front of the history, such as a summary that the
	// caller keeps. It is shown as data in a message of the role user. Optional.
	Context string

	TopK      int              // Optional. Of the search. Defaults to that of the backend.
	Threshold float64          // Optional. Of the search. Defaults to none.
	Kinds     []backends.Kind  // Optional. Of the search. Defaults to all.
	Filter    *backends.Filter // Optional. Of the search. Defaults to none.

	NoHistory  bool // Leaves the history out.
	NoMemories bool // Leaves the search out.
	// EmptyMemoryLine says so in the prompt when the search found nothing. A search
	// that failed, or was not made, does not count as one.
	EmptyMemoryLine bool
}

// question returns the question as a message.
func (r *Request) question() (*schema.Message, error) {
	switch {
	case r == nil:
		return nil, fmt.Errorf("%w: no request", backends.ErrInvalid)
	case r.Message != nil && r.Question != "":
		return nil, fmt.Errorf("%w: both Question and Message: give one", backends.ErrInvalid)
	case r.Message == nil && strings.TrimSpace(r.Question) == "":
		return nil, fmt.Errorf("%w: no question", backends.ErrInvalid)
	case r.Message == nil:
		return schema.UserMessage(r.Question), nil
	case r.Message.Role != schema.User || einox.IsNote(r.Message):
		return nil, fmt.Errorf("%w: Message is not a user's, but of role %q", backends.ErrInvalid, r.Message.Role)
	case einox.Text(r.Message) == "" && len(r.Message.UserInputMultiContent)+len(r.Message.MultiContent) == 0:
		return nil, fmt.Errorf("%w: no question", backends.ErrInvalid)
	}
	return r.Message, nil
}
