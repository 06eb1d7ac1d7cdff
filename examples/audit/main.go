// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Audit reports how good the memories in a file are: for each user and agent how
// many hold, what became of the others, and which are duplicates, junk, without a
// source, or stale. It changes nothing.
//
//	go run ./examples/audit -db memory.db [-namespace default] [-stale 2160h] [-json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/sqlitestore"
)

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code: 0, 1 for a failure, 2 for a wrong command line.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("audit", flag.ContinueOnError)
	flags.SetOutput(errs)
	db := flags.String("db", "", "the `file` to look through (required)")
	namespace := flags.String("namespace", backends.DefaultNamespace, "the namespace to look through")
	stale := flags.Duration("stale", 0, "call facts stale that did not change for so long; 0: none")
	asJSON := flags.Bool("json", false, "print one JSON object for each partition")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if _, err := os.Stat(*db); err != nil {
		fmt.Fprintln(errs, "audit: -db must name a memory file:", err)
		return 2
	}
	report := text
	if *asJSON {
		report = asLine
	}
	if err := audit(ctx, *db, *namespace, *stale, func(p backends.Partition, a *Audit) error { return report(out, p, a) }); err != nil {
		fmt.Fprintln(errs, "audit:", err)
		return 1
	}
	return 0
}

// audit calls report for every user and agent of the namespace.
func audit(ctx context.Context, path, namespace string, stale time.Duration, report func(backends.Partition, *Audit) error) error {
	db, err := sqlitestore.Open(ctx, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	backend, err := mem0.New(ctx, &mem0.Config{Store: db})
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close(ctx) }()
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
			a, err := look(ctx, backend, scope, backends.SystemClock(), stale)
			if err != nil {
				return err
			}
			if err := report(p, a); err != nil {
				return err
			}
		}
		if page.Cursor = found.Next; page.Cursor == "" {
			return nil
		}
	}
}

func asLine(out io.Writer, p backends.Partition, a *Audit) error {
	return json.NewEncoder(out).Encode(struct {
		Partition backends.Partition `json:"partition"`
		*Audit
	}{p, a})
}

func text(out io.Writer, p backends.Partition, a *Audit) error {
	_, err := fmt.Fprintf(out, "%s: %d memories; %d facts and %d turns hold; %d superseded, %d retracted, %d expired\n",
		p, a.Memories, a.Active[string(backends.KindFact)], a.Active[string(backends.KindEpisode)], a.Superseded, a.Retracted, a.Expired)
	for _, f := range a.Findings {
		if err == nil {
			_, err = fmt.Fprintf(out, "  %-9s [%s] %.80q\n", f.Defect, f.ID, f.Text)
		}
	}
	return err
}
