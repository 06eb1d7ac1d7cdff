// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/internal/plan"
)

// commit is a plan on its way to the server.
type commit struct {
	*found
	now     time.Time
	plan    *plan.Plan
	session *store.Session // its state after the batch; nil: no session
}

// outcome is what the commit script says.
type outcome string

const (
	committed   outcome = "ok"
	stale       outcome = "stale"    // what the plan rests on has changed
	unannounced outcome = "announce" // the partition is not in the registry
)

const (
	// keepKeys is how long an idempotency key is known.
	keepKeys = 31 * 24 * time.Hour
	// keepNonces is how long a batch without a key is known, in case that the
	// answer to it was lost and it is repeated.
	keepNonces = 10 * time.Minute
)

// commit runs the script and sets out if the batch is committed now, or was
// before.
func (a *applier) commit(ctx context.Context, c *commit, inc string) (outcome, error) {
	keys := a.keys.all()[:9]
	if c.session != nil {
		keys = append(append(keys, a.keys.session(c.session.ID).all()...), a.keys.sessions(), a.keys.pending())
	}
	args, err := a.args(c, inc)
	if err != nil {
		return "", err
	}
	reply, err := a.write(ctx, commitScript, keys, args...)
	if err != nil {
		return "", err
	}
	answer, _ := reply.([]any)
	word := ""
	if len(answer) > 0 {
		word, _ = answer[0].(string)
	}
	switch {
	case len(answer) == 3 && word == "known":
		return committed, a.learnKnown(c, answer)
	case len(answer) == 3 && word == string(committed):
		return committed, a.learnOK(c, answer)
	case word == string(stale), word == string(unannounced):
		return outcome(word), nil
	}
	return "", fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
}

func (a *applier) learnOK(c *commit, answer []any) (err error) {
	a.out = &store.Applied{Results: c.plan.Results}
	if a.out.Version, err = number(answer[1]); err != nil || c.session == nil {
		return err
	}
	after, err := readSession(a.p, c.session.ID, pairs(answer[2]))
	if err == nil {
		a.out.Session = &after.Session
	}
	return err
}

func (a *applier) learnKnown(c *commit, answer []any) (err error) {
	known, _ := answer[1].(string)
	if c.session != nil {
		if c.state, err = readSession(a.p, c.session.ID, pairs(answer[2])); err != nil {
			return err
		}
	}
	a.out, err = a.replay(known, c.found.session(c.now))
	return err
}

// args are the arguments of the commit script, which must change with it.
func (a *applier) args(c *commit, inc string) ([]any, error) {
	w := &arguments{}
	w.add(micros(c.now), a.nonce, inc, c.inc)
	w.known(a, c)
	w.add(c.spaceText, pin(a.batch, c.version))
	w.space(c.plan.Embedding)
	w.add(flag(c.plan.Changed || c.session != nil && !a.update))
	w.add(len(c.plan.Checks))
	for _, check := range c.plan.Checks {
		w.add(check.ID, check.Version)
	}
	if c.session != nil {
		w.session(a.batch.Session, c)
	}
	w.add(len(c.plan.Writes))
	for i := range c.plan.Writes {
		w.write(&c.plan.Writes[i])
	}
	w.add(len(c.plan.Events))
	for i := range c.plan.Events {
		e := c.plan.Events[i]
		e.Version = 0 // the script stamps it
		w.add(e.MemoryID)
		w.json("event", &e)
	}
	if len(w.list) > mostArguments && w.err == nil {
		w.err = fmt.Errorf("%w: %d mutations are more than one script takes: split the batch", backends.ErrInvalid, len(a.batch.Mutations))
	}
	return w.list, w.err
}

// mostArguments is how many a server takes before Redis 7, less those of the call.
const mostArguments = 1<<20 - 100

// pin returns the version that the partition must still have, empty for any. Only
// a batch that expects a version of a record which it changed itself rests on it.
func pin(b *store.Batch, version int64) string {
	for i := range b.Mutations {
		if b.Mutations[i].Expect > version {
			return strconv.FormatInt(version, 10)
		}
	}
	return ""
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// arguments collects those of a script.
type arguments struct {
	list []any
	err  error // the first
}

func (w *arguments) add(values ...any) { w.list = append(w.list, values...) }

func (w *arguments) json(what string, v any) {
	text, err := plan.Encode(what, v)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.add(text)
}

// time adds a time as it is read back. One that has no such form, as in a year above
// 9999, is ErrInvalid.
func (w *arguments) time(what string, t time.Time) {
	text, err := t.MarshalText()
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("%s: %w: %w", what, backends.ErrInvalid, err)
	}
	w.add(text)
}

// known: under which field the batch is remembered, until when, with what. A batch
// that changes nothing and has no key need not be.
func (w *arguments) known(a *applier, c *commit) {
	switch {
	case a.batch.Key != "":
		w.add(a.field(), micros(c.now.Add(keepKeys)))
	case c.plan.Changed || c.session != nil:
		w.add(a.field(), micros(c.now.Add(keepNonces)))
	default:
		w.add("", 0, "")
		return
	}
	w.json("results", c.plan.Results)
}

func (w *arguments) space(e *store.Embedding) {
	if e == nil {
		w.add("")
		return
	}
	w.json("embedding", e)
}

func (w *arguments) write(write *plan.Write) {
	w.add(write.ID)
	if write.Record == nil {
		w.add("", "none", "")
		return
	}
	m := write.Record.Memory
	m.Version = 0 // the script stamps it
	w.json("record "+m.ID, &m)
	switch {
	case write.SameVector:
		w.add("keep", "")
	case len(write.Record.Vector) == 0:
		w.add("none", "")
	default:
		w.add("set", write.Record.Vector)
	}
}

func (w *arguments) session(u *store.SessionUpdate, c *commit) {
	version := ""
	if u.Version != 0 {
		version = c.state.fields["ver"]
	}
	w.add(u.Session, c.state.fields["upd"], version, timeText(c.now))
	w.json("session "+u.Session, stateOf(c.session))
	w.add(c.session.Watermark)
	switch {
	case u.Expires == nil:
		w.add("", "")
	case u.Expires.IsZero():
		w.add("never", "")
	default:
		w.add(micros(*u.Expires))
		w.time("session "+u.Session+" expires", *u.Expires)
	}
}
