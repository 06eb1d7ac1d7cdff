// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Package pagetest drives the page of package rest in headless Chromium. It is a module of its
// own, so that no user of einomem gets a browser's client with it.
package pagetest

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/einomem/einomem/backends"
	"github.com/einomem/einomem/toolkit/access"
	"github.com/einomem/einomem/toolkit/rest"
)

func (w *world) at(section, kind, id string) string {
	return w.url + "/#/" + section + "/" + kind + "/default/" + url.PathEscape(id)
}

// openItem opens the item of a list that has a text.
func (b *tab) openItem(text string) {
	b.t.Helper()
	b.until(`[...document.querySelectorAll('.item')].some(a => a.textContent.includes(%q) && (a.focus(), a.click(), true))`, text)
	b.until(`document.querySelector('#panel .text.large')?.innerText.includes(%q)`, text)
}

// choose chooses of a list of choices.
func (b *tab) choose(label, value string) {
	b.t.Helper()
	b.until(`document.querySelector('select[aria-label=%s]')`, label)
	b.run(chromedp.Evaluate(fmt.Sprintf(`(s => { s.value = %q; s.dispatchEvent(new Event('change')) })(document.querySelector('select[aria-label=%s]'))`, value, label), nil))
}

const allergy = "Is allergic to feathers: needs foam pillows."

func TestSearchShowsByWhatAHitWasFound(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.shows("8 memories")
	b.enter("#search", "feathers and foam pillows"+kb.Enter)
	b.shows("best first")
	b.until(`document.querySelector('.item').innerText.includes(%q)`, allergy)
	for _, part := range []string{"lexical", "vector"} {
		require.Greater(t, eval[float64](b, `+document.querySelector('.item [data-part=`+part+`] rect.plus').getAttribute('width')`), 10.0, part)
	}
	b.click(".item")
	b.shows("Why it was found")
	b.until(`document.querySelector('#panel [data-part=lexical]')`)

	b.enter("#search", "I like trains"+kb.Enter)
	b.shows("said, not learnt from yet") // no memory: it leads to the session
	b.click(".item:not([data-id])")
	b.until(`document.querySelector('#panel .message:nth-child(3)')?.innerText.includes('Both. And I like trains.')`)
	b.click("[data-tab=memories]")

	b.enter("#search", kb.Backspace) // clears it, as all of it is selected
	b.shows("8 memories")
	b.enter("#contains", "GALLERIES")
	b.shows("1 memory")
	b.enter("#contains", "no such words")
	b.shows("Nothing matches.")
}

// A signal that took off is a bar to the left of zero.
func TestBarsOfSignalsThatTookOff(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	w.add(ann, backends.KindEpisode, noon, "", "Do you know a good hat shop in Lisbon?")
	b.open(w.at("memories", "user", "ann"))
	b.choose("Kind", "episode") // else a question is not among what answers
	b.enter("#search", "a hat shop in Lisbon"+kb.Enter)
	b.until(`document.querySelector('[data-part=asks] rect.minus')`)
	zero := `+document.querySelector('[data-part=asks] rect.zero').getAttribute('x')`
	end := `(r => +r.getAttribute('x') + +r.getAttribute('width'))(document.querySelector('[data-part=asks] rect.minus'))`
	require.InDelta(t, eval[float64](b, zero), eval[float64](b, end), 1)
	b.shows("is a question")
}

func TestFiltersAndTimeline(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.shows("8 memories")
	b.choose("Kind", "episode")
	b.shows("1 memory")
	b.choose("Kind", "")
	b.choose("State", "superseded")
	b.until(`document.querySelectorAll('.item').length === 1`)
	b.openItem("Lives in Porto")
	b.until(`document.querySelector('[data-chain=replacedBy] a')`)
	b.click("[data-chain=replacedBy] a")
	b.until(`document.querySelector('#panel [data-memory=%q]')`, w.moved)
	b.until(`document.querySelector('[data-chain=replaces] a')?.innerText.includes('Porto')`)
	b.until(`document.querySelector('#panel .message[data-mark=taught]')?.innerText.includes('I moved from Porto to Braga')`)
	require.Equal(t, 4, eval[int](b, `document.querySelectorAll('#panel .message').length`), "two before it, and one after it")
	b.choose("State", "active")
	b.click(".group button:last-child")
	b.until(`document.querySelectorAll('.day').length === 4`)
	require.Equal(t, "14 March 20264 memories", eval[string](b, `document.querySelector('.day h2').textContent`))
}

