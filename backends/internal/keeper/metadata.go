// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

// The keys of Metadata for the counts of lessons.
const (
	MetaFreq         = "freq"         // how often one was used
	MetaUtility      = "utility"      // and helped
	MetaCorroborated = "corroborated" // how often it was learnt again, or agreed with
	MetaRefuted      = "refuted"      // how often another lesson disagreed
)

// SetMeta puts a value into the metadata of a memory.
func SetMeta(m *backends.Memory, key string, v any) {
	if m.Metadata == nil {
		m.Metadata = map[string]any{}
	}
	m.Metadata[key] = v
}

// Number returns a number of a memory's metadata, also from a text, as foreign libraries
// write it. Any other value is 0.
func Number(m *backends.Memory, key string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(m.Metadata[key])), 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
}

// Count adds to a number of a memory's metadata.
func Count(m *backends.Memory, key string, n float64) {
	if n != 0 {
		SetMeta(m, key, Number(m, key)+n)
	}
}

// Convert decodes the JSON form of a value into another type.
func Convert(v, to any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	return err
}
