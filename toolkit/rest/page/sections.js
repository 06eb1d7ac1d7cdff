// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// What there is beside memories: sessions, what replies were shown, core blocks, tools, and how learning goes.
import { all, call, get } from './api.js';
import { bars, button, date, empty, h, load, moment, number, some, svg, toast } from './dom.js';
import { counted, t } from './i18n.js';

export function messageOf(e, mark) {
  return h('article.message', { 'data-role': e.role, 'data-mark': mark || undefined, 'data-seq': e.seq },
    h('p.meta', {}, h('strong', {}, e.name || t(e.role || 'tool')), h('time', {}, moment(e.time)), mark && h('span.badge', {}, t(mark))),
    h('p.text', {}, e.erased ? t('erased') : e.content),
    (e.tool_calls ?? []).map((c) => h('code', {}, `${c.function.name} ${c.function.arguments}`)));
}

// sessions shows the conversations of a person, and returns what opens one.
export function sessions(root, context) {
  const row = (s) => h('a.item', context.item(s.id), h('span.words', {},
    h('span.text', {}, s.title || t('untitled', { id: s.id })), h('span.meta', {}, h('time', {}, moment(s.updated)),
      h('span', {}, counted('messages', s.messages)),
      s.failures?.length > 0 && h('span.badge.ended', {}, t('failed', { n: s.failures.length })))));
  load(root, async () => {
    const list = await all((cursor) => get('sessions', { ...context.scope, limit: 1000, cursor }), 'sessions', 5000);
    list.sort((a, b) => new Date(b.updated) - new Date(a.updated));
    return list.length ? some(list, row) : empty(t('noSessions'));
  });
  return (id) => openSession(context, id);
}

async function openSession(context, id) {
  const box = h('div', { 'data-session': id }), scope = { ...context.scope, session_id: id };
  context.open(t('session'), box);
  await load(box, async () => {
    const page = (upto) => get('messages', { ...scope, upto, limit: 200, last: true });
    const { session: s, messages } = await page();
    const log = h('div', {});
    let read = messages;
    const draw = () => log.replaceChildren(...read.flatMap((e, i) => [
      messageOf(e, e.seq <= (s.summary_upto ?? 0) && 'left'),
      e.seq === s.summary_upto && i < read.length - 1 && h('p.divider', { id: 'window' }, t('windowFrom')),
      e.seq === s.learnt && s.learnt < s.messages && h('p.divider', {}, t('learnt'))].filter(Boolean)));
    const earlier = button(t('earlier'), async () => {
      read = [...(await page(read[0].seq - 1)).messages, ...read];
      earlier.hidden = read[0].seq <= 1;
      draw();
    });
    earlier.hidden = !read.length || read[0].seq <= 1;
    draw();
    const failure = (f) => h('p.wrong', {}, t('failure', { a: f.from, b: f.upto, n: f.attempts, e: f.reason }));
    return [h('p.text.large', {}, s.title || t('untitled', { id })), ...(s.failures ?? []).map(failure),
      context.write && s.failures?.length > 0 && retry(context, { scope }),
      s.summary && h('section.card', { id: 'summary' },
        h('h3', {}, t('summary')), h('p.muted', {}, t('summaryWhy')), h('p.text', {}, s.summary)), earlier, log];
  });
}

function retry(context, body) {
  const again = button(t(body.scope ? 'retry' : 'retryAll'), async () => {
    again.disabled = true;
    try {
      await call('POST', 'retry', body);
      toast(t('retried'));
      context.show();
    } catch (error) {
      toast(error.message);
      again.disabled = false;
    }
  }, { class: 'main retry' });
  return again;
}