func TestAnEditIsUndoneAndAConflictIsShown(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.openItem(allergy)
	b.click("#edit")
	b.enter("#text", "Is allergic to wool.")
	b.click("#panel form .main")
	b.shows("Saved.")
	require.Contains(t, w.texts(ann), "Is allergic to wool.")
	b.until(`document.querySelector('#panel [data-event=updated]')`)
	b.click(".undo")
	b.shows("Undone.")
	require.Contains(t, w.texts(ann), allergy)
	require.NotContains(t, w.texts(ann), "Is allergic to wool.")
	b.until(`document.querySelectorAll('#panel [data-event=updated]').length === 2`)

	b.click("#edit")
	b.enter("#text", "Mine.")
	id := eval[string](b, `document.querySelector('#panel [data-memory]').dataset.memory`)
	manager, err := access.Manager(w.mem)
	require.NoError(t, err)
	theirs := "Theirs."
	_, err = manager.Update(w.ctx, &backends.UpdateRequest{Scope: ann, ID: id, Text: &theirs})
	require.NoError(t, err)
	b.click("#panel form .main")
	b.until(`document.querySelector('#theirs')?.innerText === 'Theirs.'`)
	require.Contains(t, w.texts(ann), "Theirs.")
	require.Equal(t, "Mine.", eval[string](b, `document.querySelector('#text').value`))
	b.click("#panel form .main") // knowing it
	b.shows("Saved.")
	require.Contains(t, w.texts(ann), "Mine.")
}

func TestADeletionIsUndoneOrCarriedOut(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	remove := func() {
		b.openItem(allergy)
		b.click("#delete")
		b.shows("Will be deleted in 8 seconds, or at once if you leave the page")
		b.shows("7 memories")
		require.Contains(t, w.texts(ann), allergy)
	}
	b.open(w.at("memories", "user", "ann"))
	remove()
	require.True(t, eval[bool](b, `document.activeElement.matches('.undo')`))
	b.press(kb.Enter)
	b.shows("8 memories")

	remove() // and wait
	b.until(`!document.querySelector('.toast')`)
	require.Eventually(t, func() bool { return len(w.texts(ann)) == 7 }, patience, tick)
	b.shows("7 memories")

	b.openItem("Works as a restorer")
	b.click("#delete")
	b.shows("6 memories")
	b.run(chromedp.Navigate("about:blank")) // long before the 8 seconds are over
	require.Eventually(t, func() bool { return len(w.texts(ann)) == 6 }, patience, tick)
}

func TestPin(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.openItem(allergy)
	b.click("#pin")
	b.shows("Pinned to “human”")
	b.click("[data-tab=blocks]")
	b.until(`document.querySelector('[data-block=human]')?.innerText.includes(%q)`, allergy)
	b.click(".undo")
	b.shows("Undone.")
	b.click("[data-tab=memories]")
	b.shows("8 memories")
	b.click("[data-tab=blocks]")
	b.until(`document.querySelector('[data-block=human]')?.innerText.includes('(empty)')`)
}

func TestForgettingAPersonIsTypedAndShowsTheReceipt(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.click("#forget")
	b.until(`document.querySelector('#dialog').open && document.querySelector('#dialog .danger').disabled`)
	b.enter("#typed", "an")
	b.press(kb.Enter)
	require.True(t, eval[bool](b, `document.querySelector('#dialog .danger').disabled`))
	b.enter("#typed", "ann"+kb.Enter)
	b.shows("Receipt: ann")
	require.Equal(t, "2", eval[string](b, `document.querySelector('[data-count=sessions]').innerText`))
	require.Empty(t, w.texts(ann))
	require.NotEmpty(t, w.texts(wen))
	b.press(kb.Enter)
	b.until(`!document.querySelector('#dialog').open`)
	b.shows("Nothing is remembered yet.")
	b.until(`![...document.querySelectorAll('#people a')].some(a => a.innerText === 'ann')`)
}

