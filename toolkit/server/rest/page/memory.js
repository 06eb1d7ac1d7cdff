// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// One memory: what is known of it, and what can be done with it.
import { call, get, post } from './api.js';
import { ask, badge, button, check, date, facts, h, load, moment, number, pairs, toast, wrong } from './dom.js';
import { bars, scaleOf } from './hits.js';
import { t } from './i18n.js';
import { blocksOf, messageOf, readSession } from './sections.js';
import { askToDelete } from './selection.js';

const ofPrograms = ['hash', 'reflect']; // names of metadata that say nothing to a reader
const pathOf = (id) => `memories/${encodeURIComponent(id)}`;

// openMemory shows a memory in the panel. hit is what a search found, if one did; refresh reads the list again.
export function openMemory(context, id, hit, refresh) {
  const { scope } = context, box = h('div', { 'data-memory': id });
  const redraw = () => load(box, async () => {
    const m = await get(pathOf(id), scope);
    const [blocks, former, successor, turn, events] = await Promise.all([
      context.write && context.has('blocks') ? blocksOf(context).catch(() => []) : [], // there is just no button to pin it there
      m.supersedes && link(context, 'replaces', m.supersedes), m.superseded_by && link(context, 'replacedBy', m.superseded_by),
      turnOf(context, m), get(`${pathOf(id)}/history`, scope).then((answer) => answer.events)]);
    const known = Object.entries(m.metadata ?? {}).filter(([name]) => !ofPrograms.includes(name));
    const marks = ['standing', 'delicate'].filter((name) => m[name]).map((name) => badge(t(name)));
    return [h('p.meta', badge(t(m.kind)), marks, m.superseded_by && badge(t('superseded'), 'late')), h('p.text.large', m.text),
      context.write && h('div.actions', button(t('edit'), () => edit(context, m, changed), { id: 'edit' }),
        button(t(m.standing ? 'unpin' : 'pin'), () => stand(context, m, changed), { id: 'pin', 'aria-pressed': String(!!m.standing) }),
        button(t('delete'), () => askToDelete(context, [m], refresh), { id: 'delete', class: 'danger' }),
        blocks.filter((b) => !b.read_only).map((b) => button(t('pinTo', { b: b.name }), () => pinTo(context, m, b), { class: 'pin' }))),
      hit && [h('h3', `${t('why')} · ${t('score')} ${hit.score.toFixed(2)}`), bars(hit, scaleOf([hit]))],
      former, successor, h('h3', t('turn')), turn, h('h3', t('history')), events.reverse().map((e) => change(e, id)), h('h3', t('memory')),
      facts([['whenToUse', m.when_to_use], ['said', moment(m.observed)], ['since', date(m.valid)], ['ended', moment(m.invalidated)],
        ['expires', moment(m.expires)], ['quality', m.quality && number(m.quality)], ['from', m.origin?.speaker],
        ['id', id]]),
      known.length > 0 && [h('h3', t('metadata')), pairs(Object.fromEntries(known))]];
  });
  const changed = () => {
    redraw();
    refresh();
  };
  context.open(t('memory'), box);
  redraw();
}

async function link(context, title, id) {
  const text = await get(pathOf(id), context.scope).then((m) => m.text, () => t('notThere')); // it may be deleted
  return h('p.chain', { 'data-chain': title }, h('span.muted', t(title)), h('a', { href: context.item('memories', id).href }, text));
}

function change(event, id) {
  const isOwn = event.type !== 'superseded' || event.memory_id !== id; // else its new text is the successor's, shown above
  return h('div.change', { 'data-event': event.type },
    h('p.meta', badge(t(event.type)), h('time', moment(event.time)), event.actor),
    event.old && h('del', event.old), isOwn && event.new && h('ins', event.new));
}

