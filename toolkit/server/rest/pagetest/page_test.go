// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package pagetest drives the page of package rest in headless Chromium. It is a module of its
// own, so that no user of einomem gets a browser's client with it.
package pagetest

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/backends/store"
	"github.com/einomem/einomem/toolkit/server/access"
	"github.com/einomem/einomem/toolkit/server/rest"
)

func (w *world) at(section, kind, id string) string {
	return w.url + "/#/" + section + "/" + kind + "/default/" + url.PathEscape(id)
}

// opened is a world, and a tab that shows Ann's memories.
func opened(t *testing.T) (*world, *tab) {
	t.Helper()
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.shows("7 found")
	return w, b
}

func TestSearchShowsByWhatAHitWasFound(t *testing.T) {
	w, b := opened(t)
	b.enter("#search", "GALLERIES")
	b.shows("1 found")
	b.enter("#search", "no such words")
	b.shows("Nothing contains this.")

	b.enter("#search", "feathers and foam pillows"+kb.Enter)
	b.shows("best first")
	b.reads(".item", allergy)
	for _, part := range []string{"lexical", "vector"} {
		require.Greater(t, eval[float64](b, `document.querySelector('.item [data-bar=`+part+`] meter').value`), 0.1, part)
	}
	b.click(".item")
	b.shows("Why it was found")
	b.has("#panel [data-bar=lexical]")

	b.enter("#search", "I like trains"+kb.Enter)
	b.shows("said, not learnt from yet") // no memory: it leads to the session
	b.click(".item[href*=sessions]")
	b.reads("#panel .message:nth-of-type(3)", "Both. And I like trains.")
	b.click("[data-tab=memories]")

	w.add(ann, backends.KindEpisode, noon, "", "Do you know a good hat shop in Lisbon?")
	b.choose("Kind", "episode") // else a question is not among what answers
	b.enter("#search", "a hat shop in Lisbon"+kb.Enter)
	b.has("[data-bar=asks] meter.minus") // it took off
	b.enter("#search", kb.Backspace)     // clears it, as all of it is selected
	b.shows("2 found")
}

func TestFiltersAndTimeline(t *testing.T) {
	_, b := opened(t)
	b.choose("Kind", "episode")
	b.shows("1 found")
	b.choose("Kind", "")
	b.choose("State", "superseded")
	b.until(`document.querySelectorAll('.item').length === 1`)
	b.openItem("Lives in Porto")
	b.click("[data-chain=replacedBy] a")
	b.reads("#panel .large", "Lives in Braga")
	b.reads("[data-chain=replaces] a", "Porto")
	b.reads("#panel [data-event=added]", "Braga")
	b.reads("#panel .message[data-mark=taught]", "I moved from Porto to Braga")
	require.Equal(t, 4, b.count("#panel .message"), "two before it, and one after it")
	b.choose("State", "active")
	b.choose("View", "timeline")
	b.until(`document.querySelectorAll('.timeline h2').length === 3`)
	b.click("#said") // what was merely said is shown on demand
	b.until(`document.querySelectorAll('.timeline h2').length === 4`)
	b.shows("I want to surprise her")
	b.click("#said")
	b.until(`document.querySelectorAll('.timeline h2').length === 3`)
	b.reads(".timeline h2", "14 March 2026")
}

func TestAnEditIsUndoneAndAConflictIsShown(t *testing.T) {
	w, b := opened(t)
	b.openItem(allergy)
	b.click("#edit")
	b.enter("#text", "Is allergic to wool.")
	b.click("#dialog .main")
	b.shows("Saved.")
	require.Contains(t, w.texts(ann), "Is allergic to wool.")
	b.has("#panel [data-event=updated]")
	b.click(".undo")
	b.until(`document.querySelectorAll('#panel [data-event=updated]').length === 2`)
	require.Contains(t, w.texts(ann), allergy)
	require.NotContains(t, w.texts(ann), "Is allergic to wool.")

	b.click("#edit")
	b.enter("#text", "Mine.")
	id := eval[string](b, `document.querySelector('#panel [data-memory]').dataset.memory`)
	must(w.manager().Update(w.ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: ptr("Theirs.")}))
	b.click("#dialog .main")
	b.reads("#dialog .wrong", "Theirs.")
	require.Contains(t, w.texts(ann), "Theirs.")
	require.Equal(t, "Mine.", eval[string](b, `document.querySelector('#text').value`))
	b.click("#dialog .main") // knowing it
	b.shows("Saved.")
	require.Contains(t, w.texts(ann), "Mine.")
}

