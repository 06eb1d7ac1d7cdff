// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/einomem/einomem/backends"
)

const codeQuota = "insufficient_quota"

// Error is what every failing call returns. It wraps one sentinel of package
// backends and, when the context ended the call, the context's error.
type Error struct {
	Status  int    // the HTTP status; 0 when there was no answer
	Code    string // the API's code, for example "context_length_exceeded"; may be empty
	Message string // what the API or the connection said, without the API key

	doing string
	hint  string
	wraps []error
}

// Error tells what was being done, what went wrong and the way out.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "openai: %s: %v", e.doing, e.wraps[0])
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	for _, s := range []string{e.Message, e.hint} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// Unwrap returns the sentinel and the context's error, if there is one.
func (e *Error) Unwrap() []error { return e.wraps }

// failure turns any error of a call into an [Error]. The cause is not wrapped: it
// could repeat the key.
func (c *client) failure(doing string, err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	e := classify(err)
	e.doing, e.Message = c.hide(doing), c.hide(e.Message)
	return e
}

func classify(err error) *Error {
	var said *api.APIError
	if errors.As(err, &said) {
		if said == nil { // go-openai's, of a stream that is JSON without an error
			return malformedAnswer("no stream")
		}
		return fromStatus(said.HTTPStatusCode, said.Type, code(said), said.Message)
	}
	var raw *api.RequestError
	if errors.As(err, &raw) {
		return fromStatus(raw.HTTPStatusCode, "", "", shortened(string(raw.Body)))
	}
	var lost *transportError
	if errors.As(err, &lost) {
		return fromTransport(lost.err)
	}
	if malformed(err) {
		return malformedAnswer(err.Error())
	}
	return &Error{Message: err.Error(), wraps: []error{backends.ErrInvalid}}
}

func malformedAnswer(message string) *Error {
	return &Error{
		Message: message,
		hint:    "the answer is not what the API says; check BaseURL (OPENAI_BASE_URL)",
		wraps:   []error{backends.ErrUnavailable},
	}
}

func fromStatus(status int, kind, code, message string) *Error {
	e := &Error{Status: status, Code: code, Message: message, wraps: []error{backends.ErrInvalid}}
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500:
		e.wraps[0] = backends.ErrUnavailable
	case status == 0 && kind != "invalid_request_error": // said inside a stream
		e.wraps[0] = backends.ErrUnavailable
	}
	switch {
	case status == http.StatusUnauthorized:
		e.hint = "set OPENAI_API_KEY (or APIKey in the config) to a valid key"
	case status == http.StatusForbidden:
		e.hint = "the key may not use this model"
	case status == http.StatusNotFound:
		e.hint = "check Model and BaseURL (OPENAI_MODEL, OPENAI_BASE_URL)"
	case code == codeQuota:
		e.hint = "the account's quota is spent; waiting does not help"
	}
	return e
}

func fromTransport(err error) *Error {
	e := &Error{Message: err.Error(), wraps: []error{backends.ErrUnavailable}}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.wraps = append(e.wraps, context.DeadlineExceeded)
	case errors.Is(err, context.Canceled): // the caller's wish, not a fault of the server
		e.wraps = []error{context.Canceled}
		e.Message = ""
	case errors.Is(err, errTimeout):
		e.hint = "raise Timeout if the model needs longer"
	}
	return e
}

func code(e *api.APIError) string {
	if e.Code == nil {
		return ""
	}
	return fmt.Sprint(e.Code)
}

func malformed(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, api.ErrTooManyEmptyStreamMessages)
}

// shortened keeps the start of an error page.
func shortened(body string) string {
	body = strings.Join(strings.Fields(body), " ")
	if r := []rune(body); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return body
}
