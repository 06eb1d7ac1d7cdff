// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The memories of a person or a workspace: search, filter, list and timeline.
import { all, call } from './api.js';
import { bars, button, choice, clock, date, day, empty, h, isSet, load, some } from './dom.js';
import { counted, t } from './i18n.js';
import { isPending, openMemory } from './memory.js';

const most = 5000; // memories that are loaded; search finds the others
const kinds = ['fact', 'episode', 'personal', 'task', 'tool', 'procedure'];

const since = (m) => [m.valid, m.observed, m.created].find(isSet);
const stateOf = (m) => {
  if (m.superseded_by || isSet(m.invalidated) || isSet(m.ended)) return 'superseded';
  return isSet(m.expires) && new Date(m.expires) <= new Date() ? 'expired' : 'active';
};

// memories shows them in root, and returns what opens one.
export function memories(root, context) {
  const chosen = context.kept; // query, kind, state, contains, timeline
  chosen.state ??= 'active';
  let loaded = [], note;
  const result = h('div', { id: 'result', 'data-lists': true });

  const fetchAll = () => all((cursor) => call('POST', 'list',
    { scope: context.scope, include_superseded: true, include_expired: true, limit: 1000, cursor }), 'memories', most);
  async function find() {
    const ended = chosen.state !== 'active', kinds = chosen.kind ? [chosen.kind] : undefined;
    const answer = await call('POST', 'search',
      { scope: context.scope, query: chosen.query, top_k: 50, kinds, include_superseded: ended, include_expired: ended });
    const parts = bars(answer.hits);
    note = answer.degraded && t('degraded', { e: answer.degraded });
    return answer.hits.map((hit, i) => ({ ...hit, bars: parts[i] }));
  }
  const refresh = () => load(result, async () => {
    note = undefined;
    loaded = chosen.query ? await find() : await fetchAll();
    if (!chosen.query && loaded.length >= most) note = t('firstOnly', { n: most });
    if (!chosen.query) loaded.sort((a, b) => new Date(since(b)) - new Date(since(a)));
    return draw();
  });
  function draw() {
    const words = chosen.contains?.toLowerCase();
    const fit = loaded.filter((m) => !isPending(m.id) && (!chosen.kind || m.kind === chosen.kind) &&
      (chosen.state === 'any' || stateOf(m) === chosen.state) && (!words || m.text.toLowerCase().includes(words)));
    if (!fit.length) return [note && h('p.wrong', {}, note), empty(t(loaded.length || chosen.query ? 'noMatch' : 'noMemories'))];
    const count = chosen.query ? t('found', { n: fit.length }) : counted('count', fit.length);
    return [note && h('p.wrong', {}, note), h('p.muted', { id: 'count', role: 'status' }, count),
      ...(chosen.timeline ? days(fit) : some(fit, row))];
  }
  const redraw = () => result.replaceChildren(...draw().filter(Boolean));
  const row = (m) => h('a.item', { ...context.item(m.id, m.origin?.session), 'data-state': stateOf(m) },
    h('span.words', {}, h('span.text', {}, m.passage || m.text), h('span.meta', {}, h('span.badge', {}, t(m.id ? m.kind : 'notYet')),
      stateOf(m) !== 'active' && h('span.badge.ended', {}, t(stateOf(m))), h('time', {}, (chosen.timeline ? clock : date)(since(m))),
      m.bars && h('span', {}, `${t('score')} ${m.score.toFixed(2)}`))), m.bars);
  function days(list) {
    const groups = Map.groupBy([...list].sort((a, b) => new Date(since(b)) - new Date(since(a))), (m) => day(since(m)));
    return [...groups].slice(0, 400).map(([name, of]) =>
      h('section.day', {}, h('h2', {}, name, h('span.muted', {}, counted('count', of.length))), some(of, row)));
  }

  const search = h('input', { id: 'search', type: 'search', value: chosen.query ?? '',
    placeholder: t('searchHint'), 'aria-label': t('search'),
    oninput: (e) => { if (!e.target.value && chosen.query) { chosen.query = ''; refresh(); } } });
  const view = (timeline) => button(t(timeline ? 'timeline' : 'list'), () => { chosen.timeline = timeline; mark(); redraw(); });
  const views = [view(false), view(true)];
  const mark = () => views.forEach((b, i) => b.setAttribute('aria-pressed', String(Boolean(chosen.timeline) === Boolean(i))));
  mark();
  root.append(
    h('form.search', { role: 'search', onsubmit: (e) => { e.preventDefault(); chosen.query = search.value.trim(); refresh(); } },
      search, h('button.main', { type: 'submit' }, t('search'))),
    h('div.filters', {},
      choice(t('kind'), [['', t('anyKind')], ...kinds.map((k) => [k, t(k)])], chosen.kind ?? '', (v) => { chosen.kind = v; again(); }),
      choice(t('state'), ['active', 'superseded', 'expired', 'any'].map((s) => [s, t(s === 'any' ? 'anyState' : s)]), chosen.state,
        (v) => { chosen.state = v; again(); }),
      h('input', { id: 'contains', value: chosen.contains ?? '', placeholder: t('contains'), 'aria-label': t('contains'),
        oninput: (e) => { chosen.contains = e.target.value; redraw(); } }),
      h('span.group', { role: 'group' }, views)), result);
  const again = () => (chosen.query ? refresh() : redraw()); // the list is all here; a search is of what it asked for
  refresh();
  return (id) => openMemory(context, id, loaded.find((m) => m.id === id && m.parts), (anew) => (anew ? refresh() : redraw()));
}
