// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/internal/work"
)

// ShortenInput makes a user's message fit that the running round cannot show whole: a pasted log
// or book. The message moves to the archive. Its beginning and its end stay, with its size and
// the way to search and read it.
//
// With a model, the message is also read piece by piece, and the notes of that reading stand
// below. The model sees the beginning and the end of what the user said since the last answer, the
// notes so far, and one piece; it writes the notes anew. So the notes have the same bound however
// long the message is. MemAgent (arXiv 2507.02259) reads long texts in this way.
//
// The step runs where the user's words of the running round are more than a quarter of the budget's
// limit, and exceed seven eighths of it with the system's messages and the notes of the turn. They
// have half of what those leave afterwards. After all other steps they become shorter still, where
// the context would exceed the limit otherwise. A private message, and one of a request without an
// archive, is shortened and kept nowhere: only the caller has the rest. Pictures and other media of
// a message stay in sight; with media in the deprecated MultiContent it stays as it is.
type ShortenInput struct {
	// Model reads the message. Optional. A nil model leaves the beginning and the end.
	Model model.BaseChatModel
	// MaxPieces bounds the calls of the model for one message. The shortened message says how
	// much of it was read. Optional. Defaults to 32.
	MaxPieces int
	// Window is the window of Model in tokens. Optional. Defaults to the budget's limit.
	Window int
	// Timeout is how long one call of the model may take. Optional. Defaults to 60 s.
	Timeout time.Duration
}

func (s ShortenInput) build(cfg *Config) (*step, error) {
	var reading *summarizer
	work.Default(&s.MaxPieces, 32)
	if s.MaxPieces < 0 || s.Window < 0 {
		return nil, fmt.Errorf("%w: MaxPieces %d, Window %d: neither may be negative", backends.ErrInvalid, s.MaxPieces, s.Window)
	}
	if s.Model != nil {
		full, err := SummarizeRounds{Model: s.Model, SummaryWindow: s.Window}.withDefaults(cfg.Budget.Limit())
		if err != nil {
			return nil, err
		}
		m, err := ask.New(&ask.Config{Name: "reading", Model: s.Model, Timeout: s.Timeout, Limit: "compaction.ShortenInput.Timeout"})
		if err != nil {
			return nil, err
		}
		reading = &summarizer{config: full, model: m}
	}
	again := &step{name: "shorten_input", when: func(c *draft) bool { return c.usage().Over() > 0 && len(c.shortInput()) > 0 }, run: shortenAgain}
	return &step{name: "shorten_input", last: again, run: func(ctx context.Context, c *draft) error {
		limit := c.config.Budget.Limit()
		return c.shortenInput(ctx, func() int {
			if said, others := c.staying(); said+others > limit*7/8 && said > limit/4 {
				return said - max(limit-others, 0)/2
			}
			return 0
		}, func(ctx context.Context, request, said string, size int) (string, error) {
			if reading == nil {
				return "", nil
			}
			return reading.read(ctx, c, request, said, size, s.MaxPieces)
		})
	}}, nil
}

// staying counts the messages that no step removes: the user's of the running round, and others.
func (c *draft) staying() (said, others int) {
	l := c.layout()
	for i, m := range c.messages {
		if i >= l.running.From && m.Asks() {
			said += c.tokens[i]
		} else if l.keeps(c.messages, i) {
			others += c.tokens[i]
		}
	}
	return said, others
}

// leastInput is the smallest size of a shortened message, in tokens.
const leastInput = 150

// shortenInput shortens the user's messages of the running round, the largest first, while
// excess returns more than 0. notes returns notes on a text for a request, of at most size tokens, or "".
func (c *draft) shortenInput(ctx context.Context, excess func() int, notes func(ctx context.Context, request, said string, size int) (string, error)) error {
	var errs error
	var order []int
	var request []string
	running := c.layout().running.From
	first := running // of what the user said since the last answer
	for first > 0 && c.messages[first-1].Asks() {
		first--
	}
	for i := first; i < len(c.messages); i++ {
		m := c.messages[i]
		if i >= running && m.Asks() && m.Stands == "" && (len(m.MultiContent) == 0 || !hasMedia(m.Message)) {
			order = append(order, i)
		}
		if m.Asks() && m.Private == "" {
			request = append(request, einox.Text(m.Message))
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return c.tokens[b] - c.tokens[a] })
	for _, i := range order {
		over, tokens := excess(), c.tokens[i]
		if over <= 0 || tokens <= leastInput {
			break
		}
		m, room := c.messages[i], max(tokens-over, leastInput)
		said, told := einox.Text(m.Message), ""
		if m.Private == "" {
			var err error
			told, err = notes(ctx, strings.Join(request, "\n\n"), said, room/4)
			errs = errors.Join(errs, err)
		}
		build := func(ref string) einox.Marked { return c.shortened(i, said, told, room, ref) }
		if short := build(""); m.Private == "" && c.archive != nil {
			errs = errors.Join(errs, c.substitute(ctx, []swap{{index: i, build: build}}, excess))
		} else if c.count(short) < tokens {
			c.replace([]int{i}, short)
		}
	}
	return errs
}

