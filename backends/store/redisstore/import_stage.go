// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	_ "embed" // the scripts are files
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/plan"
)

var (
	//go:embed lua/stage.lua
	stageSource string
	//go:embed lua/import.lua
	importSource string

	importScript = redis.NewScript(importSource)
)

const (
	// stageLife is when what is left of an import that was cut off ends by itself.
	stageLife = 24 * time.Hour
	// stageBytes and stageCommands are how much is sent together.
	stageBytes    = 1 << 20
	stageCommands = 1000
)

// stage is where an import is kept until it is complete: keys of the partition's
// slot that no reader knows.
type stage struct {
	store    *Store
	real     keys
	staged   keys
	inc      string
	vectors  int
	pending  int
	sessions []stagedSession

	commands [][]any
	bytes    int
	touched  map[string]struct{} // keys of the commands
	log      []any               // messages of one session that wait
	logKey   string
	logAt    int64
}

type stagedSession struct {
	id              string
	messages, blobs int64
	left            string // milliseconds; empty: for ever
}

func newStage(s *Store, p backends.Partition) *stage {
	real, inc := s.keys(p), newNonce()
	return &stage{store: s, real: real, staged: keys{tag: real.tag + ":import:" + inc}, inc: inc, touched: map[string]struct{}{}}
}

// add stages a command, of which a repeat does no harm.
func (g *stage) add(key, command string, args ...any) {
	all := append([]any{command, key}, args...)
	g.commands = append(g.commands, all)
	g.touched[key] = struct{}{}
	for _, a := range args {
		switch v := a.(type) {
		case string:
			g.bytes += len(v)
		case []byte:
			g.bytes += len(v)
		}
	}
}

func (g *stage) enterSession(s *sessionLine, left string) {
	g.sessions = append(g.sessions, stagedSession{id: s.ID, messages: s.Messages, left: left})
	g.add(g.staged.born(), "ZADD", s.Born, s.ID)
}

// ofSession is the session that was entered last.
func (g *stage) ofSession() *stagedSession { return &g.sessions[len(g.sessions)-1] }

// message stages the message with a number.
func (g *stage) message(session string, number int64, id string, text []byte) {
	k := g.staged.session(session)
	if g.logKey != k.log() {
		g.closeLog()
		g.logKey, g.logAt = k.log(), number-1
	}
	g.log = append(g.log, text)
	g.bytes += len(text)
	g.add(k.ids(), "SADD", id)
}

// closeLog makes a command of the messages that wait.
func (g *stage) closeLog() {
	if len(g.log) > 0 {
		g.commands = append(g.commands, append([]any{"EVAL", stageSource, "1", g.logKey, g.logAt}, g.log...))
		g.touched[g.logKey] = struct{}{}
	}
	g.log, g.logKey = nil, ""
}

func (g *stage) flushFull(ctx context.Context) error {
	if g.bytes < stageBytes && len(g.commands) < stageCommands {
		return nil
	}
	return g.flush(ctx)
}

// flush sends what is staged.
func (g *stage) flush(ctx context.Context) error {
	g.closeLog()
	if len(g.commands) == 0 {
		return nil
	}
	err := g.store.do(ctx, "import", func() error {
		return g.store.pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, c := range g.commands {
				pipe.Do(ctx, c...)
			}
			for key := range g.touched {
				pipe.PExpire(ctx, key, stageLife)
			}
			return nil
		})
	})
	g.commands, g.bytes = nil, 0
	clear(g.touched)
	return err
}

// empty makes sure that the partition holds nothing, before much is read.
func (g *stage) empty(ctx context.Context) error {
	var n int64
	err := g.store.do(ctx, "import", func() (err error) {
		all := g.real.all()
		n, err = g.store.client.Exists(ctx, slices.Concat(all[1:8], all[11:])...).Result()
		return err
	})
	if err == nil && n > 0 {
		err = errHolds
	}
	return err
}

