// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trajectory

import (
	"regexp"
	"strings"
)

// tag is what looks like the tag of a fence, with whatever a reader may overlook in
// it.
var tag = regexp.MustCompile(`(?i)<([^<>\p{L}\p{N}]*data-)`)

// Fence puts material between the tags <data-name> and </data-name>. What looks like
// such a tag inside the material is no longer one: nothing in it can close a fence or
// open another.
func Fence(name, material string) string {
	var sb strings.Builder
	sb.WriteString("<data-" + name + ">\n")
	sb.WriteString(tag.ReplaceAllString(material, "&lt;$1"))
	if !strings.HasSuffix(material, "\n") {
		sb.WriteByte('\n')
	}
	sb.WriteString("</data-" + name + ">")
	return sb.String()
}
