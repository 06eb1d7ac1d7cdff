// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package redisstore

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestNearRiskByVersion(t *testing.T) {
	for _, c := range []struct {
		info string // as the server tells
		risk string // a part of what is wrong; empty: nothing
	}{
		{"redis_version:8.2.9", ""},
		{"redis_version:8.2.12", ""},
		{"redis_version:8.4.6", ""},
		{"redis_version:8.6.6", ""},
		{"redis_version:8.8.2", ""},
		{"redis_version:8.10.1", ""},
		{"redis_version:8.10.2", ""},
		{"redis_version:8.12.0", ""},
		{"redis_version:9.0.0", ""},
		{"redis_version:8.0.0", "beta"},
		{"redis_version:8.0.5", "beta"},
		{"redis_version:8.2.0", "before 8.2.9"},
		{"redis_version:8.2.8", "before 8.2.9"},
		{"redis_version:8.4.0", "before 8.4.6"},
		{"redis_version:8.6.5", "before 8.6.6"},
		{"redis_version:8.8.1", "before 8.8.2"},
		{"redis_version:8.10.0", "before 8.10.1"},
		{"redis_version:8.2-rc1", "before 8.2.9"},
		{"redis_version:8.5.0", "no stable one"},
		{"redis_version:8.1.240", "no stable one"},
		{"redis_version:7.4.2", "came with version 8"},
		{"redis_version:6.2.14\r\nos:Linux", "came with version 8"},
		{"# Server\r\nredis_mode:standalone", "not known"},
		{"", "not known"},
	} {
		risk := nearRisk(parseInfo(c.info)["redis_version"])
		if c.risk == "" {
			assert.Empty(t, risk, c.info)
		} else {
			assert.Contains(t, risk, c.risk, c.info)
		}
	}
}

func TestCosineOfScore(t *testing.T) {
	for score, want := range map[float64]float64{0: -1, 0.5: 0, 1: 1, 0.825: 0.65, 1.0000001: 1, -1e-9: -1} {
		assert.InDelta(t, want, cosine(score), 1e-9, score)
		assert.LessOrEqual(t, cosine(score)*cosine(score), 1.0)
	}
}

func TestElementNames(t *testing.T) {
	for _, id := range []string{"a", ":", "a:b", "", strings.Repeat("x", 512)} {
		hash := hashOf([]byte(id))
		assert.Len(t, hash, hashDigits)
		gotHash, gotID := splitElement(hash + ":" + id)
		assert.Equal(t, hash, gotHash)
		assert.Equal(t, id, gotID)
	}
}

func TestDirectionOfVectors(t *testing.T) {
	inf := float32(3e38)
	for _, c := range []struct {
		v    []float32
		want bool
	}{
		{nil, false}, {[]float32{0, 0}, false}, {[]float32{0, -1}, true}, {[]float32{inf * 10, 1}, false},
		{[]float32{inf - inf*10, 1}, false}, {[]float32{inf, 1}, false}, {[]float32{1e-30, 0}, false}, {[]float32{1e-10, 0}, true},
	} {
		assert.Equal(t, c.want, direction(c.v), c.v)
	}
}
