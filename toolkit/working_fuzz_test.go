// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolkit_test

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
)

// Whatever a model writes, it gets an answer of some length, never an error, and
// nothing of another session.
func FuzzWorkingArguments(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"pattern":"a","archives":["log-1"],"context_lines":2,"limit":3}`, `{"pattern":".","regex":true,"context_lines":1e9,"limit":1e9}`, `{"pattern":"(a|b)*c","regex":"yes"}`, `{"archive":"log-1-2","line":1,"lines":9}`,
		`{"archive":"log-1","byte":3,"bytes":1}`, `{"archive":"a-bbbbbbbbbbbbbbbbbbbb#1","line":-1}`, `{"archive":"log-1-99999999999999999999","pattern":"\u0000"}`, `{"pattern":["a"],"archive":{}}`, "{\"pattern\":\"\xff\",\"archive\":\"\xff\"}", `[`, `nul`,
	} {
		f.Add(seed)
	}
	s := newShelf(f)
	s.say(schema.ToolMessage(strings.Repeat("words in a line 一行\n", 50)+strings.Repeat("a long one ", 3000), "c"), schema.UserMessage("abc"))
	s.put(ann, schema.UserMessage("an archived one"))
	s.put(backends.Scope{UserID: "bob", SessionID: ann.SessionID}, schema.UserMessage("SECRET"))
	tools := s.tools()
	f.Fuzz(func(t *testing.T, arguments string) {
		for name, tool := range tools {
			out, err := tool.InvokableRun(context.Background(), arguments)
			switch {
			case err != nil || strings.TrimSpace(out) == "":
				t.Fatalf("%s answered %q, %v", name, out, err)
			case len(out) > 70_000 || !utf8.ValidString(out):
				t.Fatalf("%s answered %d bytes", name, len(out))
			case strings.Contains(out, "SECRET") && !strings.Contains(strings.ToUpper(arguments), "S"):
				t.Fatalf("%s reached another session: %s", name, out)
			case strings.Contains(out, "panicked"):
				t.Fatalf("%s panicked: %s", name, out)
			}
		}
		if len(s.told) > 0 {
			t.Fatalf("told of failures: %v", s.told)
		}
	})
}
