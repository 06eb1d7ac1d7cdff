// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Whom the server remembers: found by a part of their names, a page at a time, and how many there are.
import { get } from './api.js';
import { button, byId, choice, h, load, number, put, wrong } from './dom.js';
import { t } from './i18n.js';
import { usage } from './usage.js';

const kinds = ['user', 'agent', 'workspace'];
const shown = 20; // of each kind, until more is asked for

// opensAll reports whether a key opens everybody of its namespaces.
const opensAll = (me) => kinds.every((kind) => me.opens[`${kind}s`].includes('*'));
const opensServer = (me) => me.admin && opensAll(me) && me.opens.namespaces.includes('*');

// find reads a page of a kind, and puts first whom the key names: they may have nothing yet.
async function find(me, query) {
  const all = me.opens[`${query.kind}s`], part = query.part.toLowerCase();
  const named = query.cursor ? [] : all.filter((id) => id !== '*' && id.toLowerCase().includes(part));
  const found = me.features.includes('sessions') && all.length > 0 ? await get('people', { ...query, limit: shown }) : { partitions: [] };
  return { ids: [...new Set([...named, ...found.partitions.map((p) => p.id)])], next: found.next };
}

// onlyPerson is the only person of a key, if it has a single one.
export async function onlyPerson(me, namespace) {
  const found = await Promise.all(kinds.map(async (kind) => ({ kind, namespace, ...(await find(me, { namespace, kind, part: '' })) })));
  const all = found.filter((f) => f.ids.length > 0);
  return all.length === 1 && all[0].ids.length === 1 && !all[0].next ? { kind: all[0].kind, namespace, id: all[0].ids[0] } : undefined;
}

// list shows people in root, those with a part in their names. hrefOf is the place of one.
export function list(root, { me, namespace, hrefOf, current }, part = '') {
  const group = ({ kind, ids, next }) => {
    const one = (id) => h('li', h('a', { href: hrefOf({ kind, namespace, id }), dir: 'auto' }, id));
    const rows = h('ol.rows'), problem = h('div');
    let left = ids, cursor = next;
    const grow = () => {
      rows.append(...left.slice(0, shown).map(one));
      left = left.slice(shown);
      more.hidden = !left.length && !cursor;
      current();
    };
    const more = button(t('more'), async () => {
      const from = rows.children.length;
      put(problem);
      try {
        if (!left.length) ({ ids: left, next: cursor } = await find(me, { namespace, kind, part, cursor }));
        grow();
        rows.children[from]?.querySelector('a').focus();
      } catch (error) {
        put(problem, wrong(error));
      }
    });
    grow();
    return [h('h2', t(`${kind}s`)), rows, more, problem];
  };
  return load(root, async () => {
    const found = await Promise.all(kinds.map(async (kind) => ({ kind, ...(await find(me, { namespace, kind, part })) })));
    const some = found.filter((f) => f.ids.length > 0);
    return some.length ? some.map(group) : h('p.muted', t(part ? 'nobodyFound' : 'noPeople'));
  }, current);
}

// side draws the list with its search, the server's page, and the form that opens anyone by id.
export function side(root, context) {
  const { me, hrefOf, placeOf, into } = context, people = h('div', { id: 'people' });
  let waiting;
  const oninput = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => list(people, context, field.value.trim()), 120);
  };
  const label = { placeholder: t('findPeople'), 'aria-label': t('findPeople') };
  const field = h('input', { id: 'find', type: 'search', oninput, ...label, autocomplete: 'off' });
  const kind = choice(t('kind'), kinds.map((k) => [k, t(k)]), 'user');
  const id = h('input', { id: 'open-id', 'aria-label': t('id'), placeholder: t('id'), required: true, autocomplete: 'off' });
  const space = h('input', { id: 'open-namespace', 'aria-label': t('namespace'), value: context.namespace, required: true });
  space.onchange = () => into(space.value);
  const onsubmit = (event) => {
    event.preventDefault();
    location.hash = hrefOf({ kind: kind.value, namespace: context.namespace, id: id.value.trim() });
  };
  put(root, me.features.includes('sessions') && field, people,
    opensServer(me) && [h('h2', t('server')), h('ol.rows', ['health', 'retention'].map((s) =>
      h('li', h('a', { href: placeOf(s) }, t(s)))))],
    h('form', { onsubmit }, h('h2', t('openById')), kind, id,
      h('details', { open: context.namespace !== 'default' }, h('summary', t('namespace')), space), h('button', t('open'))));
  list(people, context);
}

// overview shows how many people and memories there are, what waits to be learnt from and what failed, and what to do next.
// What today costs comes by itself: it may fail alone.
export function overview(root, { me, namespace, placeOf }) {
  const server = opensServer(me), counted = h('div'), cost = h('div');
  put(root, h('h1', t('overview')), counted, cost);
  if (server && me.features.includes('usage')) load(cost, usage);
  load(counted, async () => {
    const [all, learning] = await Promise.all([
      me.features.includes('sessions') && opensAll(me) && get('people', { namespace, count: true, limit: 1 }), server && get('health')]);
    const counts = all && (all.counts ?? {}), failed = learning && learning.failing + learning.parked;
    const waits = learning?.over_budget > 0 && t('overBudget', { n: number(learning.over_budget) });
    const card = (name, value, note) => h(note ? 'div.card.count.late' : 'div.card.count', { 'data-count': name },
      h('strong', number(value)), h('span', t(name)), note);
    return [h('div.counts',
      counts && [kinds.map((kind) => card(`${kind}s`, counts[kind] ?? 0)), all.facts !== -1 && card('kept', all.facts ?? 0)],
      learning && [card('waiting', learning.messages, waits),
        card('failures', failed, failed > 0 && h('a', { href: placeOf('health') }, t('look')))]),
    counts && !Object.keys(counts).length ? next() : h('p.muted', t('choose'))];
  });
}

// next says what to do while nothing is remembered.
const next = () => h('section.card', { id: 'next' }, h('h2', t('nextStep')),
  h('ol', ['nextTalk', 'nextAdd'].map((step) => h('li', t(step)))),
  button(t('openById'), () => byId('open-id').focus(), { class: 'main' }));
