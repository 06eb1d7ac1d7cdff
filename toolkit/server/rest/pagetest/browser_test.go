// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// browser is the one that all tests share; each has a tab with a storage of its own. Nil: none is installed.
var browser context.Context

func TestMain(m *testing.M) {
	program := cmp.Or(os.Getenv("EINOMEM_CHROMIUM"), "/usr/bin/chromium")
	stop := func() {}
	if _, err := os.Stat(program); err == nil {
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
		browser, stop = chromedp.NewExecAllocator(context.Background(), options...)
		browser, _ = chromedp.NewContext(browser, chromedp.WithErrorf(func(string, ...any) {})) // a newer browser has events that this client does not know
		if err := chromedp.Run(browser); err != nil {
			panic(err)
		}
	} else if os.Getenv("EINOMEM_CHROMIUM") != "" { // .ci/run names it: there the page is looked at, or the step fails
		panic(err)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// tab is a page in the browser. What it reports at the end fails the test: errors of the
// scripts, and what the Content-Security-Policy refused.
type tab struct {
	t       *testing.T
	ctx     context.Context
	storage cdp.BrowserContextID
}

type look struct {
	width    int64  // default 1200
	language string // default en-GB
	scheme   string // default light
}

func newTab(t *testing.T, l look) *tab {
	t.Helper()
	if browser == nil {
		t.Skip("no browser: install chromium, or name one by EINOMEM_CHROMIUM")
	}
	window, storage := newTarget()
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithTargetID(window))
	t.Cleanup(cancel)
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			t.Error(e.ExceptionDetails)
		case *log.EventEntryAdded:
			if strings.Contains(e.Entry.Text, "Content Security Policy") {
				t.Error(e.Entry.Text)
			}
		}
	})
	b := &tab{t: t, ctx: ctx, storage: storage}
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: cmp.Or(l.scheme, "light")}
	b.run(chromedp.EmulateViewport(cmp.Or(l.width, 1200), 800), emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{scheme}),
		emulation.SetTimezoneOverride("UTC"), emulation.SetUserAgentOverride("test").WithAcceptLanguage(cmp.Or(l.language, "en-GB")))
	return b
}

// newTarget opens a window with a storage of its own: newer browsers have no tab without a window.
func newTarget() (target.ID, cdp.BrowserContextID) {
	ctx := cdp.WithExecutor(browser, chromedp.FromContext(browser).Browser)
	storage := must(target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx))
	return must(target.CreateTarget("about:blank").WithBrowserContextID(storage).WithNewWindow(true).Do(ctx)), storage
}

func (b *tab) run(actions ...chromedp.Action) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Run(b.ctx, actions...))
}

// open loads a place of the page, and waits until something is shown.
func (b *tab) open(url string) {
	b.t.Helper()
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(url))
	b.has("#main h1")
}

// eval returns the value of an expression of the page.
func eval[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	b.run(chromedp.Evaluate(expression, &v))
	return v
}

func (b *tab) count(selector string) int {
	b.t.Helper()
	return eval[int](b, fmt.Sprintf(`document.querySelectorAll(%q).length`, selector))
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

// has, shows and reads wait for an element, a text anywhere, and a text in an element.
func (b *tab) has(selector string) { b.t.Helper(); b.until(`document.querySelector(%q)`, selector) }
func (b *tab) shows(text string)   { b.t.Helper(); b.reads("body", text) }
func (b *tab) reads(selector, text string) {
	b.t.Helper()
	b.until(`document.querySelector(%q)?.innerText.includes(%q)`, selector, text)
}

// click clicks what a selector finds, as soon as it is there.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(`(e => e?.checkVisibility() && (e.click(), true))(document.querySelector(%q))`, selector)
}

// enter replaces the text of a field.
func (b *tab) enter(selector, text string) {
	b.t.Helper()
	b.until(`(e => e?.checkVisibility() && (e.focus(), e.select(), true))(document.querySelector(%q))`, selector)
	b.run(chromedp.KeyEvent(text))
}

// choose chooses of a list of choices.
func (b *tab) choose(label, value string) {
	b.t.Helper()
	b.until(`(s => s && (s.value = %q, s.dispatchEvent(new Event('change'))))(document.querySelector('main select[aria-label=%s]'))`, value, label)
}

// openItem opens the item of a list that has a text.
func (b *tab) openItem(text string) {
	b.t.Helper()
	b.until(`[...document.querySelectorAll('.item')].some(a => a.textContent.includes(%q) && (a.focus(), a.click(), true))`, text)
	b.reads("#panel .large", text)
}

func (b *tab) press(keys string) { b.t.Helper(); b.run(chromedp.KeyEvent(keys)) }

// shot writes a picture to the folder that EINOMEM_PICTURES names, if it does.
func (b *tab) shot(name string) {
	b.t.Helper()
	if dir := os.Getenv("EINOMEM_PICTURES"); dir != "" {
		var png []byte
		b.run(chromedp.CaptureScreenshot(&png))
		require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
	}
}
