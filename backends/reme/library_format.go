// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package reme

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/internal/keeper"
	"github.com/einomem/einomem/backends/store/plan"
	"github.com/einomem/einomem/internal/text"
)

// extraKey holds, in the metadata of a memory, the members of a line for which a memory lacks a
// field.
const extraKey = "extra_fields"

// object is a JSON object. The reader takes its members out one by one, so that in the end the
// unknown ones are left.
type object map[string]any

func parseObject(text []byte) (object, error) {
	if !utf8.Valid(text) { // the decoder would replace invalid bytes silently
		return nil, errors.New("not UTF-8")
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return nil, errors.New("not a JSON object; a library has one in each line")
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return o, nil
}

// has reports whether one of the members is there.
func (o object) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, ok := o[name]; return ok })
}

// take moves a member into a value of its type. A null member is as an absent one.
func (o object) take(name string, to any) error {
	v, target := reflect.ValueOf(o[name]), reflect.ValueOf(to).Elem()
	if v.IsValid() && v.Type() != target.Type() {
		return fmt.Errorf("%s: it is %T, not %s", name, o[name], target.Type())
	}
	if v.IsValid() {
		target.Set(v)
	}
	delete(o, name)
	return nil
}

// parseLine reads a memory in the format of ReMe's dumps, of 0.2 or of before.
func parseLine(text []byte, in *time.Location) (*backends.Memory, error) {
	o, err := parseObject(text)
	if err != nil {
		return nil, err
	}
	switch {
	case o.has("unique_id"):
		return nil, errors.New("of the files of ReMe's local vector store: dump the workspace in ReMe (vector_store, action dump) and load that")
	case o.has("experience_id", "experience_type"): // before 0.2 memories were experiences, of one type
		if id, ok := o["experience_id"]; ok {
			o["memory_id"] = id
			delete(o, "experience_id")
		}
		if kind := o["experience_type"]; kind == "text" || kind == nil {
			delete(o, "experience_type")
		}
	case o.has("export_version"):
		return nil, errors.New("of an export: Backend.Import reads it")
	case !o.has("memory_id", "memory_type", "content", "when_to_use"):
		names := fmt.Sprintf("%.200q", slices.Sorted(maps.Keys(o)))
		return nil, fmt.Errorf("none of ReMe's memory_id, when_to_use and content is among its members %s", names)
	}
	return parseMemory(o, in)
}

// parseMemory reads a memory in the format of ReMe 0.2.
func parseMemory(o object, in *time.Location) (*backends.Memory, error) {
	m := &backends.Memory{Kind: backends.KindTask}
	var kind, created, modified, workspace string
	var score float64
	for name, to := range map[string]any{
		"memory_id": &m.ID, "memory_type": &kind, "when_to_use": &m.WhenToUse, "content": &m.Text, "score": &score, "author": &m.Origin.Author,
		"time_created": &created, "time_modified": &modified, "workspace_id": &workspace, "metadata": &m.Metadata,
	} {
		if err := o.take(name, to); err != nil {
			return nil, err
		}
	}
	if kind != "" {
		if m.Kind = backends.Kind(kind); !slices.Contains([]backends.Kind{backends.KindTask, backends.KindPersonal, backends.KindTool}, m.Kind) {
			return nil, fmt.Errorf("memory_type %.40q: write task, personal or tool", kind)
		}
	}
	switch { // ReMe writes 0 for an unjudged memory
	case score < 0 || score > 1: // of another scale: it stays in its place
		o["score"] = score
	case score != 0:
		m.Quality = &score
	}
	if len(m.Metadata) == 0 {
		m.Metadata = nil
	}
	err := errors.Join(parseTime(&m.Created, m, "time_created", created, "created_time", in), parseTime(&m.Updated, m, "time_modified", modified, "modified_time", in))
	if err != nil {
		return nil, err
	}
	m.Observed = m.Created
	if author, _ := m.Metadata["author"].(string); m.Origin.Author == "" {
		m.Origin.Author = author
	}
	return m, keepExtras(m, o)
}

