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

// MetaEntities is the key of [Memory].Metadata for the people, places, organisations and things
// that a memory is about: a list of texts, or one text. A model that extracts facts writes it. A
// program may, in [AddRequest].Metadata and [UpdateRequest].Metadata. The entities of a memory
// that lacks the key, such as one of an earlier build, are empty.
const MetaEntities = "entities"

// maxEntities is how many entities [CountEntities] returns: those in the most memories.
const maxEntities = 1000

// Entity is a person, a place, an organisation or a thing that memories name.
type Entity struct {
	Name     string    `json:"name"`     // as the memory that was said last spells it
	Memories int       `json:"memories"` // how many name it
	First    time.Time `json:"first"`    // when the first of them was said, else stored
	Last     time.Time `json:"last"`     // the same of the last
}

// EntityLister is implemented by backends that know the entities of their memories.
type EntityLister interface {
	// Entities returns the names in the active memories of the partition that the scope
	// names: see [CountEntities]. Memories without a name give an empty list and a nil
	// error.
	Entities(ctx context.Context, s Scope) ([]Entity, error)
}

// Entities returns the entities of the memory, by [MetaEntities].
func (m *Memory) Entities() []string { return m.names(strings.TrimSpace) }

// names returns the entities as a function spells them, and leaves out empty results.
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

// CountEntities returns the entities of memories: the most frequent first, then the most recent,
// then by name; at most 1,000. Names that differ in case or width (NFKC) alone are one.
// The order of the memories has no effect.
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
	return out[:min(len(out), maxEntities)]
}

// foldName returns the common form of names that differ in case or width alone.
func foldName(name string) string { return strings.TrimSpace(strings.ToLower(norm.NFKC.String(name))) }

// foldNames folds the value of a filter: a text or a list of texts.
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
