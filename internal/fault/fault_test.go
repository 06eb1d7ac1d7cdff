// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	openai "github.com/sashabaranov/go-openai"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/fault"
)

// anthropic and gemini are errors as those clients have them.
type (
	anthropic struct{ StatusCode int }
	gemini    struct {
		Code    int
		Message string
	}
)

func (a *anthropic) Error() string { return "anthropic" }
func (g gemini) Error() string     { return g.Message }

func TestTheStatusSaysWhoseFaultItIs(t *testing.T) {
	for status, want := range map[int]error{
		400: backends.ErrInvalid, 413: backends.ErrInvalid, 422: backends.ErrInvalid,
		401: backends.ErrUnavailable, 402: backends.ErrUnavailable, 403: backends.ErrUnavailable, 404: backends.ErrUnavailable,
		408: backends.ErrUnavailable, 409: backends.ErrUnavailable, 429: backends.ErrUnavailable, 500: backends.ErrUnavailable,
		503: backends.ErrUnavailable, 529: backends.ErrUnavailable,
	} {
		for _, err := range []error{
			&openai.APIError{HTTPStatusCode: status, Code: 200, Type: "invalid_request_error"}, &openai.RequestError{HTTPStatusCode: status},
			&anthropic{status}, gemini{Code: status}, fmt.Errorf("error, status code: %d, status: x", status),
		} {
			got := fault.Of(fmt.Errorf("asking: %w", err))
			require.ErrorIs(t, got, want, "%T %d", err, status)
			require.ErrorIs(t, got, err)
			assert.NotEqual(t, errors.Is(got, backends.ErrInvalid), errors.Is(got, backends.ErrUnavailable), "one of them")
		}
	}
}

func TestWithoutAStatusTheTextDecides(t *testing.T) {
	for text, want := range map[string]error{
		"This model's maximum context length is 8192 tokens": backends.ErrInvalid,
		"code: content_filter":                               backends.ErrInvalid,
		"connection refused":                                 backends.ErrUnavailable,
		"code 400 lines":                                     backends.ErrUnavailable,
	} {
		assert.ErrorIs(t, fault.Of(errors.New(text)), want, text)
	}
	for _, text := range []string{"API key not valid. Please pass a valid API key.", "Your credit balance is too low", "Arrearage"} {
		assert.ErrorIs(t, fault.Of(gemini{400, text}), backends.ErrUnavailable, text)
	}
	for _, known := range []error{backends.ErrModel, backends.ErrDimension, backends.ErrInvalid} {
		got := fault.Of(fmt.Errorf("status code: 500: %w", known))
		assert.ErrorIs(t, got, known)
		assert.NotErrorIs(t, got, backends.ErrUnavailable)
	}
}

func TestUnclearIsWhatMayHaveStoredSomething(t *testing.T) {
	model, lost := fault.Of(errors.New("down")), fmt.Errorf("reset: %w", backends.ErrUnavailable)
	for _, err := range []error{lost, fmt.Errorf("%w (%w)", model, fault.ErrPartly), context.DeadlineExceeded, fmt.Errorf("x: %w", context.Canceled), errors.Join(model, lost), fmt.Errorf("%w; stored (%w)", model, backends.ErrUnavailable)} {
		assert.True(t, fault.Unclear(err), "%v", err)
	}
	for _, err := range []error{model, fmt.Errorf("mem0: %w", model), fault.Of(context.DeadlineExceeded), backends.ErrInvalid, backends.ErrModel, errors.New("x")} {
		assert.False(t, fault.Unclear(err), "%v", err)
	}
}

func TestAQuietErrorSaysWhatKindItIsAndQuotesNothing(t *testing.T) {
	cause := errors.New("context_length_exceeded: ZEBRA")
	for _, c := range []struct {
		err, sentinel error
		says          string
	}{
		{fmt.Errorf("asking ZEBRA: %w", &anthropic{401}), backends.ErrUnavailable, "unavailable: status 401 of *fault_test.anthropic"},
		{gemini{400, "ZEBRA"}, backends.ErrInvalid, "invalid: status 400 of fault_test.gemini"},
		{cause, backends.ErrInvalid, "invalid: an error of type *errors.errorString"},
		{fmt.Errorf("ZEBRA: %w", backends.ErrModel), backends.ErrModel, "an error of type"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, backends.ErrUnavailable, "dial tcp: connection refused"},
		{fault.Told(errors.New("status 7")), nil, "status 7"},
		{context.DeadlineExceeded, context.DeadlineExceeded, "deadline"},
	} {
		for _, got := range []error{fault.Quiet(c.err), fault.Of(fault.Quiet(c.err)), fault.Quiet(fault.Quiet(c.err))} {
			require.ErrorIs(t, got, c.err)
			require.ErrorContains(t, got, c.says)
			require.NotContains(t, got.Error(), "ZEBRA")
			if c.sentinel != nil {
				require.ErrorIs(t, got, c.sentinel)
			}
		}
	}
	require.NoError(t, fault.Quiet(nil))
}
