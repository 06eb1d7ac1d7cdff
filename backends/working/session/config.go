// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"fmt"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/working/compaction"
)

// Language is the language of the few words that this package adds to a
// conversation. It says nothing of the conversation's own.
type Language string

// The languages that there are words in.
const (
	LanguageEnglish Language = "en"
	LanguageChinese Language = "zh"
)

// Config configures a [Service]. It is copied by [New].
type Config struct {
	// Sessions keeps the conversations. Required. Give the store that turns are
	// appended to.
	Sessions store.Sessions
	// Counter counts the tokens of messages that were appended without a count,
	// and of those that the service adds. Optional. Defaults to compaction.Estimate.
	Counter compaction.Counter
	// OpenTurn is how long after its last message a turn that was not marked as
	// done may still go on: no summary reaches into it. Optional. Defaults to 2
	// minutes, as in package working.
	OpenTurn time.Duration
	// Language is that of the words added. Optional. Defaults to LanguageEnglish.
	Language Language
	// Clock is what ages are measured by. Optional. Defaults to backends.SystemClock.
	Clock backends.Clock
}

// Service reads conversations and manages them. It holds no state of its own: any
// number of services, in any number of processes, may work on one store. Its
// methods are safe for concurrent use.
type Service struct {
	cfg   Config
	words *words
}

// New returns a Service, or ErrInvalid.
func New(cfg *Config) (*Service, error) {
	if cfg == nil || cfg.Sessions == nil {
		return nil, fmt.Errorf("sessions: %w: Config.Sessions is required", backends.ErrInvalid)
	}
	c := *cfg
	if c.OpenTurn < 0 {
		return nil, fmt.Errorf("sessions: Config.OpenTurn is %s: %w: leave it zero for the default", c.OpenTurn, backends.ErrInvalid)
	}
	if c.OpenTurn == 0 {
		c.OpenTurn = 2 * time.Minute
	}
	if c.Counter == nil {
		c.Counter = compaction.Estimate
	}
	if c.Language == "" {
		c.Language = LanguageEnglish
	}
	if c.Clock == nil {
		c.Clock = backends.SystemClock
	}
	w, ok := wordsIn[c.Language]
	if !ok {
		return nil, fmt.Errorf("sessions: Config.Language is %q: %w: use en or zh", c.Language, backends.ErrInvalid)
	}
	return &Service{cfg: c, words: w}, nil
}
