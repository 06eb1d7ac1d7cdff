// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/einox"
	"github.com/einomem/einomem/internal/text"
)

// format is the version of the content of blobs. Raise it with every change that an older reader
// would misread. Blobs of format 1 hold marks in the form of older releases.
const format = 2

// errDamaged says that the bytes of a blob differ from the bytes that [Archive.Put] wrote, or
// that a newer version wrote them. Other archives still work.
var errDamaged = errors.New("damaged")

// saved is the content of a blob, as JSON.
type saved struct {
	Format   int            `json:"format"`
	Messages []savedMessage `json:"messages"`
}

// savedMessage is a message with its mark beside it. The rest of Extra may be impossible to
// encode, and stays out.
type savedMessage struct {
	*schema.Message
	Mark  einox.Mark        `json:"mark,omitzero"`
	Marks map[string]string `json:"marks,omitempty"` // of format 1
}

// codec writes compact JSON.
var codec = sonic.Config{SortMapKeys: true, ValidateString: true, CopyString: true}.Froze()

// encode returns the bytes of a blob. They depend on the messages alone.
func (x *Archive) encode(messages []*schema.Message) ([]byte, error) {
	s := saved{Format: format, Messages: make([]savedMessage, len(messages))}
	parts := false
	for i, m := range einox.Decode(messages) {
		if m.Private != "" {
			m.Message = einox.Withheld(m.Message)
		}
		m.Stands, m.Folded = x.clean(m.Stands), nil // the one quotes the conversation, the other the notes
		s.Messages[i] = savedMessage{Message: einox.Stored(m.Message, x.clean), Mark: m.Mark}
		parts = parts || einox.HasParts(m.Message)
	}
	data, err := codec.Marshal(&s)
	if err == nil && parts { // the Extra of a part may be nested deeper than the decoder goes
		_, err = decode(data)
	}
	if err != nil {
		return nil, fmt.Errorf("encoding %d messages: %w: the Extra of a part is no JSON: %w", len(messages), backends.ErrInvalid, err)
	}
	return data, nil
}

// clean returns a text in the stored form. Archives keep texts whole; the log truncates long
// ones.
func (x *Archive) clean(s string) string {
	if s == "" {
		return s
	}
	return strings.ToValidUTF8(x.cfg.Redact(s), "\uFFFD")
}

// decode reads the bytes of a blob. It takes any bytes.
func decode(data []byte) ([]einox.Marked, error) {
	var s saved
	switch err := codec.Unmarshal(data, &s); {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	case s.Format < 1 || s.Format > format:
		return nil, fmt.Errorf("%w: has format %d, and this version reads 1 to %d", errDamaged, s.Format, format)
	case len(s.Messages) == 0:
		return nil, fmt.Errorf("%w: no messages", errDamaged)
	}
	messages := make([]einox.Marked, len(s.Messages))
	for i, m := range s.Messages {
		if m.Message == nil {
			return nil, fmt.Errorf("%w: message %d is empty", errDamaged, i)
		}
		m.Extra, m.ResponseMeta = nil, nil
		messages[i] = einox.DecodeOne(m.Message)
		if messages[i].Mark = m.Mark; len(m.Marks) > 0 {
			messages[i].Mark = einox.OldMark(m.Marks)
		}
	}
	return messages, nil
}

var idEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// idOf returns the id of a blob, a hash of its content: different contents have different ids.
func idOf(data []byte) string {
	sum := sha256.Sum256(data)
	return idEncoding.EncodeToString(sum[:])[:idLength]
}

const (
	blobPrefix = "a-"
	blobFolder = "archive/" // the prefix of the names of our blobs
	idLength   = 20         // of 5 bits each

	wholeLog = 1e15 - 1 // more messages than any log has
)

// ref names an archive: a range of the log, or a blob.
type ref struct {
	from, upto int64  // a range of the log, inclusive; 0 for a blob
	blob       string // the blob's id, without its prefix
}

func (r ref) isLog() bool { return r.blob == "" }

// String returns the form that [parseRef] reads.
func (r ref) String() string {
	if r.isLog() {
		return einox.LogRef(r.from, r.upto)
	}
	return blobPrefix + r.blob
}

// legal is the one usual form of a reference. It rules out paths, sessions and users.
var legal = regexp.MustCompile(`^(?:log-([1-9]\d{0,14})(?:-([1-9]\d{0,14}))?|a-([a-z2-7]{20}))$`)

// parseRef reads a reference as models copy it.
func parseRef(s string) (ref, error) {
	r, ok := readRef(s)
	if !ok {
		return r, fmt.Errorf("archive %q: %w: an id is like log-12, log-12-40 or a-%s", text.Line(s, 100), backends.ErrInvalid, strings.Repeat("x", idLength))
	}
	return r, nil
}

func readRef(s string) (ref, bool) {
	m := legal.FindStringSubmatch(s)
	if m == nil || m[3] != "" {
		return ref{blob: strings.TrimPrefix(s, blobPrefix)}, m != nil
	}
	from, _ := strconv.ParseInt(m[1], 10, 64) // of 15 digits at most
	upto, _ := strconv.ParseInt(cmp.Or(m[2], m[1]), 10, 64)
	return ref{from: from, upto: upto}, from <= upto
}
