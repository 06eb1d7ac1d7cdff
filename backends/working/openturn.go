// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// openTurnBlob is the name of the blob that holds an interrupted turn.
func openTurnBlob(checkpointID string) string { return "open-turn/" + checkpointID }

// savedTurn is a turn as a blob holds it.
type savedTurn struct {
	ID       string         `json:"id"`
	Scope    backends.Scope `json:"scope"`
	First    int            `json:"first"`
	Messages []savedMessage `json:"messages"`
	Time     time.Time      `json:"time"`
	Done     bool           `json:"done,omitempty"`
}

// savedMessage is a message with its marks: Extra itself need not be encodable.
type savedMessage struct {
	*schema.Message
	Note bool   `json:"note,omitempty"`
	Turn string `json:"turn,omitempty"`
}

// SaveOpenTurn keeps an interrupted turn beside the session that s names, until
// [Memory.TakeOpenTurn] is called with the same scope and checkpoint, maybe in
// another process. Texts are redacted; of Extra only memory's own marks are kept.
func (m *Memory) SaveOpenTurn(ctx context.Context, s backends.Scope, checkpointID string, t *Turn) error {
	if err := m.enter(); err != nil {
		return err
	}
	defer m.calls.Done()
	k, _, err := keyOf(s)
	if err != nil || t == nil || checkpointID == "" {
		return errors.Join(err, invalidOpenTurn(t, checkpointID))
	}
	saved := savedTurn{ID: t.ID, Scope: t.Scope, First: t.First, Time: t.Time, Done: t.Done, Messages: make([]savedMessage, len(t.Messages))}
	for i, msg := range t.Messages {
		if msg != nil {
			saved.Messages[i] = savedMessage{Message: m.clean(msg), Note: einox.IsNote(msg), Turn: einox.TurnOf(msg)}
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

func invalidOpenTurn(t *Turn, checkpointID string) error {
	if t == nil || checkpointID == "" {
		return fmt.Errorf("open turn: %w: needs a turn and a checkpoint id", backends.ErrInvalid)
	}
	return nil
}

// TakeOpenTurn returns the turn that was saved under a checkpoint, and removes
// it, or nil when there is none.
func (m *Memory) TakeOpenTurn(ctx context.Context, s backends.Scope, checkpointID string) (*Turn, error) {
	if err := m.enter(); err != nil {
		return nil, err
	}
	defer m.calls.Done()
	k, _, err := keyOf(s)
	if err != nil {
		return nil, fmt.Errorf("open turn: %w", err)
	}
	data, err := m.cfg.Sessions.GetBlob(ctx, k.partition, k.id, openTurnBlob(checkpointID))
	if errors.Is(err, backends.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the open turn of session %s: %w", k, err)
	}
	var saved savedTurn
	if err := json.Unmarshal(data, &saved); err != nil {
		return nil, fmt.Errorf("open turn of session %s, checkpoint %q: %w: %w", k, checkpointID, backends.ErrInvalid, err)
	}
	if err := m.cfg.Sessions.PutBlob(ctx, k.partition, k.id, openTurnBlob(checkpointID), nil); err != nil {
		return nil, fmt.Errorf("removing the open turn of session %s: %w", k, err)
	}
	return saved.turn(), nil
}

func (s *savedTurn) turn() *Turn {
	t := &Turn{Scope: s.Scope, ID: s.ID, First: s.First, Time: s.Time, Done: s.Done, Messages: make([]*schema.Message, len(s.Messages))}
	for i, saved := range s.Messages {
		msg := saved.Message
		if msg != nil && saved.Turn != "" {
			msg = einox.MarkTurn(msg, saved.Turn)
		}
		if msg != nil && saved.Note {
			einox.MarkNote(msg)
		}
		t.Messages[i] = msg
	}
	return t
}
