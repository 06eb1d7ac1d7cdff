// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bytedance/sonic"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
)

// Encode returns v as stores write values: JSON on one line, with <, > and & as they are.
// A person can read it with the shell of the storage. A value that JSON lacks (a function
// in a message's Extra, a year above 9999) is ErrInvalid. The argument what names it in
// the error.
func Encode(what string, v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("%s: %w: %w", what, backends.ErrInvalid, err)
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// Decode reads a value that Encode wrote. Any other text means that another program
// changed the storage, and is ErrUnavailable. The argument what names it in the error.
func Decode(what, text string, v any) error {
	err := sonic.ConfigStd.UnmarshalFromString(text, v)
	if err != nil { // it gives up at values nested 4,000 deep, where the standard library goes on to 10,000
		err = json.Unmarshal([]byte(text), v)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: not as it was written: restore a backup: %w", what, backends.ErrUnavailable, err)
	}
	return nil
}

// Each calls do for every number below n, on all processors if there are many: JSON takes
// most of the time of a load. It returns the first error.
func Each(n int, do func(i int) error) error {
	const worthwhile = 64 // calls of one goroutine
	var all errgroup.Group
	share := max(worthwhile, n/runtime.GOMAXPROCS(0)+1)
	for from := 0; from < n; from += share {
		all.Go(func() error {
			for i := from; i < min(from+share, n); i++ {
				if err := do(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// firstPause and longestPause bound the time between two tries of [Retry].
const firstPause, longestPause = 5 * time.Millisecond, 250 * time.Millisecond

// Retry calls f, a call of a storage, again while it fails with an error that passes by itself:
// for about as long as limit, until ctx ends. It returns f's last error. It waits between the
// tries, ever longer and by chance. All steps of f must bear a repeat.
func Retry(ctx context.Context, limit time.Duration, transient func(error) bool, f func() error) error {
	over, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		err := f()
		if err == nil || over.Err() != nil || !transient(err) {
			return err
		}
		select {
		case <-over.Done():
		case <-time.After(rand.N(pause)):
		}
	}
}

// Micros is the form in which stores compare times: microseconds since 1970, rounded up
// so that an end never comes early.
func Micros(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

// KeepKeys is how long stores know an idempotency key.
const KeepKeys = 31 * 24 * time.Hour

// IsSentinel reports whether an error already is a sentinel of package backends, or the
// end of a context.
func IsSentinel(err error) bool {
	return slices.ContainsFunc([]error{
		context.Canceled, context.DeadlineExceeded, backends.ErrInvalid, backends.ErrNotFound,
		backends.ErrConflict, backends.ErrUnavailable, backends.ErrDimension, backends.ErrNoScope, backends.ErrForgotten,
	}, func(target error) bool { return errors.Is(err, target) })
}

// Names is a range of names that is listed page by page in the order of their bytes: from
// Low on, up to but without High, which is never empty. A name has at most store.MaxID bytes.
type Names struct{ Low, High string }

// ParseNames returns the range of the names with a prefix that come after a cursor. The
// argument what says in an error what a name stands for, such as "blob". The error is ErrInvalid
// for an illegal prefix and for a cursor of another listing.
func ParseNames(what, prefix, cursor string) (Names, error) {
	if err := store.ValidateID(what+" prefix", prefix); prefix != "" && err != nil {
		return Names{}, err
	}
	r := Names{Low: prefix, High: prefix + "\xff"} // UTF-8 never has this byte
	if cursor == "" {
		return r, nil
	}
	low, err := base64.RawURLEncoding.DecodeString(cursor)
	name, whole := strings.CutSuffix(string(low), "\x00")
	if err != nil || !whole || name != "" && store.ValidateID(what, name) != nil || !strings.HasPrefix(name, prefix) {
		return Names{}, fmt.Errorf("%ss with the prefix %q: cursor %q: %w: not one of this store and prefix", what, prefix, cursor, backends.ErrInvalid)
	}
	return Names{Low: string(low), High: r.High}, nil
}

// NamesCursor returns the cursor of a page that ends with the name last: the next string there is.
func NamesCursor(last string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(last + "\x00"))
}

var dotted = strings.NewReplacer("[", "", " ", ".", "]", "")

// Cursor returns the position of a reader that numbers tell, as [ParseCursor] reads it.
func Cursor(numbers ...int64) string { return dotted.Replace(fmt.Sprint(numbers)) }

// ParseCursor sets the numbers of a position, which are 0 before. The empty one, the beginning, leaves
// them so. The error is ErrInvalid for a position that [Cursor] does not make of so many numbers.
func ParseCursor(cursor string, numbers ...*int64) error {
	found := make([]int64, len(numbers))
	for i, text := range strings.SplitN(cursor, ".", len(numbers)) {
		found[i], _ = strconv.ParseInt(text, 10, 64)
		*numbers[i] = found[i]
	}
	if cursor != "" && cursor != Cursor(found...) {
		return fmt.Errorf("cursor %q: %w: not one of this store", cursor, backends.ErrInvalid)
	}
	return nil
}

// Cut returns a page of what was found, and the cursor of the next one. A store looks for one entry
// more than page asks for: if that is found, there is a next page.
func Cut[T any](found []T, page store.Page, cursor func(last *T) string) ([]T, string) {
	if size := page.Size(); len(found) > size {
		return found[:size], cursor(&found[size-1])
	}
	return found, ""
}
