// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"encoding/json"
	"fmt"

	"github.com/einomem/einomem/backends"
)

// beyondVersion is the version of what stands under beyondKey.
const beyondVersion = 1

// beyond is what a ReMe line says, in its metadata, of a memory that ReMe has no
// field for: times to the microsecond, what it superseded, a quality of 0.
type beyond object

// takeBeyond takes it out of a line's metadata. What somebody else keeps under that
// name stays there.
func takeBeyond(metadata object) (beyond, error) {
	o, _ := parseObject(metadata[beyondKey])
	version := versionOf(o)
	if version > beyondVersion {
		return nil, fmt.Errorf("metadata.%s is of version %v: a later einomem wrote it; load it with that one", beyondKey, version)
	}
	if version > 0 {
		delete(metadata, beyondKey)
		return beyond(o), nil
	}
	return nil, nil
}

// versionOf takes out the version, 0 if there is none.
func versionOf(o object) float64 {
	var version float64
	if o.take("v", &version) != nil {
		return 0
	}
	return version
}

// apply sets the fields that it names.
func (b beyond) apply(m *backends.Memory) error {
	if err := readFields(m, object(b)); err != nil {
		return fmt.Errorf("metadata.%s: %w", beyondKey, err)
	}
	return nil
}

// withBeyond returns metadata with the fields in it.
func withBeyond(metadata, fields map[string]any) (map[string]any, error) {
	fields["v"] = beyondVersion
	text, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	out := make(map[string]any, len(metadata)+1)
	for k, v := range metadata {
		out[k] = v
	}
	out[beyondKey] = json.RawMessage(text)
	return out, nil
}
