// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Checkpoints is an adk.CheckPointStore in memory. It is safe for concurrent use;
// its zero value is ready.
type Checkpoints struct {
	mu   sync.Mutex
	data map[string][]byte
}

// Get implements compose.CheckPointStore.
func (c *Checkpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.data[id]
	return data, ok, nil
}

// Set implements compose.CheckPointStore.
func (c *Checkpoints) Set(_ context.Context, id string, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.data == nil {
		c.data = map[string][]byte{}
	}
	c.data[id] = data
	return nil
}

// FileCheckpoints is an adk.CheckPointStore in a folder, for more than one process.
type FileCheckpoints string

// Get implements compose.CheckPointStore.
func (c FileCheckpoints) Get(_ context.Context, id string) ([]byte, bool, error) {
	data, err := os.ReadFile(filepath.Join(string(c), id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Set implements compose.CheckPointStore.
func (c FileCheckpoints) Set(_ context.Context, id string, data []byte) error {
	return os.WriteFile(filepath.Join(string(c), id), data, 0o600)
}