func TestADeletionIsUndoneOrCarriedOut(t *testing.T) {
	w, b := opened(t)
	remove := func() {
		b.openItem(allergy)
		b.click("#delete")
		b.click("#dialog .main")
		b.shows("Will be deleted in 8 seconds, or at once if you leave the page")
		b.shows("6 found")
		require.Contains(t, w.texts(ann), allergy)
	}
	remove()
	require.True(t, eval[bool](b, `document.activeElement.matches('.undo')`))
	b.press(kb.Enter)
	b.shows("7 found")

	remove() // and wait
	require.Eventually(t, func() bool { return len(w.texts(ann)) == 7 }, patience, tick)
	b.shows("6 found")

	b.openItem("Works as a restorer")
	b.click("#delete")
	b.click("#erase")
	b.click("#dialog .main")
	b.shows("5 found")
	b.run(chromedp.Navigate("about:blank")) // long before the 8 seconds are over
	require.Eventually(t, func() bool { return len(w.texts(ann)) == 6 }, patience, tick)
}

func TestAFactIsAddedAndPinned(t *testing.T) {
	w, b := opened(t)
	add := func(text string) {
		b.click("#add")
		b.enter("#text", text)
	}
	add("Prefers calls in the morning.")
	b.shot("add")
	b.click("#standing")
	b.click("#dialog .main")
	b.shows("Added.")
	b.shows("8 found")
	last := func() backends.Memory {
		all := must(w.manager().List(w.ctx, &backends.ListRequest{Scope: ann})).Memories
		return all[len(all)-1]
	}
	require.Equal(t, "Prefers calls in the morning.", last().Text)
	require.Equal(t, backends.KindFact, last().Kind)
	require.True(t, last().Standing)
	b.openItem("Prefers calls")
	b.click("#pin[aria-pressed=true]")
	b.has("#pin[aria-pressed=false]")
	require.False(t, last().Standing)
	b.click(".toast:last-child .undo")
	b.has("#pin[aria-pressed=true]")
	require.True(t, last().Standing)
	b.press(kb.Escape)

	add("Has a parrot.")
	b.click("#dialog .main")
	b.shows("9 found")
	b.click(".toast:last-child .undo")
	b.shows("8 found")
	require.NotContains(t, w.texts(ann), "Has a parrot.")
}

func TestTenThousandMemoriesScroll(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	p := must(backends.Scope{UserID: "many"}.Speaker())
	for i := 0; i < 10_000; i += 500 {
		batch := &store.Batch{}
		for j := range 500 {
			m := backends.Memory{ID: fmt.Sprintf("m%05d", i+j), Kind: backends.KindFact, Text: fmt.Sprintf("Bought book %d.", i+j), Scope: p.Scope(), Created: noon.Add(time.Duration(i+j) * time.Minute)}
			batch.Mutations = append(batch.Mutations, store.Put(&store.Record{Memory: m}))
		}
		must(w.store.Apply(w.ctx, p, batch))
	}
	began := time.Now()
	b.open(w.at("memories", "user", "many"))
	b.shows("The newest first")
	t.Log("listed in", time.Since(began))
	require.LessOrEqual(t, b.count(".item"), 300, "the rest comes as the reader scrolls")
	require.Less(t, eval[int](b, `performance.getEntriesByType('resource').filter((r) => r.name.endsWith('/list')).length`), 4, "in pages")
	b.reads(".item", "Bought book 9999.")
	for shown := 100; shown <= 400; shown += 100 {
		b.until(`(scrollTo(0, document.body.scrollHeight), document.querySelectorAll('.item').length > %d)`, shown)
	}
	b.reads(".rows > li:nth-child(500)", "Bought book 9500.")
	b.enter("#search", "BOOK 777")
	b.shows("11 found") // 777, and 7770 to 7779: the server looks through all
	b.reads(".item", "Bought book 7779.")
	b.enter("#search", kb.Backspace)
	b.shows("The newest first")
}

