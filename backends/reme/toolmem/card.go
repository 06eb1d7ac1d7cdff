// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/recall"
	"github.com/einomem/einomem/backends/store"
)

// The keys of a record's Metadata.
const (
	metaTool       = "tool"         // the tool's name
	metaStatistics = "statistics"   // a Statistics, of when the guideline was written
	metaCovered    = "covered"      // how many calls of each month the guideline knows of
	metaBefore     = "calls_before" // calls of months that are no longer kept
	metaCalls      = "calls_total"  // all calls that the guideline knows of
	metaBy         = "by"           // JudgeModel or JudgeRules: who wrote the guideline
)

// card is the one record of a tool. A nil record is that of a tool without one.
type card struct {
	record  *store.Record
	covered map[string]int64
	before  int64
}

// cards returns the cards of tools, by name: one read.
func (m *Memory) cards(ctx context.Context, p backends.Partition, tools []string) (map[string]*card, error) {
	out := make(map[string]*card, len(tools))
	names := make(map[string]string, len(tools))
	ids := make([]string, len(tools))
	for i, name := range tools {
		ids[i] = cardID(p, name)
		names[ids[i]] = name
		out[name] = &card{}
	}
	if len(tools) == 0 {
		return out, nil
	}
	records, err := m.keeper.Records(ctx, p, ids...)
	if err != nil {
		return nil, err
	}
	for i := range records {
		out[names[records[i].ID]] = readCard(&records[i])
	}
	return out, nil
}

// readCard reads what a record covers. Metadata that somebody spoiled covers nothing:
// the guideline is then written anew.
func readCard(r *store.Record) *card {
	c := &card{record: r, covered: map[string]int64{}}
	months, _ := r.Metadata[metaCovered].(map[string]any)
	for month, n := range months {
		c.covered[month] = integer(n)
	}
	c.before = integer(r.Metadata[metaBefore])
	return c
}

func integer(v any) int64 {
	switch x := v.(type) {
	case float64:
		return int64(x)
	case int64:
		return x
	case int:
		return int64(x)
	case json.Number:
		n, _ := x.Int64()
		return n
	}
	return 0
}

// unseen returns how many calls of the log the card does not know of. A log that is
// shorter than what the card covers was deleted and begun anew.
func (c *card) unseen(h *history) int64 {
	var n int64
	for month, seen := range h.seen {
		covered := c.covered[month]
		if covered > seen {
			covered = 0
		}
		n += seen - covered
	}
	return n
}

// covers reports whether the card knows of every call of the log.
func (c *card) covers(h *history) bool {
	for month, seen := range h.seen {
		if c.covered[month] < seen {
			return false
		}
	}
	return true
}

// gone returns how many calls that the card knows of were in months that are no longer
// kept, or that a clock that went back does not know yet: those are ahead.
func (c *card) gone(h *history) (n int64, ahead map[string]int64) {
	n, ahead = c.before, map[string]int64{}
	for month, covered := range c.covered {
		switch _, kept := h.seen[month]; {
		case kept:
		case month > h.last:
			ahead[month] = covered
		default:
			n += covered
		}
	}
	return n, ahead
}

// usable reports whether the card holds a guideline that holds now.
func (c *card) usable(now time.Time) bool {
	return c.record != nil && c.record.Active() && !c.record.Expired(now)
}

// guideline returns the text without the statistics under it: what a caller made of it
// by an Update, too.
func (c *card) guideline() string {
	if c.record == nil {
		return ""
	}
	text := c.record.Text
	for _, header := range statisticsHeaders {
		if i := strings.LastIndex(text, header+"\n"); i == 0 || i > 0 && text[i-1] == '\n' {
			return strings.TrimSpace(text[:i])
		}
	}
	return strings.TrimSpace(text)
}

// written returns the record with a new guideline. What callers put into its metadata
// stays.
func (m *Memory) written(p backends.Partition, d *drafted, old *card) *store.Record {
	r := &store.Record{}
	if old.record != nil {
		*r = *old.record
	} else {
		r.Created = m.keeper.Stamps(1)
	}
	covered := map[string]any{}
	for month, n := range d.log.seen {
		covered[month] = n
	}
	meta := map[string]any{}
	for k, v := range r.Metadata {
		meta[k] = v
	}
	before, ahead := old.gone(d.log)
	for month, n := range ahead {
		covered[month] = n
	}
	meta[metaTool], meta[metaBy], meta[metaCovered], meta[metaBefore] = d.Tool, d.by, covered, before
	meta[metaStatistics], meta[metaCalls] = d.Statistics.asJSON(), d.Statistics.Total
	r.ID, r.Kind, r.WhenToUse = cardID(p, d.Tool), backends.KindTool, d.Tool
	r.Scope = backends.Scope{Namespace: p.Namespace, Workspace: p.ID}
	r.Text = d.Guideline + "\n\n" + d.Statistics.Text(d.language)
	r.Metadata, r.Observed, r.Origin = meta, d.Statistics.To, backends.Origin{Role: "tool", Author: d.by}
	if old.record != nil && recall.EmbedText(&r.Memory) != recall.EmbedText(&old.record.Memory) {
		r.Vector = nil
	}
	r.Invalidated, r.SupersededBy, r.Expires, r.Updated = time.Time{}, "", time.Time{}, m.cfg.Clock()
	return r
}

// asJSON returns the statistics as a JSON value.
func (s Statistics) asJSON() map[string]any {
	var out map[string]any
	raw, _ := json.Marshal(s)
	_ = json.Unmarshal(raw, &out)
	return out
}
