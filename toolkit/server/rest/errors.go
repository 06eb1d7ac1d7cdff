// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/text"
	"github.com/einomem/einomem/toolkit/server/access"
)

// errorBody is the answer of our own endpoints to a failure.
type errorBody struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// bodyError is a body that is unreadable or does not fit the endpoint's schema.
type bodyError struct{ error }

func (e *bodyError) Unwrap() []error { return []error{e.error, backends.ErrInvalid} }

// missingError names the required fields that a body lacks.
type missingError struct{ Fields []string }

func (e *missingError) Error() string { return "missing: " + strings.Join(e.Fields, ", ") }

// statuses map failures to answers; the first that fits counts.
var statuses = []struct {
	err    error
	status int
	code   string
}{
	{access.ErrNoKey, http.StatusUnauthorized, "no_key"},
	{access.ErrRate, http.StatusTooManyRequests, "rate"},
	{backends.ErrDenied, http.StatusForbidden, "denied"},
	{backends.ErrNoScope, http.StatusBadRequest, "no_scope"},
	{backends.ErrForgotten, http.StatusGone, "forgotten"},
	{backends.ErrNotFound, http.StatusNotFound, "not_found"},
	{backends.ErrConflict, http.StatusConflict, "conflict"},
	{backends.ErrInvalid, http.StatusBadRequest, "invalid"},
	{backends.ErrModel, http.StatusBadGateway, "model"},
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout"},
	{backends.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
}

// statusOf returns the status of an error, a code and a text for the caller. Details of inner
// failures are for the log.
func statusOf(err error) (status int, code, message string) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body is too large: at most %d bytes", tooLarge.Limit)
	}
	message = text.TruncateBytes(err.Error(), 500)
	var missing *missingError
	if errors.As(err, &missing) {
		return http.StatusUnprocessableEntity, "invalid", message
	}
	for _, s := range statuses {
		switch {
		case !errors.Is(err, s.err):
		case s.status == http.StatusNotFound:
			return s.status, s.code, "not found"
		case s.status < 500:
			return s.status, s.code, message
		default: // of the store or a model: addresses and the like are for the log
			return s.status, s.code, s.err.Error()
		}
	}
	return http.StatusInternalServerError, "internal", "internal error"
}

// own is the family of our own endpoints.
var own = &family{tag: "memory", fail: func(_ *Handler, err error, _ []byte) (int, any) {
	status, code, message := statusOf(err)
	return status, errorBody{Code: code, Error: message}
}}