// parseTime reads a time. Before 0.2 it stands in the metadata alone, under another name.
func parseTime(to *time.Time, m *backends.Memory, name, written, older string, in *time.Location) error {
	before, _ := m.Metadata[older].(string)
	if *to = text.Time(cmp.Or(written, before), in).Truncate(time.Microsecond); to.IsZero() && written != "" {
		return fmt.Errorf("%s %.40q is not a time: write it as %s", name, written, time.DateTime)
	}
	return nil
}

// formatTime writes a time as ReMe does: to the second, in the zone, and without its name.
func formatTime(t time.Time, in *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(in).Format(time.DateTime)
}

// kindMembers are the additional members of a line of a kind, each with the value that ReMe writes
// by default. A memory has them in its metadata.
var kindMembers = map[backends.Kind]map[string]any{
	backends.KindPersonal: {metaTarget: "", "reflection_subject": ""},
	backends.KindTool:     {"tool_call_results": []any{}},
}

// keepExtras puts the remaining members into the metadata: members of the kind under their names,
// others under extraKey.
func keepExtras(m *backends.Memory, left object) error {
	for name, none := range kindMembers[m.Kind] {
		v := left[name]
		if _, twice := m.Metadata[name]; twice && v != nil && !reflect.DeepEqual(v, none) {
			continue
		}
		if delete(left, name); v != nil && !reflect.DeepEqual(v, none) {
			keeper.SetMeta(m, name, v)
		}
	}
	if len(left) == 0 {
		return nil
	}
	if _, twice := m.Metadata[extraKey]; twice {
		return fmt.Errorf("metadata has a member %q, where unknown members are kept: rename it, or remove %.200q", extraKey, slices.Sorted(maps.Keys(left)))
	}
	keeper.SetMeta(m, extraKey, map[string]any(left))
	return nil
}

// lineOrder is the order in which ReMe writes the members of a line; others follow by name.
var lineOrder = []string{
	"workspace_id", "memory_id", "memory_type", "when_to_use", "content", "score", "time_created", "time_modified", "author", "metadata",
	metaTarget, "reflection_subject", "tool_call_results",
}

// Encode returns a memory as a line of ReMe 0.2, without the newline at its end. A dump writes this
// line, and ReMe's HTTP answers have it in a memory_list. workspace goes to workspace_id.
func (l *Library) Encode(m *backends.Memory, workspace string) (json.RawMessage, error) {
	metadata := map[string]any{}
	maps.Copy(metadata, m.Metadata)
	extra, _ := metadata[extraKey].(map[string]any)
	if extra != nil {
		delete(metadata, extraKey)
	}
	line, kind := map[string]any{}, kindMembers[m.Kind]
	maps.Copy(line, extra)
	maps.Copy(line, kind)
	for name, none := range kind {
		if v := metadata[name]; v != nil && reflect.TypeOf(v) == reflect.TypeOf(none) {
			line[name] = v
			delete(metadata, name)
		}
	}
	score, ok := extra["score"]
	if m.Quality != nil {
		score = *m.Quality
	} else if !ok {
		score = 0.0
	}
	maps.Copy(line, map[string]any{
		"workspace_id": workspace, "memory_id": m.ID, "memory_type": string(m.Kind), "when_to_use": m.WhenToUse, "content": m.Text, "score": score,
		"time_created": formatTime(m.Created, l.zone), "time_modified": formatTime(m.Updated, l.zone), "author": m.Origin.Author, "metadata": metadata,
	})
	names := slices.Sorted(maps.Keys(line))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	for i, name := range names {
		member, err := plan.Encode(name, map[string]any{name: line[name]})
		if err != nil {
			return nil, err
		}
		names[i] = member[1 : len(member)-1]
	}
	return json.RawMessage("{" + strings.Join(names, ",") + "}"), nil
}

// place returns where a member stands in a line.
func place(name string) int {
	if at := slices.Index(lineOrder, name); at >= 0 {
		return at
	}
	return len(lineOrder)
}
