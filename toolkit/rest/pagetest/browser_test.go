// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const patience, tick = 30 * time.Second, 20 * time.Millisecond // for what a browser does in its own time

// browser is the one that all tests share; each has a tab with a storage of its own.
var browser = sync.OnceValues(func() (context.Context, error) {
	program := cmp.Or(os.Getenv("EINOMEM_CHROMIUM"), "/usr/bin/chromium")
	if _, err := os.Stat(program); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		return nil, err
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(program), chromedp.UserDataDir(dir),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(time.Minute))
	ctx, _ = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {})) // a newer browser has events that this client does not know
	err = chromedp.Run(ctx)
	closeBrowser = func() {
		_ = chromedp.Cancel(ctx)
		stop()
		_ = os.RemoveAll(dir)
	}
	return ctx, err
})

var closeBrowser = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	closeBrowser()
	os.Exit(code)
}

// tab is a page in the browser. What it reports at the end fails the test: errors of the
// scripts, and what the Content-Security-Policy refused.
type tab struct {
	t   *testing.T
	ctx context.Context
}

type look struct {
	width, height int64  // default 1200×800
	language      string // default en
	dark          bool
}

func newTab(t *testing.T, l look) *tab {
	t.Helper()
	parent, err := browser()
	if os.IsNotExist(err) {
		t.Skipf("no browser: %v. Install chromium, or name one by EINOMEM_CHROMIUM", err)
	}
	require.NoError(t, err)
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithTargetID(newTarget(t, parent)))
	ctx, end := context.WithTimeout(ctx, 2*time.Minute)
	var mu sync.Mutex
	var problems []string
	chromedp.ListenTarget(ctx, func(e any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			problems = append(problems, e.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if strings.Contains(e.Entry.Text, "Content Security Policy") {
				problems = append(problems, e.Entry.Text)
			}
		}
	})
	t.Cleanup(func() {
		mu.Lock()
		require.Empty(t, problems)
		mu.Unlock()
		end()
		cancel()
	})
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	b := &tab{t: t, ctx: ctx}
	b.run(chromedp.EmulateViewport(cmp.Or(l.width, 1200), cmp.Or(l.height, 800)),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		emulation.SetTimezoneOverride("UTC"),
		emulation.SetUserAgentOverride("test").WithAcceptLanguage(cmp.Or(l.language, "en-GB")))
	return b
}

// newTarget opens a window with a storage of its own: newer browsers have no tab without a window.
func newTarget(t *testing.T, parent context.Context) target.ID {
	t.Helper()
	ctx := cdp.WithExecutor(parent, chromedp.FromContext(parent).Browser)
	storage, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
	require.NoError(t, err)
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(storage).WithNewWindow(true).Do(ctx)
	require.NoError(t, err)
	return id
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// open loads a place of the page, and waits until something is shown.
func (b *tab) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	b.until(`!document.querySelector('#signin').hidden || document.querySelector('#main h1')`)
}

// eval returns the value of an expression of the page.
func eval[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v))
	return v
}

// until waits until an expression holds.
func (b *tab) until(format string, args ...any) {
	b.t.Helper()
	expression := fmt.Sprintf(format, args...)
	require.Eventually(b.t, func() bool {
		var holds bool
		return chromedp.Run(b.ctx, chromedp.Evaluate("Boolean("+expression+")", &holds)) == nil && holds
	}, patience, tick, expression)
}

// click clicks what a selector finds, as soon as it is there. What is drawn anew meanwhile is
// looked for once more.
func (b *tab) click(selector string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		var nodes []*cdp.Node
		return chromedp.Run(b.ctx, chromedp.Nodes(selector, &nodes, chromedp.ByQuery, chromedp.AtLeast(0))) == nil &&
			len(nodes) == 1 && chromedp.Run(b.ctx, chromedp.MouseClickNode(nodes[0])) == nil
	}, patience, tick, "click %s", selector)
}

// enter replaces the text of a field.
func (b *tab) enter(selector, text string) {
	b.t.Helper()
	b.until(`document.querySelector(%q)?.checkVisibility()`, selector)
	b.run(chromedp.Evaluate(fmt.Sprintf(`(e => { e.focus(); e.select?.() })(document.querySelector(%q))`, selector), nil), chromedp.KeyEvent(text))
}

func (b *tab) press(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		b.run(chromedp.KeyEvent(k))
	}
}

// shows waits until a text is on the page.
func (b *tab) shows(text string) { b.t.Helper(); b.until(`document.body.innerText.includes(%q)`, text) }

func (b *tab) shot(path string) {
	b.t.Helper()
	var png []byte
	b.run(chromedp.CaptureScreenshot(&png))
	require.NoError(b.t, os.WriteFile(path, png, 0o600))
}