func TestMarkupInTextsDoesNotRun(t *testing.T) {
	w := newWorld(t, nil, nil)
	const evil = `<script>window.ran = 1</script><img src=x onerror="window.ran = 2"><b>bold</b> javascript:alert(1)`
	w.add(backends.Scope{UserID: evil}, backends.KindFact, noon, "", evil)
	w.says(backends.Scope{UserID: evil, SessionID: evil}, noon, evil, true, evil, evil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", evil))
	b.openItem(evil)
	b.enter("#search", "bold"+kb.Enter)
	b.shows("best first")
	b.click("#edit")
	b.enter("#text", evil+"!")
	b.click("#panel form .main")
	b.shows("Saved.")
	b.click("#delete")
	b.until(`document.querySelector('.toast:last-child')?.innerText.includes('<script>')`)
	b.click("[data-tab=sessions]")
	b.openItem(evil)
	b.until(`document.querySelector('#panel .message')?.innerText.includes('<img')`)
	b.click("#forget")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll('main img, main b, aside img, aside b, dialog b, #toasts b, #people b').length`))
	require.False(t, eval[bool](b, `'ran' in window`)) // and no violation: see newTab
}

func TestBothLanguages(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{language: "zh-CN"})
	b.open(w.at("memories", "user", "李雯"))
	b.shows("7 条记忆")
	require.Equal(t, "zh-CN", eval[string](b, `document.documentElement.lang`))
	english := `document.body.innerText.match(/\b(Search|Memories|Sessions|Active|Delete|Edit|History|State|Users)\b/)?.[0] ?? ''`
	b.openItem("杭州")
	b.until(`document.querySelector('#panel .message')`)
	require.Empty(t, eval[string](b, english))
	b.click("#language")
	b.shows("7 memories")
	require.Equal(t, "en-GB", eval[string](b, `document.documentElement.lang`))
	require.NotEmpty(t, eval[string](b, english))
	b.run(chromedp.Reload())
	b.shows("7 memories") // it is kept
}

// ratios returns the least contrast of what text the page shows with what is behind it.
const ratios = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (c) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); return canvas.getImageData(0, 0, 1, 1).data; };
  const light = (c) => [...c].slice(0, 3).map((v) => v / 255).map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgba(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
  let least = ['', 21];
  for (const e of document.querySelectorAll('body *')) {
    if (!e.checkVisibility() || e.closest(':disabled') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
    const a = light(rgba(getComputedStyle(e).color)), b = light(behind(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < least[1]) least = [e.outerHTML.slice(0, 120), ratio];
  }
  return { What: least[0], Ratio: least[1] };
})()`

func TestLightAndDarkHaveContrast(t *testing.T) {
	w := newWorld(t, nil, nil)
	for _, dark := range []bool{false, true} {
		b := newTab(t, look{dark: dark})
		back := `getComputedStyle(document.body).backgroundColor`
		check := func() {
			r := eval[struct {
				What  string
				Ratio float64
			}](b, ratios)
			require.GreaterOrEqual(t, r.Ratio, 4.5, r.What)
		}
		b.open(w.at("memories", "user", "ann"))
		b.openItem(allergy)
		b.until(`document.querySelector('#panel .message')`)
		check()
		b.open(w.at("sessions", "user", "ann"))
		b.openItem("Lisbon")
		b.until(`document.querySelector('#window')`)
		check()
		b.open(w.at("tools", "workspace", "support-desk"))
		b.until(`document.querySelector('[data-tool]')`)
		check()
		was := eval[string](b, back)
		require.Equal(t, map[bool]string{false: "rgb(246, 246, 243)", true: "rgb(19, 22, 24)"}[dark], was)
		b.click("#theme")
		b.until(back+` !== %q`, was)
		check()
		b.run(chromedp.Reload())
		b.until(back+` !== %q`, was) // it is kept
	}
}

func TestNothingIsWiderThanAPhone(t *testing.T) {
	w := newWorld(t, nil, nil)
	w.add(ann, backends.KindFact, noon, "", "Averylongwordwithoutanyspacethatdoesnotfitintoalineofaphoneatallwhateveronedoeswithit/and/a/path/that/is/long")
	for _, language := range []string{"en", "zh-CN"} {
		b := newTab(t, look{width: 360, height: 740, language: language})
		fits := func(where string) {
			t.Helper()
			require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 360, where)
			require.LessOrEqual(t, eval[int](b, `Math.max(0, ...['#panel', '#dialog', '#main'].map(s => document.querySelector(s)).filter(e => e.checkVisibility()).map(e => e.scrollWidth))`), 360, where)
		}
		b.open(w.url)
		b.until(`document.querySelector('#people a')`)
		fits("start")
		for _, s := range []string{"memories", "sessions", "notes", "blocks"} {
			b.open(w.at(s, "user", "ann"))
			b.until(`document.querySelector('.item, .card')`)
			fits(s)
		}
		b.open(w.at("tools", "workspace", "support-desk"))
		b.until(`document.querySelector('.plots')`)
		fits("tools")
		b.open(w.at("memories", "user", "ann"))
		b.enter("#search", "Averylongword pillows trains"+kb.Enter)
		b.until(`document.querySelector('.bars')`)
		fits("search")
		b.openItem(allergy)
		b.until(`document.querySelector('#panel .message')`)
		fits("memory")
		require.True(t, eval[bool](b, `document.querySelector('#main').inert`), "what the panel covers is out of reach")
		b.press(kb.Escape)
		b.until(`document.querySelector('#panel').hidden && !document.querySelector('#main').inert`)
		b.click("#menu")
		b.until(`document.querySelector('#side').checkVisibility()`)
		b.click("#people a[href*=support-desk]")
		b.until(`!document.querySelector('#side').checkVisibility()`)
		b.click("#forget")
		fits("dialog")
	}
}

func TestTheKeyboardReachesEverything(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("memories", "user", "ann"))
	b.until(`document.querySelectorAll('.item').length === 8`)
	active := func(selector string) { b.t.Helper(); b.until(`document.activeElement.matches(%q)`, selector) }
	item := func(n int) {
		b.t.Helper()
		b.until(`document.activeElement === document.querySelectorAll('.item')[%d]`, n)
	}

	slash := input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithText("/")
	b.run(slash)
	active("#search")
	b.run(slash)
	require.Equal(t, "/", eval[string](b, `document.activeElement.value`), "in a field it is a letter")
	b.press(kb.Backspace)
	for range 7 { // button, kind, state, contains, list, timeline, first item
		b.press(kb.Tab)
	}
	item(0)
	b.press(kb.ArrowDown, kb.ArrowDown, kb.ArrowUp)
	item(1)
	b.press(kb.End)
	item(7)
	b.press(kb.ArrowDown)
	item(7)
	b.press(kb.Home, kb.Enter)
	b.until(`document.querySelector('#panel .text.large')`)
	active("#panel")
	b.press(kb.Escape)
	b.until(`document.querySelector('#panel').hidden`)
	item(0)

	b.run(chromedp.Evaluate(`document.activeElement.blur()`, nil))
	want := eval[int](b, `[...document.querySelectorAll('a[href], button, input, select')].filter(e => e.checkVisibility() && !e.disabled).length`)
	seen := map[string]bool{}
	for range 2 * want {
		b.press(kb.Tab)
		if eval[bool](b, `document.activeElement !== document.body`) {
			where := eval[string](b, `[...document.querySelectorAll('*')].indexOf(document.activeElement) + ' ' + document.activeElement.outerHTML.slice(0, 80)`)
			require.NotEqual(t, "none", eval[string](b, `getComputedStyle(document.activeElement).outlineStyle`), where)
			require.NotEmpty(t, eval[string](b, `(e => e.ariaLabel || e.innerText || e.labels?.[0]?.innerText || '')(document.activeElement)`), where)
			seen[where] = true
		}
	}
	require.Len(t, seen, want)
	b.press(kb.Escape) // with nothing open it does nothing
	b.run(input.DispatchKeyEvent(input.KeyDown).WithKey("/").WithModifiers(input.ModifierCtrl))
	require.False(t, eval[bool](b, `document.activeElement.matches('#search')`))
}

