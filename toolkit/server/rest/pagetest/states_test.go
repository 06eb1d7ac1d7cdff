// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
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
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
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
		if status == 0 { // it is gone
			panic(http.ErrAbortHandler)
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
	phone, night, both := look{width: 360}, look{scheme: "dark"}, look{width: 360, scheme: "dark"}
	for name, s := range map[string]struct {
		look look
		keys []access.Key
		do   func(w *world, b *tab) // leaves the state on the page
		has  string                 // an element of it
		says [2]string              // in English and in Chinese
	}{
		"overview-empty": {look{}, nil, func(w *world, b *tab) {
			for _, s := range []backends.Scope{ann, wen, desk, salma} {
				must(w.mem.Forget(w.ctx, s))
			}
			b.open(w.url)
		}, "#next", [2]string{"Nothing is remembered yet", "还没有任何记忆"}},
		"overview-full": {look{}, nil, func(w *world, b *tab) { b.open(w.url) }, "[data-count=failures] a", [2]string{"Failures of learning", "学习失败"}},
		"overview-cost": {look{}, nil, func(w *world, b *tab) {
			w.answers("/usage", http.StatusOK, `{"budget": {"calls": 20, "tokens": 0}, "days": [`+strings.Join([]string{usageOf("2026-11-27", 812, 7), usageOf("2026-11-26", 1904, 0), usageOf("2026-11-24", 40, 0)}, ",")+`]}`)
			b.open(w.url)
		}, "[data-plot=tokensADay] meter", [2]string{"Tokens a day", "每日词元"}},
		"overview-cost-phone": {both, nil, func(w *world, b *tab) {
			w.answers("/usage", http.StatusOK, `{"days": [`+usageOf("2026-11-27", 812, 0)+`]}`)
			b.open(w.url)
			b.until(`document.querySelector('[data-count=modelCalls]')?.scrollIntoView() ?? document.querySelector('[data-count=modelCalls]')`)
		}, "[data-count=notesShown]", [2]string{"Questions to the model", "模型调用"}},
		"overview-phone": {phone, nil, func(w *world, b *tab) { b.open(w.url) }, "[data-count=users]", [2]string{"Overview", "概览"}},
		"sign-in-failed": {phone, []access.Key{root}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "wrong"+kb.Enter)
		}, "#signin .wrong", [2]string{"The server does not know this key.", "服务器不认识这个密钥"}},
		"list-loading": {look{}, nil, func(w *world, b *tab) {
			w.waits(b.t, "/list")
			b.open(w.at("memories", "user", "ann"))
		}, "[aria-busy=true] .loading", [2]string{"Loading…", "正在载入…"}},
		"list-failed": {night, nil, func(w *world, b *tab) {
			w.answers("/list", http.StatusServiceUnavailable, `{"code": "unavailable", "error": "unavailable"}`)
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong[role=alert]", [2]string{"Try again", "重试"}},
		"list-offline": {look{}, nil, func(w *world, b *tab) {
			w.answers("/list", http.StatusBadGateway, "<html>proxy</html>")
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong", [2]string{"The server does not answer. Check that it runs, and try again.", "服务器没有响应。请确认它在运行后重试。"}},
		"list-forbidden": {phone, []access.Key{one}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "one"+kb.Enter)
			b.has("#forget, [data-tab=try]")
			b.open(w.at("memories", "user", "李雯"))
		}, "main .wrong", [2]string{"This is not open to you, or to this key.", "您或此密钥无权访问。"}},
		"list-empty":   {look{}, nil, func(w *world, b *tab) { b.open(w.at("memories", "user", "nobody")) }, "main .empty", [2]string{"No facts yet", "还没有事实"}},
		"list-arabic":  {look{}, nil, func(w *world, b *tab) { b.open(w.at("memories", "user", salma.UserID)) }, ".item", [2]string{"3 found", "共 3 条"}},
		"panel-arabic": {phone, nil, func(w *world, b *tab) { b.open(w.at("memories", "user", salma.UserID)); b.openItem("القهوة") }, "#panel .large", [2]string{"Memory", "记忆"}},
		"search-nothing": {night, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.enter("#search", "no such words")
		}, "main .empty", [2]string{"Nothing contains this.", "没有内容包含它"}},
		"about": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.until(`(o => o && (o.parentElement.value = o.value, o.parentElement.dispatchEvent(new Event('change'))))(document.querySelector('option[value=Clara]'))`)
		}, ".item", [2]string{"1 found", "共 1 条"}},
		"select-several": {phone, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "李雯"))
			b.click("#select")
			b.click(".tick")
			b.click("li:nth-child(3) .tick")
		}, ".selected:not([hidden])", [2]string{"2 selected", "已选 2 条"}},
		"delete-several": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("memories", "user", "ann"))
			b.click("#select")
			b.click("#select-all")
			b.click("#delete-all")
		}, "#dialog[open] .those", [2]string{"Delete these 7 memories?", "删除这 7 条记忆？"}},
		"tidy":       {look{}, nil, tidied, "[data-op=merge] del", [2]string{"they say the same", "内容相同"}},
		"tidy-phone": {both, nil, tidied, "[data-op=merge] del", [2]string{"they say the same", "内容相同"}},
		"tidy-nothing": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("plans", "user", "李雯"))
			b.click("#look")
		}, "#plan .empty", [2]string{"Nothing to tidy", "无需整理"}},
		"retention": {look{}, nil, func(w *world, b *tab) { b.open(w.url + "/#/retention") }, ".item", [2]string{"holds no more", "已失效"}},
		"retention-none": {look{}, nil, func(w *world, b *tab) {
			w.answers("/retention", 404, `{"code": "not_found"}`)
			b.open(w.url + "/#/retention")
		}, "main .empty", [2]string{"keeps everything", "没有保留规则"}},
		"try": {look{}, nil, func(w *world, b *tab) {
			b.open(w.at("try", "user", "ann"))
			for i := range 40 { // else all is shown, whatever is asked
				w.add(ann, backends.KindFact, days(-i), "", fmt.Sprintf("Bought volume %d of an encyclopedia of the sea for the shop.", i))
			}
			b.enter("#message", "Do I live in Porto near the river, or in Braga?"+kb.Enter)
			b.until(`document.querySelector('#left')?.scrollIntoView() ?? document.querySelector('#left')`)
		}, "#left .why", [2]string{"tokens too long", "约多出"}},
		"try-behind": {phone, nil, func(w *world, b *tab) {
			w.answers("/preview", http.StatusOK, `{"text": "", "hits": [], "tokens": 0, "room": 500, "left": [{"id": "1", "kind": "fact", "text": "Has a cat.", "score": 0.3, "reason": "rank", "needs": 12, "place": 14}]}`)
			b.open(w.at("try", "user", "ann"))
			b.enter("#message", "Which drink do I like?"+kb.Enter)
		}, "#left .why", [2]string{"place 14, and the best 12 are looked at", "排第 14，只看前 12 条"}},
		"try-arabic": {phone, nil, func(w *world, b *tab) {
			b.open(w.at("try", "user", salma.UserID))
			b.enter("#message", "ماذا تشرب سلمى في الصباح؟"+kb.Enter)
		}, "#note-text", [2]string{"القهوة", "القهوة"}},
		"what-is-kept-with-it": {look{}, nil, func(w *world, b *tab) {
			id := w.add(ann, backends.KindFact, noon, "", "Keeps bees.")
			must(w.manager().Update(w.ctx, &backends.UpdateRequest{Scope: ann, ID: id, Metadata: map[string]any{
				"hash": "9f86d081", backends.MetaLastUse: "2026-03-14T12:00:00Z", "shop_area": map[string]any{"vip_since": 2024, "open": true, "tags": []string{"honey", "مناحل"}}}}))
			b.open(w.at("memories", "user", "ann") + "/" + id)
			b.until(`document.querySelector('[data-fact=shop_area]')?.scrollIntoView() ?? document.querySelector('[data-fact=shop_area]')`)
			b.reads("[data-fact=vip_since] dd", "2024")
			b.reads("[data-fact=last_use]", "2026")
			require.Zero(b.t, b.count("[data-fact=hash]"))
		}, "#panel [data-fact=tags]", [2]string{"yes", "是"}},
		"called-tools": {phone, nil, func(w *world, b *tab) {
			trip := in(ann, "order")
			call := schema.AssistantMessage("", []schema.ToolCall{{ID: "1", Function: schema.FunctionCall{Name: "find", Arguments: `{"order_no": 7, "express": true}`}}})
			must(w.store.Append(w.ctx, must(trip.Speaker()), "order", &store.Append{Scope: trip, Entries: []store.Entry{
				{Message: backends.Message{ID: "a", Turn: "t", Time: noon, Message: call}},
				{Message: backends.Message{ID: "b", Turn: "t", Time: noon, Message: schema.ToolMessage(`{"state": "sent", "items": ["lamp", "book"]}`, "1")}}}}))
			b.open(w.at("sessions", "user", "ann") + "/order")
		}, "#panel .called [data-fact=express]", [2]string{"lamp, book", "lamp，book"}},
		"refused": {look{}, nil, func(w *world, b *tab) {
			w.answers("/list", http.StatusBadRequest, `{"code": "invalid", "error": "list: invalid: top_k"}`)
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong details:not([open])", [2]string{"The server did not take this. Check what you entered, and try again.", "服务器没有接受。请检查输入后重试。"}},
		"start-loading": {phone, nil, func(w *world, b *tab) {
			w.waits(b.t, "/me")
			b.open(w.url)
		}, "[aria-busy=true] .loading", [2]string{"Loading…", "正在载入…"}},
		"start-failed": {look{}, []access.Key{root}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "root"+kb.Enter)
			b.has("#side a")
			w.answers("/me", http.StatusInternalServerError, "")
			b.open(w.url)
			b.has("main .wrong[role=alert] + button")
			require.Zero(b.t, b.count("#signin"), "the key is as good as before")
			require.Contains(b.t, eval[string](b, `JSON.stringify(sessionStorage)`), "root")
		}, "main .wrong", [2]string{"Something failed inside the server.", "服务器内部出错"}},
		"key-withdrawn": {phone, []access.Key{root}, func(w *world, b *tab) {
			b.open(w.url)
			b.enter("#key", "root"+kb.Enter)
			b.has("#side a")
			w.answers("/list", http.StatusUnauthorized, `{"code": "no_key"}`)
			b.open(w.at("memories", "user", "ann"))
		}, "main .wrong + button", [2]string{"Sign in", "登录"}},
		"suggestions-gone": {look{}, nil, func(w *world, b *tab) {
			tidied(w, b)
			b.has("#op-0")
			w.answers("/plans/apply", http.StatusNotFound, `{"code": "not_found"}`)
			b.click("#apply")
		}, "#plan .wrong", [2]string{"These suggestions are gone", "这些建议已不在"}},
		"notes": {phone, nil, func(w *world, b *tab) { b.open(w.at("notes", "user", "李雯")) }, ".note .item", [2]string{"Last replies", "最近的回复"}},
	} {
		for i, language := range languages {
			t.Run(name+"/"+language, func(t *testing.T) {
				usage := rest.NewUsage(&rest.UsageConfig{})
				t.Cleanup(func() { require.NoError(t, usage.Close(context.Background())) })
				s.look.language = language
				w, b := newWorld(t, s.keys, func(c *rest.Config) { c.Usage = usage }), newTab(t, s.look)
				for _, text := range []string{"تحب القهوة العربية في الصباح.", "تسكن في عمّان منذ 2024، وتعمل في شركة Google.", "لديها حساسية من الفول السوداني."} {
					w.add(salma, backends.KindFact, noon, "", text)
				}
				s.do(w, b)
				b.has(s.has)
				b.shows(s.says[i])
				b.isDesigned(language)
				b.shot("state-" + name + "-" + language)
			})
		}
	}
}

