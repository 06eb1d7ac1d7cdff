// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault says whose fault it is that a model or an embedder gave no answer: the
// service's, which is backends.ErrUnavailable and repeated for as long as it takes, or that
// of the content, which is backends.ErrInvalid and never succeeds.
package fault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/einomem/einomem/backends"
)

var (
	// refusals are how services name a refusal of content where no status says it.
	refusals = regexp.MustCompile(`(?i)context_length_exceeded|maximum context length|prompt is too long|content_filter|content_policy|data_?inspection_?failed`)
	// accounts are what services report with the status 400 that is no fault of the content:
	// Gemini an invalid key, Anthropic and DashScope an account that is not paid.
	accounts = regexp.MustCompile(`(?i)api[ _-]?key|credit balance|quota|billing|arrearage|location is not supported`)
	// statuses find the HTTP status in the texts of Eino's models whose errors have no field
	// for it.
	statuses = regexp.MustCompile(`(?i)\bstatus(?:[ _]?code)?:? ?([45]\d\d)\b`)
)

// ErrPartly is wrapped by an error of a backend that stored a part of a request.
var ErrPartly = errors.New("a part of it is stored")

// Sentinel returns ErrInvalid if a service refused the content of a request, and else
// ErrUnavailable. A status of 0 is none; then text, the service's own, decides.
func Sentinel(status int, text string) error {
	refused := status == 0 && refusals.MatchString(text)
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		refused = true
	}
	if refused && !accounts.MatchString(text) {
		return backends.ErrInvalid
	}
	return backends.ErrUnavailable
}

// Of returns an error of a model or an embedder with its sentinel. One that has a
// sentinel of package backends keeps it. [Unclear] does not hold for it, because models and
// embedders store nothing.
func Of(err error) error { return of(err) }

func of(err error) *asked {
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return &asked{err: err}
		}
	}
	return &asked{err: fmt.Errorf("%w: %w", Sentinel(status(err), err.Error()), err)}
}

// Quiet returns an error of a model or an embedder with its sentinel and without its text,
// which may quote what was sent: what stays is the status, the type, and what the network
// says. The error itself is in the chain. An error that is [Told], or that a context ended
// with, keeps its text.
func Quiet(err error) error {
	if err == nil || errors.As(err, new(told)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	out, network := of(err), (*net.OpError)(nil)
	switch n := status(err); {
	case errors.As(err, &network):
		out.text = fmt.Sprintf("%v: %v", sentinelOf(out), network)
	case n != 0:
		out.text = fmt.Sprintf("%v: status %d of %T", sentinelOf(out), n, leaf(err))
	default:
		out.text = fmt.Sprintf("%v: an error of type %T", sentinelOf(out), leaf(err))
	}
	return out
}

// Told marks an error of a model or an embedder whose text quotes nothing.
func Told(err error) error { return told{err} }

type told struct{ error }

func (t told) Unwrap() error { return t.error }

func sentinelOf(err error) error {
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

// leaf returns the innermost error of a chain.
func leaf(err error) error {
	for inner := unwrap(err); len(inner) > 0 && inner[len(inner)-1] != nil; inner = unwrap(err) {
		err = inner[len(inner)-1]
	}
	return err
}

// asked is an error of a model or an embedder.
type asked struct {
	err  error
	text string // in the place of err's
}

func (a *asked) Error() string { return cmp.Or(a.text, a.err.Error()) }
func (a *asked) Unwrap() error { return a.err }

// sentinels are what an error of a model or an embedder may be.
var sentinels = []error{backends.ErrInvalid, backends.ErrModel, backends.ErrDimension, backends.ErrUnavailable}

// Unclear reports whether a call that failed so may have stored something: its answer got
// lost, or it was cut off. After every other error nothing was stored.
func Unclear(err error) bool {
	if _, ok := any(err).(*asked); ok {
		return false
	}
	inner := unwrap(err)
	if len(inner) == 0 {
		return slices.Contains([]error{backends.ErrUnavailable, context.DeadlineExceeded, context.Canceled, ErrPartly}, err)
	}
	return slices.ContainsFunc(inner, Unclear)
}

// unwrap returns the errors that err wraps itself.
func unwrap(err error) []error {
	switch w := any(err).(type) {
	case interface{ Unwrap() []error }:
		return w.Unwrap()
	case interface{ Unwrap() error }:
		return []error{w.Unwrap()}
	}
	return nil
}

// status returns the HTTP status that an error has, 0 for none: in a field, as the errors
// of the clients for OpenAI, Ark, Anthropic, Gemini and Ollama have it, or in its text.
func status(err error) int {
	if err == nil {
		return 0
	}
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		for _, name := range []string{"HTTPStatusCode", "StatusCode", "HTTPStatus", "Code"} {
			field, ok := v.Type().FieldByName(name)
			if !ok || len(field.Index) > 1 || field.Type.Kind() != reflect.Int {
				continue
			}
			if n := int(v.FieldByIndex(field.Index).Int()); n >= 400 && n < 600 {
				return n
			}
		}
	}
	for _, wrapped := range unwrap(err) {
		if n := status(wrapped); n != 0 {
			return n
		}
	}
	n := 0
	if found := statuses.FindStringSubmatch(err.Error()); found != nil {
		n, _ = strconv.Atoi(found[1])
	}
	return n
}
