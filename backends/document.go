// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package backends

import "fmt"

// Keys in the Metadata of memories.
const (
	MetaSource = "source" // of a passage: the file, address or name of its document
	MetaPage   = "page"   // of a passage: where it stands there, a number or a text
	MetaHash   = "hash"   // of a passage: SHA-256 of its text, in hexadecimal
	// MetaPromotedFrom is, for a fact of a workspace, its id in the partition of the person it
	// comes from.
	MetaPromotedFrom = "promoted_from"
	// MetaProfile is, for a fact, an object of the profile fields that it fills, with their
	// values: see package profile.
	MetaProfile = "profile"
	MetaMedia   = "media" // a list of the pictures, sounds, videos and files that were put into words
)

// Citation returns the document of a passage and the place in it, such as "manual.pdf, p.
// 3"; "" for another memory.
func (m *Memory) Citation() string {
	source, _ := m.Metadata[MetaSource].(string)
	if page, ok := m.Metadata[MetaPage]; ok && source != "" {
		return fmt.Sprintf("%s, p. %v", source, page)
	}
	return source
}
