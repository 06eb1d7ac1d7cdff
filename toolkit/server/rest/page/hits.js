// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// A memory or a hit as several sections draw it: its row, its state, and what it was found by.
import { badge, bar, date, h, isSet } from './dom.js';
import { t } from './i18n.js';

// since is when what a memory says began.
export const since = (m) => [m.valid, m.observed, m.created].find(isSet);

export function stateOf(m) {
  if (m.superseded_by || isSet(m.invalidated)) return 'superseded';
  return isSet(m.expires) && new Date(m.expires) <= new Date() ? 'expired' : 'active';
}

// partsOf are the parts of a hit's score as [name, text, value].
function partsOf({ parts: { lexical, vector, rerank, signals = {} } }) {
  return [['lexical', t('lexical'), lexical], ['vector', t('vector'), vector], rerank && ['rerank', t('rerank'), rerank],
    ...Object.entries(signals).map(([name, value]) => [name, t('s_' + name, {}, name), value])].filter(Boolean);
}

// scaleOf is the length of the longest bar of some hits.
export const scaleOf = (hits) => Math.max(0.01, ...hits.filter((m) => m.parts).flatMap(partsOf).map(([, , value]) => Math.abs(value)));

// bars shows what a hit was found by.
export const bars = (hit, most) => h('dl.bars', partsOf(hit).map(([name, text, value]) => bar(name, text, value, most, value.toFixed(2))));

// line is a row of a list of memories or hits. Without an id it was said in a session, and is no memory yet.
export const line = (context, m, most) => h('a.item',
  m.id ? context.item('memories', m.id) : context.item('sessions', m.origin?.session), { 'data-state': stateOf(m) },
  h('div', h('p.text', m.passage || m.text), h('p.meta', badge(t(m.id ? m.kind : 'notYet')), m.standing && badge(t('standing')),
    stateOf(m) !== 'active' && badge(t(stateOf(m)), 'late'), h('time', date(since(m))), m.parts && `${t('score')} ${m.score.toFixed(2)}`)),
  m.parts && bars(m, most));
