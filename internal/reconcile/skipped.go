// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// Skip decides that a message, or what of it is named, is not learnt from, and why. The
// response says so.
func (c *Call) Skip(u *Utterance, what string, reason error) {
	m := c.Verbatim(c.engine.Kind, u, c.engine.Author)
	m.Text = c.engine.Keeper.Redact(text.Truncate(what, earlierRunes))
	c.decisions = append(c.decisions, &node{wanted: backends.OutcomeSkipped, memory: m, err: c.engine.errorf("message %q: %w", u.ID, reason)})
}

// skipRest skips the messages, or their last parts, that no question is left for.
func (c *Call) skipRest(rest []*passage) {
	for len(rest) > 0 {
		p, size := rest[0], 0
		for ; len(rest) > 0 && rest[0].Utterance == p.Utterance; rest = rest[1:] {
			size += len(rest[0].text)
		}
		if p.learn {
			c.Skip(p.Utterance, p.text, fmt.Errorf("%d bytes are behind the last of %d questions; send less at a time", size, c.engine.Questions))
		}
	}
}

// media are the parts of messages that say something without a text.
var media = []string{"image", "audio", "video", "file"}

var errNotDescribed = errors.New("it has no text, and no Config.Describe says what it is")

// describe adds to an utterance what its media are, and skips those of which that is not
// known. A service that does not describe them now is ErrUnavailable.
func (c *Call) describe(ctx context.Context, u *Utterance, m *schema.Message) error {
	for i, p := range einox.Parts(m) {
		if !slices.Contains(media, p.Media) {
			continue
		}
		description, err := "", errNotDescribed
		if c.engine.Describe != nil && i < len(m.UserInputMultiContent) {
			description, err = c.engine.Describe(ctx, m.UserInputMultiContent[i])
		}
		switch {
		case err == nil:
			u.Text += "\n[" + p.Media + ": " + description + "]"
		case errors.Is(err, backends.ErrUnavailable), ctx.Err() != nil:
			return c.engine.errorf("describing the %s of message %q: %w", p.Media, u.ID, err)
		default:
			c.Skip(u, "["+p.Media+"]", err)
		}
	}
	return nil
}
