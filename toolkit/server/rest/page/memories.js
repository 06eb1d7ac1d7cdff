// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The memories of a person or a workspace: search, filter, list and timeline, a page at a time.
import { get, post } from './api.js';
import { button, check, choice, day, h, load, number, put, rows, wrong } from './dom.js';
import { line, scaleOf, since, stateOf } from './hits.js';
import { t } from './i18n.js';
import { addFact, openMemory } from './memory.js';
import { deleted, selection } from './selection.js';

const facts = ['fact', 'personal', 'insight', 'task', 'tool', 'procedure', 'skill', 'document']; // all but what was merely said
const states = ['active', 'superseded', 'expired', 'any'];
const few = 100; // memories of a page; where most are left out, pages are longer
const names = 200; // of people and things, to choose from
let chosen = {}; // what was chosen last, and where

const start = { query: '', part: '', kind: '', about: '', said: false, state: 'active', view: 'list' };

// asked is what the choices ask the server for.
function asked(context) {
  const ended = chosen.state !== 'active', isAll = chosen.query || chosen.said; // a search asks as the agent would
  const kinds = chosen.kind ? [chosen.kind] : context.kinds ?? (isAll ? undefined : facts);
  const filter = chosen.about ? { entity: chosen.about } : undefined;
  return { scope: context.scope, kinds, filter, include_superseded: ended, include_expired: ended };
}

const isWanted = (m) => !deleted.has(m.id) && (chosen.state === 'any' || chosen.state === stateOf(m));

// pageOf reads the memories of the list from a cursor on, until some match.
async function pageOf(context, cursor) {
  const items = [], limit = chosen.state === 'active' ? few : 1000;
  let next = cursor;
  do {
    const answer = await post('list', { ...asked(context), part: chosen.part, newest: true, limit, cursor: next });
    items.push(...answer.memories.filter(isWanted));
    next = answer.next;
  } while (next && items.length < few / 2);
  return { items, next };
}

// find reads what the choices ask for: what a search gives, best first, or the first page of the list.
async function find(context) {
  if (!chosen.query) return pageOf(context);
  const { hits, degraded } = await post('search', { ...asked(context), query: chosen.query, top_k: 50 });
  return { items: hits.filter(isWanted), degraded };
}

// memories shows them in root, and returns what opens one.
export function memories(root, context) {
  if (chosen.place !== context.place) chosen = { ...start, place: context.place };
  let found = { items: [] };
  const result = h('div'), selected = selection(context, () => put(result, draw()), () => refresh());

  const refresh = () => load(result, async () => {
    found = await find(context);
    return draw();
  });

  function draw() {
    const items = found.items.filter(isWanted), { degraded, next } = found;
    const isTimeline = chosen.view === 'timeline', most = scaleOf(items);
    const list = isTimeline && chosen.query ? items.toSorted((a, b) => new Date(since(b)) - new Date(since(a))) : items;
    const isNewDay = (i) => i === 0 || day(since(list[i])) !== day(since(list[i - 1]));
    const row = (m, i) => [isTimeline && isNewDay(i) && h('h2', day(since(m))),
      h('div.choosable', selected.box(m), line(context, m, most))];
    const read = next && (async () => {
      const page = await pageOf(context, found.next);
      found.items.push(...page.items);
      found.next = page.next;
      return page;
    });
    const isNarrow = chosen.query || chosen.about || chosen.kind || chosen.state !== 'active';
    const none = chosen.part ? 'press' : isNarrow ? 'noMatch' : chosen.said || context.kinds ? 'nothing' : 'noFacts';
    const count = next ? t('newest') : t(chosen.query ? 'best' : 'count', { n: number(items.length) });
    return [degraded && wrong({ message: t('degraded'), details: degraded }),
      items.length > 0 && h('div.title', h('p.muted', count), selected.start(list)),
      h('div', { class: chosen.view }, rows(list, row, t(none), read)), selected.bar];
  }

  const label = { placeholder: t('searchHint'), 'aria-label': t('search') };
  const search = h('input', { id: 'search', type: 'search', value: chosen.query || chosen.part, ...label });
  let waiting;
  search.oninput = () => {
    clearTimeout(waiting);
    if (chosen.query && search.value) return; // a new question is asked by Enter
    waiting = setTimeout(() => {
      Object.assign(chosen, { query: '', part: search.value.trim() });
      refresh();
    }, 150);
  };
  const ask = (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    Object.assign(chosen, { query: search.value.trim(), part: '' });
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
  const named = (list) => list.map((name) => [name, t(name)]), about = h('span', { hidden: true });
  put(root, h('form.filters', { role: 'search', onsubmit: ask }, search, h('button.main', t('search')),
    choose('kind', [['', t('anyKind')], ...named([...facts, 'episode'])]), about, choose('state', named(states)),
    choose('view', named(['list', 'timeline'])), !context.kinds && said.label,
    context.write && context.person.kind !== 'workspace' && button(t('addFact'), () => addFact(context, refresh), { id: 'add' })), result);
  refresh();
  if (context.has('entities')) namesOf(context).then((list) => list.length > 0 && about.replaceWith(choose('about', list)));
  return (id) => openMemory(context, id, found.items.find((m) => m.id === id && m.parts), refresh);
}

// namesOf are the people and things that the memories are about, as choices.
async function namesOf({ scope }) {
  const { entities } = await get('entities', scope).catch(() => ({ entities: [] })); // the list is of use without it
  return entities.length ? [['', t('anyName')], ...entities.slice(0, names).map((e) => [e.name, `${e.name} (${number(e.memories)})`])] : [];
}
