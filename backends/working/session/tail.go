// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

const (
	// usualTokens is the guess of how many tokens a message has, for the first
	// read: short messages of people, and long ones of tools.
	usualTokens = 100
	// leastPage and mostPage bound what one read of the log asks for; guessPage
	// what the first one does by that guess, because messages may be huge. Each
	// further one asks for at most pageGrowth times what is there.
	leastPage, guessPage, mostPage = 32, 128, 1001
	pageGrowth                     = 4
)

// limit is how much a window may hold.
type limit struct{ tokens, turn, messages int }

func (l limit) over(tokens, messages int) bool {
	return messages > l.messages || l.tokens > 0 && tokens > l.tokens
}

// tail is the end of a session's log as far as it was read, from behind.
type tail struct {
	*Service
	key   key
	limit limit

	state   *store.Session // nil: there is none
	entries []store.Entry  // in order, without gaps, none of them summarised
	whole   bool           // nothing comes before them, but what is summarised
}

// read reads as much of the log as the window can need.
func (t *tail) read(ctx context.Context) error {
	if err := t.open(ctx); err != nil || t.state == nil {
		return err
	}
	t.trim()
	for !t.enough() {
		if err := t.back(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tries is how often the state and the end of the log are read until they fit
// together: more than two needs a session that is deleted and begun over and over.
const tries = 4

// open reads the state and the end of the log, which is not one step of any
// store: at the same time first, and one after the other if that shows that the
// session changed in between.
func (t *tail) open(ctx context.Context) error {
	g, both := errgroup.WithContext(ctx)
	g.Go(func() (err error) { t.state, err = t.find(both, t.key); return err })
	g.Go(func() (err error) { t.entries, err = t.end(both); return err })
	if err := g.Wait(); err != nil {
		return err
	}
	for n := 1; n < tries; n++ {
		switch seen := t.seen(); {
		case t.state == nil && seen == 0, t.state != nil && seen >= t.state.LastSeq:
			return nil
		}
		var err error
		if t.state, err = t.find(ctx, t.key); err != nil {
			return err
		}
		if t.entries, err = t.end(ctx); err != nil {
			return err
		}
		if t.state == nil {
			return nil
		}
	}
	return fmt.Errorf("%w: it was deleted and begun again while it was read: try again", backends.ErrUnavailable)
}

// seen is the last sequence number that was read.
func (t *tail) seen() int64 {
	if n := len(t.entries); n > 0 {
		return t.entries[n-1].Seq
	}
	return 0
}

// end reads the end of the log: usually enough of it, and one message more, which
// shows that a turn begins behind it.
func (t *tail) end(ctx context.Context) ([]store.Entry, error) {
	size := t.limit.messages
	if t.limit.tokens > 0 {
		size = min(size, max(t.limit.tokens/usualTokens, leastPage), guessPage)
	}
	return t.cfg.Sessions.Read(ctx, t.key.partition, t.key.id, store.Range{Limit: min(size+1, mostPage), Last: true})
}

// back reads the page before what was read.
func (t *tail) back(ctx context.Context) error {
	r := store.Range{After: t.state.SummaryUpto, Upto: t.entries[0].Seq - 1, Limit: t.page(), Last: true}
	page, err := t.cfg.Sessions.Read(ctx, t.key.partition, t.key.id, r)
	if err != nil {
		return err
	}
	if len(page) == 0 {
		return fmt.Errorf("%w: it was deleted while it was read: try again", backends.ErrUnavailable)
	}
	t.entries = append(page, t.entries...)
	t.trim()
	return nil
}

// page is how many messages may be missing, by the size of those that are there.
func (t *tail) page() int {
	tokens, said := t.size()
	missing := t.limit.messages - said
	if t.limit.tokens > 0 {
		missing = min(missing, (t.limit.tokens-tokens)/max(tokens/max(said, 1), 1))
	}
	return min(max(missing+missing/4, leastPage), pageGrowth*len(t.entries), mostPage)
}

// trim leaves out what the summary tells.
func (t *tail) trim() {
	n, _ := slices.BinarySearchFunc(t.entries, t.state.SummaryUpto+1, func(e store.Entry, seq int64) int { return int(e.Seq - seq) })
	t.entries = t.entries[n:]
	t.whole = len(t.entries) == 0 || t.entries[0].Seq == t.state.SummaryUpto+1
}

// enough reports whether what comes before can not belong into the window.
func (t *tail) enough() bool {
	return t.whole || t.limit.over(t.size()) && t.newestBegins()
}

// newestBegins reports whether the begin of the newest turn was read, as far as
// it is worth to look for: a turn that was resumed after others began may have
// begun anywhere.
func (t *tail) newestBegins() bool {
	i := t.newest()
	at, ok := indexOf(&t.entries[i])
	return t.before(i) >= 0 && (isUsers(&t.entries[i]) || ok && at == 0 || len(t.entries) > t.limit.messages)
}

// newest returns where the first entry is, of those read, of the turn that spoke
// last.
func (t *tail) newest() int {
	last := len(t.entries) - 1
	for last > 0 && empty(&t.entries[last]) {
		last--
	}
	turn := t.entries[last].Turn
	for i := range t.entries[:last] {
		if t.entries[i].Turn == turn && !empty(&t.entries[i]) {
			return i
		}
	}
	return last
}

// before returns where the last entry before i is that says something, or -1.
func (t *tail) before(i int) int {
	for i--; i >= 0 && empty(&t.entries[i]); i-- {
	}
	return i
}

// size counts what was read.
func (t *tail) size() (tokens, said int) {
	w := weight{limit: t.limit}
	for i := range t.entries {
		w.add(&t.entries[i], t.tokens(&t.entries[i]))
		if !empty(&t.entries[i]) {
			said++
		}
	}
	return w.tokens, said
}

// weight is what entries count as.
type weight struct {
	limit  limit
	tokens int
	turns  map[string]int // what each turn has, where it may not count in full
}

func (w *weight) add(e *store.Entry, tokens int) {
	if w.limit.turn == 0 {
		w.tokens += tokens
		return
	}
	if w.turns == nil {
		w.turns = make(map[string]int)
	}
	had := w.turns[e.Turn]
	w.turns[e.Turn] = had + tokens
	w.tokens += min(had+tokens, w.limit.turn) - min(had, w.limit.turn)
}
