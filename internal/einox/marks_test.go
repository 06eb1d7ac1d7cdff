// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package einox_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/internal/einox"
)

// whole has a value in every field.
var whole = einox.Mark{
	Kind: einox.Summary, Turn: "t1", Nth: 13, Epoch: "e2", Seq: 34, Ref: "log-1-34", Session: "s", Stands: `{"rounds":2}`,
	Found: map[string]bool{"memory": true, "other": false}, Owner: map[string]string{"search_memory": "0x1 m"},
	Private: einox.Before, Apart: true, Folded: []einox.Folded{{Name: "memory", Text: "A", Mark: einox.Mark{Kind: einox.Note, Turn: "t1"}}},
}

func TestAMarkIsPutOnACopy(t *testing.T) {
	shared := map[string]any{"kept": 1}
	m := &schema.Message{Role: schema.User, Content: "hi", Extra: shared}
	marked := whole.On(m)
	require.Equal(t, whole, einox.MarkOf(marked))
	require.Len(t, marked.Extra, 2, "one key")
	require.Equal(t, 1, marked.Extra["kept"])
	require.Equal(t, map[string]any{"kept": 1}, shared)
	require.Same(t, marked, whole.On(marked), "it has the mark")
	require.Equal(t, einox.Mark{Turn: "t2"}, einox.MarkOf(einox.Mark{Turn: "t2"}.On(marked)), "a mark replaces another")
	require.Equal(t, m, einox.Mark{}.On(marked))
	require.Nil(t, einox.Mark{}.On(einox.Mark{Turn: "t"}.On(schema.UserMessage("hi"))).Extra)
	require.Same(t, m, einox.Mark{}.On(m))
	require.Equal(t, map[string]int{"a": 1, "b": 2}, einox.With(map[string]int{"a": 1}, "b", 2))
}

func TestForeignValuesAreNoMark(t *testing.T) {
	require.Zero(t, einox.MarkOf(nil))
	for _, value := range []any{7, nil, "", "{", `{"turn":7}`, `{"kind":["note"]}`, map[string]any{"kind": "note"}} {
		m := &schema.Message{Extra: map[string]any{einox.MarkKey: value}}
		require.Zero(t, einox.MarkOf(m), value)
		require.False(t, einox.IsNote(m))
	}
}

func TestAMarkSurvivesCheckpointsCopiesAndStreams(t *testing.T) {
	m := whole.On(schema.UserMessage("hi"))
	var stored bytes.Buffer
	require.NoError(t, gob.NewEncoder(&stored).Encode(m), "gob knows it without registration")
	var fromGob, fromJSON schema.Message
	require.NoError(t, gob.NewDecoder(&stored).Decode(&fromGob))
	data, err := json.Marshal(m)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &fromJSON))
	joined, err := schema.ConcatMessages([]*schema.Message{m, {Role: schema.User, Content: "!"}, m})
	require.NoError(t, err)
	for _, back := range []*schema.Message{&fromGob, &fromJSON, joined} {
		require.Equal(t, whole, einox.MarkOf(back))
	}
}

// A checkpoint of the release before has a string for each part of a mark.
func TestMarksOfOlderReleasesAreRead(t *testing.T) {
	const old = `{"role":"user","content":"A\n\nhi","extra":{"kept":"k","_einomem":"summary","_einomem_turn":"t1","_einomem_index":"12","_einomem_life":"e2",
		"_einomem_seq":"34","_einomem_archive":"log-1-34","_einomem_session":"s","_einomem_placeholder":"{\"rounds\":2}",
		"_einomem_search_memory":"true","_einomem_search_other":"false","_einomem_owner_search_memory":"0x1 m","_einomem_private":"before","_einomem_apart":"true",
		"_einomem_folded":"[{\"name\":\"memory\",\"text\":\"A\",\"marks\":{\"_einomem\":\"note\",\"_einomem_turn\":\"t1\"}}]"}}`
	var m schema.Message
	require.NoError(t, json.Unmarshal([]byte(old), &m))
	require.Equal(t, whole, einox.MarkOf(&m))
	again := einox.Encode(einox.Decode([]*schema.Message{&m}))[0]
	require.Equal(t, map[string]any{"kept": "k", einox.MarkKey: whole.String()}, again.Extra, "it is written in the form of today")
	require.Len(t, m.Extra, 15, "the message given stays as it is")

	apart := einox.Unfold([]*schema.Message{&m})
	require.Equal(t, []string{"A", "hi"}, []string{apart[0].Content, apart[1].Content})
	require.Equal(t, einox.Mark{Kind: einox.Note, Turn: "t1"}, apart[0].Mark)
	require.Equal(t, "hi", einox.Text(&m))
	require.Zero(t, einox.OldMark(map[string]any{"_einomem_index": "x", "_einomem_seq": "x", "_einomem_turn": 7, "_einomem_folded": "[", "_einomemory": "note", "turn": "t"}))
}
