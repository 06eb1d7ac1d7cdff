// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault says whose fault it is that a model or an embedder failed to answer. A fault of the
// service is backends.ErrUnavailable, and repeated for as long as it takes. A fault of the content
// is backends.ErrInvalid, and final. A refusal of the form of a request, such as of its tools, is
// [ErrForm] and ErrUnavailable: the content may be taken.
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
	"strings"
	"sync"
	"time"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/internal/work"
)

var (
	// refusals are the words by which services refuse content if the status leaves it
	// open.
	refusals = regexp.MustCompile(`(?i)context_length_exceeded|(?:maximum )?context (?:length|size)|prompt is too long|content_filter|content_policy|data_?inspection_?failed|` +
		`content management policy|inappropriate content|content exists risk|high risk|responsible_?ai|safety|moderation`)
	// forms are the words by which services refuse the form of a request. Errors show the
	// match: it has a few words, and none of the content.
	forms = regexp.MustCompile(`(?i)tool[_ ]?choice|response_?format|json[_ ]schema|function[_ ]call(?:ing|s)?|tool[_ -](?:use|call(?:ing|s)?)|(?:support|param:?) tools?\b|tools? (?:param|(?:is|are) not supported)|` +
		`roles? must alternate|alternate (?:user|with|between)|(?:successive|consecutive) (?:user|assistant|messages)|system role|system messages?|not support (?:the )?system|developer instruction|` +
		`extra_forbidden|extra inputs|unsupported (?:parameter|value)|\btemperature\b|unrecognized request argument|unknown (?:parameter|name|field)|reasoning_content|max_(?:completion_)?tokens|stream_options|` +
		`batch[ _]size[^.\n]{0,60}|requests can be in one batch|dimensions`)
	// accounts are errors with the status 400 that are unrelated to the content: Gemini
	// reports an invalid key so, Anthropic and DashScope an unpaid account.
	accounts = regexp.MustCompile(`(?i)api[ _-]?key|credit balance|quota|billing|arrearage|location is not supported`)
	// limits find how many texts a service takes at a time.
	limits = regexp.MustCompile(`(?i)(?:larger than|at most|maximum|max|up to|limit)\D{0,60}(\d+)`)
	// statuses find the HTTP status in the error texts of Eino's models, where the error lacks a
	// field for it.
	statuses = regexp.MustCompile(`(?i)\bstatus(?:[ _]?code)?:? ?([45]\d\d)\b`)
)

// The refusals of a request by a service that accepts its key and account.
var (
	ErrForm    = fmt.Errorf("the form of the request is refused: %w", backends.ErrUnavailable)
	ErrContent = fmt.Errorf("the content is refused: %w", backends.ErrInvalid)
)

// Fewer returns how many texts to offer at a time after n of them were refused: the number in
// the refusal, else a quarter.
func Fewer(err error, n int) int {
	if found := limits.FindAllStringSubmatch(err.Error(), -1); len(found) > 0 {
		if most, _ := strconv.Atoi(found[len(found)-1][1]); most > 0 && most < n {
			return most
		}
	}
	for _, inner := range unwrap(err) {
		if most := Fewer(inner, n); most != max(n/4, 1) {
			return most
		}
	}
	return max(n/4, 1)
}

// ErrByWords is the error of a search by words alone, where an embedder should have helped.
var ErrByWords = errors.New("the ranking is lexical alone")

// ErrPartly is wrapped by an error of a backend that stored a part of a request.
var ErrPartly = errors.New("a part of it is stored")

// Sentinel returns ErrInvalid if a service refused a request, and else ErrUnavailable. It
// returns [ErrContent] or [ErrForm] if the service's own text names one of them as
// refused. A status of 0 means unknown; then the text decides.
func Sentinel(status int, text string) error {
	refused := false
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		refused = true
	}
	switch {
	case !refused && status != 0 || accounts.MatchString(text):
		return backends.ErrUnavailable
	case Content(text) || status == http.StatusRequestEntityTooLarge:
		return ErrContent
	case refused && forms.MatchString(text):
		return ErrForm
	case refused:
		return backends.ErrInvalid
	}
	return backends.ErrUnavailable
}

// Content reports whether a service says that it refuses the content of a request.
func Content(text string) bool { return refusals.MatchString(text) }

// About returns the words of a refusal that say which part of the form it is about, for
// [ErrForm], and "" for other sentinels. It leaves out the rest of the text.
func About(sentinel error, text string) string {
	if !errors.Is(sentinel, ErrForm) {
		return ""
	}
	return " about " + strings.ToLower(forms.FindString(text))
}

// MayBeForm reports whether a model may take the same content in another form: it refused the form,
// or it refused the request and gave no reason.
func MayBeForm(err error) bool {
	if errors.Is(err, ErrForm) {
		return true
	}
	code := status(err)
	return errors.Is(err, backends.ErrInvalid) && !errors.Is(err, ErrContent) && (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity)
}

// Mentions reports whether an error, or one in its chain, has a word.
func Mentions(err error, word string) bool {
	return strings.Contains(err.Error(), word) || slices.ContainsFunc(unwrap(err), func(inner error) bool { return Mentions(inner, word) })
}

// Refused reports whether a service refused a request for its content or form, with the status
// 400 or 422 or by its words, and whether for its tools.
func Refused(err error) (refused, tools bool) {
	of, code := Of(err), status(err)
	refused = errors.Is(of, ErrForm) || errors.Is(of, backends.ErrInvalid) && (code == http.StatusBadRequest || code == http.StatusUnprocessableEntity)
	about := strings.ToLower(forms.FindString(err.Error()))
	return refused, refused && (strings.Contains(about, "tool") || strings.Contains(about, "function"))
}

