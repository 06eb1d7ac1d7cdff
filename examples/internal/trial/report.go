// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Report is what a benchmark found.
type Report struct {
	About    []string `json:"about"` // what was measured, where and how, a line each
	Searches []Search `json:"searches"`
	Writes   []Write  `json:"writes"`
	Notes    []string `json:"notes"` // what was left out, and why
}

// Search is how one way to search did, on one or many partitions of the same size.
type Search struct {
	Where      string    `json:"where"` // the store, or the peer
	How        string    `json:"how"`
	Partitions int       `json:"partitions"`
	Memories   int       `json:"memories"`               // in each
	Warm       Quantiles `json:"warm"`                   // of a search of what was searched before
	Cold       Quantiles `json:"cold"`                   // of the first search in a new process
	Recall10   *float64  `json:"recall_at_10,omitempty"` // of vectors alone, against comparing all, 0 to 1
	Stored     int64     `json:"stored_bytes,omitempty"` // where it is stored, a memory
	Held       int64     `json:"held_bytes,omitempty"`   // in the process, a memory
	Fill       float64   `json:"fill_s"`                 // how long it took to store them all, in seconds
	Times      float64   `json:"times,omitempty"`        // Warm.P50 over that of the yardstick
	TimesCold  float64   `json:"times_cold,omitempty"`   // Cold.P50 likewise
}

// Write is how one sort of write did.
type Write struct {
	Where   string    `json:"where"`
	What    string    `json:"what"`
	Clients int       `json:"clients"`
	PerSec  float64   `json:"per_second"`
	Took    Quantiles `json:"took"`
	Times   float64   `json:"times,omitempty"` // PerSec over that of the yardstick
}

// Compare fills in how many times as long as on the yardstick a search takes, and how
// many times as many writes there are in a second. The yardstick is one of the
// places; what it did not do has nothing to compare with.
func (r *Report) Compare(yardstick string) {
	for i := range r.Searches {
		for _, y := range r.Searches {
			s := &r.Searches[i]
			if s.Where != yardstick && y.Where == yardstick && y.How == s.How && y.Memories == s.Memories && y.Partitions == s.Partitions {
				s.Times, s.TimesCold = s.Warm.P50/y.Warm.P50, s.Cold.P50/y.Cold.P50
			}
		}
	}
	for i := range r.Writes {
		for _, y := range r.Writes {
			w := &r.Writes[i]
			if w.Where != yardstick && y.Where == yardstick && y.What == w.What && y.Clients == w.Clients {
				w.Times = w.PerSec / y.PerSec
			}
		}
	}
}

// Print writes the report as JSON or as tables.
func (r *Report) Print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	for _, line := range r.About {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out, "\nsearch, in milliseconds; x is how many times as long as the yardstick took; bytes are a memory's")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "where\tpartitions\tmemories\thow\twarm p50\tp95\tp99\tx\tcold p50\tp95\tp99\tx\trecall@10\tbytes stored\theld\tfill s\t")
	for i := range r.Searches {
		r.Searches[i].print(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nwrites; the times of one in milliseconds")
	fmt.Fprintln(w, "where\twhat\tclients\ta second\tx\tp50\tp95\tp99\t")
	for _, row := range r.Writes {
		fmt.Fprintf(w, "%s\t%s\t%d\t%.0f\t%s\t%.2f\t%.2f\t%.2f\t\n", row.Where, row.What, row.Clients, row.PerSec, blank("%.2f", row.Times), row.Took.P50, row.Took.P95, row.Took.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, line := range r.Notes {
		fmt.Fprintln(out, line)
	}
	return nil
}

func (s *Search) print(w io.Writer) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%s\t", s.Where, s.Partitions, s.Memories, s.How)
	fmt.Fprintf(w, "%.2f\t%.2f\t%.2f\t%s\t", s.Warm.P50, s.Warm.P95, s.Warm.P99, blank("%.2f", s.Times))
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", blank("%.1f", s.Cold.P50), blank("%.1f", s.Cold.P95), blank("%.1f", s.Cold.P99), blank("%.2f", s.TimesCold))
	recall := ""
	if s.Recall10 != nil {
		recall = fmt.Sprintf("%.3f", *s.Recall10)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%.1f\t\n", recall, blank("%.0f", float64(s.Stored)), blank("%.0f", float64(s.Held)), s.Fill)
}

// blank formats a number, and leaves out a zero: it was not measured.
func blank(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}
