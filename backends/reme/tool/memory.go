// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package tool remembers how tools behave: every call of a tool, statistics of the recent ones, and
// for each tool a guideline on its best use. It is ReMe's tool memory.
//
//	memory := backend.Tools() // of package reme
//	memory.Record(ctx, &tool.RecordRequest{Scope: scope, Calls: calls})
//	memory.Summarize(ctx, &tool.SummaryRequest{Scope: scope})
//	memory.Retrieve(ctx, &tool.RetrieveRequest{Scope: scope, Tools: []string{"search", "fetch"}})
//
// [Memory.NewRecorder] does the first two in the background, so that tools never wait for memory.
// [Memory.GuideTools] adds the guidelines to the descriptions of a model's tools.
//
// # Calls and guidelines
//
// The calls of a tool are a log, a session for each month, in the partition of the workspace. A
// call is stored once under its ID, also when several processes record it. Calls with the same
// input and output under other IDs are stored and counted as repeats: a tool that fails ten times
// in the same way failed ten times. A log ends [Config].Keep after its last call.
//
// Memory redacts secrets and personal data (see reme.Config.Redact) and shortens long texts before
// it stores, hashes or shows them. A call keeps the user in whose run it was made (Call.UserID). A
// guideline keeps the users of all calls that were ever among its sources (Origin.Users). Other
// users do not see them.
//
// A guideline is one memory of kind tool, whose id follows from workspace and tool. Its Text is the
// guideline with the statistics of that time, and its WhenToUse the name of the tool. Its Metadata
// has the statistics, the model's judgements, and how many calls of each month it covers. Former guidelines are in its
// history.
//
// # Models
//
// A model writes guidelines from inputs, outputs, errors, statistics and the former guideline. In
// the same answer it judges the calls that rules alone have scored; ReMe asks for each call by
// itself. Without a model rules write guidelines, too. Results of tools are untrusted data:
// prompts fence them, and descriptions present their lessons as observations, not as instructions.
package tool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/internal/learner"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/internal/work"
)

// Config configures a [Memory] and its recorders. [New] copies it.
type Config struct {
	RefreshAfter int           // New calls after which a guideline is due. Optional. Defaults to 10.
	Window       int           // The newest calls that statistics and guidelines cover. Optional. Defaults to 20.
	History      int           // The newest calls that are read. Optional. Defaults to 100; at most 10,000.
	Keep         time.Duration // How long calls are kept. Optional. Defaults to 90 days; at most 5 years.

	// Judge says who scores calls that come without a score. "rules" decide by errors and empty
	// results. "model" reads the results too, in the question for the guideline: a success that
	// gives nothing useful scores 0. Rules score until then, and where there is no model. "off"
	// leaves calls without a score. Optional. Defaults to "model".
	Judge string

	NoRefresh bool // Recorders leave guidelines to the program, which calls Summarize. Optional.
}

const (
	// maxArguments and maxResult bound the stored texts of a call, in characters: beginning and
	// end, with the number of missing ones.
	maxArguments = 2 << 10
	maxResult    = 4 << 10
	// maxDescription bounds what GuideTools adds to a description, in tokens.
	maxDescription = 300
)

// maxKeep is the longest Keep: the months are read one by one.
const maxKeep = 5 * 366 * 24 * time.Hour

func (c Config) withDefaults() (Config, error) {
	out := c
	for _, n := range []struct {
		name           string
		value          *int
		fallback, most int
	}{
		{"RefreshAfter", &out.RefreshAfter, 10, 1 << 30},
		{"History", &out.History, 100, maxLast},
		{"Window", &out.Window, 20, maxLast},
	} {
		*n.value = cmp.Or(*n.value, n.fallback)
		if *n.value < 0 || *n.value > n.most {
			return out, fmt.Errorf("tool: Config.%s %d: %w: from 1 to %d, or 0 for %d", n.name, *n.value, backends.ErrInvalid, n.most, n.fallback)
		}
	}
	work.Default(&out.Judge, byModel)
	if !slices.Contains([]string{byModel, byRules, byNobody}, out.Judge) {
		return out, fmt.Errorf("tool: Config.Judge %q: %w: model, rules or off", c.Judge, backends.ErrInvalid)
	}
	out.History = max(out.History, out.Window)
	if out.Keep = cmp.Or(c.Keep, 90*24*time.Hour); out.Keep < 0 || out.Keep > maxKeep {
		return out, fmt.Errorf("tool: Config.Keep %v: %w: above 0 and at most %v", c.Keep, backends.ErrInvalid, maxKeep)
	}
	return out, nil
}

// Memory holds the knowledge about tools. It is safe for concurrent use. Only recorders own
// goroutines.
type Memory struct {
	cfg    Config
	keeper *keeper.Keeper
	model  *ask.Model
	limits ask.Limits
	prompt int // tokens

	language backends.Language // as configured
	onError  func(ctx context.Context, err error)
	queue    int           // calls that may wait in a recorder
	backoff  time.Duration // pause of a recorder after a failed write, doubled each time up to maxBackoff
}

// New returns tool memory that learns with the keeper, the model and the limits of a backend, as
// reme.New makes one. The keeper's Redact runs on every text before the table of package redact
// does. Without a model calls are counted, and guidelines stay unwritten. An unusable
// configuration is ErrInvalid.
//
// The backend's OnError gets errors beside a call: calls that a recorder lost, as a [*LostError],
// or cannot store for now, guidelines that it could not write, and descriptions that GuideTools
// could not look up.
func New(c Config, of backends.Backend) (*Memory, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	l, err := learner.Of(of)
	if err != nil {
		return nil, err
	}
	onError := l.OnError
	work.Default(&onError, func(context.Context, error) {})
	return &Memory{
		cfg: c, keeper: l.Keeper.For(backends.PartitionWorkspace), model: l.Model, limits: l.Limits, prompt: l.Prompt, language: l.Language, onError: onError,
		queue: 1 << 10, backoff: 200 * time.Millisecond,
	}, nil
}

// redact returns a text in a form to store and show.
func (m *Memory) redact(s string) string {
	return strings.ToValidUTF8(redact.Text(m.keeper.Redact(strings.ToValidUTF8(s, "\uFFFD"))), "\uFFFD")
}

var errNoRequest = fmt.Errorf("tool: %w: no request", backends.ErrInvalid)

// namesOf returns the names of a request, trimmed and each once, in their order.
func namesOf(list []string) []string {
	var out []string
	for _, name := range list {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// each is [work.Each] for eight at the same time.
func each(n int, f func(i int) error) []error { return work.Each(n, 8, "tool", f) }

// notify reports an error beyond any caller. A panic of OnError is ignored.
func (m *Memory) notify(ctx context.Context, err error) {
	_ = work.Catch("OnError", func() error { m.onError(ctx, err); return nil })
}
