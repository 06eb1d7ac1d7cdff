// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"encoding/json"
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

// marks returns memory's marks on a message as they are stored. One that is an
// object in JSON quotes what was said, and is redacted likewise.
func (x *Archive) marks(m *schema.Message) map[string]string {
	marks := einox.Marks(m)
	if x.cfg.Redact == nil {
		return marks
	}
	for key, mark := range marks {
		var said map[string]any
		if !strings.HasPrefix(mark, "{") || json.Unmarshal([]byte(mark), &said) != nil {
			continue
		}
		if out, err := json.Marshal(x.texts(said)); err == nil {
			marks[key] = string(out)
		}
	}
	return marks
}

// texts redacts all texts in a value of JSON.
func (x *Archive) texts(v any) any {
	switch v := v.(type) {
	case string:
		return x.text(v)
	case []any:
		for i := range v {
			v[i] = x.texts(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = x.texts(v[key])
		}
	}
	return v
}
