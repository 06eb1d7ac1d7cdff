// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// What there is beside memories: sessions, what replies were shown, core blocks, tools, and how learning goes.
import { all, get, post } from './api.js';
import { badge, bar, button, date, facts, h, load, moment, number, put, rows, said, spoken, toast } from './dom.js';
import { line, scaleOf } from './hits.js';
import { t } from './i18n.js';

// scopeOf is the scope that names a person or a workspace.
export const scopeOf = ({ kind, namespace, id }) => ({ namespace, [kind === 'workspace' ? kind : `${kind}_id`]: id });

// readSession reads a session and its last messages: 10,000 are the most that the server gives.
export const readSession = (person, id) => get('messages', { ...scopeOf(person), session_id: id, limit: 10000, last: true });

export function messageOf(e, mark) {
  return h('article.message', { 'data-role': e.role, 'data-mark': mark, 'data-seq': e.seq },
    h('p.meta', h('strong', e.name || t(e.role || 'tool')), h('time', moment(e.time)), mark && badge(t(mark))),
    e.erased ? h('p.text', t('erased')) : e.role === 'tool' ? spoken(e.content) : h('p.text', e.content),
    e.tool_calls?.map((c) => h('div.called', h('p.meta', t('called', { n: c.function.name })), spoken(c.function.arguments))));
}

// sessions shows the conversations of a person, and returns what opens one.
export function sessions(root, context) {
  const row = (s) => h('a.item', context.item('sessions', s.id), h('div', h('p.text', titleOf(s)),
    h('p.meta', h('time', moment(s.updated)), `${t('messages')}: ${number(s.messages)}`,
      s.failures && badge(t('failed', { n: s.failures.length }), 'late'))));
  load(root, async () => {
    const list = await all((cursor) => get('sessions', { ...context.scope, limit: 1000, cursor }), 'sessions');
    list.sort((a, b) => new Date(b.updated) - new Date(a.updated));
    return rows(list, row);
  });
  return (id) => openSession(context, id);
}

const titleOf = (s) => s.title || t('untitled', { id: s.id });

function openSession(context, id) {
  const box = h('div');
  context.open(t('session'), box);
  load(box, async () => {
    const { session: s, messages } = await readSession(context.person, id);
    const isLast = (e) => e.seq === s.messages;
    const failures = (s.failures ?? []).map((f) =>
      h('div.wrong', h('p', t('failure', { a: f.from, b: f.upto, n: f.attempts })), said(f.reason)));
    return [h('p.text.large', titleOf(s)), failures,
      context.write && s.failures && retry(context, { scope: { ...context.scope, session_id: id } }),
      s.summary && h('section.card', { id: 'summary' }, h('h3', t('summary')), h('p.muted', t('summaryWhy')), h('p.text', s.summary)),
      messages.map((e) => [messageOf(e, e.seq <= s.summary_upto && 'left'),
        e.seq === s.summary_upto && !isLast(e) && h('p.divider', { id: 'window' }, t('windowFrom')),
        e.seq === s.learnt && !isLast(e) && h('p.divider', t('learnt'))])];
  });
}

// retry learns again from what failed, in a session or in all.
const retry = (context, body) => button(t('retry'), async () => {
  await post('retry', body);
  toast(t('retried'));
  context.show();
}, { class: 'main', id: 'retry' });

// notes shows what the last replies were shown of memory, and why.
export function notes(root, context) {
  const one = (n) => h('article.card.note', h('h2.text', n.query), h('p.meta', h('time', moment(n.time)),
    n.session && context.has('sessions') && h('a', { href: context.item('sessions', n.session).href }, t('untitled', { id: n.session }))),
  rows(n.hits, (hit) => line(context, hit, scaleOf(n.hits))),
  n.text ? h('details', h('summary', t('note')), h('p.text', n.text)) : h('p.muted', t('noteEmpty')));
  load(root, async () => {
    const list = (await get('notes', context.scope)).notes;
    return [h('p.muted', t('notesWhy')), rows(list, one)];
  });
}

// blocksOf reads the core blocks that are whose the page shows.
export const blocksOf = async ({ person, scope }) => (await get('blocks', scope)).blocks.filter((b) => b.owner === person.kind);

// blocks shows the texts that are in every prompt.
export function blocks(root, context) {
  const one = (b) => h('article.card', { 'data-block': b.name }, h('h2', b.name, ' ', b.read_only && badge(t('readOnly'))),
    h('p.muted', b.description), h('p.text', b.text || t('blockEmpty')), h('p.meta', t('runes', { n: [...b.text].length, of: b.limit })));
  load(root, async () => rows(await blocksOf(context), one));
}

// tools plots how tools behave, a bar a tool in each of three plots, and says what is advised.
export function tools(root, context) {
  load(root, async () => {
    const list = (await get('tools', context.scope)).tools;
    const plot = (title, field, text, most = Math.max(0.01, ...list.map((x) => x.statistics[field]))) =>
      h('figure.card', { 'data-plot': title }, h('figcaption', t(title)), h('dl', list.map(({ name, statistics }) =>
        bar(name, name, statistics[field], most, text(statistics[field])))));
    const advice = ({ name, guideline, statistics: { errors } }) => h('article.card', { 'data-tool': name }, h('h2', name),
      h('p.text', guideline), errors && [h('h3', t('errors')), h('ul', errors.map((e) =>
        h('li', `${e.class} × ${e.calls}: `, h('span.muted', e.example))))]);
    return [list.length > 0 && h('div.plots', plot('successRate', 'success_rate', (v) => `${number(100 * v, 1)} %`, 1),
      plot('meanTime', 'avg_time_cost', (v) => `${number(v)} s`), plot('calls', 'total_calls', number)), rows(list, advice)];
  });
}

// health shows how learning goes in all sessions of the server.
export function health(top, context) {
  const root = h('div');
  put(top, h('h1', t('health')), root);
  load(root, async () => {
    const s = await get('health');
    const isCalm = !s.messages && !s.failing && !s.parked;
    return [h('p.muted', t(isCalm ? 'healthy' : 'healthWhy')),
      h('div.card', facts([['backlog', number(s.messages)], ['inSessions', number(s.sessions)], ['oldest', date(s.oldest)],
        ['forTomorrow', s.over_budget > 0 && number(s.over_budget)],
        ['queued', number(s.queued)], ['failing', number(s.failing)], ['failingSince', date(s.since)], ['parked', number(s.parked)],
        ['lastError', said(s.last_error)]])),
      context.write && (s.failing > 0 || s.parked > 0) && retry(context, {})];
  });
}
