// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package hooks_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/working"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/internal/testkit"
)

// telling is a log that tells of what is in it.
type telling struct {
	hooks.Log
	appended chan struct{}
}

func (l *telling) Append(ctx context.Context, t *working.Turn) error {
	err := l.Log.Append(ctx, t)
	l.appended <- struct{}{}
	return err
}

// A process that dies in a long run must not take the run with it: what was said
// and done so far gets into the log while the run goes on.
func TestARunIsLoggedWhileItGoesOn(t *testing.T) {
	for name, by := range doors {
		t.Run(name, func(t *testing.T) {
			log := &telling{appended: make(chan struct{}, 100)}
			d := newDesk(t, setting{hooks: func(c *hooks.Config) { log.Log, c.Log = c.Log, log }})
			var waited int
			// Each call of the model waits until the log has all that came before it.
			after := func(said int, next testkit.Reply) testkit.Reply {
				return func(ctx context.Context, in []*schema.Message, opts *model.Options) (*schema.Message, error) {
					for len(d.logged()) < said {
						select {
						case <-log.appended:
						case <-t.Context().Done():
							return nil, t.Context().Err()
						}
					}
					waited++
					return next(ctx, in, opts)
				}
			}
			chat := testkit.New(
				after(1, testkit.Call("c0", "read", `{"n":0}`)),
				after(3, testkit.Call("c1", "read", `{"n":1}`)),
				after(5, testkit.Text("done")))
			drain(t, d.enter(by, chat, nil, false, readTool(t, 20)).Query(backends.WithScope(t.Context(), ann), "Read."))
			require.Equal(t, 3, waited)
			require.Len(t, d.logged(), 6, "each message once")
			all, done := d.turns()
			require.Equal(t, []int{1, 1}, []int{all, done})
			d.fine()
		})
	}
}
