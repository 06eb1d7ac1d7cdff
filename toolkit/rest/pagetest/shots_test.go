// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

package pagetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestScreenshots writes pictures of the page to the folder that EINOMEM_PAGE_SHOTS names.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv("EINOMEM_PAGE_SHOTS")
	if dir == "" {
		t.Skip("EINOMEM_PAGE_SHOTS names no folder for pictures")
	}
	w := newWorld(t, nil, nil)
	for name, l := range map[string]look{
		"light": {}, "dark": {language: "zh-CN", dark: true}, "phone": {width: 360, height: 740}, "phone-dark": {width: 360, height: 740, dark: true, language: "zh-CN"},
	} {
		person, query := "ann", "Where in Braga or Lisbon does Ann live now?"
		if l.language != "" {
			person, query = "李雯", "她喜欢喝什么茶，有什么过敏？"
		}
		b := newTab(t, l)
		shot := func(what string) { b.shot(filepath.Join(dir, name+"-"+what+".png")) }
		openMoved := func() {
			b.until(`[...document.querySelectorAll('.item')].some(a => /Braga|杭州，/.test(a.textContent) && (a.click(), true))`)
			b.until(`document.querySelector('#panel .message')`)
		}
		b.open(w.url + "/#/memories/user/default/" + person)
		b.until(`document.querySelector('.item')`)
		shot("list")
		b.click(".group button:last-child")
		shot("timeline")
		openMoved()
		shot("timeline-memory")
		b.press(kb.Escape)
		b.click(".group button:first-child")
		b.enter("#search", query+kb.Enter)
		b.until(`document.querySelector('.bars')`)
		shot("search")
		openMoved()
		shot("memory")
		for _, s := range []string{"sessions", "notes", "blocks"} {
			b.open(w.url + "/#/" + s + "/user/default/" + person)
			b.until(`document.querySelector('.item, .card')`)
			shot(s)
			if s == "sessions" {
				b.click(".item:last-child")
				b.until(`document.querySelector('#panel .message')`)
				shot("session")
			}
		}
		b.open(w.url + "/#/tools/workspace/default/support-desk")
		b.until(`document.querySelector('figure')`)
		shot("tools")
		b.open(w.url + "/#/health")
		b.until(`document.querySelector('.numbers')`)
		shot("health")
		b.open(w.url)
		shot("start")
	}
}
