// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/einomem/einomem/backends"
)

// remeLine is a memory as ReMe 0.2 writes it, its members in the same order. What
// stands beside them is added by encodeLine.
type remeLine struct {
	Workspace string         `json:"workspace_id"`
	ID        string         `json:"memory_id"`
	Kind      string         `json:"memory_type"`
	WhenToUse string         `json:"when_to_use"`
	Content   string         `json:"content"`
	Score     any            `json:"score"`         // what is no quality stays as it was read
	Created   any            `json:"time_created"`  // what is no time, too
	Modified  any            `json:"time_modified"` // as here
	Author    string         `json:"author"`
	Metadata  map[string]any `json:"metadata"`
}

// members are the names of a remeLine.
var members = [...]string{"workspace_id", "memory_id", "memory_type", "when_to_use", "content", "score", "time_created", "time_modified", "author", "metadata"}

// writeReMe writes a memory as a line of ReMe 0.2, for a workspace. It reads the
// line again: what that does not bring back is said in its metadata, so that
// reading what was written gives the same memory, whatever it has.
func writeReMe(m *backends.Memory, workspace string, in *time.Location) ([]byte, error) {
	want := *m
	want.Scope.Namespace, want.Scope.Workspace, want.Version = "", "", 0
	metadata, err := asJSON(m.Metadata)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	want.Metadata, _ = metadata.(map[string]any)
	restoreID(&want)
	text, missing, err := tryLine(&want, &want, workspace, in)
	if err != nil || len(missing) == 0 {
		return text, err
	}
	said := want
	_, own := want.Metadata[beyondKey] // somebody else's, which must not be lost to ours
	if _, broken := missing["metadata"]; broken || own {
		said.Metadata = nil // nothing of it may disturb the reader
		if _, missing, err = tryLine(&said, &want, workspace, in); err != nil {
			return nil, err
		}
	}
	line, extra := plainLine(&said, in)
	line.Workspace = workspace
	if line.Metadata, err = withBeyond(line.Metadata, missing); err != nil {
		return nil, err
	}
	return encodeLine(line, extra)
}

// tryLine writes what ReMe has members for of a memory, and returns which fields of
// want reading that does not bring back.
func tryLine(m, want *backends.Memory, workspace string, in *time.Location) ([]byte, map[string]any, error) {
	line, extra := plainLine(m, in)
	line.Workspace = workspace
	text, err := encodeLine(line, extra)
	if err != nil {
		return nil, nil, err
	}
	got := &backends.Memory{}
	if o, err := parseObject(text); err == nil {
		if read, err := readReMe(o, in); err == nil {
			got = read
		}
	}
	return text, differing(want, got), nil
}

// restoreID gives the memory of a tool the id back that it had in ReMe: a load gives
// it the one of its workspace again. The metadata is the caller's to change.
func restoreID(m *backends.Memory) {
	extra, _ := m.Metadata[extraKey].(map[string]any)
	id, ok := extra["memory_id"].(string)
	if !ok || m.Kind != backends.KindTool || id == "" {
		return
	}
	m.ID = id
	delete(extra, "memory_id")
	if len(extra) == 0 {
		delete(m.Metadata, extraKey)
	}
}

// plainLine returns the line of a memory as far as ReMe's members go, and what
// stands beside them.
func plainLine(m *backends.Memory, in *time.Location) (*remeLine, map[string]any) {
	line := &remeLine{ID: m.ID, Kind: memoryType(m.Kind), WhenToUse: m.WhenToUse, Content: m.Text,
		Score: 0.0, Created: formatTime(m.Created, in), Modified: formatTime(m.Updated, in), Author: m.Origin.Author}
	if m.Quality != nil {
		line.Score = *m.Quality
	}
	line.Metadata = maps.Clone(m.Metadata)
	if line.Metadata == nil {
		line.Metadata = map[string]any{}
	}
	lower(line.Metadata)
	extra := map[string]any{}
	if v, ok := line.Metadata[extraKey].(map[string]any); ok {
		maps.Copy(extra, v)
		delete(line.Metadata, extraKey)
	}
	for name, to := range map[string]*any{"score": &line.Score, "time_created": &line.Created, "time_modified": &line.Modified} {
		if v, ok := extra[name]; ok && reflect.TypeOf(v) == reflect.TypeOf(*to) {
			*to = v
		}
	}
	maps.DeleteFunc(extra, func(name string, _ any) bool { return slices.Contains(members[:], name) })
	moveBesides(line, extra)
	return line, extra
}

// moveBesides moves what a kind has beside the rest out of the metadata. ReMe
// always writes these members.
func moveBesides(line *remeLine, extra map[string]any) {
	move := func(name string, none any) {
		if _, twice := extra[name]; twice {
			return
		}
		extra[name] = none
		if v, ok := line.Metadata[name]; ok && !blank(v) && sameType(v, none) {
			extra[name] = v
			delete(line.Metadata, name)
		}
	}
	switch line.Kind {
	case "personal":
		move("target", "")
		move("reflection_subject", "")
	case "tool":
		move("tool_call_results", []any{})
	}
}

func sameType(v, none any) bool {
	_, text := v.(string)
	_, list := v.([]any)
	_, wantText := none.(string)
	return text && wantText || list && !wantText
}

// memoryType returns the memory_type of a kind. ReMe reads no others.
func memoryType(k backends.Kind) string {
	switch k {
	case backends.KindPersonal, backends.KindTool:
		return string(k)
	}
	return string(backends.KindTask)
}

// encodeLine writes a line: the members of ReMe first, then the others.
func encodeLine(line *remeLine, extra map[string]any) ([]byte, error) {
	text, err := encode(line)
	if err != nil || len(extra) == 0 {
		return text, err
	}
	rest, err := encode(extra)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(text, []byte("}\n")), ','), rest[1:]...), nil
}
