// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// MessageName is the Name of the message of the core blocks.
const MessageName = "core_memory"

// Message returns the blocks of a scope as one message for a prompt, with the user's
// role and marked as memory's own, or nil where the scope names the owner of none.
// It is the same, byte for byte, as long as the blocks hold the same, so that a
// provider's prompt cache keeps what comes before the next change. The message is
// the caller's own.
//
// A scope without user, agent and workspace is ErrNoScope.
func (b *Blocks) Message(ctx context.Context, s backends.Scope) (*schema.Message, error) {
	values, err := b.Get(ctx, s)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	m := schema.UserMessage(b.render(values))
	m.Name = MessageName
	einox.MarkCore(m)
	return m, nil
}

// render puts the blocks between tags that nothing in them can close.
func (b *Blocks) render(values []Value) string {
	var out strings.Builder
	out.WriteString("<core_memory>\n" + b.text.About + "\n")
	if b.config.Tools && slices.ContainsFunc(values, func(v Value) bool { return !v.Block.ReadOnly }) {
		out.WriteString(b.text.Tools + "\n")
	}
	for i := range values {
		v := &values[i]
		fmt.Fprintf(&out, "<block name=%q chars=\"%d/%d\"", v.Block.Name, v.Size(), v.Block.Limit)
		if v.Block.ReadOnly {
			out.WriteString(" read_only=\"true\"")
		}
		out.WriteString(">\n")
		if d := line(v.Block.Description); d != "" {
			out.WriteString("<description>" + d + "</description>\n")
		}
		out.WriteString("<text>\n" + v.Shown())
		if !strings.HasSuffix(out.String(), "\n") {
			out.WriteByte('\n')
		}
		out.WriteString("</text>\n</block>\n")
	}
	out.WriteString("</core_memory>")
	return out.String()
}
