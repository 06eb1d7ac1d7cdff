// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"
	"reflect"
	"time"

	"github.com/einomem/einomem/backends"
)

// Names in the metadata of memories that were read from a file.
const (
	// extraKey is where members of a line stand that no memory has a field for.
	extraKey = "extra_fields"
	// beyondKey is where the metadata of a ReMe line says what else the memory has.
	beyondKey = "einomem"
)

// besides are the members of a ReMe line beside those that all kinds have, which
// stand in the metadata of a memory under the same name.
var besides = [...]string{"target", "reflection_subject", "tool_call_results"}

// readReMe reads a memory as ReMe 0.2 writes it. What stays in o in the end is kept
// under extraKey.
func readReMe(o object, in *time.Location) (*backends.Memory, error) {
	m := &backends.Memory{}
	var kind string
	for name, to := range map[string]*string{"memory_id": &m.ID, "memory_type": &kind, "when_to_use": &m.WhenToUse, "content": &m.Text, "author": &m.Origin.Author} {
		s, err := o.text(name)
		if err != nil {
			return nil, err
		}
		*to = s
	}
	delete(o, "workspace_id") // the workspace is the one that is loaded into
	var err error
	if m.Kind, err = kindOf(kind); err != nil {
		return nil, err
	}
	if m.Quality, err = readScore(o); err != nil {
		return nil, err
	}
	inner, err := o.nested("metadata")
	if err != nil {
		return nil, err
	}
	beyond, err := takeBeyond(inner)
	if err != nil {
		return nil, err
	}
	if m.Metadata, err = inner.values(); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	readTimes(m, o, in)
	if m.Origin.Author == "" {
		m.Origin.Author, _ = m.Metadata["author"].(string)
	}
	if err := readBesides(m, o); err != nil {
		return nil, err
	}
	lift(m.Metadata)
	return m, beyond.apply(m)
}

// kindOf returns the kind of a memory_type: a line without one is a task's.
func kindOf(memoryType string) (backends.Kind, error) {
	switch memoryType {
	case "", "task":
		return backends.KindTask, nil
	case "personal":
		return backends.KindPersonal, nil
	case "tool":
		return backends.KindTool, nil
	}
	return "", fmt.Errorf("memory_type %.40q is none that ReMe 0.2 has: write task, personal or tool", memoryType)
}

// readScore takes the score as the memory's quality, if it is one: 0 is what ReMe
// writes where nobody judged, and what is not from 0 to 1 is on another scale.
func readScore(o object) (*float64, error) {
	var score *float64
	raw := o["score"]
	if err := o.take("score", &score); err != nil {
		return nil, fmt.Errorf("score is not a number")
	}
	switch {
	case score == nil || *score == 0:
		return nil, nil
	case *score < 0 || *score > 1:
		o["score"] = raw
		return nil, nil
	}
	return score, nil
}

// readTimes takes the times. What is no time stays as it is written.
func readTimes(m *backends.Memory, o object, in *time.Location) {
	for _, field := range []struct {
		name, inner string
		to          *time.Time
	}{{"time_created", "created_time", &m.Created}, {"time_modified", "modified_time", &m.Updated}} {
		raw, has := o[field.name]
		s, err := o.text(field.name)
		if err == nil && s == "" {
			s, _ = m.Metadata[field.inner].(string)
			*field.to, _ = parseTime(s, in)
			continue
		}
		t, ok := parseTime(s, in)
		if *field.to = t; !ok && has {
			o[field.name] = raw
		}
	}
	m.Observed = m.Created
}

// readBesides takes what some kinds have beside the rest, and all that is left.
func readBesides(m *backends.Memory, o object) error {
	left, err := o.values()
	if err != nil || len(left) == 0 {
		return err
	}
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	for _, name := range besides {
		v, ok := left[name]
		if !ok {
			continue
		}
		have, twice := m.Metadata[name]
		if !twice && !blank(v) {
			m.Metadata[name] = v
		}
		if !twice || reflect.DeepEqual(have, v) || blank(v) {
			delete(left, name)
		}
	}
	if len(left) == 0 {
		return nil
	}
	if _, taken := m.Metadata[extraKey]; taken {
		return fmt.Errorf("metadata has a member %q already: rename it, or one of %s", extraKey, namesOf(left))
	}
	m.Metadata[extraKey] = left
	return nil
}

// blank reports whether a value is what ReMe writes where there is none.
func blank(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	}
	return false
}