func TestKeys(t *testing.T) {
	w := newWorld(t, []access.Key{
		{Name: "reader", Hash: access.Hash("read-me"), Users: []string{"ann", "new"}},
		{Name: "root", Hash: access.Hash("root"), Namespaces: []string{access.Any}, Users: []string{access.Any}, Agents: []string{access.Any}, Workspaces: []string{access.Any}, Write: true},
	}, nil)
	b := newTab(t, look{})
	b.open(w.url)
	b.until(`document.activeElement.id === 'key'`)
	for _, wrong := range []string{"wrong", "错的", "ключ"} {
		b.enter("#key", wrong+kb.Enter)
		b.shows("The server does not know this key.")
		require.Empty(t, eval[string](b, `sessionStorage.getItem('einomem.key') ?? ''`))
	}
	b.enter("#key", "read-me"+kb.Enter)
	b.shows("8 memories") // the only one that holds something is opened
	b.shows("reader · read only")
	require.NotContains(t, eval[string](b, `document.cookie + JSON.stringify(localStorage) + document.documentElement.outerHTML`), "read-me")
	require.Equal(t, []string{"ann"}, eval[[]string](b, `[...document.querySelectorAll('#people a')].map(a => a.innerText)`))
	writes := `[...document.querySelectorAll('#forget, #edit, #delete, #pin, .retry')].length`
	b.openItem(allergy)
	b.until(`document.querySelector('#panel .message')`)
	require.Zero(t, eval[int](b, writes))
	b.click("[data-tab=sessions]")
	b.openItem("Books and trains")
	b.shows("were not learnt from, after 3 tries")
	require.Zero(t, eval[int](b, writes))
	require.Equal(t, []string{"ann", "new"}, eval[[]string](b, `[...document.querySelectorAll('#known option')].map(o => o.value)`))
	b.enter("#open-id", "new"+kb.Enter)
	b.shows("Nothing is remembered yet.")
	b.enter("#open-id", "李雯"+kb.Enter)
	b.shows("This key does not open that.")
	b.run(chromedp.Reload())
	b.shows("reader · read only") // this tab keeps the key

	b.click("#out")
	b.until(`!document.querySelector('#signin').hidden && !document.querySelector('#work').checkVisibility()`)
	require.Empty(t, eval[string](b, `sessionStorage.getItem('einomem.key') ?? ''`))
	b.enter("#key", "root"+kb.Enter)
	b.until(`document.querySelectorAll('#people a').length === 4`) // with learning
	b.click("#people a[href*=ann]")
	b.openItem(allergy)
	b.until(`document.querySelectorAll('#forget, #edit, #delete, #pin').length === 4`)
}