func TestAMessageIsTried(t *testing.T) {
	w, b := opened(t)
	for i := range 30 { // else all is shown, whatever is asked
		w.add(ann, backends.KindFact, days(-i), "", fmt.Sprintf("Bought volume %d of an encyclopedia of the sea for the shop in Porto.", i))
	}
	must(w.manager().Update(w.ctx, &backends.UpdateRequest{Scope: ann, ID: w.add(ann, backends.KindFact, noon, "", "Speaks Portuguese."), Standing: ptr(true)}))
	before := len(must(w.mem.Backend().Search(w.ctx, &backends.SearchRequest{Scope: ann, Query: "x", TopK: 100})).Hits)
	b.click("[data-tab=try]")
	b.enter("#message", "Which pillows should my hotel have, foam or feathers?"+kb.Enter)
	b.reads("#note-text", allergy)
	b.reads("#shown .rows", "answers the message")
	b.reads("#shown .rows", "always applies")
	b.has("#shown [data-bar=lexical]")
	b.shot("try")
	b.enter("#message", "Explain quantum chromodynamics with an encyclopedia"+kb.Enter)
	b.reads("#left .why", "too low: it scores")
	b.enter("#message", "Do I live in Porto, near the river?"+kb.Enter)
	b.reads("#left .why", "replaced it")
	b.shot("try-low")
	b.click("#left .item")
	b.has("#panel .large")
	b.run(chromedp.Navigate("about:blank"))
	require.Len(t, must(w.mem.Backend().Search(w.ctx, &backends.SearchRequest{Scope: ann, Query: "x", TopK: 100})).Hits, before)
}

func TestPin(t *testing.T) {
	_, b := opened(t)
	b.openItem(allergy)
	b.click(".pin")
	b.shows("Pinned to “human”")
	b.click("[data-tab=blocks]")
	b.reads("[data-block=human]", allergy)
	b.click(".undo")
	b.click("[data-tab=memories]")
	b.shows("7 found")
	b.click("[data-tab=blocks]")
	b.reads("[data-block=human]", "(empty)")
}

// crowd stores people without a search index: a page of the list needs their names alone.
func (w *world) crowd(n int) {
	for i := range n {
		p := backends.Partition{Namespace: "default", Kind: backends.PartitionUser, ID: fmt.Sprintf("Customer %04d", i)}
		r := &store.Record{Memory: backends.Memory{ID: "m", Kind: backends.KindFact, Text: "Likes tea.", Scope: p.Scope()}}
		must(w.store.Apply(w.ctx, p, &store.Batch{Mutations: []store.Mutation{store.Put(r)}}))
	}
}

func TestPeopleAreFoundByNameAndPaged(t *testing.T) {
	w := newWorld(t, nil, func(c *rest.Config) { c.Notes = nil })
	w.crowd(130)
	b := newTab(t, look{})
	b.open(w.url)
	b.until(`document.querySelectorAll('#people a[href*=user]').length === 20`)
	b.reads("[data-count=users] strong", "132")
	b.reads("[data-count=workspaces] strong", "1")
	b.reads("[data-count=waiting] strong", "4")
	b.reads("[data-count=failures] strong", "1")
	b.shot("overview")
	b.click("#people ol + button:not([hidden])")
	b.until(`document.querySelectorAll('#people a[href*=user]').length === 40`)
	require.True(t, eval[bool](b, `document.activeElement === document.querySelectorAll('#people a[href*=user]')[20]`))
	b.enter("#find", "CUSTOMER 012")
	b.until(`document.querySelectorAll('#people a').length === 10`)
	b.enter("#find", "desk")
	b.until(`document.querySelectorAll('#people a').length === 1`)
	b.click("#people a")
	b.reads("h1", "support-desk")
	require.Equal(t, "desk", eval[string](b, `document.querySelector('#find').value`), "the search stays")
	b.has("#people a[aria-current=page]")
	b.enter("#find", "no such person")
	b.shows("Nobody has this in their name.")
}

func TestAnEmptyMemorySaysWhatIsNext(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	for _, s := range []backends.Scope{ann, wen, desk} {
		must(w.mem.Forget(w.ctx, s))
	}
	b.open(w.url)
	b.reads("#next", "Talk to an agent that uses this memory.")
	b.reads("[data-count=kept] strong", "0")
	b.shot("empty")
	b.click("#next button")
	b.has("#open-id:focus")
}

