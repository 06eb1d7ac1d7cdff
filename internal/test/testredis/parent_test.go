// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testredis_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/test/testredis"
)

// envChild makes TestServerDiesWithItsParent the parent that is killed.
const envChild = "EINOMEM_TESTREDIS_CHILD"

func TestServerDiesWithItsParent(t *testing.T) {
	if os.Getenv(envChild) != "" {
		s := testredis.Need(t).Start(t)
		pid := s.Client(t).InfoMap(t.Context(), "server").Item("Server", "process_id")
		_, _ = os.Stdout.WriteString("pid " + pid + "\n")
		select {}
	}
	testredis.Need(t)
	if _, err := exec.LookPath("setpriv"); err != nil {
		t.Skip("there is no setpriv here")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), envChild+"=1", "TMPDIR="+t.TempDir()) // which it cannot remove itself
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	pid := ""
	for lines := bufio.NewScanner(out); pid == "" && lines.Scan(); {
		pid, _ = strings.CutPrefix(lines.Text(), "pid ")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	require.NotEmpty(t, pid)
	assert.Eventually(t, func() bool { return gone(pid) }, 10*time.Second, time.Millisecond)
}

// gone says whether a process has ended, even if its parent has not waited for it yet.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
