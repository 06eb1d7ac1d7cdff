// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"time"
)

const (
	sessionPrefix = "tool/"
	monthLayout   = "2006-01"
	// maxPathName is how much room a name has in the id of a session.
	maxPathName = 200
	// skew is how far clocks may be apart: a call of a later month is looked for.
	skew = 24 * time.Hour
)

// logName returns the id under which the calls of a tool and a month are kept. A name
// that is too long for an id is cut and told apart by its hash, after a '!', which
// escaped names never have.
func logName(tool, month string) string { return sessionPrefix + pathName(tool) + "/" + month }

func pathName(tool string) string {
	name := url.PathEscape(tool)
	if len(name) <= maxPathName {
		return name
	}
	sum := sha256.Sum256([]byte(tool))
	hash := hex.EncodeToString(sum[:16])
	return name[:maxPathName-len(hash)-1] + "!" + hash
}

// logTool returns the tool's name of a session's id, and whether the id is one of a
// log of calls. The name is empty where the id does not hold the whole of it.
func logTool(session string) (tool string, ok bool) {
	rest, ok := strings.CutPrefix(session, sessionPrefix)
	name, month, cut := strings.Cut(rest, "/")
	if _, err := time.Parse(monthLayout, month); !ok || !cut || err != nil {
		return "", false
	}
	if strings.Contains(name, "!") {
		return "", true
	}
	tool, err := url.PathUnescape(name)
	return tool, err == nil
}

// monthOf returns the month of a time in UTC.
func monthOf(t time.Time) string { return t.UTC().Format(monthLayout) }

// months returns the months from which there may be calls, newest first.
func months(now time.Time, keep time.Duration) []string {
	first, last := now.UTC().Add(-keep), now.UTC().Add(skew)
	var out []string
	for t := time.Date(last.Year(), last.Month(), 1, 0, 0, 0, 0, time.UTC); ; t = t.AddDate(0, -1, 0) {
		out = append(out, t.Format(monthLayout))
		if !t.After(first) {
			return out
		}
	}
}
