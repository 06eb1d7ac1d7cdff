// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"reflect"

	"github.com/einomem/einomem/backends"
)

// lifted are members of a line's metadata that einomem has under another name, or
// one level higher: there filters find them.
var lifted = [...]struct{ inside, from, to string }{
	{"extra_info", "tags", "tags"},
	{"extra_info", "confidence", "confidence"},
	{"extra_info", "step_type", "step_type"},
	{"extra_info", "tools_used", "tools_used"},
	{"", "category", "source"},
}

// liftable returns what a lifted member is made from, nil if it is not there.
func liftable(metadata map[string]any, inside, from string) any {
	if inside == "" {
		return metadata[from]
	}
	in, _ := metadata[inside].(map[string]any)
	return in[from]
}

// lift adds the lifted members that are not there.
func lift(metadata map[string]any) {
	for _, l := range lifted {
		v := liftable(metadata, l.inside, l.from)
		if _, taken := metadata[l.to]; v != nil && !taken {
			metadata[l.to] = backends.CloneJSON(v)
		}
	}
}

// lower removes the members that lift would add again.
func lower(metadata map[string]any) {
	for _, l := range lifted {
		v := liftable(metadata, l.inside, l.from)
		if v != nil && reflect.DeepEqual(v, metadata[l.to]) {
			delete(metadata, l.to)
		}
	}
}
