// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package work

import "context"

// Await calls f in a goroutine of its own and returns what f returns, or ctx's error as
// soon as ctx ends, also of an f that does not heed it: that one goes on alone, and its
// result is dropped. A panic of f is an error, see [Catch].
func Await[T any](ctx context.Context, what string, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1) // buffered, so that a result that comes too late does not block f
	go func() {
		var r result
		r.err = Catch(what, func() (err error) {
			r.value, err = f()
			return err
		})
		done <- r
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
