// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

var (
	//go:embed lua/mend.lua
	mendSource string
	mendScript = redis.NewScript(mendSource)
)

// Repair does what [Store.Verify] does, and puts right what can be put right
// without inventing anything: indexes follow the records, counters the lists. It
// may run while others write: each repair is a script that first makes sure that
// what it repairs is still as it was seen. Where readers must hear of it, the
// partition's version rises. A partition without problems is left as it is, but
// for leftovers.
//
// It never removes a text, even one that cannot be read: such problems have no Fix.
func (s *Store) Repair(ctx context.Context, p backends.Partition) (*Report, error) {
	return s.inspect(ctx, p, true)
}

// mending is a repair: commands that are carried out, all or none, if the checks
// still have their answers.
type mending struct {
	checks   []check
	commands [][]word
	raise    bool     // the partition's version
	keys     []string // those that are named, besides the partition's own
}

type check struct {
	expect  string // "=" and the answer; empty: there is none
	command []word
}

// word is one of a command, with its mark: see mend.lua.
type word string

const (
	theVersion word = "v" // the version that the partition is raised to
	newBirth   word = "b" // the next number of creation
	newMove    word = "m" // the next number of change
	lastMove   word = "c" // the last one
)

// stamped is a text that begins with the version.
func stamped(text string) word { return word("s" + text) }

// words marks what is a word already and takes the rest as it is.
func words(all ...any) []word {
	out := make([]word, len(all))
	for i, a := range all {
		if w, ok := a.(word); ok {
			out[i] = w
			continue
		}
		out[i] = word("=" + fmt.Sprint(a))
	}
	return out
}

// expect adds a check: nil is no answer.
func (m *mending) expect(answer any, command ...any) *mending {
	expect := ""
	if answer != nil {
		expect = "=" + fmt.Sprint(answer)
	}
	m.checks = append(m.checks, check{expect, words(command...)})
	return m
}

// do adds a command.
func (m *mending) do(command ...any) *mending {
	m.commands = append(m.commands, words(command...))
	return m
}

func (m *mending) args() []any {
	out := []any{"", len(m.checks)}
	if m.raise {
		out[0] = "raise"
	}
	for _, c := range m.checks {
		out = appendWords(append(out, c.expect), c.command)
	}
	out = append(out, len(m.commands))
	for _, c := range m.commands {
		out = appendWords(out, c)
	}
	return out
}

func appendWords(out []any, command []word) []any {
	out = append(out, len(command))
	for _, w := range command {
		out = append(out, string(w))
	}
	return out
}

// mend carries out the repairs of findings, and returns for each whether it was.
func (i *inspector) mend(ctx context.Context, found []*finding) ([]bool, error) {
	done := make([]bool, len(found))
	if !i.fix {
		return done, nil
	}
	var todo []int
	keys := slices.Concat([]string{i.keys.meta(), i.keys.tips()}, i.keys.all()[1:])
	args := []any{newNonce(), 0}
	for at, f := range found {
		if f.mend != nil {
			todo = append(todo, at)
			keys = append(keys, f.mend.keys...)
			args = append(args, f.mend.args()...)
		}
	}
	if len(todo) == 0 {
		return done, nil
	}
	args[1] = len(todo)
	var answer []any
	err := i.try(ctx, func() error {
		reply, err := i.write(ctx, mendScript, keys, args...)
		answer, _ = reply.([]any)
		if err == nil && len(answer) != len(todo) {
			err = fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for n, at := range todo {
		done[at] = answer[n] == int64(1)
	}
	return done, nil
}
