// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/callbacks"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/model"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

const (
	usageDays  = 31               // days that are kept
	usagePause = 10 * time.Second // from one write of the counts to the next
)

// The counts are blobs in a partition of a namespace of their own, a blob for each process and day.
var usagePartition = backends.Partition{Namespace: "einomem/usage", Kind: backends.PartitionWorkspace, ID: "usage"}

// Day counts what memory cost on a day, by all processes on a store.
type Day struct {
	Day               string `json:"day"`          // such as 2026-03-07
	ModelCalls        int64  `json:"model_calls"`  // by memory: to learn, to tidy, to rewrite a question, to rank
	FailedCalls       int64  `json:"failed_calls"` // of a model or an embedder, without an answer
	PromptTokens      int64  `json:"prompt_tokens"`
	CompletionTokens  int64  `json:"completion_tokens"`
	EmbeddingRequests int64  `json:"embedding_requests"`
	EmbeddingTokens   int64  `json:"embedding_tokens"`
	Searches          int64  `json:"searches"`
	ByWords           int64  `json:"by_words"` // searches by words alone: the embedder failed
	InPart            int64  `json:"in_part"`  // searches that went on without a reranker, a rewriter or one of two backends
	Notes             int64  `json:"notes"`    // shown to a model
	NoteTokens        int64  `json:"note_tokens"`
}

func (d *Day) add(more Day) {
	to, from := reflect.ValueOf(d).Elem(), reflect.ValueOf(more)
	for i := range to.NumField() {
		if n := to.Field(i); n.CanInt() {
			n.SetInt(n.Int() + from.Field(i).Int())
		}
	}
}

// Event is one thing that [Usage] counts.
type Event struct {
	Operation     string // chat or embeddings, by OpenTelemetry's conventions; search or note
	Provider      string // of the model or the embedder, such as openai
	Model         string
	Input, Output int    // tokens as the provider reports them; of a note, as estimated
	Degraded      string // of a search that was answered in part: by_words or in_part
	Err           error
	Took          time.Duration
}

// UsageConfig configures a [Usage].
type UsageConfig struct {
	// Store keeps the counts. Optional. Without one they are this process's own.
	Store store.Blobs
	// Observe gets each event at once, for metrics. Optional. Several goroutines call it.
	Observe  func(context.Context, Event)
	OnError  func(ctx context.Context, stage string, err error) // Optional. Gets failures to keep the counts, as stage "usage".
	Location *time.Location                                     // Optional. Where days begin. Defaults to UTC.
	Clock    backends.Clock                                     // Optional. Defaults to backends.SystemClock.
}

// Usage counts what memory costs: calls of models and embedders, their tokens, searches, and notes.
// Counts of the last 31 days are in the store. They are written every ten seconds, so a process that
// is killed loses the ones of up to ten seconds. Give its Handler to Eino before
// agents run, as Eino asks of global handlers, and its Note to the middleware:
//
//	usage := rest.NewUsage(&rest.UsageConfig{Store: db})
//	callbacks.AppendGlobalHandlers(usage.Handler())
//	mem, err := middleware.New(ctx, &middleware.Config{Backend: backend, OnNote: usage.Note})
//	handler, err := rest.New(&rest.Config{Memory: mem, Store: db, Usage: usage})
//
// It is safe for concurrent use. Close it: it owns a goroutine.
type Usage struct {
	cfg   UsageConfig
	owner string // of the blobs
	life  *work.Service

	writing sync.Mutex // held while counts are written, so that none is overwritten by an earlier one
	mu      sync.Mutex
	days    map[string]*Day // by this process
	unsaved map[string]bool // days whose counts changed since the last write
}

