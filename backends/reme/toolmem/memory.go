// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/reme/flow"
	"github.com/einomem/einomem/internal/keeper"
)

// Memory is what is known of tools. It owns no goroutine (a [Recorder] does) and is
// safe for concurrent use.
type Memory struct {
	cfg    Config
	keeper *keeper.Keeper
}

// New returns a memory of tools. It makes no call. A configuration that cannot work
// is ErrInvalid.
func New(c *Config) (*Memory, error) {
	cfg, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Memory{cfg: cfg, keeper: cfg.Keeper}, nil
}

// partition returns the workspace that a call is confined to: that of its scope, or
// of the context's when the call names none.
func (m *Memory) partition(ctx context.Context, s backends.Scope) (backends.Scope, backends.Partition, error) {
	if s.IsZero() {
		s, _ = backends.ScopeFrom(ctx)
	}
	s, err := s.Normalize()
	if err != nil {
		return s, backends.Partition{}, fmt.Errorf("toolmem: %w", err)
	}
	p, err := s.Partition(backends.PartitionWorkspace)
	if err != nil {
		return s, p, fmt.Errorf("toolmem: %w", err)
	}
	s.Namespace = p.Namespace
	return s, p, nil
}

// redact returns a text as it may be stored.
func (m *Memory) redact(s string) string {
	return strings.ToValidUTF8(m.cfg.Redact(m.keeper.Redact(strings.ToValidUTF8(s, "\uFFFD"))), "\uFFFD")
}

// cardID returns the id of the one record of a tool in a workspace.
func cardID(p backends.Partition, tool string) string {
	return keeper.ContentID(p, backends.KindTool, tool)
}

// maxName is the longest name of a tool, in bytes.
const maxName = 512

var errName = errors.New("no tool name")

// toolName returns a tool's name as it is kept: without space around it.
func toolName(name string) (string, error) {
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", errName
	case len(name) > maxName:
		return "", fmt.Errorf("the tool's name has %d bytes, at most %d", len(name), maxName)
	case !utf8.ValidString(name):
		return "", errors.New("the tool's name is not UTF-8")
	}
	return name, nil
}

// names returns the names of a request, each once, in their order: those of the list
// as they are, and those of a text with commas between them.
func names(list []string, commas string) ([]string, error) {
	var out []string
	seen := map[string]bool{}
	for _, name := range append(append([]string(nil), list...), strings.FieldsFunc(commas, isComma)...) {
		name, err := toolName(name)
		if errors.Is(err, errName) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("toolmem: %w: %w", backends.ErrInvalid, err)
		}
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out, nil
}

func isComma(r rune) bool { return r == ',' || r == '，' || r == '、' }

func (m *Memory) language(material ...string) flow.Language {
	return m.cfg.Language.For(material...)
}
