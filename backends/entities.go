// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// MetaEntities is the key of [Memory].Metadata with the names of the people, places,
// organisations and things that a memory is about: a list of texts, or one text. A model that
// extracts facts writes it, and a program may, in [AddRequest].Metadata and
// [UpdateRequest].Metadata. Memories without it have no entities, such as those of earlier builds.
const MetaEntities = "entities"

// MaxEntities is how many entities an [EntityLister] returns at most: those of most memories.
const MaxEntities = 1000

// Entity is what memories name: a person, a place, an organisation or a thing.
type Entity struct {
	Name     string    `json:"name"`     // as the memory that was said last spells it
	Memories int       `json:"memories"` // how many name it
	First    time.Time `json:"first"`    // when the first of them was said, else stored
	Last     time.Time `json:"last"`     // the same of the last
}

// EntityLister is implemented by backends that know whom and what their memories are about.
type EntityLister interface {
	// Entities returns what the memories name that hold now, of the partition that the scope
	// names: see [CountEntities]. No memory with a name is an empty list, not an error.
	Entities(ctx context.Context, s Scope) ([]Entity, error)
}

// Entities returns the names of whom and what the memory is about, by [MetaEntities].
func (m *Memory) Entities() []string { return m.names(strings.TrimSpace) }

// names returns the entities as some function has them, but for those that it leaves nothing of.
func (m *Memory) names(as func(string) string) []string {
	var names []string
	has(m.Metadata[MetaEntities], func(v any) bool {
		name, _ := v.(string)
		if name = as(name); name != "" {
			names = append(names, name)
		}
		return false
	})
	return names
}

// CountEntities returns what memories name: what most of them name first, then what was said
// last, then by name; at most [MaxEntities]. Names that differ in case or width (NFKC) alone are
// one. The order of the memories does not matter.
func CountEntities(memories iter.Seq[*Memory]) []Entity {
	found := map[string]Entity{}
	for m := range memories {
		at, names := m.Observed, map[string]string{}
		if at.IsZero() {
			at = m.Created
		}
		for _, name := range m.Entities() {
			names[foldName(name)] = name
		}
		for key, name := range names {
			e, known := found[key]
			if e.Memories++; !known || at.Before(e.First) {
				e.First = at
			}
			if c := at.Compare(e.Last); !known || c > 0 || c == 0 && name < e.Name {
				e.Name, e.Last = name, at
			}
			found[key] = e
		}
	}
	out := slices.SortedFunc(maps.Values(found), func(a, b Entity) int {
		return cmp.Or(cmp.Compare(b.Memories, a.Memories), b.Last.Compare(a.Last), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(len(out), MaxEntities)]
}

// foldName returns what names that differ in case or width alone have in common.
func foldName(name string) string { return strings.TrimSpace(strings.ToLower(norm.NFKC.String(name))) }

// foldNames does so with the value of a filter: a text or a list of texts.
func foldNames(v any) any {
	switch x := v.(type) {
	case string:
		return foldName(x)
	case []any:
		for i := range x {
			x[i] = foldNames(x[i])
		}
	}
	return v
}
