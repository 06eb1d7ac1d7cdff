// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
)

// errorBody is what an endpoint of ours answers with where it fails.
type errorBody struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// bodyError is a body that cannot be read or does not fit the endpoint's schema.
type bodyError struct{ error }

func (e *bodyError) Unwrap() error { return e.error }

// missingError names the required fields that a body lacks.
type missingError struct{ fields []string }

func (e *missingError) Error() string { return "missing: " + strings.Join(e.fields, ", ") }

// statuses are how failures are answered, the first that fits.
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

// statusOf returns the status of an error, a code and a text for the caller: what went wrong
// inside is for the log.
func statusOf(err error) (status int, code, text string) {
	var tooLarge *http.MaxBytesError
	var body *bodyError
	var missing *missingError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "too_large", "the body is too large"
	case errors.As(err, &missing):
		return http.StatusUnprocessableEntity, "invalid", err.Error()
	case errors.As(err, &body):
		return http.StatusBadRequest, "invalid", shorten(err.Error())
	}
	for _, s := range statuses {
		if !errors.Is(err, s.err) {
			continue
		}
		switch {
		case s.status == http.StatusNotFound:
			return s.status, s.code, "not found"
		case s.status < 500:
			return s.status, s.code, shorten(err.Error())
		default: // of the store or a model: addresses and the like stay here
			return s.status, s.code, s.err.Error()
		}
	}
	return http.StatusInternalServerError, "internal", "internal error"
}

func shorten(s string) string {
	const most = 500
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// own is the family of our own endpoints.
var own = &family{tag: "memory", fail: func(_ *Handler, err error, _ []byte) (int, any) {
	status, code, text := statusOf(err)
	return status, errorBody{Code: code, Error: text}
}}
