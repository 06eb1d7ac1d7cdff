// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Backend]. [New] copies it.
type Config struct {
	// Store keeps the memories. Required. It stays the caller's to close.
	Store store.Store

	// Model turns messages into facts, by one call a request. It sees known facts, and answers
	// which facts to add, to replace and to end. Optional. Without one each message is stored as it
	// was said. A model that can, such as openai.ChatModel, answers by a JSON schema. Any other
	// [model.ToolCallingChatModel] answers by a tool call. After a refusal the tool is offered
	// without force, and then the prompt asks for JSON.
	Model model.BaseChatModel
	// Small says that Model is a small one, of some billion parameters. It sees statements of users
	// and a rule of 250 tokens, and adds facts; older versions of a fact stay beside it. Optional.
	// By default a model is asked so once its answers to longer questions are useless.
	Small bool
	// ModelTimeout is how long one model call may take: some minutes for a local model.
	// Optional. Defaults to 60 s.
	ModelTimeout time.Duration

	// PromptTokens bounds a question to Model, by estimate, for a model with a small context; leave
	// 1,000 of the context to the answer. Known facts and earlier messages are cut to it. Surplus
	// messages are divided between questions, and a long one between its sentences. Optional. At
	// least 1,500. By default a question has room for 12,000 tokens of messages and 1,500 of facts.
	PromptTokens int

	// Embedder adds vectors to the search. Optional: lexical search alone works.
	Embedder embedding.Embedder
	// EmbeddingModel is the name that the store keeps with the vectors, so that two models never
	// mix. Required with Embedder.
	EmbeddingModel string

	// Language is the language of the prompts. Optional. Defaults to the language of the messages.
	// Memories stay in the speaker's language.
	Language backends.Language
	// Instructions say what to look for, in your own words. An AddRequest with
	// instructions of its own replaces them for its call. Optional.
	Instructions string

	// Shared lets a search find the facts of the scope's workspace beside the person's own.
	// [Backend.Promote] alone puts them there: learning writes to the person's partition. For
	// Manager's calls a scope with a workspace and neither user nor agent reaches them. Optional.
	// Defaults to false: this backend ignores workspaces.
	Shared bool
	// Prompt replaces the rules of the model for choosing and writing facts. The meaning of an
	// entry's fields, and Instructions, follow it. Optional. Defaults to prompts in English and
	// Chinese.
	Prompt string

	// Profile is a *profile.Profile: the call that learns facts also says which of its fields
	// each fact fills. Optional.
	Profile backends.Profile
	// Importance lets that call say how much each fact matters, which becomes its Quality: see
	// recall.Importance. Optional.
	Importance bool

	// FactsOnly drops the raw turns. By default they stay beside the facts as memories of kind
	// episode: a fact names the turns that taught it.
	FactsOnly bool
	// Recall configures the ranking. Optional. Its Records, Embedder, EmbeddingModel, Clock and
	// Keys come from here.
	Recall *recall.Config

	// Describe puts a picture, a sound, a video or a file of a user into words, as a multimodal
	// model does. The words are learnt as if the user had said them, in brackets. An error that is
	// backends.ErrInvalid, such as a status of 400, skips the part and comes back with its item.
	// Any other error fails the Add, which is repeated later. It must be safe for concurrent use.
	// Optional. Without it such parts are skipped.
	Describe func(context.Context, schema.MessageInputPart) (string, error)

	// Confirm is for requests without a Confirm of their own; a middleware with Config.Confirm
	// sets one. It is called before an Add retracts facts, such as after "forget everything", and
	// before one message supersedes more than three. It is also called before an agent's
	// add_memory supersedes any. If it returns false, the facts stay, which comes back as
	// [backends.OutcomeSkipped], and an agent's note is refused: ErrDeclined. Its error fails the
	// Add, and nothing is stored. Optional. Without it a message ends at most three facts. The
	// others stay, as skipped items, and their replacements are added beside them.
	Confirm backends.Confirm

	// Redact changes every text before it is stored or shown to a model. Optional. It must be safe
	// for concurrent use. Defaults to redact.Text, which replaces keys and passwords and keeps a
	// person's own addresses and numbers; redact.None keeps everything.
	Redact func(string) string

	// Retention says when memories are erased. Some of its rules also count how often a model sees
	// a memory. Optional. By default memories stay.
	Retention *backends.Retention
	// CountUses counts how often a memory is shown to a model; a Retention whose rules need the
	// counts turns it on. Package reflection and recall.Config.Recency use the counts. Optional.
	CountUses bool

	// Clock tells the time. Optional. Defaults to [backends.SystemClock].
	Clock backends.Clock
	// Location is the zone in which days begin and "tomorrow" is meant, and the zone of times in
	// prompts. Optional. Defaults to UTC: set it to the home of the users.
	Location *time.Location
}

func (c *Config) normalize() (*Config, error) {
	if c == nil || c.Store == nil {
		return nil, fmt.Errorf("mem0: %w: Config.Store is required; sqlitestore.Open(ctx, \":memory:\", nil) gives one", backends.ErrInvalid)
	}
	n := *c
	work.Default(&n.Location, time.UTC)
	if n.PromptTokens != 0 && n.PromptTokens < minPrompt {
		return nil, fmt.Errorf("mem0: PromptTokens %d: %w: at least %d, or 0 for the default", n.PromptTokens, backends.ErrInvalid, minPrompt)
	}
	if err := n.Language.Validate(); err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	return &n, nil
}

const (
	minPrompt   = 1_500 // the least PromptTokens
	fixedTokens = 800   // of rules and schema, with what stands between the parts of a question
	defaultRoom = 12_000
)

// room returns how many tokens of known facts and of messages a question has room for, and the
// greatest number of questions of one Add.
func (c *Config) room() (known, messages, questions int) {
	if c.PromptTokens == 0 {
		return knownTokens, defaultRoom, maxQuestions
	}
	rest := max(c.PromptTokens-fixedTokens-text.Tokens(c.Prompt)-text.Tokens(c.Instructions), minPrompt-fixedTokens)
	known = min(knownTokens, rest/4)
	messages = min(defaultRoom, (rest-known)*4/5) // what was said before takes a fifth
	return known, messages, maxQuestions * defaultRoom / messages
}

// newKeeper builds the keeper of the memories, and the ranking over its store.
func (c *Config) newKeeper(ctx context.Context) (*keeper.Keeper, error) {
	rc := *cmp.Or(c.Recall, &recall.Config{})
	rc.Records, rc.Embedder, rc.EmbeddingModel, rc.Clock, rc.Keys = c.Store, c.Embedder, c.EmbeddingModel, c.Clock, keysOf
	ranker, err := recall.New(ctx, &rc)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	return keeper.New(&keeper.Config{
		Name: "mem0", Store: c.Store, Ranker: ranker, Redact: c.Redact, Clock: c.Clock,
		Retention: c.Retention, CountUses: c.CountUses,
	})
}