func TestForgettingAPersonIsTypedAndShowsTheReceipt(t *testing.T) {
	w, b := opened(t)
	b.click("#forget")
	b.enter("#typed", "an"+kb.Enter)
	require.True(t, eval[bool](b, `document.querySelector('#typed:invalid') && document.querySelector('#dialog').open`))
	b.enter("#typed", "ann"+kb.Enter)
	b.shows("Receipt: ann")
	b.reads("[data-fact=sessions] dd", "2")
	require.Empty(t, w.texts(ann))
	require.NotEmpty(t, w.texts(wen))
	require.False(t, eval[bool](b, `document.querySelector('#dialog').open`))
	require.Zero(t, b.count("#side a[href*=ann]"))
}

func TestMarkupInTextsDoesNotRun(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	const evil = `<script>window.ran = 1</script><img src=x onerror="window.ran = 2"><b>bold</b> javascript:alert(1)`
	w.add(backends.Scope{UserID: evil}, backends.KindFact, noon, "", evil)
	w.says(backends.Scope{UserID: evil, SessionID: evil}, noon, true, store.SessionUpdate{Title: ptr(evil)}, evil, evil)
	b.open(w.at("memories", "user", evil))
	b.openItem(evil)
	b.enter("#search", "bold"+kb.Enter)
	b.shows("best first")
	b.click("#edit")
	b.enter("#text", evil+"!")
	b.click("#dialog .main")
	b.shows("Saved.")
	b.click("#delete")
	b.click("#dialog .main")
	b.reads(".toast:last-child", "<script>")
	b.click("[data-tab=sessions]")
	b.openItem(evil)
	b.reads("#panel .message", "<img")
	b.click("#forget")
	require.Zero(t, b.count("main img, aside img, main b, aside b, dialog b, #toasts b, #side b"))
	require.False(t, eval[bool](b, `'ran' in window`)) // and no violation: see newTab
}

func TestBothLanguages(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{language: "zh-CN"})
	b.open(w.at("memories", "user", "李雯"))
	b.shows("共 5 条")
	require.Equal(t, "zh-CN", eval[string](b, `document.documentElement.lang`))
	english := `document.body.innerText.match(/\b(Search|Memories|Sessions|Active|Delete|Edit|History|State|Users)\b/)?.[0] ?? ''`
	b.openItem("杭州")
	b.has("#panel .message")
	require.Empty(t, eval[string](b, english))
	b.click("#language")
	b.shows("5 found")
	require.Equal(t, "en-GB", eval[string](b, `document.documentElement.lang`))
	require.NotEmpty(t, eval[string](b, english))
	b.run(chromedp.Reload())
	b.shows("5 found") // it is kept
}

