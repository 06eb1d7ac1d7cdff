// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// run is the program: the tour, with -say one turn, with -chat a conversation.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	db := flags.String("db", "", "the `file` that keeps the memory; needed by -say and -chat")
	user := flags.String("user", "me", "whose memory")
	name := flags.String("mode", string(modes.Both), "who is in charge of memory: static_control, agent_control or both")
	chatting := flags.Bool("chat", false, "have a conversation in the terminal")
	text := flags.String("say", "", "take one turn, which is a session of its own: say `text`, print the answer")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	mode, err := modes.Parse(*name)
	if err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: say it with -say", flags.Arg(0))
	case *db == "" && *user == "me" && *text == "" && !*chatting:
		return tour(ctx, mode, stdout, stderr)
	case *db == "" || *db == ":memory:":
		return errors.New("-say, -chat and -user need -db FILE: without a file nothing is remembered")
	case *chatting == (strings.TrimSpace(*text) != ""):
		return errors.New("-db needs either -chat or -say TEXT, which cannot be blank")
	case *user == "":
		return errors.New("-user cannot be empty")
	}
	scope, err := middleware.Scope{UserID: *user, SessionID: backends.NewID()}.Normalize()
	if err != nil {
		return err
	}
	return talk(ctx, *db, mode, stderr, func(a *assistant) error {
		if *chatting {
			return (&chat{assistant: a, scope: scope, out: stdout}).run(ctx, stdin, stderr)
		}
		answer, err := a.ask(middleware.WithScope(ctx, scope), []adk.Message{schema.UserMessage(*text)})
		if err == nil {
			_, err = fmt.Fprintln(stdout, answer)
		}
		return err
	})
}

// tour holds three conversations, which type themselves, on one file, and removes it.
func tour(ctx context.Context, mode modes.Mode, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "einomem-quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, part := range []struct{ title, user, typed string }{
		{"Monday: Ann tells the assistant about herself", "ann",
			"I moved to Hangzhou in March and I am allergic to peanuts.\nMy sister lives in Berlin.\n我的狗叫旺财。\n/memory\n"},
		{"Tuesday: the store was closed and is opened again", "ann",
			"What am I allergic to?\n/note\nWhere does my sister live?\n/note\n我的狗叫什么名字？\n/note\n"},
		{"Also on Tuesday: Bob, who has told nothing, asks the same", "bob",
			"What am I allergic to?\n"},
	} {
		fmt.Fprintf(stdout, "== %s\n\n", part.title)
		err := talk(ctx, filepath.Join(dir, "memory.db"), mode, stderr, func(a *assistant) error {
			c := &chat{assistant: a, scope: middleware.Scope{UserID: part.user}, echo: true, out: stdout}
			return c.run(ctx, strings.NewReader(part.typed), stderr)
		})
		if err != nil {
			return err
		}
		stderr = io.Discard // the notice is printed once
	}
	return nil
}
