// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/einomem/einomem/examples/internal/assistant"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// session is a part of the tour: one opening of the store.
type session struct {
	title string
	scope middleware.Scope
	said  []string
	list  bool // show what the user's memory holds at the end
}

var sessions = []session{
	{"Monday: Ann tells the assistant about herself", middleware.Scope{UserID: "ann", SessionID: "monday"},
		[]string{"I moved to Hangzhou in March and I am allergic to peanuts.", "My sister lives in Berlin.", "我的狗叫旺财。"}, true},
	{"Tuesday: another session, the store was closed and is opened again", middleware.Scope{UserID: "ann", SessionID: "tuesday"},
		[]string{"What am I allergic to?", "Where does my sister live?", "我的狗叫什么名字？"}, false},
	{"Also on Tuesday: Bob, who has told nothing, asks the same", middleware.Scope{UserID: "bob", SessionID: "tuesday"},
		[]string{"What am I allergic to?"}, false},
}

// tour goes through the sessions with one file, which it removes at the end.
func tour(ctx context.Context, mode modes.Mode, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "einomem-quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for i, s := range sessions {
		if i > 0 {
			stderr = io.Discard // the notice is the same
		}
		if err := s.play(ctx, filepath.Join(dir, "memory.db"), mode, stdout, stderr); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) play(ctx context.Context, path string, mode modes.Mode, stdout, stderr io.Writer) (err error) {
	a, err := open(ctx, path, mode, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	fmt.Fprintf(stdout, "== %s\n\n", s.title)
	for _, text := range s.said {
		answer, err := a.Say(ctx, s.scope, text)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%s: %s\n", s.scope.UserID, text)
		if note := a.Note(); note != "" {
			fmt.Fprintf(stdout, "\n   memory put in front of it:\n%s\n\n", indent(note))
		}
		fmt.Fprintf(stdout, "assistant: %s\n\n", answer)
	}
	if s.list {
		return s.show(ctx, a, stdout)
	}
	return nil
}

// show prints what has been learnt so far.
func (s *session) show(ctx context.Context, a *assistant.Assistant, stdout io.Writer) error {
	memories, err := a.Memories(ctx, middleware.Scope{UserID: s.scope.UserID})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "   remembered of %s:\n", s.scope.UserID)
	for _, m := range memories {
		fmt.Fprintf(stdout, "   | %-7s %s\n", m.Kind, m.Text)
	}
	fmt.Fprintln(stdout)
	return nil
}

func indent(text string) string {
	return "   | " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n   | ")
}
