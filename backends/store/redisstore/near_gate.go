// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/einomem/einomem/backends"
)

// nearFixed are the first versions of each line of Redis in which VREM and VSIM do
// not meet in freed memory, by the release notes of August 2026. Later lines began
// with it. Another crash, of VREM alone, is in no release notes yet: the write
// script goes round it.
var nearFixed = map[[2]int]int{
	{8, 2}:  9,
	{8, 4}:  6,
	{8, 6}:  6,
	{8, 8}:  2,
	{8, 10}: 1,
}

// nearLast is the last line in nearFixed.
var nearLast = [2]int{8, 10}

// nearRisk says what is wrong with the vector sets of a version of Redis; nothing
// if it is empty.
func nearRisk(version string) string {
	v := parseVersion(version)
	line := [2]int{v[0], v[1]}
	fixed, known := nearFixed[line]
	switch {
	case v == [3]int{}:
		return "their version is not known"
	case v[0] < 8:
		return "they came with version 8"
	case line == [2]int{8, 0}:
		return "those of version 8.0 are a beta"
	case known && v[2] >= fixed, line[0] > nearLast[0], line[0] == nearLast[0] && line[1] > nearLast[1]:
		return ""
	case known:
		return fmt.Sprintf("those of version %d.%d can crash the server before %d.%d.%d", line[0], line[1], line[0], line[1], fixed)
	}
	return fmt.Sprintf("version %d.%d is no stable one", line[0], line[1])
}

func parseVersion(text string) (v [3]int) {
	for i, part := range strings.SplitN(text, ".", 3) {
		if end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			part = part[:end] // as in 8.2-rc1
		}
		v[i], _ = strconv.Atoi(part)
	}
	return v
}

// mayUseNear returns why the vector sets of a server are not used.
func (s *Store) mayUseNear(version string) error {
	if s.config.Near.Use == NearAlways {
		return nil
	}
	if risk := nearRisk(version); risk != "" {
		return fmt.Errorf("%w: %w: the server's vector sets are not used: %s: update it, or set Config.Near.Use to NearAlways", backends.ErrUnavailable, errors.ErrUnsupported, risk)
	}
	return nil
}

// warnNear logs at the start what searches will meet.
func (s *Store) warnNear(ctx context.Context) {
	if s.server.name != "redis" || !s.server.atLeast(8) || s.config.Near.Use == NearNever {
		return
	}
	version := fmt.Sprintf("%d.%d.%d", s.server.version[0], s.server.version[1], s.server.version[2])
	risk := nearRisk(version)
	switch {
	case risk == "":
	case s.config.Near.Use == NearAlways:
		s.config.Logger.WarnContext(ctx, "redisstore: vector sets are used although "+risk, "version", version)
	default:
		s.config.Logger.WarnContext(ctx, "redisstore: vector sets are not used: "+risk+": large partitions are searched in the process", "version", version)
	}
}