var errHolds = fmt.Errorf("%w: the partition holds something: drop it first, or import into another", backends.ErrConflict)

// finish makes the stage the partition.
func (im *importer) finish(ctx context.Context) error {
	if err := im.flush(ctx); err != nil {
		return err
	}
	if im.empties() {
		return nil
	}
	if err := im.do(ctx, "import", func() error { return im.enter(ctx, im.out.Partition) }); err != nil {
		return err
	}
	keys, args, err := im.switchArgs()
	if err != nil {
		return err
	}
	err = im.do(ctx, "import", func() error {
		reply, err := im.write(ctx, importScript, keys, args...)
		if err != nil {
			return err
		}
		return readSwitch(reply)
	})
	if err != nil {
		return err
	}
	return im.do(ctx, "import", func() error { return im.enter(ctx, im.out.Partition) })
}

// empties reports whether there is nothing to store, not even a version.
func (im *importer) empties() bool {
	return im.out.ExportCount == ExportCount{} && im.header.Version == 0
}

func readSwitch(reply any) error {
	answer, _ := reply.([]any)
	if len(answer) > 0 && answer[0] == "ok" {
		return nil
	}
	if len(answer) > 0 && answer[0] == "holds" {
		return errHolds
	}
	if len(answer) == 4 {
		return fmt.Errorf("%w: %v of %v arrived in %v: the file has an id twice, or the server lost keys meanwhile: look at the file, and repeat the import", backends.ErrInvalid, answer[2], answer[3], answer[1])
	}
	return fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, reply)
}

// switchArgs are those of the import script, which must change with it.
func (im *importer) switchArgs() (all []string, args []any, err error) {
	c := im.out.ExportCount
	tip := ""
	if im.header.Version > 0 {
		tip = newNonce()
	}
	all = append(im.real.all(), im.staged.all()...)
	args = []any{im.inc, tip, c.Records, im.vectors, c.Records, c.Deleted, c.Histories, c.Keys, c.Keys, c.Sessions, im.pending, len(im.sessions)}
	meta, err := im.metaFields()
	if err != nil {
		return nil, nil, err
	}
	args = append(append(args, len(meta)/2), meta...)
	for _, s := range im.sessions {
		all = append(append(all, im.real.session(s.id).all()...), im.staged.session(s.id).all()...)
		args = append(args, s.messages, s.blobs, s.left)
	}
	return all, args, nil
}

func (im *importer) metaFields() ([]any, error) {
	var out []any
	h := im.header
	for _, f := range []struct {
		name  string
		value int64
	}{{"ver", h.Version}, {"floor", h.Floor}, {"moved", h.Moved}, {"born", h.Born}} {
		if f.value > 0 {
			out = append(out, f.name, f.value)
		}
	}
	if h.Embedding != nil {
		text, err := plan.Encode("embedding", h.Embedding)
		if err != nil {
			return nil, err
		}
		out = append(out, "space", text)
	}
	if im.pending > 0 {
		out = append(out, "work", micros(im.now()))
	}
	return out, nil
}

// cleanTime is how long the keys of a failed import are tried to be removed, after
// which they end by themselves.
const cleanTime = 5 * time.Second

// clean removes the stage, even if the context has ended, and the list entries if
// the partition did not come into being.
func (im *importer) clean(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	all := im.staged.all()
	for _, s := range im.sessions {
		all = append(all, im.staged.session(s.id).all()...)
	}
	err := im.do(ctx, "remove what was imported", func() error {
		for some := range slices.Chunk(all, hmgetChunk) {
			if err := im.client.Unlink(ctx, some...).Err(); err != nil {
				return err
			}
		}
		return im.leave(ctx, im.out.Partition)
	})
	if err != nil {
		return fmt.Errorf("keys %s:* end by themselves in %s: %w", im.staged.tag, stageLife, err)
	}
	return nil
}
