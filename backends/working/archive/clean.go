// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/internal/einox"
)

// clean returns the copy of a message that is stored, as the log would store it,
// except that it cuts no text.
func (x *Archive) clean(m *schema.Message) *schema.Message { return einox.Stored(m, x.text) }

func (x *Archive) text(s string) string {
	if s == "" {
		return s
	}
	if x.cfg.Redact != nil {
		s = x.cfg.Redact(s)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
