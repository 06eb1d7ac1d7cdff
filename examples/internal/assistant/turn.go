// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package assistant

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/einomem/einomem/middleware"
	"github.com/einomem/einomem/modes"
)

// Turn is what a command line says, on whose behalf, and how it is remembered.
type Turn struct {
	Scope middleware.Scope
	Mode  modes.Mode
	Text  string          // empty: nothing is said
	Given map[string]bool // the names of the flags that the command line holds
}

// ParseTurn adds the flags of a turn to those of flags, and parses the command
// line. A text that is given is not blank. When help is asked for, it goes to
// stderr, and the error is flag.ErrHelp.
func ParseTurn(flags *flag.FlagSet, args []string, stderr io.Writer) (*Turn, error) {
	t := &Turn{Given: map[string]bool{}}
	flags.SetOutput(io.Discard)
	flags.StringVar(&t.Scope.UserID, "user", "me", "whose memory")
	flags.StringVar(&t.Scope.SessionID, "session", "default", "which conversation of the user")
	mode := flags.String("mode", string(modes.Both), "who is in charge of memory: static_control, agent_control or both")
	flags.StringVar(&t.Text, "say", "", "take one turn: say `text`, print the answer")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(stderr)
			flags.Usage()
		}
		return nil, err
	}
	flags.Visit(func(f *flag.Flag) { t.Given[f.Name] = true })
	switch {
	case flags.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q: say it with -say", flags.Arg(0))
	case t.Given["say"] && strings.TrimSpace(t.Text) == "":
		return nil, errors.New("-say is blank: nothing is said")
	case t.Scope.UserID == "" || t.Scope.SessionID == "":
		return nil, errors.New("-user and -session cannot be empty")
	}
	var err error
	if t.Mode, err = modes.Parse(*mode); err != nil {
		return nil, fmt.Errorf("-mode: %w", err)
	}
	if t.Scope, err = t.Scope.Normalize(); err != nil {
		return nil, fmt.Errorf("-user, -session: %w", err)
	}
	return t, nil
}

// Take has the turn with a, prints the answer as soon as it is there, and closes a,
// which waits until what was said is learnt.
func (t *Turn) Take(ctx context.Context, a *Assistant, stdout io.Writer) (err error) {
	defer func() { err = errors.Join(err, a.Close(ctx)) }()
	answer, err := a.Say(ctx, t.Scope, t.Text)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, answer)
	return err
}
