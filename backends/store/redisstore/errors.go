// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/backends/store/plan"
)

// reason explains an answer of the server by its first word: the cause and the way out,
// and whether it passes by itself.
type reason struct {
	code, text string
	transient  bool
}

const (
	slotMoves   = "the slot of the partition moves to another node: wait"
	aclForbids  = "the user's ACL forbids a command or a key that is needed: see \"Permissions\" in the package comment"
	manyClients = "the server has too many connections: raise maxclients, or lower the pool_size of its clients"
)

var reasons = []reason{
	{"LOADING", "the server loads its data: wait", true},
	{"TRYAGAIN", slotMoves, true},
	{"CLUSTERDOWN", "the cluster does not serve the slot of the partition: look at CLUSTER INFO", true},
	{"MASTERDOWN", "the master cannot be reached: wait for the failover", true},
	{"READONLY", "the server is a replica: wait for the failover, or give the address of the master", true},
	{"MOVED", "the slot of the partition is on another node: wait", true},
	{"ASK", slotMoves, true},
	{"EXECABORT", slotMoves, true},
	{"ERR max number of clients reached", manyClients, true},
	{"UNBLOCKED", "the server became a replica: wait for the failover", true},
	{"NOREPLICAS", "too few replicas are connected (min-replicas-to-write)", true},
	{"BUSY", "another client's script runs too long: look at the server's slow log", true},
	{"OOM", "the server's memory is full: raise maxmemory or drop something, and repeat the call", false},
	{"MISCONF", "the server cannot save to its disk and refuses writes: look at its disk and log", false},
	{"NOAUTH", "the server wants a password: put it into the client's options or the URL", false},
	{"WRONGPASS", "the user name or the password is wrong", false},
	{"NOPERM", aclForbids, false},
	{"ERR The user executing the script", aclForbids, false},
	{"ERR ACL failure in script:", aclForbids, false},
	{"DENIED", "the server runs in protected mode: bind an address and set a password", false},
	{"WRONGTYPE", "a key has another type: another program uses the prefix: choose another", false},
}

// reasonOf finds the reason in an answer of the server. A script reports the error of its
// command in the middle of its own.
func reasonOf(err error) (reason, bool) {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return reason{}, false
	}
	text := answer.Error()
	for _, r := range reasons {
		if text == r.code || strings.HasPrefix(text, r.code+" ") || strings.HasPrefix(text, "-"+r.code+" ") ||
			strings.Contains(text, ": -"+r.code+" ") || strings.Contains(text, ": "+r.code+" ") {
			return r, true
		}
	}
	return reason{}, false
}

// transient reports whether the same call may succeed in a moment.
func transient(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	if r, ok := reasonOf(err); ok {
		return r.transient
	}
	return !errors.As(err, new(redis.Error)) && isNetwork(err)
}

func isNetwork(err error) bool {
	var e net.Error
	return errors.As(err, &e) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted)
}

// describe wraps an error with the call's work and the way out. Failures of the server or
// the network are ErrUnavailable; sentinels stay as they are.
//
//nolint:revive // the context explains the error, it is not worked under
func describe(doing string, err error, ctx context.Context) error {
	if err == nil {
		return nil
	}
	switch {
	case redis.HasErrorPrefix(err, "FORGOTTEN"):
		err = errForgotten
	case redis.HasErrorPrefix(err, "INCOMPLETE"):
		_, key, _ := strings.Cut(err.Error(), "INCOMPLETE ")
		key, _, _ = strings.Cut(key, " ")
		err = incomplete(key)
	}
	if r, ok := reasonOf(err); ok {
		return fmt.Errorf("redisstore: %s: %w: %s: %w", doing, backends.ErrUnavailable, r.text, err)
	}
	if plan.IsSentinel(err) {
		return fmt.Errorf("redisstore: %s: %w", doing, err)
	}
	if ctx.Err() != nil { // go-redis reports a deadline of the context as one of the network
		return fmt.Errorf("redisstore: %s: %w: %w", doing, context.Cause(ctx), err)
	}
	return fmt.Errorf("redisstore: %s: %w: %s: %w", doing, backends.ErrUnavailable, adviceFor(err), err)
}

