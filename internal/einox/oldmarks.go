// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// OldMark reads a mark in the form of releases before [Mark]: a string for each part, under a key
// of its own. Checkpoints, logs of private messages, and archives hold it.
func OldMark[V any](extra map[string]V) (k Mark) {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(extra)), ours) {
		return k
	}
	var index, seq, apart, folded string
	parts := map[string]*string{
		"": (*string)(&k.Kind), "_turn": &k.Turn, "_index": &index, "_life": &k.Epoch, "_seq": &seq, "_archive": &k.Ref, "_session": &k.Session,
		"_placeholder": &k.Stands, "_private": (*string)(&k.Private), "_apart": &apart, "_folded": &folded,
	}
	for key, value := range extra {
		part, is := strings.CutPrefix(key, MarkKey)
		s, _ := any(value).(string)
		if !is || s == "" {
			continue
		}
		if known := parts[part]; known != nil {
			*known = s
		} else if name, is := strings.CutPrefix(part, "_search_"); is {
			k.Found = With(k.Found, name, s == "true")
		} else if name, is := strings.CutPrefix(part, "_owner_"); is {
			k.Owner = With(k.Owner, name, s)
		}
	}
	k.Seq, _ = strconv.ParseInt(seq, 10, 64) // 0 if it is no number
	if i, err := strconv.Atoi(index); err == nil && i >= 0 {
		k.Nth = i + 1
	}
	var notes []struct {
		Folded
		Marks map[string]string
	}
	_ = json.Unmarshal([]byte(folded), &notes) // none if it is damaged
	for _, n := range notes {
		n.Mark = OldMark(n.Marks)
		k.Folded = append(k.Folded, n.Folded)
	}
	k.Apart = apart != ""
	return k
}
