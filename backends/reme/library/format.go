// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"fmt"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Format says how a dump writes memories. A load reads every format, and tells them
// apart by itself.
type Format string

// The formats.
const (
	// Einomem is lossless: a header with the version of the format, then a memory
	// of package backends a line, with its vector where that is asked for.
	Einomem Format = ""
	// ReMe is what ReMe 0.2 reads and writes. What a memory has beyond it stands in
	// the line's metadata, under "einomem".
	ReMe Format = "reme"
)

// dumpVersion is the version of the Einomem format.
const dumpVersion = 1

// header is the first line of a dump in the Einomem format.
type header struct {
	Version   int              `json:"einomem_library"`
	Workspace string           `json:"workspace"`
	Memories  int              `json:"memories"` // the lines that follow: fewer are a dump that was cut off
	Embedding *store.Embedding `json:"embedding,omitempty"`
}

func readHeader(o object) (*header, error) {
	h := &header{}
	for name, to := range map[string]any{"einomem_library": &h.Version, "workspace": &h.Workspace, "memories": &h.Memories, "embedding": &h.Embedding} {
		if err := o.take(name, to); err != nil {
			return nil, err
		}
	}
	switch {
	case h.Version < 1 || h.Version > dumpVersion:
		return nil, fmt.Errorf("format version %d is not known, the latest here is %d: load it with the einomem that wrote it", h.Version, dumpVersion)
	case h.Memories < 0, h.Embedding != nil && (h.Embedding.Dim <= 0 || h.Embedding.Model == ""):
		return nil, fmt.Errorf("the header is damaged: %+v", *h)
	}
	return h, nil
}

// ownLine is a line of the Einomem format.
type ownLine struct {
	*backends.Memory
	Version *int64 `json:"version,omitempty"` // left out: it is the partition's
	Vector  []byte `json:"vector,omitempty"`  // as the store keeps it
}

// readOwn reads a memory as package backends writes it.
func readOwn(o object) (m *backends.Memory, vector []byte, err error) {
	m = &backends.Memory{}
	if err := readFields(m, o); err != nil {
		return nil, nil, err
	}
	if err := o.take("vector", &vector); err != nil {
		return nil, nil, err
	}
	delete(o, "version")
	if m.Kind == "" {
		return nil, nil, fmt.Errorf("it has no kind")
	}
	return m, vector, readBesides(m, o)
}

// writeOwn writes a memory in the Einomem format.
func writeOwn(m *backends.Memory, vector []byte) ([]byte, error) {
	return encode(&ownLine{Memory: m, Vector: vector})
}
