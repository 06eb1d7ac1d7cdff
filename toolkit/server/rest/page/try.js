// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// "Try a message": the note that a person's message would get now, why each line is in it, and what was left out.
import { post } from './api.js';
import { badge, h, load, number, put, rows } from './dom.js';
import { line, scaleOf } from './hits.js';
import { t } from './i18n.js';

let last = {}; // the message that was tried last, and where

// tryMessage shows the box, and the answer to what is entered.
export function tryMessage(root, context) {
  if (last.place !== context.place) last = { place: context.place, message: '' };
  const label = { 'aria-label': t('message'), placeholder: t('tryHint') };
  const field = h('textarea', { id: 'message', rows: 3, required: true, ...label }, last.message);
  const result = h('div', { id: 'tried', 'aria-live': 'polite' });
  const onsubmit = (event) => {
    event?.preventDefault();
    last.message = field.value.trim();
    put(result);
    load(result, async () => draw(context, await post('preview', { scope: context.scope, query: last.message })));
  };
  field.onkeydown = (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && field.value.trim()) onsubmit(event);
  };
  put(root, h('form', { onsubmit }, h('p.muted', t('tryWhy')), field,
    h('div.actions', h('button.main', { id: 'try' }, t('tryNow')))), result);
  if (last.message) onsubmit();
}

// shownAs says why a line of the note is there.
const shownAs = (m) => (m.standing ? t('becauseStanding') : m.score > 0 ? t('becauseAnswers') : t('becauseAll'));

// leftAs says why the search or the note left a memory out, as the server knows it.
function leftAs(m, lines) {
  const { needs = 0, place = 0 } = m, line = lines.findIndex((other) => other.id === m.of) + 1;
  if (m.reason === 'same') return t(line ? 'sameAs' : 'same', { n: line });
  if (m.reason === 'ended' && line) return t('supersededAs', { n: line });
  if (m.reason === 'rank' && !needs) return t('left_behind');
  const behind = Math.max(place, needs + 1);
  return t(`left_${m.reason}`, { s: number(m.score), needs: number(needs), by: number(needs - m.score), place: number(behind) });
}

function draw(context, p) {
  const most = scaleOf([...p.hits, ...p.left]);
  const one = (say, look) => (m) => h('div', h('p.why', badge(say(m), look)),
    line(context, m.score > 0 ? m : { ...m, parts: undefined }, most));
  return [h('section', { id: 'shown' }, h('h2', t('wouldRead')),
    h('p.muted', p.text ? t('tokens', { n: p.tokens, of: p.room }) : t('noteEmpty')),
    p.text && h('pre.text.card', { id: 'note-text' }, p.text),
    p.hits.length > 0 && [h('h3', t('whyEach')), rows(p.hits, one(shownAs))]),
  p.left.length > 0 && h('section', { id: 'left' }, h('h2', t('leftOut')), rows(p.left, one((m) => leftAs(m, p.hits), 'late')))];
}
