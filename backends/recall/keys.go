// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package recall

import (
	"slices"

	"github.com/einomem/einomem/backends"
)

// keyed finds the slots of memories by exact keys.
type keyed struct {
	slots map[string][]int32
	size  int64 // bytes, estimated
}

const (
	perKey     = 72 // map entry, string header, slice header
	perKeySlot = 24 // place in the slice, string header in the doc
)

func newKeyed() *keyed { return &keyed{slots: map[string][]int32{}} }

// keysOf returns the keys of a memory, each once.
func (x *index) keysOf(m *backends.Memory) []string {
	if x.keyFunc == nil {
		return nil
	}
	keys := slices.Clone(x.keyFunc(m))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// rekey gives the memory of a slot other keys.
func (x *index) rekey(slot int32, keys []string) {
	d := &x.docs[slot]
	if slices.Equal(d.keys, keys) {
		return
	}
	x.keyed.remove(slot, d.keys)
	x.keyed.add(slot, keys)
	d.keys = keys
}

func (k *keyed) add(slot int32, keys []string) {
	for _, key := range keys {
		before := k.slots[key]
		if len(before) == 0 {
			k.size += perKey
		}
		k.slots[key] = append(before, slot)
		k.size += perKeySlot + int64(len(key))
	}
}

func (k *keyed) remove(slot int32, keys []string) {
	for _, key := range keys {
		slots := k.slots[key]
		last := len(slots) - 1
		slots[slices.Index(slots, slot)] = slots[last]
		k.slots[key] = slots[:last]
		k.size -= perKeySlot + int64(len(key))
		if last == 0 {
			delete(k.slots, key)
			k.size -= perKey
		}
	}
}