// legible returns the least contrast of a text with what is behind it, and how far the page is wider than the window.
const legible = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
  const light = (c) => [...c].slice(0, 3).map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  const all = [...document.querySelectorAll('*')].filter((e) => e.checkVisibility());
  const ratio = (e) => {
    const a = light(rgba(getComputedStyle(e).color)), b = light(behind(e));
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  };
  const texts = all.filter((e) => !e.closest('head, :disabled') && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
  return [Math.min(...texts.map(ratio)), Math.max(...all.filter((e) => e.matches('html, main, #panel, dialog')).map((e) => e.scrollWidth)) - innerWidth];
})()`

func TestAllIsLegible(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.add(ann, backends.KindFact, noon.AddDate(-1, 0, 0), "", "Averylongwordwithoutanyspacethatdoesnotfitintoalineofaphone/and/a/path/that/is/long/"+strings.Repeat("o", 50))
	for name, l := range map[string]look{"light": {}, "dark": {0, "zh-CN", "dark"}, "phone": {360, "zh-CN", "light"}, "phone-dark": {360, "en-GB", "dark"}} {
		person, query, home, session := "ann", "Where in Braga or Lisbon does Ann live now?", "Lives in Braga", "Books"
		if l.language == "zh-CN" {
			person, query, home, session = "李雯", "她喜欢喝什么茶，有什么过敏？", "搬到杭州", "龙井"
		}
		b := newTab(t, l)
		check := func(place, ready string) {
			t.Helper()
			b.has(ready)
			found := eval[[]float64](b, legible)
			require.GreaterOrEqual(t, found[0], 4.5, place)
			require.LessOrEqual(t, found[1], 0.0, place)
			b.shot(name + "-" + place)
		}
		b.open(w.at("memories", "user", person))
		dark := eval[bool](b, `getComputedStyle(document.body).backgroundColor === 'rgb(19, 22, 24)'`)
		require.Equal(t, l.scheme == "dark", dark)
		check("list", ".item")
		b.enter("#search", query+kb.Enter)
		check("search", ".bars")
		b.openItem(home)
		check("memory", "#panel .message")
		b.click("#edit")
		check("edit", "#text")
		b.open(w.at("sessions", "user", person))
		b.openItem(session)
		check("session", "#panel .message")
		for _, section := range []string{"notes", "blocks"} {
			b.open(w.at(section, "user", person))
			check(section, ".card")
		}
		b.open(w.at("tools", "workspace", "support-desk"))
		check("tools", "[data-tool]")
		b.open(w.url + "/#/health")
		check("health", ".card")
	}
}

func TestOnAPhoneOneThingIsShownAtATime(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{width: 360})
	b.open(w.at("memories", "user", "ann"))
	b.openItem(allergy)
	const reachable = `document.querySelector('#search').checkVisibility({ visibilityProperty: true })`
	require.False(t, eval[bool](b, reachable), "what the panel covers is out of reach")
	b.press(kb.Escape)
	b.until(reachable)
	b.click("#menu")
	b.click("#side a[href*=support-desk]")
	b.until(`!document.querySelector('#side').checkVisibility()`)
}

func TestTheKeyboardReachesEverything(t *testing.T) {
	_, b := opened(t)
	item := func(n int) {
		b.t.Helper()
		b.until(`document.activeElement === document.querySelectorAll('.item')[%d]`, n)
	}
	b.has("select[aria-label=About]")
	slash := input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/")
	b.run(slash)
	b.has("#search:focus")
	b.run(slash)
	require.Equal(t, "/", eval[string](b, `document.activeElement.value`), "in a field it is a letter")
	b.press(kb.Backspace)
	b.press(strings.Repeat(kb.Tab, 9)) // button, kind, about, state, view, what was said, add, select, first item
	item(0)
	b.press(kb.ArrowDown + kb.ArrowDown + kb.ArrowUp)
	item(1)
	first := eval[string](b, `document.activeElement.hash`)
	b.run(chromedp.Evaluate(`document.querySelector('.item').drawn = true; document.getElementById('search').dispatchEvent(new Event('input'))`, nil))
	b.until(`document.querySelector('.item') && !document.querySelector('.item').drawn`)
	require.Equal(t, first, eval[string](b, `document.activeElement.hash`), "a list that is drawn again keeps the focus")
	b.press(kb.Enter)
	b.has("#panel .large")
	b.has("#panel:focus")
	b.press(kb.Escape)
	b.has("#panel[hidden]")
	item(1)

	b.run(chromedp.Evaluate(`document.activeElement.blur();
		missed = new Set([...document.querySelectorAll('a[href], button, input, select')].filter((e) => e.checkVisibility()));
		document.addEventListener('focusin', ({ target: e }) => getComputedStyle(e).outlineStyle !== 'none' &&
			(e.ariaLabel || e.innerText || e.labels[0].innerText) && missed.delete(e))`, nil))
	for range 200 { // the controls of the window itself are stops, too
		if b.press(kb.Tab); eval[bool](b, `missed.size === 0`) {
			break
		}
	}
	require.Empty(t, eval[[]string](b, `[...missed].map((e) => e.outerHTML)`), "reached, with an outline and a name")
}

func TestKeys(t *testing.T) {
	every := []string{access.Any}
	w := newWorld(t, []access.Key{
		{Name: "reader", Hash: access.Hash("read-me"), Users: []string{"ann", "new"}},
		{Name: "root", Hash: access.Hash("root"), Namespaces: every, Users: every, Agents: every, Workspaces: every, Write: true, Admin: true},
		{Name: "member", Hash: access.Hash("member"), Users: []string{"李雯"}, Workspaces: []string{"support-desk"}, Write: true},
	}, nil)
	b := newTab(t, look{})
	b.open(w.url)
	b.has("#key:focus")
	stored := `JSON.stringify(sessionStorage)`
	b.enter("#key", "wrong"+kb.Enter)
	b.shows("The server does not know this key.")
	require.NotContains(t, eval[string](b, stored), "wrong")
	b.enter("#key", "ключ"+kb.Enter) // no header can carry it
	b.has("#key:invalid")
	b.enter("#key", "read-me"+kb.Enter)
	b.shows("reader · read only")
	require.NotContains(t, eval[string](b, `document.cookie + JSON.stringify(localStorage) + document.documentElement.outerHTML`), "read-me")
	b.has("#side a")
	require.Equal(t, []string{"ann", "new"}, eval[[]string](b, `[...document.querySelectorAll('#side a')].map(a => a.innerText)`))
	const writes = "#add, #forget, #edit, #delete, #pin, .pin, #retry"
	b.click("#side a[href*=ann]")
	b.openItem(allergy)
	b.has("#panel .message")
	require.Zero(t, b.count(writes))
	b.click("[data-tab=sessions]")
	b.openItem("Books and trains")
	b.shows("were not learnt from, after 3 tries")
	require.Zero(t, b.count(writes))
	b.click("#side a[href*=new]")
	b.shows("No facts yet.")
	b.enter("#open-id", "李雯"+kb.Enter)
	b.shows("This is not open to you, or to this key.")
	b.run(chromedp.Reload())
	b.shows("reader · read only") // this tab keeps the key

	b.click("#out")
	b.has("#key:focus")
	require.NotContains(t, eval[string](b, stored+` + document.body.innerText`), "read-me")
	require.Zero(t, b.count("#side a"))
	b.enter("#key", "root"+kb.Enter)
	b.until(`document.querySelectorAll('#side a').length === 5`) // with learning and retention
	b.click("#side a[href*=ann]")
	b.openItem(allergy)
	b.has("#edit")
	require.Equal(t, 6, b.count(writes))

	b.click("#out")
	b.enter("#key", "member"+kb.Enter)
	b.until(`document.querySelectorAll('#side a').length === 2`)
	b.click("#side a[href*=support-desk]")
	b.has(".rows") // what is there
	require.NotContains(t, eval[string](b, `document.body.innerText`), "龙井", "and nothing of her own")
	require.Zero(t, b.count("#forget"), "a workspace is an admin's to erase")
	b.click("[data-tab=tools]")
	b.shows("66.7 %")
	b.click("#side a[href*=user]")
	b.has("#forget")
}

func TestSessionsNotesHealthAndTools(t *testing.T) {
	w, b := newWorld(t, nil, nil), newTab(t, look{})
	b.open(w.at("sessions", "user", "ann"))
	b.openItem("A trip to Lisbon")
	b.reads("#summary", "Ann plans a week in Lisbon")
	require.Equal(t, []int{1, 2, 3, 4}, eval[[]int](b, `[...document.querySelectorAll('[data-mark=left]')].map(e => +e.dataset.seq)`))
	b.has("[data-seq='4'] + #window + [data-seq='5']")

	b.click("[data-tab=notes]")
	b.shows("Which pillows should the hotel have?")
	b.reads(".note .item", allergy)
	b.has(".note .bars meter")
	b.click(".note summary")
	b.shows("What you remember of this user:")
	b.click(".note .item")
	b.reads("#panel .large", allergy)

	b.click("#side a[href*=support-desk]")
	b.click("[data-tab=tools]")
	b.shows("66.7 %")
	for _, plot := range []string{"successRate", "meanTime", "calls"} {
		require.Equal(t, 2, b.count("[data-plot="+plot+"] meter"))
	}
	b.shows("timeout × 3")
	require.Zero(t, b.count("[data-tab=sessions], [data-tab=notes]"), "a workspace has none")

	b.click("#side a[href='#/health']")
	b.reads("[data-fact=backlog] dd", "4")
	b.reads("[data-fact=parked] dd", "1")
	b.click("#retry")
	b.shows("Retried.")
	b.reads("[data-fact=parked] dd", "0")
}

func TestSectionsThatTheServerDoesNotOfferAreHidden(t *testing.T) {
	w := newWorld(t, nil, func(c *rest.Config) { c.Store, c.Notes = nil, nil })
	b := newTab(t, look{})
	b.open(w.url)
	b.shows("No people are listed.")
	b.enter("#open-id", "ann"+kb.Enter)
	b.shows("7 found")
	require.Equal(t, []string{"memories", "try", "blocks", "plans"}, eval[[]string](b, `[...document.querySelectorAll('[data-tab]')].map(e => e.dataset.tab)`))
	b.open(w.url + "/memory/#/memories/user/default/ann") // a handler may be anywhere
	b.openItem("Lives in Braga")
	b.shows("It was learnt in conversation lisbon, which this server does not show.")
}
