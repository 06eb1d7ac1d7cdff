// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The memories of a person or a workspace: search, filter, list and timeline.
import { all, post } from './api.js';
import { button, check, choice, day, h, load, put, rows } from './dom.js';
import { line, scaleOf, since, stateOf } from './hits.js';
import { t } from './i18n.js';
import { addFact, deleted, openMemory } from './memory.js';

const facts = ['fact', 'personal', 'insight', 'task', 'tool', 'procedure', 'skill', 'document']; // all but what was merely said
const states = ['active', 'superseded', 'expired', 'any'];
let chosen = {}; // what was chosen last, and where

const newest = (a, b) => new Date(since(b)) - new Date(since(a));

// memories shows them in root, and returns what opens one.
export function memories(root, context) {
  if (chosen.place !== context.place) chosen = { place: context.place, query: '', kind: '', said: false, state: 'active', view: 'list' };
  let found = [], degraded;
  const result = h('div');

  const refresh = () => load(result, async () => {
    const ended = chosen.state !== 'active', isAll = chosen.query || chosen.said; // a search asks as the agent would
    const kinds = chosen.kind ? [chosen.kind] : context.kinds ?? (isAll ? undefined : facts);
    const asked = { scope: context.scope, kinds, include_superseded: ended, include_expired: ended };
    if (chosen.query) {
      const answer = await post('search', { ...asked, query: chosen.query, top_k: 50 });
      found = answer.hits;
      degraded = answer.degraded;
    } else {
      found = await all((cursor) => post('list', { ...asked, limit: 1000, cursor }), 'memories');
      found.sort(newest);
      degraded = undefined;
    }
    return draw();
  });

  function draw() {
    const words = chosen.query ? '' : search.value.toLowerCase(), timeline = chosen.view === 'timeline', most = scaleOf(found);
    const list = found.filter((m) => !deleted.has(m.id) && m.text.toLowerCase().includes(words) &&
      (chosen.state === 'any' || chosen.state === stateOf(m)));
    if (timeline) list.sort(newest);
    const isNewDay = (i) => i === 0 || day(since(list[i])) !== day(since(list[i - 1]));
    const row = (m, i) => [timeline && isNewDay(i) && h('h2', day(since(m))), line(context, m, most)];
    const none = words ? 'press' : chosen.query ? 'noMatch' : said.box.checked || context.kinds ? 'nothing' : 'noFacts';
    return [degraded && h('p.wrong', t('degraded', { e: degraded })),
      list.length > 0 && h('p.muted', t(chosen.query ? 'best' : 'count', { n: list.length })),
      h('div', { class: chosen.view }, rows(list, row, t(none)))];
  }

  const search = h('input', { id: 'search', type: 'search', value: chosen.query, placeholder: t('searchHint'), 'aria-label': t('search') });
  search.oninput = () => {
    if (!chosen.query) put(result, draw());
    else if (!search.value) ask();
  };
  const ask = (event) => {
    event?.preventDefault();
    chosen.query = search.value.trim();
    refresh();
  };
  const choose = (name, options) => choice(t(name), options, chosen[name], (event) => {
    chosen[name] = event.target.value;
    refresh();
  });
  const said = check('said', t('alsoSaid'), chosen.said, { onchange: () => {
    chosen.said = said.box.checked;
    refresh();
  } });
  const named = (names) => names.map((name) => [name, t(name)]);
  put(root, h('form.filters', { role: 'search', onsubmit: ask }, search, h('button.main', t('search')),
    choose('kind', [['', t('anyKind')], ...named([...facts, 'episode'])]), choose('state', named(states)),
    choose('view', named(['list', 'timeline'])), !context.kinds && said.label,
    context.write && context.person.kind !== 'workspace' && button(t('addFact'), () => addFact(context, refresh), { id: 'add' })), result);
  refresh();
  return (id) => openMemory(context, id, found.find((m) => m.id === id && m.parts), refresh);
}
