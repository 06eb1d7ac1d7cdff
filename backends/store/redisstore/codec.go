// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
)

// unstamp splits "<version> <text>".
func unstamp(what, stamped string) (version int64, text string, err error) {
	before, text, ok := strings.Cut(stamped, " ")
	if version, err = strconv.ParseInt(before, 10, 64); err != nil || !ok {
		return 0, "", fmt.Errorf("%s: %w: not as it was written: no version: restore a backup", what, backends.ErrUnavailable)
	}
	return version, text, nil
}

// timeText formats a time so that it reads back unchanged.
func timeText(t time.Time) string { return t.Format(time.RFC3339Nano) }

func parseTime(what, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, fmt.Errorf("%s: %w: not as it was written: %w", what, backends.ErrUnavailable, err)
	}
	return t, nil
}

// past reports whether a session's end has come. An empty text has none.
func past(expires string, now time.Time) (bool, error) {
	t, err := parseTime("session", expires)
	return !t.IsZero() && !now.Before(t), err
}

// texts returns the strings of an array that a script returned. A nil in it becomes an
// empty string.
func texts(v any) []string {
	all, _ := v.([]any)
	out := make([]string, len(all))
	for i, e := range all {
		out[i], _ = e.(string)
	}
	return out
}

// number reads an integer from a script's answer, which may be text.
func number(v any) (int64, error) {
	switch x := v.(type) {
	case int64:
		return x, nil
	case string:
		if n, err := strconv.ParseInt(x, 10, 64); err == nil {
			return n, nil
		}
	}
	return 0, badAnswer(v)
}

// numbers reads an array of integers.
func numbers(v any) ([]int64, error) {
	all, ok := v.([]any)
	if !ok {
		return nil, badAnswer(v)
	}
	out := make([]int64, len(all))
	for i := range all {
		n, err := number(all[i])
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}