// NewUsage returns a running Usage.
func NewUsage(cfg *UsageConfig) *Usage {
	u := &Usage{cfg: *cfg, owner: backends.NewID(), days: map[string]*Day{}, unsaved: map[string]bool{}}
	u.cfg.Clock, u.cfg.Location = work.Clock(cfg.Clock), cmp.Or(cfg.Location, time.UTC)
	u.life = work.NewService(context.Background(), errors.New("usage is closed"), cfg.OnError)
	if cfg.Store != nil {
		_ = u.life.Every(context.Background(), "usage", usagePause, u.save) // it is open
	}
	return u
}

// Close writes the counts. Later events are left out.
func (u *Usage) Close(ctx context.Context) error {
	return errors.Join(u.life.Close(ctx, time.Second), u.save(ctx))
}

func (u *Usage) today() string { return u.cfg.Clock().In(u.cfg.Location).Format(time.DateOnly) }

// count adds to the counts of today.
func (u *Usage) count(ctx context.Context, e Event, add Day) {
	if u.life.Open().Err() != nil {
		return
	}
	day := u.today()
	u.mu.Lock()
	if u.days[day] == nil {
		u.days[day] = &Day{Day: day}
	}
	u.days[day].add(add)
	u.unsaved[day] = true
	u.mu.Unlock()
	if u.cfg.Observe != nil {
		u.cfg.Observe(ctx, e)
	}
}

// Note counts a note that a model was shown. It is for the field OnNote of the middleware's
// configuration.
func (u *Usage) Note(ctx context.Context, n hooks.Note) {
	if size := text.Tokens(n.Text); size > 0 {
		u.count(ctx, Event{Operation: "note", Input: size}, Day{Notes: 1, NoteTokens: int64(size)})
	}
}

// usageKey is the context's key for the call under way, of each Usage its own.
type usageKey struct{ *Usage }

// measured is a call under way.
type measured struct {
	began  time.Time
	model  string
	search bool // it is a search, or inside one
	inside bool // it is a search inside another, as of one half of memory
}

// Handler counts the calls that memory makes, and those of a program to its backend. An agent's own
// calls of models are left out.
func (u *Usage) Handler() callbacks.Handler {
	return callbacks.NewHandlerBuilder().OnStartFn(u.start).
		OnEndFn(func(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput) context.Context {
			return u.end(ctx, info, out, nil)
		}).
		OnErrorFn(func(ctx context.Context, info *callbacks.RunInfo, err error) context.Context {
			return u.end(ctx, info, nil, err)
		}).Build()
}

// operation names what a call of memory does; "" for others.
func operation(info *callbacks.RunInfo) string {
	switch {
	case info == nil:
	case info.Component == backends.ComponentOfMemory:
		return "search"
	case info.Name == work.Asker && info.Component == components.ComponentOfChatModel:
		return "chat"
	case info.Name == work.Asker && info.Component == components.ComponentOfEmbedding:
		return "embeddings"
	}
	return ""
}

func (u *Usage) start(ctx context.Context, info *callbacks.RunInfo, in callbacks.CallbackInput) context.Context {
	what := operation(info)
	if what == "" {
		return ctx
	}
	outer, _ := ctx.Value(usageKey{u}).(measured)
	m := measured{began: u.cfg.Clock(), search: outer.search || what == "search", inside: outer.search}
	if what == "chat" {
		if c := model.ConvCallbackInput(in); c != nil && c.Config != nil {
			m.model = c.Config.Model
		}
	} else if c := embedding.ConvCallbackInput(in); c != nil && c.Config != nil {
		m.model = c.Config.Model
	}
	return context.WithValue(ctx, usageKey{u}, m)
}

