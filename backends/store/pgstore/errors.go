// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pgstore

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

// code returns the SQLSTATE of a server's error.
func code(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// undone reports whether the server undid the transaction with this error.
func undone(err error) bool {
	c := code(err)
	return c != "" && !strings.HasPrefix(c, "57P") && !strings.HasPrefix(c, "08")
}

// passing are the codes of failures that pass by themselves: see reasons.
var passing = regexp.MustCompile(`^(40001|40P01|57P0[123]|53300|25006|08...)$`)

// transient reports whether a repeat may succeed: the failure was before COMMIT, or undid it.
func transient(err error) bool {
	if c := code(err); c != "" && !errors.Is(err, backends.ErrUnavailable) {
		return passing.MatchString(c)
	}
	return !plan.IsSentinel(err) // a connection that broke, or could not be made
}

// reason is the cause and the way out for a code of the server, or for a class of codes.
type reason struct{ code, text string }

var reasons = []reason{
	{"40", "transactions of others were in the way each time: repeat it"},
	{"57014", "the server ended the statement: raise Options.Timeout, or look for a long transaction that holds locks"},
	{"57P", "the server stops or starts: repeat it"},
	{"08", "the connection broke: repeat it"},
	{"25006", "the server is a replica, which only reads: connect to the primary (target_session_attrs=read-write)"},
	{"25P03", "this process hung too long in a transaction: repeat it"},
	{"28", "the server refuses the user: look at its password and at pg_hba.conf"},
	{"3D000", "the database does not exist: create it"},
	{"42501", "the role lacks a right: grant it the tables, or let it create them"},
	{"42", "the tables are not as this code made them: restore a backup"},
	{"53100", "the disk is full: free some space and repeat the call"},
	{"53300", "the server has no free connection: lower pool_max_conns, or raise max_connections"},
	{"53", "the server lacks memory or room"},
	{"XX001", "the data are damaged: restore a backup"},
	{"XX002", "an index is damaged: run REINDEX"},
	{"", "the server is out of reach, or met something unexpected: look at its log"},
}

// describe wraps an error with the call's work. Errors of the server and of the connection become
// ErrUnavailable (ErrInvalid for a value that is too big) with the way out. Errors that already
// wrap a sentinel keep it.
func describe(doing string, err error) error {
	c := code(err)
	switch {
	case err == nil:
		return nil
	case plan.IsSentinel(err):
		return fmt.Errorf("pgstore: %s: %w", doing, err)
	case strings.HasPrefix(c, "54"):
		return fmt.Errorf("pgstore: %s: %w: larger than a value can be: %w", doing, backends.ErrInvalid, err)
	}
	why := slices.IndexFunc(reasons, func(r reason) bool { return strings.HasPrefix(c, r.code) })
	return fmt.Errorf("pgstore: %s: %w: %s: %w", doing, backends.ErrUnavailable, reasons[why].text, err)
}
