// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package toolmem

import (
	"encoding/json"
	"slices"
	"time"
)

// metaLoaded is where a memory of a tool that was loaded from a library of ReMe's has
// its calls.
const metaLoaded = "tool_call_results"

// addLoaded puts the calls that came with a loaded memory before those of the log: they
// count as calls that its guideline knows of.
func (m *Memory) addLoaded(h *history, c *card, since time.Time) {
	if c.record == nil {
		return
	}
	list, _ := c.record.Metadata[metaLoaded].([]any)
	h.total += int64(len(list))
	var calls []Call
	for _, v := range list[max(0, len(list)-m.cfg.History):] {
		raw, err := json.Marshal(v)
		var call Call
		if err != nil || json.Unmarshal(raw, &call) != nil {
			h.total-- // no call at all
			continue
		}
		if call.Time.Before(since) {
			continue
		}
		call = call.bounded()
		if call.Input, err = plain(call.Input); err != nil || call.blank() {
			continue
		}
		call.Tool = c.record.WhenToUse
		calls = append(calls, m.clean(call))
	}
	h.calls = append(calls, h.calls...)
	slices.SortStableFunc(h.calls, byTime)
}
