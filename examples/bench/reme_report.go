// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const remeUnits = "recall@k: the share of a task's memories among the first k that its query finds, hit@k: whether any is; means over distinct queries, in percent"

// oursName is the row of the ranking of package recall, with its defaults.
const oursName = "einomem"

// remeReport is the result of the command reme.
type remeReport struct {
	Units    string    `json:"units"`
	Places   []string  `json:"places"`   // whose rankings are the same
	Compared int       `json:"compared"` // rankings
	Rows     []remeRow `json:"rows"`

	Loads []remeLoad `json:"loads,omitempty"`
}

// remeRow is one way of ranking one pool.
type remeRow struct {
	Pool     string     `json:"pool"`
	Fields   remeFields `json:"fields"`
	Ranking  string     `json:"ranking"`
	Memories int        `json:"memories"`
	poolScores
}

func (r *remeReport) add(p *pool, fields remeFields, ranking string, s *poolScores) {
	r.Rows = append(r.Rows, remeRow{Pool: p.name, Fields: fields, Ranking: ranking, Memories: len(p.memories), poolScores: *s})
}

// print prints the report as JSON or as tables in Markdown.
func (r *remeReport) print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	fmt.Fprintf(out, "%s\n", r.Units)
	pool := ""
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Pool != pool {
			pool = row.Pool
			fmt.Fprintf(out, "\n%s: %d memories, %d queries; lexical, no embedder\n\n", pool, row.Memories, row.Questions)
			fmt.Fprintln(out, "| searched | ranking | recall@1 | @5 | @10 | @25 | hit@1 | @5 | @10 | @25 | MRR | recall@5 of halves |")
			fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|---|---|")
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %.3f | %.1f %.1f |\n", row.Fields, row.Ranking,
			depthCells(row.Recall), depthCells(row.Hit), row.MRR, row.Halves[0], row.Halves[1])
	}
	where := "the same ranking on " + strings.Join(r.Places, " and ")
	if len(r.Places) == 1 {
		where = "on " + r.Places[0] + " alone; -redis URL compares with a server"
	}
	fmt.Fprintf(out, "\n%s: %d rankings, all hits with their scores\n", where, r.Compared)
	if len(r.Loads) > 0 {
		fmt.Fprintf(out, "\nLoading a library, without an embedder; the heap in MB\n\n")
		fmt.Fprintln(out, "| library | into | memories | seconds | a second | heap before | highest | after |")
		fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|")
	}
	const mb = 1 << 20
	for _, l := range r.Loads {
		fmt.Fprintf(out, "| %s | %s | %d | %.3f | %.0f | %.1f | %.1f | %.1f |\n", l.Library, l.Place, l.Memories, l.Seconds,
			float64(l.Memories)/l.Seconds, float64(l.Before)/mb, float64(l.Peak)/mb, float64(l.After)/mb)
	}
	return nil
}

func depthCells(of map[string]float64) string {
	cells := make([]string, len(remeDepths))
	for i, k := range remeDepths {
		cells[i] = fmt.Sprintf("%.1f", of[strconv.Itoa(k)])
	}
	return strings.Join(cells, " | ")
}
