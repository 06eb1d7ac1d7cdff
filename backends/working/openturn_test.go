// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package working_test

import (
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/internal/einox"
)

func TestOpenTurnsSurviveTheirProcess(t *testing.T) {
	w := newWorld(t)
	asked := einox.MarkTurn(schema.UserMessage("delete it?"), "t7")
	asked.Extra["chan"] = make(chan int)
	turn := &working.Turn{Scope: ann, ID: "t7", First: 2, Time: epoch, Messages: []*schema.Message{note("n"), asked, nil}}
	require.NoError(t, w.mem.SaveOpenTurn(t.Context(), ann, "run/1", turn))

	w = w.restart()
	none, err := w.mem.TakeOpenTurn(t.Context(), ann, "run/2")
	require.NoError(t, err)
	assert.Nil(t, none)
	bob := ann
	bob.UserID = "bob"
	none, err = w.mem.TakeOpenTurn(t.Context(), bob, "run/1")
	require.NoError(t, err)
	assert.Nil(t, none, "a checkpoint id is no key to another user's turn")

	got, err := w.mem.TakeOpenTurn(t.Context(), ann, "run/1")
	require.NoError(t, err)
	assert.True(t, einox.IsNote(got.Messages[0]))
	assert.Equal(t, "t7", einox.TurnOf(got.Messages[1]))
	assert.NotContains(t, got.Messages[1].Extra, "chan")
	assert.Nil(t, got.Messages[2], "positions stay")
	assert.Equal(t, "delete it?", got.Messages[1].Content)
	got.Messages = nil
	assert.Equal(t, &working.Turn{Scope: ann, ID: "t7", First: 2, Time: epoch}, got)

	none, err = w.mem.TakeOpenTurn(t.Context(), ann, "run/1")
	require.NoError(t, err)
	assert.Nil(t, none, "taken")
}

func TestOpenTurnErrors(t *testing.T) {
	w := newWorld(t)
	require.ErrorIs(t, w.mem.SaveOpenTurn(t.Context(), backends.Scope{}, "c", say("a", ann)), backends.ErrNoScope)
	require.ErrorIs(t, w.mem.SaveOpenTurn(t.Context(), ann, "", say("a", ann)), backends.ErrInvalid)
	require.ErrorIs(t, w.mem.SaveOpenTurn(t.Context(), ann, "c", nil), backends.ErrInvalid)
	_, err := w.mem.TakeOpenTurn(t.Context(), backends.Scope{}, "c")
	require.ErrorIs(t, err, backends.ErrNoScope)
	p, _ := ann.Speaker()
	require.NoError(t, w.db.PutBlob(t.Context(), p, "s1", "open-turn/c", []byte("{")))
	_, err = w.mem.TakeOpenTurn(t.Context(), ann, "c")
	require.ErrorIs(t, err, backends.ErrInvalid)
}
