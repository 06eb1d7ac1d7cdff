// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package note

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
)

func (v View) zone() *time.Location { return v.Now.Location() }

// Clock returns the line with the day, the time and the zone.
func (v View) Clock() string {
	p, now := v.phrases(), v.Now
	day, zone := now.Format(p.clock), now.Location().String()
	if v.Language == backends.Chinese {
		day += []string{"日", "一", "二", "三", "四", "五", "六"}[now.Weekday()]
	}
	if zone == "Local" || zone == "" {
		zone = now.Format("UTC-07:00")
	}
	return fmt.Sprintf(p.today, day, now.Format("15:04"), zone)
}

// day returns the day of a time as people write it, "" for the zero time.
func (v View) day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(v.zone()).Format(v.phrases().day)
}

// brackets returns remarks in brackets, to follow a text.
func (v View) brackets(remarks []string) string {
	p := v.phrases()
	if len(remarks) == 0 {
		return ""
	}
	return p.brackets[0] + strings.Join(remarks, p.between) + p.brackets[1]
}

// history returns remarks about the times of a memory: its end, its predecessor, the day that
// it was announced for, and its begin if it was said on another day.
func (v View) history(h *backends.Hit) (out []string) {
	p := v.phrases()
	if !h.Ended.IsZero() {
		return []string{fmt.Sprintf(p.ended, v.day(h.Ended))}
	}
	planned, was := v.planned(h), ""
	if h.Before != nil && !corrects(h) {
		was = text.Truncate(text.Inert(changed(h.Before.Text, h.Text)), 80)
	}
	switch {
	case was != "":
		out = append(out, fmt.Sprintf(p.until, v.day(h.Since()), was))
	case planned:
		out = append(out, fmt.Sprintf(p.planned, v.day(h.Valid)))
	case !h.Valid.IsZero() && (h.Observed.IsZero() || v.daysFrom(h.Observed, h.Valid) < 0):
		out = append(out, fmt.Sprintf(p.since, v.day(h.Valid)))
	}
	if planned && !v.Now.IsZero() {
		out = append(out, v.away(h.Valid, h.Valid))
	}
	return out
}

// planned reports whether a memory was said before it held.
func (v View) planned(h *backends.Hit) bool {
	return !h.Observed.IsZero() && v.daysFrom(h.Observed, h.Valid) > 0
}

// told returns when a memory was said, else when it was written down.
func (v View) told(h *backends.Hit) []string {
	p, at := v.phrases(), h.Since()
	switch {
	case at.IsZero():
		return nil
	case h.Origin.Author == backends.AuthorAgent: // the bullet begins with that
		return []string{v.day(at)}
	case h.Observed.IsZero():
		return []string{fmt.Sprintf(p.wrote, v.day(at))}
	}
	return []string{fmt.Sprintf(p.said, v.day(at))}
}

// corrects reports whether a memory corrects its predecessor: it holds from the same time
// or before, or comes from the same turn. The world stayed the same then.
func corrects(h *backends.Hit) bool {
	b := h.Before
	return !b.Since().IsZero() && !h.Since().After(b.Since()) || h.Origin.Turn != "" && h.Origin.Turn == b.Origin.Turn
}

// daysFrom returns how many days b is after a, in the reader's zone; negative for before.
func (v View) daysFrom(a, b time.Time) int {
	noon := func(t time.Time) time.Time {
		y, m, d := t.In(v.zone()).Date()
		return time.Date(y, m, d, 12, 0, 0, 0, time.UTC)
	}
	return int(math.Round(noon(b).Sub(noon(a)).Hours() / 24))
}

// away says how far a stretch of days is from today.
func (v View) away(first, last time.Time) string {
	p, ahead, past := v.phrases(), v.daysFrom(v.Now, first), v.daysFrom(last, v.Now)
	switch {
	case ahead == 1:
		return p.tomorrow
	case ahead > 1:
		return fmt.Sprintf(p.ahead, ahead)
	case past == 1:
		return p.yesterday
	case past > 1:
		return fmt.Sprintf(p.ago, past)
	case v.daysFrom(first, last) > 0:
		return p.isNow
	}
	return p.isToday
}