// turnOf shows what taught m, with two messages before it and after it.
async function turnOf(context, m) {
  const { session, turn, message_ids: ids } = m.origin ?? {};
  if (!session) return h('p.muted', t('noTurn'));
  if (!context.has('sessions')) return h('p.muted', t('notShown', { id: session }));
  const { user_id: user, agent_id: agent } = m.scope; // experience lives in a workspace, and its session with whom it was learnt from
  const speaker = { kind: user ? 'user' : 'agent', namespace: context.person.namespace, id: user || agent };
  try {
    const { messages } = await readSession(speaker, session);
    const taught = messages.map((e) => (ids ? ids.includes(e.id) : e.turn === turn));
    const first = taught.indexOf(true), end = taught.lastIndexOf(true) + 3;
    if (first < 0) return h('p.muted', t('turnGone'));
    return [messages.map((e, i) => messageOf(e, taught[i] && 'taught')).slice(Math.max(0, first - 2), end),
      h('a', { href: context.item('sessions', session, speaker).href }, t('wholeSession'))];
  } catch (error) {
    return ['not_found', 'denied', 'forgotten'].includes(error.code) ? h('p.muted', t('turnGone')) : wrong(error);
  }
}

// write changes a memory.
const write = (context, id, change, version) => call('PATCH', pathOf(id), context.scope, { ...change, version });

// fieldsOf are the fields that make a memory, and what they say.
function fieldsOf(title, m) {
  const text = h('textarea', { id: 'text', rows: 5, required: true, 'aria-label': title }, m.text);
  const standing = check('standing', t('standingWhy'), m.standing), delicate = check('delicate', t('delicateWhy'), m.delicate);
  return { fields: [text, standing.label, delicate.label],
    said: () => ({ text: text.value.trim(), standing: standing.box.checked, delicate: delicate.box.checked }) };
}

// addFact asks for a fact and stores it as it is.
export function addFact(context, refresh) {
  const { fields, said } = fieldsOf(t('addFact'), { text: '' });
  ask(t('addFact'), [h('p.muted', t('addFactWhy')), fields], t('save'), async () => {
    const { text, ...marks } = said(), message = { role: 'user', content: text };
    const { items: [item] } = await post('add', { scope: context.scope, kind: 'fact', verbatim: true, messages: [message] });
    if (item.error) throw Object.assign(new Error(t('notAdded')), { details: item.error });
    if (marks.standing || marks.delicate) await write(context, item.memory.id, marks);
    refresh();
    const isNew = item.outcome === 'added';
    toast(t(isNew ? 'factAdded' : 'factKnown'), isNew &&
      (() => call('DELETE', pathOf(item.memory.id), { ...context.scope, erase: true }).then(refresh)));
  });
}

// stand makes m apply whatever is asked, or only where it answers.
async function stand(context, m, changed) {
  const after = await write(context, m.id, { standing: !m.standing }, m.version);
  toast(t(m.standing ? 'unpinned' : 'stands'), () => write(context, m.id, { standing: !!m.standing }, after.version).then(changed));
  changed();
}

// edit asks for the text of m. What another has changed meanwhile is shown before it is replaced.
function edit(context, m, changed) {
  const former = { text: m.text, standing: !!m.standing, delicate: !!m.delicate }, { fields, said } = fieldsOf(t('edit'), m);
  let { version } = m;
  ask(t('edit'), fields, t('save'), async () => {
    try {
      const after = await write(context, m.id, said(), version);
      toast(t('saved'), () => write(context, m.id, former, after.version).then(changed));
      changed();
    } catch (error) {
      if (error.code !== 'conflict') throw error;
      const now = await get(pathOf(m.id), context.scope);
      version = now.version;
      throw new Error(t('changedTo', { m: now.text }));
    }
  });
}

// pinTo appends m to a core block.
async function pinTo(context, m, block) {
  const put = (change) => post('blocks', { scope: context.scope, name: block.name, ...change });
  const { text } = block;
  Object.assign(block, await put({ append: m.text }));
  toast(t('pinned', { b: block.name }), async () => {
    Object.assign(block, await put({ text, version: block.version }));
    context.show(); // the block may be in view
  });
}
