// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package window_test

import (
	"bytes"
	"encoding/gob"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"
)

// extra is what clients hang on parts: scalars, and what gob does not know.
func extra() map[string]any {
	return map[string]any{"detail": "high", "n": 1.5, "on": true, "tags": []string{"cat"}, "cache": map[string]any{"type": "ephemeral"}, "nothing": nil}
}

func TestHistoryGoesThroughGob(t *testing.T) {
	url := "https://example.com/x"
	common := func() schema.MessagePartCommon { return schema.MessagePartCommon{URL: &url, Extra: extra()} }
	x := newWorld(t, 8000, nil)
	x.turn("t", &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "look", Extra: extra()},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: common()}},
		{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: common()}},
		{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: common()}},
		{Type: schema.ChatMessagePartTypeFileURL, File: &schema.MessageInputFile{MessagePartCommon: common()}},
	}}, &schema.Message{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "seen", Extra: extra()},
		{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: common()}},
		{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageOutputAudio{MessagePartCommon: common()}},
		{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageOutputVideo{MessagePartCommon: common()}},
	}}, &schema.Message{Role: schema.User, MultiContent: []schema.ChatMessagePart{
		{Type: schema.ChatMessagePartTypeImageURL, ImageURL: &schema.ChatMessageImageURL{URL: url, Extra: extra()}},
		{Type: schema.ChatMessagePartTypeAudioURL, AudioURL: &schema.ChatMessageAudioURL{URL: url, Extra: extra()}},
		{Type: schema.ChatMessagePartTypeVideoURL, VideoURL: &schema.ChatMessageVideoURL{URL: url, Extra: extra()}},
		{Type: schema.ChatMessagePartTypeFileURL, FileURL: &schema.ChatMessageFileURL{URL: url, Extra: extra()}},
	}})
	h := x.history()
	require.Len(t, h, 3)
	require.NoError(t, gob.NewEncoder(&bytes.Buffer{}).Encode(h))
	want := map[string]any{"detail": "high", "n": 1.5, "on": true}
	require.Equal(t, want, h[0].UserInputMultiContent[0].Extra)
	for _, got := range []map[string]any{
		h[0].UserInputMultiContent[1].Image.Extra, h[0].UserInputMultiContent[2].Audio.Extra, h[0].UserInputMultiContent[3].Video.Extra, h[0].UserInputMultiContent[4].File.Extra,
		h[1].AssistantGenMultiContent[0].Extra, h[1].AssistantGenMultiContent[1].Image.Extra, h[1].AssistantGenMultiContent[2].Audio.Extra, h[1].AssistantGenMultiContent[3].Video.Extra,
		h[2].MultiContent[0].ImageURL.Extra, h[2].MultiContent[1].AudioURL.Extra, h[2].MultiContent[2].VideoURL.Extra, h[2].MultiContent[3].FileURL.Extra,
	} {
		require.Equal(t, want, got)
	}
}