func TestSessionsNotesHealthAndTools(t *testing.T) {
	w := newWorld(t, nil, nil)
	b := newTab(t, look{})
	b.open(w.at("sessions", "user", "ann"))
	b.openItem("A trip to Lisbon")
	b.until(`document.querySelector('#summary')?.innerText.includes('Ann plans a week in Lisbon')`)
	require.Equal(t, []int{1, 2, 3, 4}, eval[[]int](b, `[...document.querySelectorAll('[data-mark=left]')].map(e => +e.dataset.seq)`))
	require.Equal(t, []string{"4", "5"}, eval[[]string](b, `(d => [d.previousSibling.dataset.seq, d.nextSibling.dataset.seq])(document.querySelector('#window'))`))

	b.click("[data-tab=notes]")
	b.shows("Which pillows should the hotel have?")
	b.until(`document.querySelector('.note .item').innerText.includes(%q) && document.querySelector('.note .bars rect.plus')`, allergy)
	b.click(".note summary")
	b.shows("What you remember of this user:")
	b.click(".note .item")
	b.until(`document.querySelector('#panel .text.large')?.innerText === %q`, allergy)

	b.click("#people a[href*=support-desk]")
	b.click("[data-tab=tools]")
	b.shows("66.7 %")
	for _, plot := range []string{"successRate", "meanTime", "calls"} {
		require.Equal(t, 3, eval[int](b, `document.querySelectorAll('[data-plot=`+plot+`] rect.plus').length`))
	}
	b.shows("timeout × 3")
	require.False(t, eval[bool](b, `Boolean(document.querySelector('[data-tab=sessions], [data-tab=notes]'))`), "a workspace has none")

	b.click("#people a[href='#/health']")
	b.until(`document.querySelector('[data-number=backlog] dd')?.innerText === '4'`)
	b.until(`document.querySelector('[data-number=parked] dd')?.innerText === '1'`)
	b.click(".retry")
	b.shows("Retried.")
	b.until(`document.querySelector('[data-number=parked] dd')?.innerText === '0'`)
}

func TestSectionsThatTheServerDoesNotOfferAreHidden(t *testing.T) {
	w := newWorld(t, nil, func(c *rest.Config) { c.Store, c.Notes = nil, nil })
	b := newTab(t, look{})
	b.open(w.url)
	b.shows("This server does not list people.")
	b.enter("#open-id", "ann"+kb.Enter)
	b.shows("8 memories")
	require.Equal(t, []string{"memories", "blocks"}, eval[[]string](b, `[...document.querySelectorAll('[data-tab]')].map(e => e.dataset.tab)`))
	b.open(w.url + "/memory/#/memories/user/default/ann") // a handler may be anywhere
	b.openItem("Lives in Braga")
	b.shows("It was learnt in session lisbon, which this server does not show.")
}
