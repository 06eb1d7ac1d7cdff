// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// commit is a plan on its way to the server.
type commit struct {
	*snapshot
	now   time.Time
	plan  *plan.Plan
	after *store.Session // the session after the batch; nil: the batch has none

	refused error // the error that a written update returns: see plan.Session
}

// The first words of the answers of the commit script, besides "unregistered".
const (
	committed = "ok"
	replayed  = "known" // it was committed before
	stale     = "stale" // an input of the plan has changed
)

// keepNonces is how long a batch without a key is known, in case its answer was lost and
// it is repeated.
const keepNonces = 10 * time.Minute

// commit runs the script. It returns nil if an input of the plan has changed. If registry
// entries must come first, it returns their lists.
func (a *applier) commit(ctx context.Context, c *commit, made string) (*store.Applied, []string, error) {
	keys := append(a.keys.all()[:10:10], a.keys.lives())
	if c.after != nil {
		keys = append(append(keys, a.keys.session(c.after.ID).all()...), a.keys.pending(), a.keys.born(), a.keys.has())
	}
	args, err := a.arguments(ctx, c, made)
	if err != nil {
		return nil, nil, err
	}
	reply, err := a.write(ctx, commitScript, keys, args...)
	if wanted := unregistered(reply); err != nil || len(wanted) > 0 {
		return nil, wanted, err
	}
	words, _ := reply.([]any)
	switch {
	case len(words) == 1 && words[0] == stale:
		return nil, nil, nil
	case len(words) == 3 && (words[0] == replayed || words[0] == committed):
		out, err := a.outcome(c, words)
		return out, nil, err
	}
	return nil, nil, badAnswer(reply)
}

// outcome reads the answer of the script to a batch that was committed now or before.
func (a *applier) outcome(c *commit, words []any) (*store.Applied, error) {
	var current *session
	if c.after != nil {
		var err error
		if current, err = readSession(a.p, c.after.ID, words[2]); err != nil {
			return nil, err
		}
	}
	c.state = current
	if words[0] == replayed {
		text, _ := words[1].(string)
		return a.replay(text, c.session(c.now))
	}
	version, err := number(words[1])
	out := &store.Applied{Results: c.plan.Results, Version: version}
	if current != nil {
		out.Session = &current.Session
	}
	return out, err
}

// arguments returns the arguments of the commit script. Change both together.
func (a *applier) arguments(ctx context.Context, c *commit, made string) ([]any, error) {
	args := &arguments{}
	args.add(plan.Micros(c.now), a.nonce, newNonce(), made, c.inc, assignments(a.begunIn(ctx, a.p)))
	a.addKnown(args, c)
	args.add(c.spaceText, pin(a.batch, c.version))
	if c.plan.Embedding == nil {
		args.add("")
	} else {
		args.json("embedding", c.plan.Embedding)
	}
	restores := slices.ContainsFunc(a.batch.Mutations, func(m store.Mutation) bool { return m.Op == store.OpRestore })
	if restores {
		args.add(c.plan.Version)
	} else {
		args.add(flag(c.plan.Changed || c.after != nil && !a.update))
	}
	args.add(len(c.plan.Checks))
	for _, check := range c.plan.Checks {
		args.add(check.ID, check.Version)
	}
	if c.after != nil {
		a.addSession(args, c)
	}
	args.add(len(c.plan.Writes))
	for i := range c.plan.Writes {
		args.addWrite(&c.plan.Writes[i], restores)
	}
	args.add(len(c.plan.Erased))
	for _, id := range c.plan.Erased {
		args.add(id)
	}
	args.add(len(c.plan.Events))
	for _, e := range c.plan.Events {
		args.add(e.MemoryID)
		args.addVersion(e.Version, restores)
		e.Version = 0 // the version precedes the JSON
		args.json("event", &e)
	}
	if len(args.list) > mostArguments && args.err == nil {
		args.err = fmt.Errorf("%w: %d mutations are more than one script takes: split the batch", backends.ErrInvalid, len(a.batch.Mutations))
	}
	return args.list, args.err
}

// mostArguments is how many arguments a server before Redis 7 takes, less some for the
// call.
const mostArguments = 1<<20 - 100

// pin returns the version that the partition must still have, empty for any. A batch
// depends on it only if it restores, or expects a version of a record that it changed
// itself.
func pin(b *store.Batch, version int64) string {
	for i := range b.Mutations {
		if b.Mutations[i].Expect > version || b.Mutations[i].Op == store.OpRestore {
			return strconv.FormatInt(version, 10)
		}
	}
	return ""
}

// addKnown adds the field that remembers the batch, its end, and its results. A batch
// that has no key and changes nothing is left out.
func (a *applier) addKnown(args *arguments, c *commit) {
	switch {
	case a.batch.Key != "":
		args.add(a.field(), plan.Micros(c.now.Add(plan.KeepKeys)))
	case c.plan.Changed || c.after != nil:
		args.add(a.field(), plan.Micros(c.now.Add(keepNonces)))
	default:
		args.add("", 0, "")
		return
	}
	args.json("results", c.plan.Results)
}

func (a *applier) addSession(args *arguments, c *commit) {
	u, version := a.batch.Session, ""
	if u.Version != 0 {
		version = strconv.FormatInt(c.state.Version, 10)
	}
	args.add(u.Session, c.state.upd, version, timeText(c.now))
	args.json("session "+u.Session, stateOf(c.after))
	args.add(c.after.Watermark)
	switch {
	case u.Expires == nil:
		args.add("", "")
	case u.Expires.IsZero():
		args.add("never", "")
	default:
		args.add(plan.Micros(*u.Expires))
		args.time("session "+u.Session+" expires", *u.Expires)
	}
}

// addVersion adds the version of a record or an event if the plan decides it. Else the
// script decides.
func (a *arguments) addVersion(v int64, planned bool) {
	if planned {
		a.add(v)
		return
	}
	a.add("")
}

func (a *arguments) addWrite(w *plan.Write, restores bool) {
	a.add(w.ID)
	if w.Record == nil {
		a.add("", "", "none", "")
		return
	}
	m := w.Record.Memory
	a.addVersion(m.Version, restores)
	m.Version = 0 // the version precedes the JSON
	a.json("record "+m.ID, &m)
	switch {
	case w.SameVector:
		a.add("keep", "")
	case len(w.Record.Vector) == 0:
		a.add("none", "")
	default:
		a.add("set", w.Record.Vector)
	}
}
