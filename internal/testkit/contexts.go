// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// Contexts is a file in which a child process keeps what its model was shown, whatever
// becomes of the process.
type Contexts string

// Context is what a model was shown in one call, and how much was said before.
type Context struct {
	Said     int
	Messages []*schema.Message
}

// Reply answers with m, after it wrote down the context, before which so much was said.
func (c Contexts) Reply(said int, m *schema.Message) Reply {
	return func(_ context.Context, in []*schema.Message, _ *model.Options) (*schema.Message, error) {
		line, err := json.Marshal(Context{said, in})
		if err != nil {
			return nil, err
		}
		f, err := os.OpenFile(string(c), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		_, err = f.Write(append(line, '\n'))
		return m, errors.Join(err, f.Close())
	}
}

// Len returns how many contexts there are so far.
func (c Contexts) Len() int {
	data, _ := os.ReadFile(string(c))
	return bytes.Count(data, []byte("\n"))
}

// All returns the contexts so far.
func (c Contexts) All(t testing.TB) []Context {
	t.Helper()
	data, err := os.ReadFile(string(c))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	var out []Context
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var one Context
		require.NoError(t, d.Decode(&one))
		out = append(out, one)
	}
	return out
}