// end counts a call that ended with an output or an error. A search that failed is left out.
func (u *Usage) end(ctx context.Context, info *callbacks.RunInfo, out callbacks.CallbackOutput, err error) context.Context {
	m, _ := ctx.Value(usageKey{u}).(measured)
	e, add := Event{Operation: operation(info), Model: m.model, Err: err}, Day{}
	if err != nil {
		add.FailedCalls = 1
	}
	switch e.Operation {
	case "chat":
		if c := model.ConvCallbackOutput(out); c != nil && c.TokenUsage != nil {
			e.Input, e.Output = c.TokenUsage.PromptTokens, c.TokenUsage.CompletionTokens
		}
		add.ModelCalls, add.PromptTokens, add.CompletionTokens = 1, int64(e.Input), int64(e.Output)
	case "embeddings":
		if c := embedding.ConvCallbackOutput(out); c != nil && c.TokenUsage != nil {
			e.Input = c.TokenUsage.PromptTokens
		}
		add.EmbeddingRequests, add.EmbeddingTokens = 1, int64(e.Input)
	case "search":
		c, ok := out.(*backends.CallbackOutput)
		if !ok || c.Search == nil || m.inside {
			return ctx
		}
		add.Searches = 1
		if errors.Is(c.Search.Degraded, fault.ErrByWords) {
			add.ByWords, e.Degraded = 1, "by_words"
		} else if c.Search.Degraded != nil {
			add.InPart, e.Degraded = 1, "in_part"
		}
	default:
		return ctx
	}
	e.Provider, e.Took = strings.ToLower(info.Type), u.cfg.Clock().Sub(m.began)
	u.count(ctx, e, add)
	return ctx
}

// save writes the counts that changed. They are absolute, so a repeat is harmless.
func (u *Usage) save(ctx context.Context) error {
	if u.cfg.Store == nil {
		return nil
	}
	u.writing.Lock()
	defer u.writing.Unlock()
	u.mu.Lock()
	counts := map[string]Day{}
	for day := range u.unsaved {
		counts[day] = *u.days[day]
	}
	u.mu.Unlock()
	for day, n := range counts {
		data, _ := json.Marshal(&n) // a text and numbers
		if err := u.cfg.Store.PutBlob(ctx, usagePartition, "", day+"/"+u.owner, data); err != nil {
			return fmt.Errorf("keeping the counts of %s: %w", day, err)
		}
		u.mu.Lock()
		if *u.days[day] == n {
			delete(u.unsaved, day)
		}
		u.mu.Unlock()
	}
	return nil
}

// Days returns the counts of today and of the days before on which there was something to count,
// the newest first. It removes the ones of more than 31 days ago.
func (u *Usage) Days(ctx context.Context) ([]Day, error) {
	today := u.today()
	all := map[string]*Day{today: {Day: today}}
	add := func(n *Day) {
		if all[n.Day] == nil {
			all[n.Day] = &Day{Day: n.Day}
		}
		all[n.Day].add(*n)
	}
	err := u.save(ctx)
	if u.cfg.Store == nil {
		u.mu.Lock()
		for _, n := range u.days {
			add(n)
		}
		u.mu.Unlock()
	} else if err == nil {
		err = u.each(ctx, add)
	}
	out := []Day{}
	for _, day := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		out = append(out, *all[day])
	}
	return out, err
}

// each reads the counts of all processes.
func (u *Usage) each(ctx context.Context, do func(*Day)) error {
	oldest := u.cfg.Clock().In(u.cfg.Location).AddDate(0, 0, 1-usageDays).Format(time.DateOnly)
	return store.Each(func(page store.Page) (*store.BlobPage, error) {
		return u.cfg.Store.ListBlobs(ctx, usagePartition, "", "", page)
	}, func(b store.BlobInfo) error {
		if b.Name < oldest {
			return u.cfg.Store.PutBlob(ctx, usagePartition, "", b.Name, nil)
		}
		data, err := u.cfg.Store.GetBlob(ctx, usagePartition, "", b.Name)
		if errors.Is(err, backends.ErrNotFound) { // another process removed it
			return nil
		}
		var n Day
		if err == nil {
			err = json.Unmarshal(data, &n)
		}
		if err != nil {
			return fmt.Errorf("the counts of %s: %w", b.Name, err)
		}
		do(&n)
		return nil
	})
}