// Of returns an error of a model or an embedder with its sentinel. An error that has a
// sentinel of package backends keeps it. [Unclear] is false for it, because models and
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

// Quiet returns an error of a model or an embedder with its sentinel, and drops its text, which may
// quote the request. The new text has the status, the type, and the network's own words. The error
// itself is in the chain. An error that is [Told], or an ended context, keeps its text.
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

// Told marks an error of a model or an embedder whose text is free of quotations.
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
	text string // replaces err's text
}

func (a *asked) Error() string { return cmp.Or(a.text, a.err.Error()) }
func (a *asked) Unwrap() error { return a.err }

// sentinels are the possible sentinels of a model's or an embedder's error.
var sentinels = []error{ErrForm, ErrContent, backends.ErrInvalid, backends.ErrModel, backends.ErrDimension, backends.ErrUnavailable}

// Unclear reports whether a failed call may have stored something: its answer was lost,
// or it was cut off. Every other error means that nothing was stored.
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

// unwrap returns the errors that err wraps directly.
func unwrap(err error) []error {
	switch w := any(err).(type) {
	case interface{ Unwrap() []error }:
		return w.Unwrap()
	case interface{ Unwrap() error }:
		return []error{w.Unwrap()}
	}
	return nil
}

// status returns the HTTP status of an error, or 0. It reads a field, as in the errors of
// the clients for OpenAI, Ark, Anthropic, Gemini and Ollama, or the text.
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

const (
	firstPause   = time.Second // doubled after each probe that fails,
	longestPause = time.Minute // up to this
)

// ErrOpen is the error of a [Call] that was skipped, because the circuit is open. Its text
// says since when, why, and when the service is probed again.
var ErrOpen = errors.New("the circuit is open")

// Breaker is the circuit breaker of one service, such as an embedder. After some failures
// in a row it opens for a second, then a single call probes the service. Each failed
// probe doubles the pause, up to a minute. A successful call closes the circuit. Make one
// with [NewBreaker]; it is safe for concurrent use.
type Breaker struct {
	service   string
	openAfter int
	clock     func() time.Time

	mu       sync.Mutex
	failures int           // in a row
	pause    time.Duration // 0: the circuit is closed
	since    time.Time     // when it opened
	until    time.Time     // when the next probe is due
	cause    string        // the failure that opened it, or the last probe's
	probing  bool
}

// NewBreaker returns the closed circuit of a service. It opens after so many failures in a
// row: errors that are backends.ErrUnavailable by [Of], except [ErrForm]. A refusal of a
// request leaves the state as it is. The clock must run in real time.
func NewBreaker(service string, openAfter int, clock func() time.Time) *Breaker {
	return &Breaker{service: service, openAfter: openAfter, clock: clock}
}

// Open returns [ErrOpen] with its text while the circuit is open, and whether the next
// [Call] probes the service. While the circuit is closed the error is nil.
func (b *Breaker) Open() (due bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open()
}

func (b *Breaker) open() (due bool, err error) {
	if b.pause == 0 {
		return false, nil
	}
	due = !b.probing && !b.clock().Before(b.until)
	return due, Of(fmt.Errorf("%w: %s: %w since %s, after %d failures in a row: %s; the next probe is from %s on",
		backends.ErrUnavailable, b.service, ErrOpen, b.since.UTC().Format(time.RFC3339), b.failures, b.cause, b.until.UTC().Format(time.RFC3339)))
}

// Call calls f for at most limit, even if f ignores its context: see [work.Await]. If ctx ends
// earlier, an answer of f still counts. The call is the probe if one is due. It returns [ErrOpen]
// at once while the circuit is open, the errors and panics of f, or context.DeadlineExceeded after
// limit. All of them have the sentinel of [Of]. The cause of ctx's end has none, and does not
// count as a failure of the service.
func Call[T any](ctx context.Context, b *Breaker, limit time.Duration, f func(context.Context) (T, error)) (out T, err error) {
	probe, err := b.begin()
	if err != nil {
		return out, err
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer stop()
	out, err = work.Await(wait, b.service, func() (T, error) { return f(limited) })
	gaveUp := err != nil && ctx.Err() != nil
	if err != nil && !gaveUp && (limited.Err() != nil || wait.Err() != nil) {
		err = fmt.Errorf("%s: no answer within %s: %w", b.service, limit.Round(time.Millisecond), err)
	}
	b.end(probe, err, !gaveUp)
	switch {
	case gaveUp:
		err = context.Cause(ctx)
	case err != nil:
		err = Of(err)
	}
	return out, err
}

// begin reports whether the call that it lets through is a probe.
func (b *Breaker) begin() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	due, err := b.open()
	if err != nil && !due {
		return false, err
	}
	b.probing = b.probing || due
	return due, nil
}

// end counts the outcome of a call. Calls that began before the circuit opened leave the pause as
// it is. If a probe ends undecided, the next call probes.
func (b *Breaker) end(probe bool, err error, counts bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch {
	case err == nil:
		b.failures, b.pause = 0, 0
		return
	case !counts || errors.Is(Of(err), ErrForm) || !errors.Is(Of(err), backends.ErrUnavailable):
		return
	}
	b.failures++
	opens := b.pause == 0 && b.failures >= b.openAfter
	if opens {
		b.since = b.clock()
	}
	if opens || b.pause > 0 && probe {
		b.pause = min(max(firstPause, 2*b.pause), longestPause)
		b.until, b.cause = b.clock().Add(b.pause), fmt.Sprintf("%.300s", err.Error())
	}
}
