// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/ask"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/fault"
	"github.com/einomem/einomem/internal/speech"
	"github.com/einomem/einomem/internal/text"
)

// Skip decides to leave out a message, or the named part of it, for a reason. The
// response says so.
func (c *Call) Skip(u *Utterance, what string, reason error) {
	m := c.Verbatim(c.engine.Kind, u, c.engine.Author)
	m.Text = c.engine.Keeper.Redact(text.Truncate(what, earlierRunes))
	c.decisions = append(c.decisions, &node{wanted: backends.OutcomeSkipped, memory: m, err: c.engine.errorf("message %q: %w", u.ID, reason)})
}

// giveUp decides to keep a stretch as it was said, because both answers of the model made no sense.
// Asking again would cost as much, in every process. It returns other errors.
func (c *Call) giveUp(s *stretch, err error) error {
	if !errors.Is(err, ask.ErrUnusable) {
		return err
	}
	first := len(c.unlearnt)
	for _, p := range s.passages {
		if p.learn {
			c.unlearnt = append(c.unlearnt, p.Utterance)
		}
	}
	c.Fail(c.unlearnt[first], fmt.Errorf("it is kept as it was said, and not asked about again: %w", err))
	return nil
}

// Fail decides that learning from a message failed, and why. The response says so.
func (c *Call) Fail(u *Utterance, reason error) {
	c.Skip(u, u.Text, reason)
	c.decisions[len(c.decisions)-1].wanted = backends.OutcomeFailed
}

// Unlearnt returns the messages that state something from the stretches that were given up, as they
// were said.
func (c *Call) Unlearnt(author string) (out []backends.Memory) {
	for _, u := range c.unlearnt {
		if speech.Classify(u.words) == speech.Statement {
			m := c.Verbatim(c.engine.Kind, u, author)
			m.Text = u.words
			out = append(out, m)
		}
	}
	return out
}

// media are the parts of messages whose content is not text.
var media = []string{"image", "audio", "video", "file"}

var errNotDescribed = fmt.Errorf("%w: no Config.Describe puts it into words; set one, or write the words into the message", backends.ErrInvalid)

// describe adds the words for its media to a message, and skips the media that have none.
func (c *Call) describe(ctx context.Context, u *Utterance, m *schema.Message) error {
	for i, p := range einox.Parts(m) {
		if !slices.Contains(media, p.Media) {
			continue
		}
		says, err := "", errNotDescribed
		if c.engine.Describe != nil && i < len(m.UserInputMultiContent) {
			says, err = c.engine.Describe(ctx, m.UserInputMultiContent[i])
		}
		switch {
		case err == nil:
			u.Text += "\n[" + p.Media + ": " + says + "]"
			u.media = append(u.media, p.Reference())
		case errors.Is(fault.Of(err), backends.ErrInvalid):
			c.Skip(u, "["+p.Media+"]", err)
		default:
			return c.engine.errorf("describing the %s of message %q: %w", p.Media, u.ID, fault.Of(err))
		}
	}
	return nil
}

var errPlanted = errors.New("only pasted or quoted text asks to remember it")

var (
	// instruction matches a text that asks a memory to keep or to drop something.
	instruction = regexp.MustCompile(`(?i)\b(remember|memori[sz]e|keep in mind|from now on|(ignore|forget|disregard) (all|any|that|the|everything|previous|your)|(save|store|record|note|add) (that|this|the following|to (your |the )?memory))\b|记住|记下|牢记|记得|忘记|忘掉|忽略|从现在(起|开始)|(写入|存入)记忆`)
	sentences   = regexp.MustCompile(`[。！？!?;；]+|\.\s`)
	words       = regexp.MustCompile(`\p{Han}|[\p{L}\p{N}]+`)
)

// planted reports whether a statement repeats an instruction from pasted or quoted text
// more than the messages' own words. At least half of its words must be there.
func planted(statement string, from []*Utterance) bool {
	return slices.ContainsFunc(from, func(u *Utterance) bool {
		own, _, instructions := divide(u.Text)
		n := share(statement, instructions)
		return n >= 0.5 && n > share(statement, own)
	})
}

// longMessage is the length in bytes from which the lines in the middle of a message
// count as pasted. People who paste a document introduce it before or after.
const longMessage = 3000

// introduces matches an introduction of pasted text: a request about a text, or a colon.
var introduces = regexp.MustCompile(`(?i)\b(this|these|the following|below)\b|这|以下|下面|[:：]$`)

// divide returns a message's own words, its pasted words, and the instructions to remember in
// the latter. Pasted are lines that begin with >, lines between fences, and lines behind a
// request about them. In the middle of a long message only the sentences with instructions
// count.
func divide(message string) (own, pasted, instructions string) {
	lines, fenced, opened := strings.Split(message, "\n"), false, false
	for i, line := range lines {
		line = strings.TrimSpace(line)
		fence := strings.HasPrefix(line, "```") || strings.HasPrefix(line, `"""`)
		switch {
		case fence, fenced, opened, strings.HasPrefix(line, ">"):
			pasted += line + "\n"
		case len(message) > longMessage && i > 0 && i < len(lines)-1:
			for _, s := range sentences.Split(line, -1) {
				if instruction.MatchString(text.Simplified(s)) {
					instructions += s + "\n"
				}
			}
		default:
			own += line + "\n"
			opened = introduces.MatchString(text.Simplified(line)) && (speech.Classify(line) == speech.Question || strings.HasSuffix(line, ":") || strings.HasSuffix(line, "："))
		}
		fenced = fenced != fence
	}
	if instruction.MatchString(text.Simplified(pasted)) {
		instructions += pasted
	}
	return own, pasted, instructions
}

// share returns the fraction of a statement's words that a text has, 0 to 1.
func share(statement, in string) float64 {
	all, found := words.FindAllString(strings.ToLower(statement), -1), 0
	in = strings.ToLower(in)
	for _, w := range all {
		if strings.Contains(in, w) {
			found++
		}
	}
	return float64(found) / float64(max(1, len(all)))
}
