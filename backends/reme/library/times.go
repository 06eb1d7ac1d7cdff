// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package library

import "time"

// timeForms are the forms in which times are read, first that of ReMe.
var timeForms = [...]string{
	time.DateTime, "2006-01-02 15:04:05.999999999", time.RFC3339Nano,
	"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", time.DateOnly,
}

// parseTime reads a time; one without a zone is of the given location. It tells
// whether it was one.
func parseTime(s string, in *time.Location) (time.Time, bool) {
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, s, in); err == nil && !t.IsZero() {
			return t.UTC().Truncate(time.Microsecond), true
		}
	}
	return time.Time{}, false
}

// formatTime writes a time as ReMe does: to the second, without a zone.
func formatTime(t time.Time, in *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(in).Format(time.DateTime)
}
