// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package house_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/house"
)

const root = "../../.."

// judge fails when a number is over its limit, and says where most of it stands.
func judge(t *testing.T, numbers ...house.Number) {
	t.Helper()
	for _, n := range numbers {
		line, err := house.Judge(n)
		list := line + "\n" + strings.Join(n.Biggest, "\n")
		if err != nil {
			t.Errorf("%v; the biggest:\n%s", err, list)
		} else {
			t.Log(list)
		}
	}
}

func TestTheHouseDoesNotGrow(t *testing.T) {
	tree, err := house.Read(root)
	require.NoError(t, err)
	settings, configs := tree.Settings()
	alone, err := tree.Linked("lines linked by middleware", "./middleware")
	require.NoError(t, err)
	readme, err := tree.Linked("lines linked by the README's program", ".", "./backends/openai")
	require.NoError(t, err)
	judge(t, tree.ProductLines(), alone, readme, settings, configs, tree.Helpers())
	judge(t, tree.Public()...)
	judge(t, tree.Style()...)
}

func TestExportedSignaturesNameWhatUsersCanName(t *testing.T) {
	modules, err := house.Modules(root)
	require.NoError(t, err)
	n, err := house.Internals(modules...)
	require.NoError(t, err)
	judge(t, n)
}
