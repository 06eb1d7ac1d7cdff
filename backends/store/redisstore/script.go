// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store/plan"
)

//go:embed lua/*.lua
var sources embed.FS

// Every write is one of these scripts. Each declares all its keys, which are of one
// partition. The written values, keys and fields are independent of earlier values. So a
// server that dies may leave the beginning of a write in its file, and carry it out
// before the repeat.
var (
	appendScript        = newScript("append", "lives", "registry", "whole", "session")
	blobScript          = newScript("blob", "lives", "registry", "whole", "session")
	changesScript       = newScript("changes", "whole", "tips")
	checkRecordsScript  = newScript("check_records", "whole", "tips")
	checkSessionsScript = newScript("check_sessions", "whole", "session")
	commitScript        = newScript("commit", "lives", "registry", "whole", "session", "tips")
	eraseScript         = newScript("erase", "lives", "whole")
	eraseMessagesScript = newScript("erase_messages", "lives", "whole", "session")
	fenceScript         = newScript("fence", "lives")
	probeScript         = newScript("probe")
)

// newScript returns a script that begins with the functions of others.
func newScript(name string, functions ...string) *redis.Script {
	var source []byte
	for _, part := range append(functions, name) {
		text, _ := sources.ReadFile("lua/" + part + ".lua") // embedded: it cannot fail
		source = append(source, text...)
	}
	return redis.NewScript(string(source))
}

// write runs a script that writes, and waits for replicas if so configured.
func (s *Store) write(ctx context.Context, script *redis.Script, keys []string, args ...any) (any, error) {
	if s.config.Replicas == 0 {
		return script.Run(ctx, s.client, keys, args...).Result()
	}
	var written *redis.Cmd
	err := s.confirmed(ctx, keys[0], func(pipe redis.Pipeliner) redis.Cmder {
		written = script.Eval(ctx, pipe, keys, args...) // whole: a pipeline gives no chance to load it
		return written
	})
	if err != nil {
		return nil, err
	}
	return written.Result()
}

// confirmed sends one write to the node of a key, and waits until the configured number
// of replicas has it.
//
// WAIT answers for earlier writes of its own connection. A repeat finds the write done,
// perhaps by another connection, and WAIT would return at once. Hence each try writes a
// mark, to a key of the same slot that ends at once. A replica that has the mark has all
// earlier writes of the node.
func (s *Store) confirmed(ctx context.Context, key string, send func(redis.Pipeliner) redis.Cmder) error {
	node, err := s.master(ctx, key)
	if err != nil {
		return err
	}
	pipe := node.Pipeline()
	mark := pipe.Set(ctx, markKey(key), "", time.Millisecond)
	sent := send(pipe)
	waited := pipe.Do(ctx, "WAIT", s.config.Replicas, s.config.confirmWithin.Milliseconds())
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, cmd := range []redis.Cmder{sent, mark, waited} {
		if err := cmd.Err(); err != nil {
			return err
		}
	}
	n, err := waited.Int()
	if err == nil && n < s.config.Replicas {
		return fmt.Errorf("%w: written, but %d of %d replicas confirmed it within %s: a failover may lose it: repeat the call",
			backends.ErrUnavailable, n, s.config.Replicas, s.config.confirmWithin)
	}
	return err
}

// confirm waits until the replicas have all that the node of a key has written.
func (s *Store) confirm(ctx context.Context, key string) error {
	if s.config.Replicas == 0 {
		return nil
	}
	return s.confirmed(ctx, key, func(redis.Pipeliner) redis.Cmder { return &redis.Cmd{} })
}

// markKey names a key of the same slot as another.
func markKey(key string) string {
	if tag, _, ok := strings.Cut(key, "}"); ok {
		return tag + "}:wait"
	}
	return "{" + key + "}:wait"
}

// arguments collects the arguments of a script.
type arguments struct {
	list []any
	err  error // the first
}

func (a *arguments) add(values ...any) { a.list = append(a.list, values...) }

func (a *arguments) json(what string, v any) {
	text, err := plan.Encode(what, v)
	if err != nil && a.err == nil {
		a.err = err
	}
	a.add(text)
}

// time adds a time in the form that reads back unchanged. A time that lacks such a form,
// as in a year above 9999, is ErrInvalid.
func (a *arguments) time(what string, t time.Time) {
	text, err := t.MarshalText()
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s: %w: %w", what, backends.ErrInvalid, err)
	}
	a.add(text)
}

// assignments encodes names with values for scripts.
func assignments(values map[string]string) string {
	var text strings.Builder
	for name, value := range values {
		text.WriteString(name + "=" + value + ",")
	}
	return text.String()
}

// flag encodes a condition for scripts.
func flag(on bool) string {
	if on {
		return "1"
	}
	return ""
}
