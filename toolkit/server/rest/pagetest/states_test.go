// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	protocol "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/hooks"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/rest"
)

var salma = backends.Scope{UserID: "سلمى"}

// answers makes the server answer requests whose address ends with path in its own way.
func (w *world) answers(path string, status int, body string) {
	answer := func(out http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, path) {
			return false
		}
		out.WriteHeader(status)
		_, _ = out.Write([]byte(body))
		return true
	}
	w.instead.Store(&answer)
}

// waits makes the server hold requests whose address ends with path, until the test lets them go on.
func (w *world) waits(t *testing.T, path string) (goOn func()) {
	held := make(chan struct{})
	hold := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, path) {
			<-held
		}
		return false
	}
	w.instead.Store(&hold)
	goOn = sync.OnceFunc(func() { close(held) })
	t.Cleanup(goOn)
	return goOn
}

// nameless are the controls that no key reaches, or that a screen reader has no name for.
const nameless = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')].filter((e) => e.checkVisibility({ visibilityProperty: true }))
	.filter((e) => !e.disabled && e.tabIndex < 0 || !(e.ariaLabel || e.innerText || e.labels?.[0]?.innerText || e.querySelector?.('[alt]'))).map((e) => e.outerHTML)`

// Each state of the page is designed: it says what is the matter in the reader's language, is legible, fits the
// window, and names no code and no field. With EINOMEM_PICTURES a folder gets a picture of each.
func TestEveryStateIsDesigned(t *testing.T) {
	every := []string{access.Any}
	root := access.Key{Name: "root", Hash: access.Hash("root"), Users: every, Agents: every, Workspaces: every, Write: true, Admin: true}
	one := access.Key{Name: "ann’s", Hash: access.Hash("one"), Users: []string{"ann"}}
	phone, night := look{width: 360}, look{scheme: "dark"}
	chinese := func(l look) look { l.language = "zh-CN"; return l }
	for name, s := range map[string]struct {
		look look
		keys []access.Key
		do   func(w *world, b *tab) // leaves the state on the page
		has  string                 // an element of it
		says string
	}{
		"overview-empty": {chinese(look{}), nil, func(w *world, b *tab) {
			for _, s := range []backends.Scope{ann, wen, desk, salma} {
				must(w.mem.Forget(w.ctx, s))
			}
			b.open(w.url)
		}, "#next", "还没有任何记忆"},
		"overview-full": {look{}, nil, func(w *world, b *tab) { b.open(w.url) }, "[data-count=failures] a", "Failures of learning"},
		"overview-cost": {look{}, nil, func(w *world, b *tab) {
			w.answers("/usage", http.StatusOK, `{"budget": {"calls": 20, "tokens": 0}, "days": [`+strings.Join([]string{usageOf("2026-11-27", 812, 7), usageOf("2026-11-26", 1904, 0), usageOf("2026-11-24", 40, 0)}, ",")+`]}`)
			b.open(w.url)
		}, "[data-plot=tokensADay] meter", "Tokens a day"},
		"overview-cost-phone": {chinese(look{width: 360, scheme: "dark"}), nil, func(w *world, b *tab) {
			w.answers("/usage", http.StatusOK, `{"days": [`+usageOf("2026-11-27", 812, 0)+`]}`)
			b.open(w.url)
			b.until(`document.querySelector('[data-count=modelCalls]')?.scrollIntoView() ?? document.querySelector('[data-count=modelCalls]')`)
		}, "[data-count=notesShown]", "模型调用"},
		"overview-phone": {chinese(phone), nil, func(w *world, b *tab) { b.open(w.url) }, "[data-count=users]", "概览"},
		"sign-in-failed": {phone, []access.Key{root}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "wrong"+kb.Enter)
		}, "#signin .wrong", "The server does not know this key."},
		"list-loading": {look{}, nil, func(w *world, b *tab) {
			w.waits(b.t, "/list")
			b.open(w.at("memories", "user", "ann"))
		}, "[aria-busy=true] .loading", "Loading…"},
		"list-failed": {chinese(night), nil, func(w *world, b *tab) {
			w.answers("/list", http.StatusServiceUnavailable, `{"code": "unavailable", "error": "unavailable"}`)
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong[role=alert]", "重试"},
		"list-offline": {look{}, nil, func(w *world, b *tab) {
			w.answers("/list", http.StatusBadGateway, "<html>proxy</html>")
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong", "The server does not answer. Check that it runs, and try again."},
		"list-forbidden": {phone, []access.Key{one}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "one"+kb.Enter)
			b.has("#forget, [data-tab=try]")
			b.open(w.at("memories", "user", "李雯"))
		}, "main .wrong", "This is not open to you, or to this key."},
		"list-empty":   {chinese(look{}), nil, func(w *world, b *tab) { b.open(w.at("memories", "user", "nobody")) }, "main .empty", "还没有事实"},
		"list-arabic":  {look{}, nil, func(w *world, b *tab) { b.open(w.at("memories", "user", salma.UserID)) }, ".item", "3 found"},
		"panel-arabic": {phone, nil, func(w *world, b *tab) { b.open(w.at("memories", "user", salma.UserID)); b.openItem("القهوة") }, "#panel .large", "Memory"},
		"search-nothing": {night, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.enter("#search", "no such words")
		}, "main .empty", "Nothing contains this."},
		"about": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.has("select[aria-label=About]")
			b.choose("About", "Clara")
		}, ".item", "1 found"},
		"select-several": {chinese(phone), nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "李雯"))
			b.click("#select")
			b.click(".tick")
			b.click("li:nth-child(3) .tick")
		}, ".selected:not([hidden])", "已选 2 条"},
		"delete-several": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.click("#select")
			b.click("#select-all")
			b.click("#delete-all")
		}, "#dialog[open] .those", "Delete these 7 memories?"},
		"tidy":       {look{}, nil, tidied, "[data-op=merge] del", "they say the same"},
		"tidy-phone": {chinese(look{width: 360, scheme: "dark"}), nil, tidied, "[data-op=merge] del", "内容相同"},
		"tidy-nothing": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("plans", "user", "李雯"))
			b.click("#look")
		}, "#plan .empty", "Nothing to tidy"},
		"retention": {chinese(look{}), nil, func(w *world, b *tab) { b.open(w.url + "/#/retention") }, ".item", "已失效"},
		"retention-none": {look{}, nil, func(w *world, b *tab) {
			w.answers("/retention", 404, `{"code": "not_found"}`)
			b.open(w.url + "/#/retention")
		}, "main .empty", "keeps everything"},
		"try": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("try", "user", "ann"))
			for i := range 40 { // else all is shown, whatever is asked
				w.add(ann, backends.KindFact, days(-i), "", fmt.Sprintf("Bought volume %d of an encyclopedia of the sea for the shop.", i))
			}
			b.enter("#message", "Do I live in Porto near the river, or in Braga?"+kb.Enter)
			b.until(`document.querySelector('#left')?.scrollIntoView() ?? document.querySelector('#left')`)
		}, "#left .why", "no room was left"},
		"try-arabic": {phone, nil, func(w *world, b *tab) {
			b.open(w.at("try", "user", salma.UserID))
			b.enter("#message", "ماذا تشرب سلمى في الصباح؟"+kb.Enter)
		}, "#note-text", "قهوة"},
		"notes": {chinese(phone), nil, func(w *world, b *tab) { b.open(w.at("notes", "user", "李雯")) }, ".note .item", "最近的回复"},
	} {
		t.Run(name, func(t *testing.T) {
			usage := rest.NewUsage(&rest.UsageConfig{})
			t.Cleanup(func() { require.NoError(t, usage.Close(context.Background())) })
			w, b := newWorld(t, s.keys, func(c *rest.Config) { c.Usage = usage }), newTab(t, s.look)
			for _, text := range []string{"تحب القهوة العربية في الصباح.", "تسكن في عمّان منذ 2024، وتعمل في شركة Google.", "لديها حساسية من الفول السوداني."} {
				w.add(salma, backends.KindFact, noon, "", text)
			}
			s.do(w, b)
			b.has(s.has)
			b.shows(s.says)
			b.until(`[...document.querySelectorAll('[aria-busy]')].every((e) => e.querySelector('.loading'))`)
			found := eval[[]float64](b, legible)
			require.GreaterOrEqual(t, found[0], 4.5, "contrast")
			require.LessOrEqual(t, found[1], 0.0, "wider than the window")
			require.Empty(t, eval[[]string](b, `document.body.innerText.match(/\b\w+_\w+\b|undefined|\[object|NaN/g) ?? []`), "words of programs")
			require.Empty(t, eval[[]string](b, nameless), "controls without a name, or out of the keyboard's reach")
			require.Equal(t, cmp.Or(s.look.language, "en-GB"), eval[string](b, `document.documentElement.lang`))
			b.shot("state-" + name)
		})
	}
}

// usageOf is a day as the server counts it.
func usageOf(day string, calls, failed int) string {
	return fmt.Sprintf(`{"day": %q, "model_calls": %d, "failed_calls": %d, "prompt_tokens": %d, "completion_tokens": %d, "embedding_requests": %d,
		"embedding_tokens": %d, "searches": %d, "by_words": %d, "in_part": 0, "notes": %d, "note_tokens": %d}`,
		day, calls, failed, 610*calls, 70*calls, 3*calls, 40*calls, 2*calls, failed, calls, 230*calls)
}

func TestTheOverviewShowsWhatTodayCosts(t *testing.T) {
	usage := rest.NewUsage(&rest.UsageConfig{})
	w, b := newWorld(t, nil, func(c *rest.Config) { c.Usage = usage }), newTab(t, look{})
	t.Cleanup(func() { require.NoError(t, usage.Close(context.Background())) })
	usage.Note(w.ctx, hooks.Note{Scope: ann, Text: strings.Repeat("Likes tea. ", 40)})
	b.open(w.url)
	b.reads("[data-count=notesShown] strong", "1")
	b.reads("[data-count=notesShown]", "tokens each")
	b.reads("[data-count=modelCalls] strong", "0")
	require.Zero(t, b.count("[data-plot=tokensADay]"), "there is a single day")
}

// tidied shows suggestions for a person who has said things twice.
func tidied(w *world, b *tab) {
	for _, text := range []string{"Has a cat named Momo.", "Has the cat named Momo."} {
		w.add(ann, backends.KindFact, noon, "", text)
	}
	b.open(w.at("plans", "user", "ann"))
	b.click("#look")
}

// A list that failed is there once the server answers, and the page says meanwhile that it waits.
func TestAFailureIsTriedAgain(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	w.answers("/list", http.StatusServiceUnavailable, `{"code": "unavailable", "error": "unavailable"}`)
	b.open(w.at("memories", "user", "ann"))
	b.shows("Try again")
	goOn := w.waits(t, "/list")
	b.click("main .wrong + button")
	b.has("[aria-busy=true]")
	goOn()
	b.shows("7 found")
	require.Zero(t, b.count("[aria-busy]"))
}

func TestSeveralMemoriesAreDeletedTogether(t *testing.T) {
	w, b := opened(t)
	b.click("#select")
	b.click(".tick")
	b.click("li:nth-child(2) .tick")
	b.reads(".selected", "2 selected")
	b.click("#delete-all")
	b.click("#dialog .main")
	b.shows("2 memories will be deleted in 8 seconds")
	b.shows("5 found")
	require.Zero(t, b.count(".tick"), "the selection is over")
	require.Len(t, w.texts(ann), 8)
	b.press(kb.Enter) // the undo has the focus
	b.shows("7 found")

	b.click("#select")
	b.click("#select-all")
	b.click("li:nth-child(7) .tick") // but one
	b.reads(".selected", "6 selected")
	b.click("#delete-all")
	b.click("#erase")
	b.click("#dialog .main")
	b.shows("1 found")
	b.run(chromedp.Navigate("about:blank")) // long before the 8 seconds are over
	require.Eventually(t, func() bool { return len(w.texts(ann)) == 2 }, patience, tick)
}

func TestSuggestionsAreCarriedOutTakenBackAndDeclined(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	tidied(w, b)
	b.reads("[data-op=merge]", "Has the cat named Momo.")
	before := len(w.texts(ann))
	b.open(w.at("plans", "user", "ann")) // it waits
	b.has("#op-0")
	b.click("#apply")
	b.shows("1 carried out.")
	require.Len(t, w.texts(ann), before-1)
	b.click(".undo")
	b.shows("Taken back.")
	require.Len(t, w.texts(ann), before)
	b.click("#look")
	b.click("#decline")
	b.shows("Declined. Nothing was changed.")
	b.has("#plan .empty")
	require.Len(t, w.texts(ann), before)
}

func TestAPersonIsExported(t *testing.T) {
	_, b := opened(t)
	dir := t.TempDir()
	b.run(protocol.SetDownloadBehavior(protocol.SetDownloadBehaviorBehaviorAllow).WithBrowserContextID(b.storage).WithDownloadPath(dir))
	b.click("#export")
	b.shows("Exported: the file has all that is held of this person.")
	require.Eventually(t, func() bool {
		saved, err := os.ReadFile(filepath.Join(dir, "user-ann.jsonl"))
		return err == nil && strings.Contains(string(saved), allergy)
	}, patience, tick)
}

// Whoever runs a product without a store for lists still sees what there is.
func TestAKeyForReadingHasNoWayToWrite(t *testing.T) {
	w := newWorld(t, []access.Key{{Name: "r", Hash: access.Hash("r"), Users: []string{"ann"}}}, func(c *rest.Config) { c.Notes = nil })
	b := newTab(t, look{})
	b.open(w.url)
	b.enter("#key", "r"+kb.Enter)
	b.shows("7 found")
	require.Zero(t, b.count("#select, #add, #forget, [data-tab=plans]"))
	require.Equal(t, 1, b.count("#export"), "to read is to export")
}