// shortenAgain takes from the middle of what stands for the user's messages of the running round, as
// much as the context exceeds its limit by.
func shortenAgain(_ context.Context, c *draft) error {
	for _, i := range c.shortInput() {
		m, over := c.messages[i], c.usage().Over()
		if over <= 0 {
			break
		}
		head, rest, _ := strings.Cut(einox.Text(m.Message), "\n")
		room := max(c.tokens[i]-over, leastInput) - c.count(inputFor(m, head+"\n", m.Ref))
		if short := inputFor(m, strings.TrimSpace(head+"\n"+text.Fit(rest, room, c.countText)), m.Ref); c.count(short) < c.tokens[i] {
			c.replace([]int{i}, short)
		}
	}
	return nil
}

// shortInput returns the indexes of what stands for the user's messages of the running round.
func (c *draft) shortInput() (indexes []int) {
	for i := c.layout().running.From; i < len(c.messages); i++ {
		if m := c.messages[i]; m.Asks() && m.Stands == ofOne {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// shortened returns the message that replaces message i, in at most room tokens where its first
// line leaves any. Without a reference it says that the rest is kept nowhere.
func (c *draft) shortened(i int, said, notes string, room int, ref string) einox.Marked {
	m := c.messages[i]
	where := c.texts.unkept
	if ref != "" {
		where = c.where(ref)
	}
	head := fmt.Sprintf(c.texts.input, c.sizeOf(m.Message, c.tokens[i]), where)
	if notes != "" {
		notes = "\n" + c.texts.reading + "\n" + quote(notes)
	}
	bare := c.count(inputFor(m, head+"\n\n"+notes, ref))
	words := text.Fit(said, room-bare, c.countText)
	return inputFor(m, strings.TrimSpace(head+"\n"+words+notes), ref)
}

// inputFor is placeholderFor for a message of the user, whose media stay.
func inputFor(m einox.Marked, content, ref string) einox.Marked {
	short := placeholderFor(m, content, ref)
	for _, p := range m.UserInputMultiContent {
		if p.Type != schema.ChatMessagePartTypeText {
			short.UserInputMultiContent = append(short.UserInputMultiContent, p)
		}
	}
	if len(short.UserInputMultiContent) > 0 { // where there are parts, they hold the text
		said := schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: content}
		short.Content, short.UserInputMultiContent = "", slices.Insert(short.UserInputMultiContent, 0, said)
	}
	return short
}

// read returns what a model noted for a request of a text that it read in pieces, in about size tokens. If the
// model fails at a piece, the notes on the pieces before it come with the error.
func (s *summarizer) read(ctx context.Context, c *draft, request, said string, size, most int) (string, error) {
	system := strings.Join([]string{c.texts.askRead, c.texts.askRules, fmt.Sprintf(c.texts.askLength, size*c.texts.runesPerTen/10)}, "\n\n")
	room := s.config.SummaryWindow - c.countText(system) - 2*size - formTokens
	if room < 2*leastTokens {
		return "", fmt.Errorf("%w: a window of %d tokens is too small for the reading model: raise ShortenInput.Window", backends.ErrInvalid, s.config.SummaryWindow)
	}
	asked := []line{{Role: string(schema.User), Text: text.Fit(request, room/8, c.countText)}}
	parts := text.Divide(said, room*2/3, c.countText) // JSON writes some characters longer
	notes := ""
	for n, part := range parts {
		var err error
		if n < most {
			material := ask.Section("request", asked)
			if notes != "" {
				material += ask.Section("former_summary", []line{{Role: "summary", Text: notes}})
			}
			material += ask.Section("messages", []line{{Role: "context", Text: part}})
			q := &ask.Question{System: system, User: material, Tool: toolName, Purpose: "Keep the notes.", Language: c.language}
			var now string
			now, err = s.ask(ctx, c, q, func(summary string) error {
				if c.countText(summary) > 2*size {
					return fmt.Errorf(c.texts.errTooLong, size*c.texts.runesPerTen/10)
				}
				return nil
			})
			if err == nil {
				if now != "" { // else the piece says nothing for the request
					notes = text.Fit(now, size, c.countText)
				}
				continue
			}
		}
		if notes != "" {
			notes = fmt.Sprintf(c.texts.readPart, n, len(parts)) + "\n" + notes
		}
		return notes, err
	}
	return notes, nil
}
