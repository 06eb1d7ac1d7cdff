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

// T5: gob, which checkpoints are made of, fails on lists and objects in an Extra as
// JSON makes them. Portable leaves what it takes, in every sort of part.
func TestT05_PartsReadAsJSONBecomePortable(t *testing.T) {
	const extra = `{"text":"t","number":1.5,"truth":true,"list":[1],"object":{"a":1},"nothing":null}`
	const media = `{"url":"https://example.com/a","extra":` + extra + `}`
	var m schema.Message
	require.NoError(t, json.Unmarshal([]byte(`{"role":"user","user_input_multi_content":[
		{"type":"text","text":"t","extra":`+extra+`},{"type":"image_url","image":`+media+`},{"type":"audio_url","audio":`+media+`},
		{"type":"video_url","video":`+media+`},{"type":"file_url","file":`+media+`}],
	"assistant_output_multi_content":[{"type":"text","extra":`+extra+`},{"type":"image_url","image":`+media+`},
		{"type":"audio_url","audio":`+media+`},{"type":"video_url","video":`+media+`}],
	"multi_content":[{"type":"image_url","image_url":`+media+`},{"type":"audio_url","audio_url":`+media+`},
		{"type":"video_url","video_url":`+media+`},{"type":"file_url","file_url":`+media+`}]}`), &m))
	require.Error(t, gob.NewEncoder(&bytes.Buffer{}).Encode(&m), "the trap is gone")

	einox.Portable([]*schema.Message{&m, {Role: schema.Assistant, Content: "no parts"}})
	var stored bytes.Buffer
	require.NoError(t, gob.NewEncoder(&stored).Encode(&m))
	var back schema.Message
	require.NoError(t, gob.NewDecoder(&stored).Decode(&back))
	want := map[string]any{"text": "t", "number": 1.5, "truth": true}
	require.Equal(t, want, back.UserInputMultiContent[0].Extra)
	require.Equal(t, want, back.UserInputMultiContent[4].File.Extra)
	require.Equal(t, want, back.AssistantGenMultiContent[3].Video.Extra)
	require.Equal(t, want, back.MultiContent[3].FileURL.Extra)
}
