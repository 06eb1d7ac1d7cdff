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

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code: 0, 1 for a failure, 2 for an invalid command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	flags.SetOutput(errs)
	db := flags.String("db", "", "the `file` to look through (required)")
	namespace := flags.String("namespace", backends.DefaultNamespace, "the namespace to look through")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if _, err := os.Stat(*db); err != nil {
		fmt.Fprintln(errs, "audit: -db must name a memory file:", err)
		return 2
	}
	if err := audit(ctx, *db, *namespace, out); err != nil {
		fmt.Fprintln(errs, "audit:", err)
		return 1
	}
	return 0
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
			scope := backends.Scope{Namespace: p.Namespace}
			switch p.Kind {
			case backends.PartitionUser:
				scope.UserID = p.ID
			case backends.PartitionAgent:
				scope.AgentID = p.ID
			default:
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

// report is what a partition holds. Findings are of active memories alone, a line each.
type report struct {
	facts, turns, superseded, retracted, expired int
	findings                                     []string
}

// String has the counts on the first line, and a line for each finding.
func (a *report) String() string {
	return fmt.Sprintf("%d facts and %d turns hold; %d superseded, %d retracted, %d expired%s",
		a.facts, a.turns, a.superseded, a.retracted, a.expired, strings.Join(append([]string{""}, a.findings...), "\n  "))
}

// look audits the memories of a scope.
func look(ctx context.Context, m backends.Manager, s backends.Scope, now time.Time) (*report, error) {
	a, seen := &report{}, map[string]bool{}
	for r := (&backends.ListRequest{Scope: s, IncludeSuperseded: true, IncludeExpired: true, Limit: 1000}); ; {
		page, err := m.List(ctx, r)
		if err != nil {
			return nil, err
		}
		for i := range page.Memories {
			m := &page.Memories[i]
			switch {
			case m.SupersededBy != "":
				a.superseded++
				continue
			case !m.Active():
				a.retracted++
				continue
			case m.Expired(now):
				a.expired++
				continue
			case m.Kind == backends.KindFact:
				a.facts++
			default:
				a.turns++
			}
			if defect := examine(m, seen); defect != "" {
				a.findings = append(a.findings, fmt.Sprintf("%-9s [%s] %.80q", defect, m.ID, m.Text))
			}
		}
		if r.Cursor = page.Next; r.Cursor == "" {
			return a, nil
		}
	}
}

// unsaid finds notes of memory's own, and what agents hand to each other.
var unsaid = regexp.MustCompile(`<memories>|^For context: \[[^\]]*\] (said|called tool|.* tool returned result)`)

// examine returns the first defect of an active memory, or "": junk, which says nothing or
// which nobody said; a duplicate, which says what another of its kind says, case and
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
