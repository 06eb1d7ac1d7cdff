// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// Report is what a benchmark found.
type Report struct {
	About  []string `json:"about"` // what was measured, where and how, a line each
	Tables []Table  `json:"tables"`
	Notes  []string `json:"notes,omitempty"`
}

// Table has a row for each element of Rows, a slice of structs. Fields with a tag
// `col:"name;format;blank"` are columns: the format of fmt defaults to %v, and with
// "blank" a zero is left out, as is a nil pointer. The name of a field that is a struct
// stands before the names of its columns.
type Table struct {
	Title string `json:"title"`
	Rows  any    `json:"rows"`
}

// Machine says on what a benchmark runs, for [Report.About].
func Machine() string {
	return fmt.Sprintf("%s, %s/%s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}

// Print writes the report as JSON, or as Markdown.
func (r *Report) Print(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	var b strings.Builder
	for _, line := range r.About {
		fmt.Fprintln(&b, line)
	}
	for i := range r.Tables {
		r.Tables[i].print(&b)
	}
	if len(r.Notes) > 0 {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(r.Notes, "\n"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// print writes the table with its columns aligned: texts to the left, numbers to the
// right. Columns without a value are left out.
func (t *Table) print(out *strings.Builder) {
	rows := reflect.ValueOf(t.Rows)
	if rows.Len() == 0 {
		return
	}
	lines := make([]string, rows.Len()+2) // with the names, and a rule
	add := func(column []string, right bool) {
		width := 3
		for _, cell := range column {
			width = max(width, utf8.RuneCountInString(cell))
		}
		rule := strings.Repeat("-", width)
		if right {
			rule = rule[1:] + ":"
		}
		for i, cell := range slices.Insert(column, 1, rule) {
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
			if right {
				lines[i] += "| " + pad + cell + " "
			} else {
				lines[i] += "| " + cell + pad + " "
			}
		}
	}
	var table [][]string // a column each
	var right []bool
	for i := range rows.Len() {
		at := 0
		columns(rows.Index(i), "", func(name, cell string, v reflect.Value) {
			if i == 0 {
				table, right = append(table, []string{name}), append(right, v.Kind() != reflect.String)
			}
			table[at] = append(table[at], cell)
			at++
		})
	}
	for i, column := range table {
		if strings.Join(column[1:], "") != "" {
			add(column, right[i])
		}
	}
	fmt.Fprintf(out, "\n%s\n\n%s|\n", t.Title, strings.Join(lines, "|\n"))
}

// columns calls f for each column of a row.
func columns(row reflect.Value, prefix string, f func(name, cell string, v reflect.Value)) {
	for i := range row.NumField() {
		tag, ok := row.Type().Field(i).Tag.Lookup("col")
		if !ok {
			continue
		}
		parts, v := strings.Split(tag, ";"), row.Field(i)
		switch v.Kind() {
		case reflect.Struct:
			columns(v, prefix+parts[0], f)
			continue
		case reflect.Pointer:
			if v.IsNil() {
				f(prefix+parts[0], "", v)
				continue
			}
			v = v.Elem()
		}
		format := "%v"
		if len(parts) > 1 {
			format = parts[1]
		}
		cell := fmt.Sprintf(format, v.Interface())
		if len(parts) > 2 && v.IsZero() {
			cell = ""
		}
		f(prefix+parts[0], cell, v)
	}
}
