// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package compaction

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/work"
)

// Rewrite is the step of a program's own. Run returns the context that takes the place of the one
// it gets. Messages may be missing. In the place of messages in a row that are missing there may
// be one new message, or as many as are missing, each of the same role.
//
// The step checks the result. What is missing goes to the archive first. A new message is
// extended by the reference; where there is none, a placeholder gives it. Providers must accept
// the rest: the calls of a message leave together with their results. The system's messages, the
// notes of the turn and the user's words of the running round must stay, in their order.
type Rewrite struct {
	Name string // In a [Report]. Optional. Defaults to "rewrite".
	// Run gets the messages, and by how many tokens they are too many. It returns the messages that
	// stay, by their pointers, and new ones. References count, some 50 tokens for each new message:
	// save so many more than over, else the next step runs too. It must leave messages unchanged, and
	// be safe for concurrent use. A result that breaks a rule, one that is no smaller, an error and a
	// panic leave the context as it was, and are in the step's [Report]. Required.
	Run func(ctx context.Context, messages []*schema.Message, over int) ([]*schema.Message, error)
}

func (s Rewrite) build(*Config) (*step, error) {
	if s.Run == nil {
		return nil, fmt.Errorf("%w: Rewrite.Run is required", backends.ErrInvalid)
	}
	if s.Name == "" {
		s.Name = "rewrite"
	}
	return &step{name: s.Name, run: func(ctx context.Context, c *draft) error {
		messages := make([]*schema.Message, len(c.messages))
		for i, m := range c.messages {
			messages[i] = m.Message
		}
		var out []*schema.Message
		err := work.Catch(s.Name, func() (err error) {
			out, err = s.Run(ctx, messages, c.over())
			return err
		})
		if err != nil {
			return err
		}
		parts, err := c.compare(out)
		if err != nil {
			return fmt.Errorf("%w: %w", backends.ErrInvalid, err)
		}
		return c.rewrite(ctx, parts)
	}}, nil
}

// part is a stretch of a rewritten context: one message that stays, or messages that are missing
// with the one in their place, if any.
type part struct {
	stays int // where gone is empty
	gone  []int
	fresh *schema.Message
}

// compare divides a rewritten context, and returns an error where it breaks a rule of [Rewrite].
func (c *draft) compare(out []*schema.Message) ([]part, error) {
	at := make(map[*schema.Message]int, len(c.messages))
	for i, m := range c.messages {
		at[m.Message] = i
	}
	var parts []part
	var fresh []*schema.Message
	l, next := c.layout(), 0
	leave := func(upto int) error {
		var gone []int
		for ; next < upto; next++ {
			if m := c.messages[next]; l.keeps(c.messages, next) || next >= l.running.From && m.Asks() {
				return fmt.Errorf("message %d, of the %s, must stay", next, m.Role)
			}
			gone = append(gone, next)
		}
		each := len(fresh) == len(gone)
		for n := 0; each && n < len(fresh); n++ {
			each = fresh[n].Role == c.messages[gone[n]].Role
		}
		switch {
		case each:
			for n, i := range gone {
				parts = append(parts, part{gone: []int{i}, fresh: fresh[n]})
			}
		case len(fresh) > 1 || len(gone) == 0:
			return fmt.Errorf("%d new messages before message %d take the place of %d: give one, or as many of the same roles", len(fresh), upto, len(gone))
		default:
			parts = append(parts, part{gone: gone, fresh: append(fresh, nil)[0]})
		}
		fresh = nil
		return nil
	}
	for _, m := range out {
		i, old := at[m]
		switch {
		case m == nil:
			return nil, errors.New("a message is nil")
		case !old:
			fresh = append(fresh, m)
			continue
		case i < next:
			return nil, fmt.Errorf("message %d stands twice, or out of its order", i)
		}
		if err := leave(i); err != nil {
			return nil, err
		}
		parts, next = append(parts, part{stays: i}), i+1
	}
	return parts, leave(len(c.messages))
}

// rewrite archives what is missing, and makes the parts the context.
func (c *draft) rewrite(ctx context.Context, parts []part) error {
	var now []einox.Marked
	gone, total := 0, 0
	for _, p := range parts {
		if len(p.gone) == 0 {
			now = append(now, c.messages[p.stays])
			continue
		}
		g := &leaving{}
		c.grow(g, p.gone)
		ref, err := c.put(ctx, g.messages...)
		if err != nil {
			return err
		}
		gone += len(p.gone)
		now = append(now, c.inPlaceOf(g, p.fresh, ref))
	}
	if sound := einox.Repair(now, c.texts.repair); !slices.EqualFunc(now, sound, func(a, b einox.Marked) bool { return a.Message == b.Message }) {
		return fmt.Errorf("%w: providers refuse the rewritten context: a call lost its result, or a result its call", backends.ErrInvalid)
	}
	tokens := make([]int, len(now))
	for i, m := range now {
		tokens[i] = c.count(m)
		total += tokens[i]
	}
	if total >= c.total {
		return fmt.Errorf("%w: the rewritten context has %d tokens, the one before it %d", backends.ErrInvalid, total, c.total)
	}
	c.messages, c.tokens, c.total = now, tokens, total
	c.replaced += gone
	return nil
}

// inPlaceOf returns the message that replaces those that leave, with their reference.
func (c *draft) inPlaceOf(g *leaving, fresh *schema.Message, ref string) einox.Marked {
	if fresh == nil {
		return c.placeholder(&g.digest, c.shapes(g.indices[0] >= c.layout().running.From)[0], ref)
	}
	own, mark := *fresh, einox.Mark{Kind: einox.Summary, Ref: ref}
	own.Content = strings.TrimSpace(own.Content + "\n[" + c.where(ref) + "]")
	if old := g.messages[0]; len(g.messages) == 1 && old.Role == own.Role {
		mark = old.Mark
		mark.Ref, mark.Stands = ref, ofOne
	} else {
		stands, _ := json.Marshal(&g.digest) // texts and numbers always encode
		mark.Stands = string(stands)
	}
	return einox.Marked{Message: &own, Mark: mark}
}
