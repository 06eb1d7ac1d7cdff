// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
)

// format is the version of what blobs hold. Raise it with every change that an
// older reader would misread.
const format = 1

// saved is what a blob holds, as JSON.
type saved struct {
	Format   int            `json:"format"`
	Messages []savedMessage `json:"messages"`
}

// savedMessage is a message with memory's marks beside it: the rest of Extra need
// not be encodable.
type savedMessage struct {
	*schema.Message
	Marks map[string]string `json:"marks,omitempty"`
}

// prepareCodec has the encoder and the decoder made before the first message waits
// for them: that takes some milliseconds, once in a process. A failure only means
// that they are made later.
var prepareCodec = sync.OnceFunc(func() { _ = sonic.Pretouch(reflect.TypeFor[saved]()) })

// encode returns the bytes of a blob. They follow from the messages alone.
func (x *Archive) encode(messages []*schema.Message) ([]byte, error) {
	s := saved{Format: format, Messages: make([]savedMessage, len(messages))}
	for i, m := range messages {
		s.Messages[i] = savedMessage{Message: x.clean(m), Marks: x.marks(m)}
	}
	data, err := marshal(&s)
	if err == nil && bytes.Contains(data, []byte(`"extra":`)) { // of a part; maybe nested deeper than can be read
		_, err = decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding %d messages: %w: the Extra of a part is no JSON: %w", len(messages), backends.ErrInvalid, err)
	}
	return data, nil
}

// jsonText is how blobs are written: as JSON that is no longer than need be.
var jsonText = sonic.Config{SortMapKeys: true, ValidateString: true, CopyString: true}.Froze()

// marshal uses the standard library where values of others are encoded: it alone
// sees that a map contains itself.
func marshal(s *saved) ([]byte, error) {
	for i := range s.Messages {
		if einox.HasParts(s.Messages[i].Message) {
			return json.Marshal(s)
		}
	}
	return jsonText.Marshal(s)
}

// decode reads the bytes of a blob, whatever they are.
func decode(data []byte) ([]*schema.Message, error) {
	var s saved
	err := jsonText.Unmarshal(data, &s)
	if err != nil { // it gives up at values nested 4,000 deep, where the standard library goes on to 10,000
		s = saved{}
		err = json.Unmarshal(data, &s)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w: %w", backends.ErrInvalid, ErrDamaged, err)
	case s.Format != format:
		return nil, fmt.Errorf("%w: %w: has format %d, and this version reads %d alone", backends.ErrInvalid, ErrDamaged, s.Format, format)
	case len(s.Messages) == 0:
		return nil, fmt.Errorf("%w: %w: no messages", backends.ErrInvalid, ErrDamaged)
	}
	messages := make([]*schema.Message, len(s.Messages))
	for i, m := range s.Messages {
		if m.Message == nil {
			return nil, fmt.Errorf("%w: %w: message %d is empty", backends.ErrInvalid, ErrDamaged, i)
		}
		m.Extra, m.ResponseMeta = nil, nil
		messages[i] = einox.WithMarks(m.Message, m.Marks)
	}
	return messages, nil
}

const idAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

var idEncoding = base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding)

// idOf returns the id of a blob: it follows from the content, so that no content
// ever replaces another.
func idOf(data []byte) string {
	sum := sha256.Sum256(data)
	return idEncoding.EncodeToString(sum[:])[:idLength]
}
