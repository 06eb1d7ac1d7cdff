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
	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// run is the program: the tour, or with -say one turn.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	me := middleware.Scope{UserID: "me", SessionID: "default"}
	c := &conversation{}
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.db, "db", "", "the `file` that keeps the memory; needed by -say")
	flags.StringVar(&c.scope.UserID, "user", me.UserID, "whose memory")
	flags.StringVar(&c.scope.SessionID, "session", me.SessionID, "which conversation of the user")
	mode := flags.String("mode", string(modes.Both), "who is in charge of memory: static_control, agent_control or both")
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
	case c.db == "" && c.scope == me && *say == "":
		return tour(ctx, c.mode, stdout, stderr)
	case c.db == "" || c.db == ":memory:":
		return errors.New("-say, -user and -session need -db FILE: without a file nothing is remembered")
	case strings.TrimSpace(*say) == "":
		return errors.New("-db needs -say TEXT, which cannot be blank")
	case c.scope.UserID == "" || c.scope.SessionID == "":
		return errors.New("-user and -session cannot be empty")
	}
	if c.scope, err = c.scope.Normalize(); err != nil {
		return err
	}
	c.said = []string{*say}
	return c.talk(ctx, stdout, stderr)
}

// tour holds three conversations on one file, which it removes at the end.
func tour(ctx context.Context, mode modes.Mode, stdout, stderr io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "einomem-quickstart-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ann := middleware.Scope{UserID: "ann", SessionID: "monday"}
	tuesday := middleware.Scope{UserID: "ann", SessionID: "tuesday"}
	bob := middleware.Scope{UserID: "bob", SessionID: "tuesday"}
	for _, c := range []conversation{
		{title: "Monday: Ann tells the assistant about herself", scope: ann, list: true,
			said: []string{"I moved to Hangzhou in March and I am allergic to peanuts.", "My sister lives in Berlin.", "我的狗叫旺财。"}},
		{title: "Tuesday: another session, the store was closed and is opened again", scope: tuesday,
			said: []string{"What am I allergic to?", "Where does my sister live?", "我的狗叫什么名字？"}},
		{title: "Also on Tuesday: Bob, who has told nothing, asks the same", scope: bob,
			said: []string{"What am I allergic to?"}},
	} {
		c.db, c.mode = filepath.Join(dir, "memory.db"), mode
		if err := c.talk(ctx, stdout, stderr); err != nil {
			return err
		}
		stderr = io.Discard // the notice was printed
	}
	return nil
}

// shown is a turn of the tour: what was said, the note that memory put in front of
// it, and the answer.
func shown(user, said, note, answer string) string {
	if note != "" {
		note = "\n   memory put in front of it:\n   | " + strings.ReplaceAll(strings.TrimSpace(note), "\n", "\n   | ") + "\n\n"
	}
	return fmt.Sprintf("%s: %s\n%sassistant: %s\n", user, said, note, answer)
}

// keepNote keeps the note that memory injected. Only a demonstration needs it.
func keepNote(note *string) adk.AgentMiddleware {
	return adk.AgentMiddleware{BeforeChatModel: func(_ context.Context, state *adk.ChatModelAgentState) error {
		for _, m := range state.Messages {
			if m.Role == schema.User && m.Name == "memory" {
				*note = m.Content
			}
		}
		return nil
	}}
}

// list prints what is remembered of a user.
func list(ctx context.Context, backend *mem0.Backend, user string, stdout io.Writer) error {
	page, err := backend.List(ctx, &backends.ListRequest{Scope: backends.Scope{UserID: user}})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "   remembered of %s:\n", user)
	for _, m := range page.Memories {
		fmt.Fprintf(stdout, "   | %-7s %s\n", m.Kind, m.Text)
	}
	fmt.Fprintln(stdout)
	return nil
}
