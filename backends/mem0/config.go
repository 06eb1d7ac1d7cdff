// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package mem0

import (
	"context"
	"fmt"
	"time"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/fields"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/config"
	"github.com/einomem/einomem/internal/text"
)

// Profile is a typed document that facts fill: a *profile.Profile.
type Profile interface {
	fields.Typed
	Bind(k *keeper.Keeper) error
}

// Config configures a [Backend]. It is copied by [New].
type Config struct {
	// Store keeps the memories. Required. It stays the caller's to close.
	Store store.Store

	// Model turns messages into facts, by one call a request. It is shown what is known, and
	// answers what to add, what to replace and what holds no more. Optional: without one each
	// message is stored as it was said. It is held to a JSON schema where it can be, as openai.ChatModel
	// can; else a [model.ToolCallingChatModel] is made to answer by a tool call. One that
	// refuses is offered the tool, and then asked for JSON in the prompt.
	Model model.BaseChatModel
	// Small says that Model is a small one, of some billion parameters: it is shown what users
	// state and a rule of 250 tokens, and adds facts; what changed stays beside what is new. Optional.
	// By default a model is asked so once its answers to longer questions make no sense.
	Small bool
	// ModelTimeout is how long one model call may take: some minutes for a local model.
	// Optional. Defaults to 60 s.
	ModelTimeout time.Duration

	// PromptTokens bounds a question to Model, by estimate, for one with a small context; leave
	// 1,000 of the context to the answer. Known facts and what was said before are cut to it, more
	// messages are divided between questions, and a long one between its sentences. Optional. At
	// least 1,500. By default a question has room for 12,000 tokens of messages and 1,500 of facts.
	PromptTokens int

	// Embedder adds vectors to the search. Optional: lexical search alone works.
	Embedder embedding.Embedder
	// EmbeddingModel is the name kept with the vectors, so that two models never
	// mix. Required with Embedder.
	EmbeddingModel string

	// Language is the language of the prompts. Optional. Defaults to that of the messages.
	// What is remembered stays in the speaker's language.
	Language backends.Language
	// Instructions say what to look for, in your own words. An AddRequest with
	// instructions of its own replaces them for its call. Optional.
	Instructions string

	// Shared has a search find the facts of the workspace that the scope names beside the
	// person's own. They come there by [Backend.Promote] alone: what is learnt stays the
	// person's. A scope with a workspace and neither user nor agent reaches them for
	// Manager's calls. Optional. Defaults to false: workspaces are none of this backend's.
	Shared bool
	// Prompt replaces all that the model is told about what to keep and what to do with it.
	// What each field of an entry means, and Instructions, are added behind it. Optional.
	// Defaults to prompts in English and Chinese.
	Prompt string

	// Profile is a *profile.Profile: the call that learns facts also says which of its fields
	// each fact fills. Optional.
	Profile Profile
	// Importance has that call say how much each fact matters, which becomes its Quality: see
	// recall.Config.Importance. Optional.
	Importance bool

	// FactsOnly leaves out the raw turns. By default they are kept beside the
	// facts as memories of kind episode: a fact names the turns that taught it.
	FactsOnly bool
	// Recall configures the ranking. Optional. Its Records, Embedder,
	// EmbeddingModel, Clock and Keys are filled from here.
	Recall *recall.Config

	// Describe says in words what a picture, a sound, a video or a file of a user shows, as a
	// model that sees does: it is learnt from as if the user had said it, in brackets. An
	// error that is backends.ErrInvalid, as a status of 400 is, skips it, and comes back with
	// its item; any other fails the Add, which is repeated later. It must be safe for
	// concurrent use. Optional: without it such parts are skipped.
	Describe func(context.Context, schema.MessageInputPart) (string, error)

	// Confirm is asked before an Add retracts facts, such as after "forget everything", before
	// one message supersedes more than three, and before an agent's add_memory supersedes any,
	// unless the AddRequest has one, as that of a middleware's Config.Confirm. If it returns
	// false, nothing is retracted, which comes back as [backends.OutcomeSkipped], and an
	// agent's note is not stored: ErrDeclined. An error of it fails the Add, with nothing
	// stored. Optional: without it the first three facts that a message is to end are ended.
	// The others stay, as skipped items, and what was to replace them is added beside them.
	Confirm backends.Confirm

	// Redact is applied to every text before it is stored or shown to a model. Optional. It
	// must be safe for concurrent use. Defaults to redact.Text, which replaces keys and
	// passwords and keeps a person's own addresses and numbers; redact.None keeps everything.
	Redact func(string) string

	// Retention says what is erased when its time is over, and whether it is counted how
	// often a memory is shown to a model. Optional. Defaults to nothing.
	Retention *backends.Retention
	// CountUses counts how often a memory is shown to a model, which a Retention asks for by
	// itself: package reflect and recall.Config.Recency go by it. Optional.
	CountUses bool

	// Clock is where the time comes from. Optional. Defaults to [backends.SystemClock].
	Clock backends.Clock
	// Location is the zone in which days begin and "tomorrow" is meant, and of the times that
	// the model is told. Optional. Defaults to UTC: set it where the users live.
	Location *time.Location
}

func (c *Config) normalize() (*Config, error) {
	if c == nil || c.Store == nil {
		return nil, fmt.Errorf("mem0: %w: Config.Store is required; sqlitestore.Open(ctx, \":memory:\", nil) gives one", backends.ErrInvalid)
	}
	n := *c
	config.Default(&n.Location, time.UTC)
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

// room returns how many tokens of known facts and of messages a question has room for, and into how
// many questions one Add is divided at most.
func (c *Config) room() (known, messages, questions int) {
	if c.PromptTokens == 0 {
		return knownTokens, defaultRoom, maxQuestions
	}
	rest := max(c.PromptTokens-fixedTokens-text.Tokens(c.Prompt)-text.Tokens(c.Instructions), minPrompt-fixedTokens)
	known = min(knownTokens, rest/4)
	messages = min(defaultRoom, (rest-known)*4/5) // what was said before takes a fifth
	return known, messages, maxQuestions * defaultRoom / messages
}

// newKeeper builds what keeps the memories, and the ranking over its store.
func (c *Config) newKeeper(ctx context.Context) (*keeper.Keeper, error) {
	rc := recall.Config{}
	if c.Recall != nil {
		rc = *c.Recall
	}
	rc.Records, rc.Embedder, rc.EmbeddingModel, rc.Clock, rc.Keys = c.Store, c.Embedder, c.EmbeddingModel, c.Clock, keysOf
	ranker, err := recall.New(ctx, &rc)
	if err != nil {
		return nil, fmt.Errorf("mem0: %w", err)
	}
	return keeper.New(&keeper.Config{
		Name: "mem0", Store: c.Store, Ranker: ranker, Embeds: c.Embedder != nil, Redact: c.Redact, Clock: c.Clock,
		Retention: c.Retention, CountUses: c.CountUses,
	})
}
