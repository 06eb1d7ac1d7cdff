// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/working/session"
	"github.com/einomem/einomem/internal/testredis"
)

// traffic is what a client and its server say to each other.
type traffic struct{ bytes, commands atomic.Int64 }

func (s *traffic) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &countedConn{Conn: c, traffic: s}, err
}

type countedConn struct {
	net.Conn
	*traffic
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.bytes.Add(int64(n))
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.bytes.Add(int64(n))
	return n, err
}

func (s *traffic) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *traffic) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.commands.Add(1)
		return next(ctx, cmd)
	}
}

func (s *traffic) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		s.commands.Add(int64(len(cmds)))
		return next(ctx, cmds)
	}
}

// of returns what do costs.
func (s *traffic) of(do func()) (bytes, commands int64) {
	bytes, commands = s.bytes.Load(), s.commands.Load()
	do()
	return s.bytes.Load() - bytes, s.commands.Load() - commands
}

// To load the last 20 turns, or to append one, takes the same at turn 50 as at turn
// 1,000: in commands exactly, in bytes but for the digits of larger numbers.
func TestLoadingAndSavingCostTheSameInALongSession(t *testing.T) {
	servers := map[string]func(t *testing.T) string{"miniredis": func(t *testing.T) string { return miniredis.RunT(t).Addr() }}
	for _, f := range testredis.Flavours() {
		servers[f.Name] = func(t *testing.T) string { return f.Start(t).Addr }
	}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			wire := &traffic{}
			client := redis.NewClient(&redis.Options{Addr: start(t), Dialer: wire.dial, PoolSize: 2})
			t.Cleanup(func() { _ = client.Close() })
			one, two := client.Conn(), client.Conn() // all connections stand before anything is counted
			require.NoError(t, errors.Join(one.Ping(t.Context()).Err(), two.Ping(t.Context()).Err(), one.Close(), two.Close()))
			clock := newClock()
			w := newWorld(t, openRedis(t, client, clock.Now), clock)
			client.AddHook(wire)
			turns := func(from, to int) {
				for i := from; i <= to; i++ {
					id := fmt.Sprintf("t%04d", i)
					w.say(ann, user(id, 0, strings.Repeat("question ", 20)), reply(id, 1, strings.Repeat("answer ", 60)).end())
				}
			}
			type cost struct{ bytes, commands int64 }
			measure := func(last int) (load, tokens, save cost) {
				for _, r := range []struct {
					to *cost
					r  session.LoadRequest
				}{{&load, session.LoadRequest{Messages: 40}}, {&tokens, session.LoadRequest{Tokens: 400}}} {
					r.r.Scope = ann
					r.to.bytes, r.to.commands = wire.of(func() {
						require.Len(t, w.load(&r.r).Messages, 41, "20 turns and a notice")
					})
				}
				save.bytes, save.commands = wire.of(func() { turns(last+1, last+1) })
				return load, tokens, save
			}
			turns(1, 50)
			load, tokens, save := measure(50)
			turns(52, 1000)
			longLoad, longTokens, longSave := measure(1000)
			t.Logf("load %+v, then %+v; by tokens %+v, then %+v; save %+v, then %+v", load, longLoad, tokens, longTokens, save, longSave)
			for _, c := range [][2]cost{{load, longLoad}, {tokens, longTokens}, {save, longSave}} {
				assert.Equal(t, c[0].commands, c[1].commands)
				assert.InEpsilon(t, c[0].bytes, c[1].bytes, 0.02)
			}
		})
	}
}