var languages = [2]string{"en-GB", "zh-CN"}

// isDesigned checks that what is on the page is legible, fits the window, can be used with a keyboard and a screen reader,
// and names no code and no field.
func (b *tab) isDesigned(language string) {
	b.t.Helper()
	b.until(`[...document.querySelectorAll('[aria-busy]')].every((e) => e.querySelector('.loading'))`)
	found := eval[[]float64](b, legible)
	require.GreaterOrEqual(b.t, found[0], 4.5, "contrast")
	require.LessOrEqual(b.t, found[1], 0.0, "wider than the window")
	require.Empty(b.t, eval[[]string](b, `document.body.innerText.match(/\b\w+_\w+\b|undefined|\[object|NaN|[{}]/g) ?? []`), "words of programs")
	require.Empty(b.t, eval[[]string](b, nameless), "controls without a name, or out of the keyboard's reach")
	require.Equal(b.t, language, eval[string](b, `document.documentElement.lang`))
}

// Each list and panel says what the server does with its question: it hangs, fails, refuses, or is gone.
func TestEveryListSaysWhatTheServerDoes(t *testing.T) {
	none := `{"code": %q, "error": "of the_server"}`
	for i, language := range languages {
		w, b := newWorld(t, nil, nil), newTab(t, look{language: language, width: int64(1200 - 840*i)})
		memory := must(w.manager().List(w.ctx, &backends.ListRequest{Scope: ann})).Memories[0].ID
		for name, list := range map[string]struct{ place, asks, root string }{
			"people":    {w.url, "/people", "#people"},
			"overview":  {w.url, "/health", "main"},
			"memories":  {w.at("memories", "user", "ann"), "/list", "main"},
			"memory":    {w.at("memories", "user", "ann") + "/" + memory, "/" + memory, "#panel"},
			"sessions":  {w.at("sessions", "user", "ann"), "/sessions", "main"},
			"session":   {w.at("sessions", "user", "ann") + "/lisbon", "/messages", "#panel"},
			"notes":     {w.at("notes", "user", "ann"), "/notes", "main"},
			"blocks":    {w.at("blocks", "user", "ann"), "/blocks", "main"},
			"plans":     {w.at("plans", "user", "ann"), "/plans", "main"},
			"tools":     {w.at("tools", "workspace", "support-desk"), "/tools", "main"},
			"health":    {w.url + "/#/health", "/health", "main"},
			"retention": {w.url + "/#/retention", "/retention", "main"},
		} {
			t.Run(name+"/"+language, func(t *testing.T) {
				b.t = t
				goOn := w.waits(t, list.asks)
				b.open(list.place)
				b.reads(list.root+" [aria-busy=true] .loading, "+list.root+"[aria-busy=true] .loading", [2]string{"Loading…", "正在载入…"}[i])
				b.isDesigned(language)
				goOn()
				b.until(`!document.querySelector('.loading')`)
				for _, c := range []struct {
					status int
					body   string
					says   [2]string
					again  int
				}{
					{500, fmt.Sprintf(none, "internal"), [2]string{"Something failed inside the server.", "服务器内部出错"}, 1},
					{403, fmt.Sprintf(none, "denied"), [2]string{"Ask whoever runs this server for a key", "请向服务器管理员索取"}, 0},
					{403, "<html>a proxy", [2]string{"This is not open to you", "您或此密钥无权访问"}, 0},
					{0, "", [2]string{"The server does not answer.", "服务器没有响应"}, 1},
				} {
					w.answers(list.asks, c.status, c.body)
					b.open(list.place)
					b.reads(list.root+" .wrong[role=alert]", c.says[i])
					require.Equal(t, c.again, b.count(list.root+" .wrong + button"), c.says[0])
					b.isDesigned(language)
					b.shot(fmt.Sprintf("list-%s-%d-%s", name, c.status, language))
				}
			})
		}
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
