// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/examples/demomodel"
	"github.com/einomem/einomem/middleware"
)

const help = `/memory       what is known of you
/note         what the model was shown of memory with your last message, and what its memory tools answered
/forget [ID]  erases the turn that a memory is from: what was said, and what was learnt from it; without ID: everything of you
/user NAME    speak as somebody else, in a new session
/quit
`

// chat is a conversation in a terminal.
type chat struct {
	*assistant
	scope middleware.Scope
	said  []adk.Message // in the session
	echo  bool          // the program types itself and prints its lines
	out   io.Writer
}

// run takes turns and commands, a line each, until input ends or ctx does. With a person it prints
// failures, and the conversation goes on.
func (c *chat) run(ctx context.Context, input io.Reader, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan string)
	go func() { // a read from a terminal blocks: this ends one line after ctx, or with the process
		defer close(lines)
		in := bufio.NewScanner(input)
		for in.Buffer(nil, 1<<24); in.Scan() && ctx.Err() == nil; {
			select {
			case lines <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
			}
		}
	}()
	defer fmt.Fprintln(c.out)
	err := c.begin(c.scope.UserID)
	for err == nil {
		fmt.Fprintf(c.out, "%s> ", c.scope.UserID)
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more || line == "/quit" {
				return nil
			}
			if c.echo {
				fmt.Fprintln(c.out, line)
			}
			if err = c.take(ctx, line); err != nil && !c.echo {
				fmt.Fprintf(stderr, "error: %s\n", demomodel.ErrorText(err))
				err = nil
			}
		}
	}
	return err
}

// begin starts a new session: the model sees earlier messages only by memory.
func (c *chat) begin(user string) error {
	scope, err := middleware.Scope{UserID: user, SessionID: backends.NewID()}.Normalize()
	if err != nil {
		return err
	}
	c.scope, c.said, c.shown = scope, nil, ""
	fmt.Fprintf(c.out, "(a new session of %s; /help lists the commands)\n", scope.UserID)
	return nil
}

// take carries out a line: a command, or a turn.
func (c *chat) take(ctx context.Context, line string) error {
	command, argument, given := strings.Cut(line, " ")
	switch {
	case line == "":
	case line == "/memory":
		return c.list(ctx)
	case line == "/note":
		fmt.Fprintln(c.out, cmp.Or(strings.TrimSpace(c.shown), "nothing was shown"))
	case command == "/user" && given:
		return c.begin(argument)
	case command == "/forget" && given:
		return c.forget(ctx, argument)
	case line == "/forget":
		return c.forgetAll(ctx)
	case strings.HasPrefix(line, "/"):
		fmt.Fprint(c.out, help)
	default:
		return c.turn(ctx, line)
	}
	return nil
}

// turn says a line to the agent, and prints the answer and the new memories.
func (c *chat) turn(ctx context.Context, line string) error {
	said := append(c.said, schema.UserMessage(line))
	answer, err := c.ask(middleware.WithScope(ctx, c.scope), said)
	if err != nil {
		return err
	}
	c.said = append(said, schema.AssistantMessage(answer, nil))
	fmt.Fprintln(c.out, answer)
	err = c.memory.Flush(ctx) // learning happens in the background: wait for it
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range c.learnt {
		own := item.Memory.Scope.UserID == c.scope.UserID // another process may have left some to learn
		if own && c.tells(&item.Memory) && item.Outcome != backends.OutcomeUnchanged {
			fmt.Fprintln(c.out, news(&item))
		}
	}
	c.learnt = nil
	return err
}

// news shows the outcome of a memory.
func news(item *backends.Item) string {
	text := item.Memory.Text
	switch {
	case item.Err != nil: // failed or skipped
		return fmt.Sprintf("! %s: %s: %v", item.Outcome, text, item.Err)
	case item.Outcome == backends.OutcomeRetracted:
		return "- " + text
	case item.Previous != nil: // updated or superseded
		text += " (before: " + item.Previous.Text + ")"
	}
	return "+ " + text
}

// tells reports whether a memory tells of its user: a fact, or a statement of the user if facts are
// off.
func (c *chat) tells(m *backends.Memory) bool {
	return m.Kind != backends.KindEpisode || !c.extracts && m.Origin.Role == string(schema.User) && demomodel.States(m.Text)
}

// list prints the memories of the user, in the order of storing.
func (c *chat) list(ctx context.Context) error {
	known := ""
	all, err := c.memories(ctx)
	for _, m := range all {
		if c.tells(&m) {
			who := cmp.Or(m.Origin.Speaker, m.Origin.Role)
			known += fmt.Sprintf("[%s] %s %s: %s\n", m.ID, m.Since().Format(time.DateOnly), who, m.Text)
		}
	}
	if err == nil {
		fmt.Fprint(c.out, cmp.Or(known, "nothing is known of "+c.scope.UserID+"\n"))
	}
	return err
}

// memories returns the stored memories of the user.
func (c *chat) memories(ctx context.Context) ([]backends.Memory, error) {
	found, err := c.memory.Facts.List(ctx, &backends.ListRequest{Scope: c.scope, Limit: 1000})
	if err != nil {
		return nil, err
	}
	return found.Memories, nil
}

// forget erases the turn that taught a memory, or else its words would be found again. A new
// session begins, since this one shows it. A note shows how an id ends.
func (c *chat) forget(ctx context.Context, id string) error {
	named, err := c.memories(ctx)
	if err != nil {
		return err
	}
	named = slices.DeleteFunc(named, func(m backends.Memory) bool { return !strings.HasSuffix(m.ID, id) })
	if len(named) != 1 {
		return fmt.Errorf("the ids of %d memories end in %s: /memory shows them", len(named), id)
	}
	m := &named[0]
	of := &backends.Part{Session: &m.Origin.Session, Messages: []string{m.Origin.Turn}}
	receipt, err := c.memory.ForgetPart(ctx, c.scope, of)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "forgot %d memories of the turn of: %s\n", receipt.Memories, m.Text)
	return c.begin(c.scope.UserID)
}

// forgetAll erases a user.
func (c *chat) forgetAll(ctx context.Context) error {
	receipt, err := c.memory.Forget(ctx, c.scope)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "forgot %s: memories %d, sessions %d, messages %d\n", c.scope.UserID, receipt.Memories, receipt.Sessions, receipt.Messages)
	return c.begin(c.scope.UserID)
}
