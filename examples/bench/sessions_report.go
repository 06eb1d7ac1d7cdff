// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/einomem/einomem/examples/internal/trial"
)

// sessionsReport is the result of the command sessions.
type sessionsReport struct {
	About []string      `json:"about"`
	Rows  []sessionsRow `json:"rows"`
}

// sessionsRow is what saving and loading cost at one length of the sessions.
type sessionsRow struct {
	Where   string       `json:"where"`
	Turns   int          `json:"turns"`   // in each session, before
	Clients int          `json:"clients"` // at the same time
	Save    sessionsCost `json:"save"`    // of one turn
	Load    sessionsCost `json:"load"`    // of the window
	Loaded  float64      `json:"loaded"`  // messages in a window, on average
}

// sessionsCost is what one call takes.
type sessionsCost struct {
	Took trial.Quantiles `json:"took"`
	// Bytes on the wire, on average; 0 where there is none.
	Sent     int64 `json:"sent_bytes,omitempty"`
	Received int64 `json:"received_bytes,omitempty"`
}

// print writes the report as JSON or as a table.
func (r *sessionsReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	for _, line := range r.About {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out, "\nmilliseconds, and bytes on the wire, of one call")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "where\tturns\tclients\tsave p50\tp95\tsent\treceived\tload p50\tp95\tsent\treceived\tmessages\t")
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s%s%.0f\t\n", row.Where, row.Turns, row.Clients, row.Save.cells(), row.Load.cells(), row.Loaded)
	}
	return w.Flush()
}

func (c *sessionsCost) cells() string {
	bytes := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.2f\t%.2f\t%s\t%s\t", c.Took.P50, c.Took.P95, bytes(c.Sent), bytes(c.Received))
}
