// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package prompt

import (
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/bullet"
	"github.com/einomem/einomem/internal/einox"
)

// note returns the message that shows what the search found, as much as there is
// room for, or nil; and writes to p what it shows. said are the other messages.
func (b *Builder) note(r *Request, f *found, said []*schema.Message, p *Prompt) *schema.Message {
	if !f.searched {
		return nil
	}
	room := max(b.cfg.Budget.Memories, 0)
	if f.core != nil {
		room -= b.cfg.Budget.Counter.Message(f.core)
	}
	if len(p.Hits) == 0 {
		if m := memories(b.text.nothing); r.EmptyMemoryLine && b.cfg.Budget.Counter.Message(m) <= room {
			return m
		}
		return nil
	}
	lines, ids := b.lines(p, shownBy(said), room)
	for ; len(lines) > 0; lines, ids = lines[:len(lines)-1], ids[:len(ids)-1] {
		m := memories(b.text.memories + "\n<memories>\n" + strings.Join(lines, "\n") + "\n</memories>")
		if b.cfg.Budget.Counter.Message(m) <= room { // counts do not add up exactly
			p.Shown = ids
			return m
		}
	}
	return nil
}

// lines returns one line for each hit, best first, and their ids. What does not
// fit makes room for what is smaller; what the prompt says already is left out.
func (b *Builder) lines(p *Prompt, said shown, room int) (lines, ids []string) {
	count := b.cfg.Budget.Counter
	room -= count.Message(memories(b.text.memories + "\n<memories>\n</memories>"))
	for i := range p.Hits {
		m := &p.Hits[i].Memory
		line := bullet.Of(m)
		if line == "" || said.says(m.Text) {
			continue
		}
		if size := count.Text(line + "\n"); size <= room {
			lines, ids = append(lines, line), append(ids, m.ID)
			room -= size
		}
	}
	return lines, ids
}

func memories(text string) *schema.Message {
	m := schema.UserMessage(text)
	m.Name = "memory"
	einox.MarkNote(m)
	return m
}
