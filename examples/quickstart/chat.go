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

const help = `/memory [all]  what is known of you; all: every word that was said, and what holds no more, too
/note          what the model was shown of memory with your last message, and what its memory tools answered
/forget [ID]   erases a memory, and what was said that taught it; without ID: everything of you
/user NAME     speak as somebody else
/new           a new session: of what was said the model sees what memory shows it
/quit
`

// chat is a conversation in a terminal.
type chat struct {
	*assistant
	scope middleware.Scope
	said  []adk.Message // in the session
	echo  bool          // the program types itself: its lines are printed, too
	out   io.Writer
}

// run takes turns and commands, a line each, until input ends or ctx does. With a person
// what fails is printed, and the conversation goes on.
func (c *chat) run(ctx context.Context, input io.Reader, stderr io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lines := make(chan string)
	go func() { // a terminal cannot be interrupted: this ends one line after ctx, or with the process
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
	if err := c.begin(c.scope.UserID); err != nil {
		return err
	}
	for {
		if _, err := fmt.Fprintf(c.out, "%s> ", c.scope.UserID); err != nil {
			return err
		}
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
			switch err := c.take(ctx, line); {
			case err != nil && c.echo:
				return err
			case err != nil:
				fmt.Fprintf(stderr, "error: %v\n", err)
			}
		}
	}
}

// begin starts a new session.
func (c *chat) begin(user string) error {
	scope, err := middleware.Scope{UserID: user, SessionID: backends.NewID()}.Normalize()
	if err != nil {
		return err
	}
	c.scope, c.said, c.shown = scope, nil, ""
	_, err = fmt.Fprintf(c.out, "(a new session of %s; /help lists the commands)\n", scope.UserID)
	return err
}

// take carries out a line: a command, or a turn.
func (c *chat) take(ctx context.Context, line string) error {
	command, argument, given := strings.Cut(line, " ")
	switch {
	case line == "":
	case line == "/memory", line == "/memory all":
		return c.list(ctx, given)
	case line == "/note":
		fmt.Fprintln(c.out, cmp.Or(strings.TrimSpace(c.shown), "nothing was shown"))
	case line == "/new":
		return c.begin(c.scope.UserID)
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

// turn says a line to the agent, and prints the answer and what was learnt.
func (c *chat) turn(ctx context.Context, line string) error {
	c.said = append(c.said, schema.UserMessage(line))
	answer, err := c.ask(middleware.WithScope(ctx, c.scope), c.said)
	if err != nil {
		c.said = c.said[:len(c.said)-1]
		return err
	}
	c.said = append(c.said, schema.AssistantMessage(answer, nil))
	fmt.Fprintln(c.out, answer)
	err = c.memory.Flush(ctx) // learning happens in the background: wait for it
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, item := range c.learnt {
		own := item.Memory.Scope.UserID == c.scope.UserID // and not what another process left to learn
		if own && c.tells(&item.Memory) && item.Outcome != backends.OutcomeUnchanged {
			fmt.Fprintln(c.out, news(&item))
		}
	}
	c.learnt = nil
	return err
}

// news shows what became of a memory.
func news(item *backends.Item) string {
	text := item.Memory.Text
	switch {
	case item.Err != nil: // failed or skipped
		return fmt.Sprintf("! %s: %s: %v", item.Outcome, text, item.Err)
	case item.Outcome == backends.OutcomeRetracted:
		return "- " + text
	case item.Previous != nil: // updated or superseded
		text += " (before: " + before(item.Previous.Text, text) + ")"
	}
	return "+ " + text
}

// before returns a text from the word on in which a later one differs.
func before(was, is string) string {
	a, b := strings.Fields(was), strings.Fields(is)
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Join(a, " ")
}

// tells reports whether a memory tells of its user: a fact, or where no model makes facts,
// what the user stated.
func (c *chat) tells(m *backends.Memory) bool {
	return m.Kind != backends.KindEpisode || !c.extracts && m.Origin.Role == string(schema.User) && demomodel.States(m.Text)
}

// memories returns all that is remembered of the user, in the order in which it was stored.
func (c *chat) memories(ctx context.Context, superseded bool) (out []backends.Memory, err error) {
	request := &backends.ListRequest{Scope: c.scope, IncludeSuperseded: superseded, Limit: 1000}
	for more := true; more; more = request.Cursor != "" {
		page, err := c.backend.List(ctx, request)
		if err != nil {
			return nil, err
		}
		out, request.Cursor = append(out, page.Memories...), page.Next
	}
	return out, nil
}

// list prints what is known of the user, or all.
func (c *chat) list(ctx context.Context, all bool) error {
	memories, err := c.memories(ctx, all)
	if err != nil {
		return err
	}
	known := ""
	for _, m := range memories {
		if all || c.tells(&m) {
			known += line(&m) + "\n"
		}
	}
	_, err = fmt.Fprint(c.out, cmp.Or(known, "nothing is known of "+c.scope.UserID+"\n"))
	return err
}

// line shows a memory: its id, its date, who said it, and what.
func line(m *backends.Memory) string {
	who := cmp.Or(m.Origin.Speaker, m.Origin.Role)
	if m.Origin.Author == "agent" {
		who = "noted by the assistant"
	}
	text := fmt.Sprintf("[%s] %s %s: %s", m.ID, m.Since().Format(time.DateOnly), who, m.Text)
	if !m.Active() {
		text += " (holds no more)"
	}
	return text
}

// forget erases a memory, and of a fact and what was said that taught it the other, too:
// else it would be found again. A new session begins, since this one shows it.
func (c *chat) forget(ctx context.Context, id string) error {
	memories, err := c.memories(ctx, true)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(memories, func(m backends.Memory) bool { return m.ID == id })
	if at < 0 {
		return fmt.Errorf("%s has no memory %q: /memory all lists them", c.scope.UserID, id)
	}
	for _, m := range memories {
		if m.ID != id && !teaches(&m, &memories[at]) {
			continue
		}
		if err := c.backend.Delete(ctx, &backends.DeleteRequest{Scope: c.scope, ID: m.ID}); err != nil {
			return err
		}
		fmt.Fprintln(c.out, "forgotten:", line(&m))
	}
	return c.begin(c.scope.UserID)
}

// teaches reports whether one of two memories is what was said, and the other a fact of it.
func teaches(a, b *backends.Memory) bool {
	return (a.Kind == backends.KindEpisode) != (b.Kind == backends.KindEpisode) && a.Origin.Session == b.Origin.Session &&
		slices.ContainsFunc(a.Origin.MessageIDs, func(id string) bool { return slices.Contains(b.Origin.MessageIDs, id) })
}

// forgetAll erases a user: the memories, their history, and the log, so that nothing is
// learnt from it again.
func (c *chat) forgetAll(ctx context.Context) error {
	if err := c.memory.Flush(ctx); err != nil && c.memory.Working().Stats().Queued > 0 { // they would come after
		return err
	}
	user, err := c.scope.Partition(backends.PartitionUser)
	if err != nil {
		return err
	}
	n, err := c.file.Drop(ctx, user)
	if err == nil {
		fmt.Fprintf(c.out, "forgot %s: memories %d, sessions %d, messages %d\n", c.scope.UserID, n.Records, n.Sessions, n.Messages)
		err = c.begin(c.scope.UserID)
	}
	return err
}
