// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"
)

// Rule names what a list of messages breaks.
type Rule string

// The rules.
const (
	RuleNone       Rule = "there is a message"
	RuleNil        Rule = "no message is nil"
	RuleRole       Rule = "the role is known"
	RuleContent    Rule = "a message says or calls something"
	RuleText       Rule = "no text is blank"
	RuleParts      Rule = "parts belong to the role, and stand instead of the content"
	RuleMedia      Rule = "media have an address or data"
	RuleCallID     Rule = "a call has an id, unique in its message, and a name"
	RuleCaller     Rule = "only an assistant calls"
	RuleOrphan     Rule = "a result answers a call of the assistant's message right before the results"
	RuleTwice      Rule = "a call is answered once"
	RuleUnanswered Rule = "every call is answered before anything else is said"
	RuleFirst      Rule = "the user begins"
	RuleOrder      Rule = "results come first in the message after the calls"
)

// Violation says which rule of a provider a list of messages breaks, and where.
type Violation struct {
	Provider string
	Index    int // of the message; the length of the list for what is missing at its end
	Rule     Rule
	Detail   string
}

// Error implements error.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: message %d: not so that %s: %s", v.Provider, v.Index, v.Rule, v.Detail)
}

// Check returns what [OpenAI] and [Anthropic] have against a list of messages.
func Check(messages []*schema.Message) error {
	return errors.Join(OpenAI(messages), Anthropic(messages))
}
