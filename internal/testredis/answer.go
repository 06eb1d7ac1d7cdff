// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// awaitAnswer waits until p itself answers at the server's address, and has loaded its data.
func (s *Server) awaitAnswer(p *process) error {
	var ended bool
	err := await(func(ctx context.Context) error {
		if ended = !p.alive(); ended {
			return nil
		}
		return s.answers(ctx, p.pid())
	})
	if ended {
		return errors.New("the server ended at once")
	}
	return err
}

// answers asks by a connection of its own: a pool slows down after many refused ones.
func (s *Server) answers(ctx context.Context, pid int) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	_ = conn.Close()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, Password: s.password(), PoolSize: 1, MaxRetries: -1})
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil {
		return err
	}
	info, err := info(ctx, c, "server")
	if err != nil {
		return err
	}
	if got := info["process_id"]; got != fmt.Sprint(pid) {
		return fmt.Errorf("process %s answers, not %d: a script must end in exec", got, pid)
	}
	return nil
}

// info returns a section of INFO, or the answer of CLUSTER INFO, by field.
func info(ctx context.Context, c *redis.Client, section string) (map[string]string, error) {
	cmd := c.Info(ctx, section)
	if section == "cluster" {
		cmd = c.ClusterInfo(ctx)
	}
	text, err := cmd.Result()
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	return fields, err
}
