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

// take returns a member of a type, and removes it. An absent or null member is the zero value.
func take[T any](o object, name string) (T, error) {
	v, ok := o[name].(T)
	if !ok && o[name] != nil {
		return v, fmt.Errorf("%s: it is %T, not %T", name, o[name], v)
	}
	delete(o, name)
	return v, nil
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
	for name, to := range map[string]*string{
		"memory_id": &m.ID, "memory_type": &kind, "when_to_use": &m.WhenToUse, "content": &m.Text,
		"author": &m.Origin.Author, "time_created": &created, "time_modified": &modified, "workspace_id": &workspace,
	} {
		var err error
		if *to, err = take[string](o, name); err != nil {
			return nil, err
		}
	}
	if kind != "" {
		if m.Kind = backends.Kind(kind); !slices.Contains([]backends.Kind{backends.KindTask, backends.KindPersonal, backends.KindTool}, m.Kind) {
			return nil, fmt.Errorf("memory_type %.40q: write task, personal or tool", kind)
		}
	}
	metadata, err := take[map[string]any](o, "metadata")
	if err != nil {
		return nil, err
	}
	if len(metadata) > 0 {
		m.Metadata = metadata
	}
	if err := parseTimes(m, created, modified, in); err != nil {
		return nil, err
	}
	if err := parseScore(m, o); err != nil {
		return nil, err
	}
	author, _ := m.Metadata["author"].(string)
	m.Origin.Author = cmp.Or(m.Origin.Author, author)
	if err := keepExtras(m, o); err != nil {
		return nil, err
	}
	return m, nil
}

// parseScore takes the score as the memory's quality. ReMe writes 0 for an unjudged memory. A score
// outside 0 to 1 is on another scale, and stays in its place.
func parseScore(m *backends.Memory, o object) error {
	score, err := take[float64](o, "score")
	switch {
	case err != nil:
		return err
	case score < 0 || score > 1:
		o["score"] = score
	case score != 0:
		m.Quality = &score
	}
	return nil
}

// parseTimes sets the times of a memory. Before 0.2 they stand in the metadata alone.
func parseTimes(m *backends.Memory, created, modified string, in *time.Location) error {
	for _, t := range []struct {
		name, older, text string
		to                *time.Time
	}{{"time_created", "created_time", created, &m.Created}, {"time_modified", "modified_time", modified, &m.Updated}} {
		older, _ := m.Metadata[t.older].(string)
		if *t.to = text.Time(cmp.Or(t.text, older), in).Truncate(time.Microsecond); t.to.IsZero() && t.text != "" {
			return fmt.Errorf("%s %.40q is not a time: write it as %s", t.name, t.text, time.DateTime)
		}
	}
	m.Observed = m.Created
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
	line := map[string]any{
		"workspace_id": workspace, "memory_id": m.ID, "memory_type": string(m.Kind), "when_to_use": m.WhenToUse, "content": m.Text, "score": 0.0,
		"time_created": formatTime(m.Created, l.zone), "time_modified": formatTime(m.Updated, l.zone), "author": m.Origin.Author, "metadata": metadata,
	}
	for name, none := range kindMembers[m.Kind] {
		line[name] = none
		if v := metadata[name]; v != nil && reflect.TypeOf(v) == reflect.TypeOf(none) {
			line[name] = v
			delete(metadata, name)
		}
	}
	if extra, ok := metadata[extraKey].(map[string]any); ok {
		delete(metadata, extraKey)
		for name, v := range extra {
			if _, taken := line[name]; !taken || name == "score" {
				line[name] = v
			}
		}
	}
	if m.Quality != nil {
		line["score"] = *m.Quality
	}
	names := lineOrder
	for _, name := range slices.Sorted(maps.Keys(line)) {
		if !slices.Contains(lineOrder, name) {
			names = append(slices.Clip(names), name)
		}
	}
	var parts []string
	for _, name := range names {
		if v, ok := line[name]; ok {
			part, err := plan.Encode(name, map[string]any{name: v})
			if err != nil {
				return nil, err
			}
			parts = append(parts, part[1:len(part)-1])
		}
	}
	return json.RawMessage("{" + strings.Join(parts, ",") + "}"), nil
}