// notes shows what the last replies were shown of memory, and why.
export function notes(root, context) {
  load(root, async () => {
    const list = (await get('notes', context.scope)).notes;
    const row = (hit, parts) => h('a.item', context.item(hit.id, hit.origin?.session, 'memories'),
      h('span.words', {}, h('span.text', {}, hit.passage || hit.text), h('span.meta', {},
        h('span.badge', {}, t(hit.id ? hit.kind : 'notYet')), h('span', {}, `${t('score')} ${hit.score.toFixed(2)}`))), parts);
    const session = (n) => context.features.includes('sessions') && n.session &&
      h('a', { href: context.link(n.session, 'sessions') }, t('untitled', { id: n.session }));
    const one = (n, parts = bars(n.hits)) => h('article.card.note', {}, h('h2.text', {}, n.query),
      h('p.meta', {}, h('time', {}, moment(n.time)), session(n)), some(n.hits, (hit, i) => row(hit, parts[i])),
      n.text ? h('details', {}, h('summary', {}, t('note')), h('p.text.note', {}, n.text)) : h('p.muted', {}, t('noteEmpty')));
    return list.length ? [h('p.muted.lead', {}, t('notesWhy')), ...list.map((n) => one(n))] : empty(t('noNotes'));
  });
}

// blocks shows the texts that are in every prompt.
export function blocks(root, context) {
  load(root, async () => {
    const list = (await get('blocks', context.scope)).blocks;
    const one = (b) => h('article.card', { 'data-block': b.name },
      h('h2', {}, b.name, b.read_only && h('span.badge', {}, t('readOnly'))), b.description && h('p.muted', {}, b.description),
      h('p.text', {}, b.text || t('blockEmpty')), h('p.meta', {}, t('runes', { n: [...b.text].length, of: b.limit })));
    return list.length ? list.map(one) : empty(t('noBlocks'));
  });
}

// tools plots how tools behave: one row a tool in each of three plots, and what is advised.
export function tools(root, context) {
  load(root, async () => {
    const list = (await get('tools', context.scope)).tools;
    if (!list.length) return empty(t('noTools'));
    const plot = (title, value, text, most = Math.max(1e-9, ...list.map(value))) => h('figure.card', { 'data-plot': title },
      h('figcaption', {}, t(title)), h('dl.plot', {}, list.map((x) => h('div', {}, h('dt', {}, x.name), h('dd', {},
        svg('svg', { viewBox: '0 0 100 10', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
          svg('rect', { class: 'track', width: 100, height: 10 }),
          svg('rect', { class: 'plus', width: (100 * value(x)) / most, height: 10 })),
        h('span.number', {}, text(value(x))))))));
    return [h('div.plots', {}, plot('successRate', (x) => x.statistics.success_rate, (v) => `${number(100 * v, 1)} %`, 1),
      plot('meanTime', (x) => x.statistics.avg_time_cost, (v) => t('seconds', { n: number(v) })),
      plot('calls', (x) => x.statistics.total_calls, (v) => number(v))),
    ...list.filter((x) => x.guideline || x.statistics.errors).map((x) => h('article.card', { 'data-tool': x.name },
      h('h2', {}, x.name), x.guideline && h('p.text', {}, x.guideline),
      x.statistics.errors && [h('h3', {}, t('errors')), h('ul', {}, x.statistics.errors.map((e) =>
        h('li', {}, `${e.class} × ${e.calls}: `, h('span.muted', {}, e.example))))]))];
  });
}

// health shows how learning goes in all sessions of the server.
export function health(root, context) {
  load(root, async () => {
    const s = await get('health');
    const cards = [['backlog', number(s.messages)], ['inSessions', number(s.sessions)], ['oldest', date(s.oldest)],
      ['queued', number(s.queued)], ['failing', number(s.failing)], ['failingSince', date(s.since)], ['parked', number(s.parked)]];
    const calm = !s.messages && !s.failing && !s.parked;
    return [h('h1', {}, t('health')), h('p.muted', {}, t('healthWhy')), calm && h('p.card.good', {}, t('healthy')),
      h('dl.numbers', {}, cards.filter(([, v]) => v).map(([name, v]) =>
        h('div', { 'data-number': name }, h('dt', {}, t(name)), h('dd', {}, v)))),
      s.last_error && h('section.card', {}, h('h3', {}, t('lastError')), h('p.text', {}, s.last_error)),
      context.write && (s.failing > 0 || s.parked > 0) && retry(context, {})];
  });
}
