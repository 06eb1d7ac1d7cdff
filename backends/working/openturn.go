// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// openTurnBlob is the name of the blob that holds an interrupted turn.
func openTurnBlob(checkpointID string) string { return "open-turn/" + checkpointID }

// SaveOpenTurn keeps an interrupted turn beside the session that s names, until
// [Memory.TakeOpenTurn] is called with the same scope and checkpoint, maybe in another
// process. Texts are redacted; of Extra only memory's own marks are kept.
func (m *Memory) SaveOpenTurn(ctx context.Context, s backends.Scope, checkpointID string, t *Turn) error {
	if t == nil || checkpointID == "" {
		return fmt.Errorf("open turn: %w: needs a turn and a checkpoint id", backends.ErrInvalid)
	}
	k, err := m.enterSession(s)
	if err != nil {
		return fmt.Errorf("open turn %q: %w", t.ID, err)
	}
	defer m.calls.Leave()
	saved := *t
	saved.Messages = make([]*schema.Message, len(t.Messages))
	for i, msg := range t.Messages {
		if msg != nil {
			saved.Messages[i] = einox.WithMarks(m.clean(msg), einox.Marks(msg))
		}
	}
	data, err := json.Marshal(&saved)
	if err != nil {
		return fmt.Errorf("open turn %q: %w: %w", t.ID, backends.ErrInvalid, err)
	}
	if err := m.cfg.Sessions.PutBlob(ctx, k.partition, k.id, openTurnBlob(checkpointID), data); err != nil {
		return fmt.Errorf("keeping open turn %q of session %s: %w", t.ID, k, err)
	}
	return nil
}

// TakeOpenTurn returns the turn that was saved under a checkpoint, and removes it; nil if
// there is none.
func (m *Memory) TakeOpenTurn(ctx context.Context, s backends.Scope, checkpointID string) (*Turn, error) {
	k, err := m.enterSession(s)
	if err != nil {
		return nil, fmt.Errorf("open turn: %w", err)
	}
	defer m.calls.Leave()
	data, err := m.cfg.Sessions.GetBlob(ctx, k.partition, k.id, openTurnBlob(checkpointID))
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the open turn of session %s: %w", k, err)
	}
	t := &Turn{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("open turn of session %s, checkpoint %q: %w: %w", k, checkpointID, backends.ErrInvalid, err)
	}
	if err := m.cfg.Sessions.PutBlob(ctx, k.partition, k.id, openTurnBlob(checkpointID), nil); err != nil {
		return nil, fmt.Errorf("removing the open turn of session %s: %w", k, err)
	}
	return t, nil
}
