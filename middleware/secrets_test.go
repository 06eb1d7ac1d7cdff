// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package middleware_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends/mem0"
	"github.com/einomem/einomem/backends/redact"
	"github.com/einomem/einomem/backends/working/core"
	"github.com/einomem/einomem/internal/test/testkit"
	"github.com/einomem/einomem/middleware"
)

const (
	saidPassword = "Blue%Kettle77"
	saidKey      = "sk-proj-AbCdEfGhIjKlMnOp"
)

// told runs a turn in which a person gives secrets away and the agent notes them down, and
// returns what the model saw in that run and in the next, and all bytes on the disk.
func told(t *testing.T, change func(*middleware.Config, *mem0.Config)) (run, next, disk string) {
	dir := t.TempDir()
	db := testkit.File(t, filepath.Join(dir, "memory.db"))
	backend := &mem0.Config{Store: db}
	cfg := windowed(8000, nil, db)
	cfg.AwaitWrite, cfg.Core = true, &core.Config{Blocks: []core.Block{{Name: "human"}}}
	change(cfg, backend)
	b, err := mem0.New(t.Context(), backend)
	require.NoError(t, err)
	cfg.Backend = b
	mem := open(t, cfg)
	said := "Call me on 0170 1234567. My password is " + saidPassword + " and my key is " + saidKey + ". 我的密码是Liyan1990"
	_, m := ask(t, as("ann", "monday"), mem, said,
		testkit.Call("1", "core_memory_append", fmt.Sprintf(`{"block":"human","text":"password: %s"}`, saidPassword)),
		testkit.Call("2", "add_memory", fmt.Sprintf(`{"content":["Ann's password is %s"]}`, saidPassword)), testkit.Text("Noted: "+saidKey))
	run = fmt.Sprint(testkit.Lines(m.Calls()[2]))
	require.NoError(t, mem.Flush(t.Context()))
	_, m = ask(t, as("ann", "monday"), mem, "What is my password, and on which number do you call me?")
	next = fmt.Sprint(testkit.Lines(m.Calls()[0]))
	for _, file := range []string{"memory.db", "memory.db-wal"} {
		data, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		disk += string(data)
	}
	return run, next, disk
}

func TestASecretOfAPersonIsUsedInItsRunAndNeverStored(t *testing.T) {
	run, next, disk := told(t, func(*middleware.Config, *mem0.Config) {})
	require.Contains(t, run, saidPassword, "the run goes on with what was said")
	for _, secret := range []string{saidPassword, saidKey, "Liyan1990"} {
		require.NotContains(t, next, secret)
		require.NotContains(t, disk, secret)
	}
	require.Contains(t, next, "[redacted:password]")
	require.Contains(t, next, "[redacted:key]")
	require.Contains(t, next, "0170 1234567", "people want their own number remembered")
}

func TestRedactionIsReplacedOrSwitchedOff(t *testing.T) {
	_, next, disk := told(t, func(c *middleware.Config, b *mem0.Config) { c.Redact, b.Redact = redact.None, redact.None })
	require.Contains(t, next, saidPassword)
	require.Contains(t, disk, saidPassword)
	_, next, disk = told(t, func(c *middleware.Config, b *mem0.Config) { c.Redact, b.Redact = redact.Shared, redact.Shared })
	require.NotContains(t, disk, saidPassword)
	require.Contains(t, next, "[redacted:phone]")
}
