// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testkit"
)

func TestMain(m *testing.M) {
	testkit.RunChild(func(spec string) error {
		fmt.Println(spec)
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() && in.Text() != "die" {
			fmt.Println(in.Text())
		}
		testkit.Die()
		return nil
	})
	os.Exit(m.Run())
}

func TestAChildPrintsReadsAndIsKilled(t *testing.T) {
	for _, byItself := range []bool{true, false} {
		c := testkit.StartChild(t, "spec of it")
		line, ok := c.Line()
		require.True(t, ok)
		require.Equal(t, "spec of it", line)
		require.NoError(t, c.Send("hello"))
		line, _ = c.Line()
		require.Equal(t, "hello", line)
		if byItself {
			require.NoError(t, c.Send("die"))
		} else {
			c.Kill()
		}
		_, ok = c.Line()
		require.False(t, ok)
		require.True(t, c.Wait(t))
	}
}
