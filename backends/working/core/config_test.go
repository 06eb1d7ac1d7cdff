// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working/core"
)

func TestConfig(t *testing.T) {
	many := make([]core.Block, core.MaxBlocks+1)
	for i := range many {
		many[i].Name = fmt.Sprint("b", i)
	}
	named := func(name string) []core.Block { return []core.Block{{Name: name}} }
	for what, blocks := range map[string][]core.Block{
		"none": nil, "too many": many, "no name": named(""), "capital": named("Human"), "space": named("a b"),
		"slash": named("a/b"), "letter": named("é"), "long": named(strings.Repeat("a", core.MaxName+1)),
		"twice":       {{Name: "a"}, {Name: "b"}, {Name: "a", Owner: core.OwnerAgent}},
		"owner":       {{Name: "a", Owner: "team"}},
		"below":       {{Name: "a", Limit: -1}},
		"above":       {{Name: "a", Limit: core.MaxLimit + 1}},
		"initial":     {{Name: "a", Limit: 2, Initial: "安安安"}},
		"default":     {{Name: "a", Initial: strings.Repeat("a", core.DefaultLimit+1)}},
		"bytes":       {{Name: "a", Initial: "\xff"}},
		"description": {{Name: "a", Description: "\xff"}},
		"essay":       {{Name: "a", Description: strings.Repeat("a", 1001)}},
	} {
		_, err := core.New(&core.Config{Records: openStore(t), Blocks: blocks})
		require.ErrorIs(t, err, backends.ErrInvalid, what)
	}
	for what, cfg := range map[string]*core.Config{"nil": nil, "no records": {Blocks: four}, "language": {Records: openStore(t), Blocks: four, Language: "eo"}} {
		_, err := core.New(cfg)
		require.ErrorIs(t, err, backends.ErrInvalid, what)
	}
	for _, cfg := range []*core.Config{
		{Blocks: many[:core.MaxBlocks]}, {Blocks: four, Language: "auto"},
		{Blocks: []core.Block{{Name: strings.Repeat("a", core.MaxName), Limit: 3, Initial: "安安安"}, {Name: "_9"}}},
	} {
		cfg.Records = openStore(t)
		_, err := core.New(cfg)
		require.NoError(t, err)
	}
}

func TestConfigIsCopied(t *testing.T) {
	blocks := []core.Block{{Name: "a", Initial: "one\r\ntwo"}}
	cfg := &core.Config{Records: openStore(t), Blocks: blocks}
	b, err := core.New(cfg)
	require.NoError(t, err)
	assert.Equal(t, []core.Block{{Name: "a", Initial: "one\r\ntwo"}}, cfg.Blocks)
	assert.Nil(t, cfg.Redact)
	blocks[0].Name = "changed"
	b.Blocks()[0].Name = "changed"
	assert.Equal(t, []core.Block{{Name: "a", Owner: core.OwnerUser, Limit: core.DefaultLimit, Initial: "one\ntwo"}}, b.Blocks())
	v := set(t, b, ann, "a", "x")
	assert.False(t, v.Updated.IsZero(), "the system's clock")
}
