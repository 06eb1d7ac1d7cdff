// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// Message returns the blocks of a scope as one message for a prompt. It has the user's role and
// is marked as memory's own. Blocks whose owner the scope lacks, and empty blocks that the agent
// has no tools to fill, are left out; where none remains, the message is nil. The message stays the same, byte for byte,
// until a block changes, so that a provider's prompt cache keeps everything before it. It is the
// caller's own.
// A scope that names neither a user, an agent nor a workspace is ErrNoScope.
func (b *Blocks) Message(ctx context.Context, s backends.Scope) (*schema.Message, error) {
	values, err := b.Get(ctx, s)
	values = slices.DeleteFunc(values, func(v Value) bool { return v.Shown == "" && (v.Block.ReadOnly || !b.config.Tools) })
	if err != nil || len(values) == 0 {
		return nil, err
	}
	m := schema.UserMessage(b.render(values))
	m.Name = "core_memory"
	return einox.Mark{Kind: einox.Core}.On(m), nil
}

// render puts the blocks between tags. Their texts are escaped, so that each stays within its
// tag.
func (b *Blocks) render(values []Value) string {
	var out strings.Builder
	out.WriteString("<core_memory>\n" + b.text.about + "\n")
	if b.config.Tools && slices.ContainsFunc(values, func(v Value) bool { return !v.Block.ReadOnly }) {
		out.WriteString(b.text.edit + "\n")
	}
	for i := range values {
		v := &values[i]
		fmt.Fprintf(&out, "<block name=%q chars=\"%d/%d\"", v.Block.Name, v.Size, v.Block.Limit)
		if v.Block.ReadOnly {
			out.WriteString(" read_only=\"true\"")
		}
		out.WriteString(">\n")
		if d := text.Inert(v.Block.Description); d != "" {
			out.WriteString("<description>" + d + "</description>\n")
		}
		out.WriteString("<text>\n" + strings.TrimSuffix(v.Shown, "\n"))
		if v.Shown != "" {
			out.WriteByte('\n')
		}
		out.WriteString("</text>\n</block>\n")
	}
	out.WriteString("</core_memory>")
	return out.String()
}

// show makes the text of a block safe to show: line breaks stay, and tags in it are harmless. It
// escapes angle brackets and their lookalikes as HTML does. Other spaces become plain ones. It
// drops control characters and invisible ones (zero width, text direction, tags).
func show(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		b.WriteString(visible(r))
	}
	return b.String()
}

// visible returns the form in which a character is shown.
func visible(r rune) string {
	switch {
	case r == '\n' || r == '\t', r >= ' ' && r <= '~' && r != '<' && r != '>': // nearly all
		return string(r)
	case strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r):
		return "\n"
	case unicode.IsSpace(r):
		return " "
	}
	return text.Inert(string(r))
}