// adviceFor explains an error that has no reason from the server.
func adviceFor(err error) string {
	switch {
	case errors.Is(err, redis.ErrClosed):
		return "the client is closed"
	case errors.As(err, new(tls.RecordHeaderError)):
		return "does it speak TLS? rediss:// is for servers that do"
	case errors.Is(err, io.EOF):
		return "the server cannot be reached or does not answer: it ends the connection: " +
			"is it a Redis, and without TLS? rediss:// is for those with"
	case isNetwork(err):
		return "the server cannot be reached or does not answer"
	case !errors.As(err, new(redis.Error)):
		return "unexpected answer of the server: is it a Redis?"
	}
	return "unexpected answer of the server"
}

// isNil reports whether err only says that a key or field is missing.
func isNil(err error) bool { return errors.Is(err, redis.Nil) }

// badAnswer is the error for an answer that is unknown to the scripts of this version.
func badAnswer(answer any) error {
	return fmt.Errorf("%w: unexpected answer of a script: %v", backends.ErrUnavailable, answer)
}

// retry calls f, again for as long as Config.Retry if it fails for a transient reason.
// All steps of f must bear a repeat. The result is zero if there is an error.
func retry[T any](ctx context.Context, s *Store, doing string, f func() (T, error)) (T, error) {
	var none T
	if s.closed.Load() {
		return none, fmt.Errorf("redisstore: %s: %w: the store is closed", doing, backends.ErrUnavailable)
	}
	var out T
	err := plan.Retry(ctx, s.config.Retry, transient, func() (err error) { // the limit is of the tries too: each may wait long for an answer
		if out, err = f(); err != nil && transient(err) {
			s.refreshTopology(ctx, err)
		}
		return err
	})
	if err != nil {
		return none, describe(doing, err, ctx)
	}
	return out, nil
}

// on is retry for a call on a partition and, perhaps, a session, after a check of their names.
func on[T any](ctx context.Context, s *Store, p backends.Partition, session, doing string, f func() (T, error)) (T, error) {
	var none T
	for _, err := range []error{p.Validate(), store.ValidateSession(session)} {
		if err != nil {
			return none, fmt.Errorf("redisstore: %s: %w", doing, err)
		}
	}
	return retry(ctx, s, doing, f)
}

// master returns the client of the node that takes writes to the key's slot.
func (s *Store) master(ctx context.Context, key string) (redis.Cmdable, error) {
	if c, ok := s.client.(*redis.ClusterClient); ok {
		return c.MasterForKey(ctx, key)
	}
	return s.client, nil
}

// refreshTopology makes a client of a cluster look up the owners of the slots again.
func (s *Store) refreshTopology(ctx context.Context, err error) {
	c, ok := s.client.(*redis.ClusterClient)
	if ok && (redis.HasErrorPrefix(err, "MOVED") || redis.HasErrorPrefix(err, "READONLY") || isNetwork(err)) {
		c.ReloadState(ctx)
	}
}

// pipelined sends commands with one round trip. A missing key or field is fine.
func (s *Store) pipelined(ctx context.Context, fill func(redis.Pipeliner)) error {
	return firstError(s.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		fill(pipe)
		return nil
	}))
}

// atOnce does the same as one transaction. All its commands must be of one partition.
//
// On a Cluster it asks the partition's node itself. The client of the cluster sends the
// MULTI of a transaction that a dead node missed to other nodes, and waits there for
// answers that never come. The function retry repeats after the answer of a moved slot.
func (s *Store) atOnce(ctx context.Context, fill func(redis.Pipeliner)) error {
	pipe := s.client.Pipeline()
	fill(pipe)
	all := pipe.Cmds()
	key, _ := all[0].Args()[1].(string)
	node, err := s.master(ctx, key)
	if err != nil {
		return err
	}
	send := func(pipe redis.Pipeliner) error {
		for _, cmd := range all {
			_ = pipe.Process(ctx, cmd) // this only queues it
		}
		return nil
	}
	err = firstError(node.TxPipelined(ctx, send))
	if redis.IsOOMError(err) { // Redis 7.0 refuses every transaction then: but for removals, nothing happens between
		err = firstError(node.Pipelined(ctx, send))
	}
	return err
}

// firstError looks at every command: go-redis reports only the first error, which may be
// a missing field. For a transaction that was refused as a whole it returns the reason.
func firstError(cmds []redis.Cmder, err error) error {
	var aborted error
	for _, cmd := range cmds {
		switch e := cmd.Err(); {
		case e == nil || isNil(e):
		case redis.IsExecAbortError(e):
			aborted = e
		default:
			return e
		}
	}
	if isNil(err) {
		return aborted
	}
	return err
}
