// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// What makes an answer unusable. The texts are fit to be shown to the model.
var (
	ErrEmpty     = errors.New("the answer was empty")
	ErrTruncated = errors.New("the answer was cut off before its end; keep it shorter")
	ErrNoJSON    = errors.New("the answer holds no JSON")
	ErrTooLarge  = errors.New("the answer is too large")
	ErrMalformed = errors.New("the JSON is malformed")
)

const (
	maxOutput = 1 << 20 // bytes of an answer that are looked at
	maxRepair = 1 << 18 // bytes that are repaired when they are no JSON
)

var (
	thought      = regexp.MustCompile(`(?is)<(think|thinking|reasoning)>.*?</(think|thinking|reasoning)>`)
	thoughtClose = regexp.MustCompile(`(?is)^.*</(think|thinking|reasoning)>`)
	fence        = regexp.MustCompile("(?s)```[a-zA-Z0-9]*[ \\t]*\\n(.*?)\\n?[ \\t]*```")
)

// cutOff reports whether the model says that it had to stop before the end.
func cutOff(m *schema.Message) bool {
	if m.ResponseMeta == nil {
		return false
	}
	switch m.ResponseMeta.FinishReason {
	case "length", "max_tokens", "MAX_TOKENS":
		return true
	}
	return false
}

// withoutThoughts takes away what a model thought before it answered.
func withoutThoughts(s string) string {
	return strings.TrimSpace(thoughtClose.ReplaceAllString(thought.ReplaceAllString(s, ""), ""))
}

// unwrap takes away what models put around an answer: thoughts and code fences.
func unwrap(s string) string {
	s = withoutThoughts(s)
	if m := fence.FindStringSubmatch(s); m != nil {
		return strings.TrimSpace(m[1])
	}
	return s
}

// JSON returns the first JSON value in an answer, repaired if need be; numbers are
// json.Number. An answer that ends before its JSON does is ErrTruncated: what a
// repair would make up of it looks whole and is not.
func JSON(answer string) (any, error) {
	if len(answer) > maxOutput {
		return nil, ErrTooLarge
	}
	s := strings.TrimSpace(answer)
	if !json.Valid([]byte(s)) {
		s = unwrap(strings.ToValidUTF8(s, "\uFFFD"))
	}
	if s == "" {
		return nil, ErrEmpty
	}
	start := strings.IndexAny(s, "{[")
	if start < 0 {
		return nil, ErrNoJSON
	}
	s = s[start:]
	v, err := decode(s)
	if err == nil {
		return v, nil
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrTruncated
	}
	if len(s) > maxRepair {
		return nil, ErrTooLarge
	}
	return readLenient(s)
}

func decode(s string) (any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return v, nil
}
