// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Audit reports how good the memories in a file are: for each user and agent how
// many hold, what became of the others, and which are duplicates, junk, or without
// a source. It changes nothing.
//
//	go run ./examples/audit -db memory.db [-namespace default]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "audit:", err)
		os.Exit(1)
	}
}

// run is the program.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	flags.SetOutput(stderr)
	db := flags.String("db", "", "the `file` to look through (required)")
	namespace := flags.String("namespace", backends.DefaultNamespace, "the namespace to look through")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if _, err := os.Stat(*db); err != nil {
		return fmt.Errorf("-db must name a memory file: %w", err)
	}
	return audit(ctx, *db, *namespace, stdout)
}

// audit prints what is known of every user and agent of the namespace.
func audit(ctx context.Context, path, namespace string, out io.Writer) (err error) {
	db, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close(ctx)) }()
	for page := (store.Page{}); ; {
		found, err := db.Partitions(ctx, namespace, page)
		if err != nil {
			return err
		}
		for _, p := range found.Partitions {
			scope := backends.Scope{Namespace: p.Namespace, UserID: p.ID}
			if p.Kind == backends.PartitionAgent {
				scope.UserID, scope.AgentID = "", p.ID
			} else if p.Kind != backends.PartitionUser {
				continue // experience that is shared is no matter of mem0
			}
			a, err := look(ctx, backend, scope, backends.SystemClock())
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s: %s\n", p, a)
		}
		if page.Cursor = found.Next; page.Cursor == "" {
			return nil
		}
	}
}

// report is what a partition holds: how many memories are in each state, and what is wrong
// with active ones, a line each.
type report struct {
	count    map[string]int
	findings []string
}

// String has the counts on the first line, and a line for each finding.
func (r *report) String() string {
	n := r.count
	counts := fmt.Sprintf("%d facts and %d turns hold; %d superseded, %d retracted, %d expired", n["fact"], n["turn"], n["superseded"], n["retracted"], n["expired"])
	return strings.Join(append([]string{counts}, r.findings...), "\n  ")
}

// look audits the memories of a scope.
func look(ctx context.Context, m backends.Manager, s backends.Scope, now time.Time) (*report, error) {
	out, seen := &report{count: map[string]int{}}, map[string]bool{}
	for r := (&backends.ListRequest{Scope: s, IncludeSuperseded: true, IncludeExpired: true, Limit: 1000}); ; {
		page, err := m.List(ctx, r)
		if err != nil {
			return nil, err
		}
		for i := range page.Memories {
			m, state := &page.Memories[i], "turn"
			switch {
			case m.SupersededBy != "":
				state = "superseded"
			case !m.Active():
				state = "retracted"
			case m.Expired(now):
				state = "expired"
			case m.Kind == backends.KindFact:
				state = "fact"
			}
			out.count[state]++
			if state != "fact" && state != "turn" {
				continue
			}
			if defect := examine(m, seen); defect != "" {
				out.findings = append(out.findings, fmt.Sprintf("%-9s [%s] %.80q", defect, m.ID, m.Text))
			}
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return out, nil
		}
	}
}

// unsaid finds notes of memory's own, and what agents hand to each other.
var unsaid = regexp.MustCompile(`<memories>|^For context: \[[^\]]*\] (said|called tool|.* tool returned result)`)

// examine returns the first defect of an active memory, or "": junk, which says nothing or
// which is memory's own; a duplicate, which says what another of its kind says, case and
// punctuation aside; unsourced, a fact that names neither messages nor an author. seen
// holds what was said before.
func examine(m *backends.Memory, seen map[string]bool) string {
	words := strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, m.Text)
	says := string(m.Kind) + "\n" + words
	if m.Kind == backends.KindEpisode {
		says += "\n" + m.Origin.Role
	}
	again := seen[says]
	seen[says] = true
	switch {
	case words == "", unsaid.MatchString(m.Text):
		return "junk"
	case again:
		return "duplicate"
	case m.Kind == backends.KindFact && len(m.Origin.MessageIDs) == 0 && m.Origin.Author == "":
		return "unsourced"
	}
	return ""
}
