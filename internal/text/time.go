// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package text

import "time"

// timeLayouts are how programs and models write times.
var timeLayouts = []string{
	time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04", "2006-01-02 15:04",
	time.DateOnly, "2006/01/02", "2006-01", "2006",
}

// Time reads a time, or the beginning of a day, a month or a year, as programs and models
// write it: in a zone, unless it names one. It is zero for what it cannot read.
func Time(s string, in *time.Location) time.Time {
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, in); err == nil && t.Year() > 0 {
			return t.UTC()
		}
	}
	return time.Time{}
}
