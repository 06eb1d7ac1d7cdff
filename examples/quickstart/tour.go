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

	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// run is the program: the tour, with -say one turn, with -chat a conversation.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	me := middleware.Scope{UserID: "me", SessionID: "default"}
	c := &conversation{}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.db, "db", "", "the `file` that keeps the memory; needed by -say and -chat")
	flags.StringVar(&c.scope.UserID, "user", me.UserID, "whose memory")
	flags.StringVar(&c.scope.SessionID, "session", me.SessionID, "which conversation of the user; each -chat is a new one")
	mode := flags.String("mode", string(modes.Both), "who is in charge of memory: static_control, agent_control or both")
	chatting := flags.Bool("chat", false, "have a conversation in the terminal")
	say := flags.String("say", "", "take one turn: say `text`, print the answer")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if c.mode, err = modes.Parse(*mode); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q: say it with -say", flags.Arg(0))
	case c.db == "" && c.scope == me && *say == "" && !*chatting:
		return tour(ctx, c.mode, stdout, stderr)
	case c.db == "" || c.db == ":memory:":
		return errors.New("-say, -chat, -user and -session need -db FILE: without a file nothing is remembered")
	case *chatting == (strings.TrimSpace(*say) != ""):
		return errors.New("-db needs either -chat or -say TEXT, which cannot be blank")
	case c.scope.UserID == "" || c.scope.SessionID == "":
		return errors.New("-user and -session cannot be empty")
	}
	if c.scope, err = c.scope.Normalize(); err != nil {
		return err
	}
	if c.say = *say; *chatting {
		c.typed = stdin
	}
	return c.talk(ctx, stdout, stderr)
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
		c := conversation{db: filepath.Join(dir, "memory.db"), mode: mode, typed: strings.NewReader(part.typed), echo: true}
		c.scope.UserID = part.user
		if err := c.talk(ctx, stdout, stderr); err != nil {
			return err
		}
		stderr = io.Discard // the notice was printed
	}
	return nil
}
