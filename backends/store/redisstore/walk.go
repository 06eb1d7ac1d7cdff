// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/einomem/einomem/backends"
)

// walkAhead is how many partitions are looked at with one round trip.
const walkAhead = 128

// nextRegistered returns the partition after the listing's current one that has
// sessions, and makes it the current one; nil after the last.
func (l *lister) nextRegistered(ctx context.Context) (*backends.Partition, error) {
	for len(l.ahead) == 0 {
		names, err := l.registered(ctx)
		if len(names) == 0 || err != nil {
			return nil, err
		}
		if l.ahead, err = l.busy(ctx, names); err != nil {
			return nil, err
		}
		l.at.Member = names[len(names)-1]
	}
	p, err := parseMember(l.ahead[0])
	l.at.Member, l.ahead = l.ahead[0], l.ahead[1:]
	return &p, err
}

// registered reads the names of the next partitions: in the list of work or,
// namespace by namespace, in all lists.
func (l *lister) registered(ctx context.Context) ([]string, error) {
	if l.query.Pending {
		return l.lex(ctx, l.workKey(), l.at.Member, walkAhead)
	}
	for {
		if l.at.Namespace != "" {
			names, err := l.ofNamespace(ctx)
			if len(names) > 0 || err != nil {
				return names, err
			}
		}
		spaces, err := l.lex(ctx, l.namespacesKey(), l.at.Namespace, 1)
		if len(spaces) == 0 || err != nil {
			return nil, err
		}
		l.at.Namespace, l.at.Member = spaces[0], ""
	}
}

func (l *lister) ofNamespace(ctx context.Context) ([]string, error) {
	_, after, _ := strings.Cut(l.at.Member, ":")
	names, err := l.lex(ctx, l.config.Prefix+":partitions:"+l.at.Namespace, after, walkAhead)
	for i := range names {
		names[i] = l.at.Namespace + ":" + names[i]
	}
	return names, err
}

// busy returns those of the partitions that have sessions to list. Those that have
// long had no work are taken off its list.
func (l *lister) busy(ctx context.Context, names []string) ([]string, error) {
	counts, since := make([]*redis.IntCmd, len(names)), make([]*redis.StringCmd, len(names))
	err := l.pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, name := range names {
			k := l.named(name)
			counts[i], since[i] = pipe.ZCard(ctx, l.index(k)), pipe.HGet(ctx, k.meta(), "work")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	limit := micros(l.now().Add(-idle))
	var out []string
	for i, name := range names {
		if counts[i].Val() > 0 {
			out = append(out, name)
			continue
		}
		if entered, _ := since[i].Int64(); l.query.Pending && entered <= limit {
			if err := l.rest(ctx, name, limit); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
