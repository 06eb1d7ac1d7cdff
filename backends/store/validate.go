// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/einomem/einomem/backends"
)

// MaxText is the longest text of a record or a message, in bytes.
const MaxText = 16 << 20

// MaxID is the longest id of a record, a message or a blob, in bytes.
const MaxID = 512

// maxTitle is the longest title of a session, in runes.
const maxTitle = 256

// ValidateSession returns ErrInvalid for an illegal session id. The empty id is legal.
func ValidateSession(id string) error {
	if id == "" {
		return nil
	}
	s, err := backends.Scope{SessionID: id}.Normalize()
	if err != nil {
		return err
	}
	if s.SessionID != id {
		return fmt.Errorf("session id %q: %w: has surrounding space", id, backends.ErrInvalid)
	}
	return nil
}

// ValidateID returns ErrInvalid for an id that is empty, too long or invalid UTF-8. The
// argument what names it in the error.
func ValidateID(what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s: %w: no id", what, backends.ErrInvalid)
	case len(id) > MaxID:
		return fmt.Errorf("%s id: %w: %d bytes, at most %d", what, backends.ErrInvalid, len(id), MaxID)
	case !utf8.ValidString(id):
		return fmt.Errorf("%s id %q: %w: not UTF-8", what, id, backends.ErrInvalid)
	}
	return nil
}

// validateTitle returns ErrInvalid for an illegal title of a session.
func validateTitle(title string) error {
	switch n := utf8.RuneCountInString(title); {
	case n > maxTitle:
		return fmt.Errorf("title: %w: %d runes, at most %d", backends.ErrInvalid, n, maxTitle)
	case !utf8.ValidString(title):
		return fmt.Errorf("title %q: %w: not UTF-8", title, backends.ErrInvalid)
	case strings.ContainsFunc(title, unicode.IsControl):
		return fmt.Errorf("title %q: %w: has a control character: a title is one line", title, backends.ErrInvalid)
	}
	return nil
}

// Validate returns ErrInvalid for entries that are illegal for every store.
func (a *Append) Validate() error {
	if a == nil {
		return fmt.Errorf("%w: nothing to append", backends.ErrInvalid)
	}
	for i := range a.Entries {
		e := &a.Entries[i]
		if err := ValidateID("message", e.ID); err != nil {
			return err
		}
		if e.Message.Message == nil {
			return fmt.Errorf("message %s: %w: empty", e.ID, backends.ErrInvalid)
		}
		if err := validateText("message "+e.ID, e.Content); err != nil {
			return err
		}
	}
	return nil
}

func validateRecord(r *Record) error {
	what := "record " + r.ID
	err := cmp.Or(ValidateID("record", r.ID), validateText(what, r.Text), validateText(what, r.WhenToUse))
	if err != nil {
		return err
	}
	err = validateValue(r.Metadata, maxDepth) // before JSON, which follows it to any depth
	if err == nil {
		_, err = json.Marshal(r.Metadata)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: metadata: %w", what, backends.ErrInvalid, err)
	}
	if _, err := r.Scope.Normalize(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// maxDepth is how deep metadata may be nested. Decoders of JSON give up at some depth,
// and a store must be able to read back what it writes.
const maxDepth = 1000

// validateValue refuses a JSON-like value that is nested deeper than depth. It also refuses
// invalid UTF-8, which JSON would silently replace.
func validateValue(v any, depth int) error {
	var inner []any
	switch x := v.(type) {
	case string:
		if !utf8.ValidString(x) {
			return errors.New("is not UTF-8")
		}
		return nil
	case []string:
		for _, e := range x {
			inner = append(inner, e)
		}
	case []any:
		inner = x
	case map[string]any:
		for key, e := range x {
			inner = append(inner, key, e)
		}
	default:
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("is nested more than %d deep", maxDepth)
	}
	for _, e := range inner {
		if err := validateValue(e, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func validateText(what, text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("%s: %w: text of %d bytes, at most %d", what, backends.ErrInvalid, len(text), MaxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s: %w: text is not UTF-8", what, backends.ErrInvalid)
	}
	return nil
}
