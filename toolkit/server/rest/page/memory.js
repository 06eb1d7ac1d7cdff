// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// One memory: what is known of it, and what can be done with it.
import { call, get, post } from './api.js';
import { ask, badge, button, date, facts, h, load, moment, number, toast } from './dom.js';
import { bars, scaleOf } from './hits.js';
import { t } from './i18n.js';
import { blocksOf, messageOf, readSession } from './sections.js';

export const deleted = new Set(); // ids of memories that are deleted, or are about to be

const pathOf = (id) => `memories/${encodeURIComponent(id)}`;

// openMemory shows a memory in the panel. hit is what a search found, if one did; refresh reads the list again.
export function openMemory(context, id, hit, refresh) {
  const { scope } = context, box = h('div', { 'data-memory': id });
  const redraw = () => load(box, async () => {
    const m = await get(pathOf(id), scope);
    const [blocks, former, successor, turn, events] = await Promise.all([
      context.write && context.has('blocks') ? blocksOf(context) : [],
      m.supersedes && link(context, 'replaces', m.supersedes), m.superseded_by && link(context, 'replacedBy', m.superseded_by),
      turnOf(context, m), get(`${pathOf(id)}/history`, scope).then((answer) => answer.events)]);
    const marks = ['standing', 'delicate'].filter((name) => m[name]).map((name) => badge(t(name)));
    return [h('p.meta', badge(t(m.kind)), marks, m.superseded_by && badge(t('superseded'), 'late')), h('p.text.large', m.text),
      context.write && h('div.actions', button(t('edit'), () => edit(context, m, changed), { id: 'edit' }),
        button(t('delete'), () => askToDelete(context, m, refresh), { id: 'delete', class: 'danger' }),
        blocks.filter((b) => !b.read_only).map((b) => button(t('pinTo', { b: b.name }), () => pin(context, m, b), { class: 'pin' }))),
      hit && [h('h3', `${t('why')} · ${t('score')} ${hit.score.toFixed(2)}`), bars(hit, scaleOf([hit]))],
      former, successor, h('h3', t('turn')), turn, h('h3', t('history')), events.reverse().map((e) => change(e, id)), h('h3', t('memory')),
      facts([['whenToUse', m.when_to_use], ['said', moment(m.observed)], ['since', date(m.valid)], ['ended', moment(m.invalidated)],
        ['expires', moment(m.expires)], ['quality', m.quality && number(m.quality)], ['from', m.origin?.speaker],
        ['metadata', m.metadata && JSON.stringify(m.metadata)], ['id', id]])];
  });
  const changed = () => {
    redraw();
    refresh();
  };
  context.open(t('memory'), box);
  redraw();
}

async function link(context, title, id) {
  const text = await get(pathOf(id), context.scope).then((m) => m.text, () => id); // it may be deleted
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
    if (first < 0) throw new Error(t('turnGone'));
    return [messages.map((e, i) => messageOf(e, taught[i] && 'taught')).slice(Math.max(0, first - 2), end),
      h('a', { href: context.item('sessions', session, speaker).href }, t('wholeSession'))];
  } catch {
    return h('p.muted', t('turnGone'));
  }
}

// edit asks for the text of m. What another has changed meanwhile is shown before it is replaced.
function edit(context, m, changed) {
  const write = (change, version) => call('PATCH', pathOf(m.id), context.scope, { ...change, version });
  const former = { text: m.text, standing: !!m.standing, delicate: !!m.delicate };
  const mark = (name) => h('input', { type: 'checkbox', id: name, checked: former[name] });
  const standing = mark('standing'), delicate = mark('delicate');
  const field = h('textarea', { id: 'text', rows: 5, required: true, 'aria-label': t('edit') }, m.text);
  let { version } = m;
  ask(t('edit'), [field, h('label', standing, t('standingWhy')), h('label', delicate, t('delicateWhy'))], t('save'), async () => {
    try {
      const after = await write({ text: field.value.trim(), standing: standing.checked, delicate: delicate.checked }, version);
      toast(t('saved'), () => write(former, after.version).then(changed));
      changed();
    } catch (error) {
      if (error.code !== 'conflict') throw error;
      const now = await get(pathOf(m.id), context.scope);
      version = now.version;
      throw new Error(t('changedTo', { m: now.text }));
    }
  });
}

// askToDelete asks whether what was said goes with m.
function askToDelete(context, m, refresh) {
  const erase = h('input', { type: 'checkbox', id: 'erase' });
  ask(t('deleteTitle'), [h('p.text', m.text), h('p.muted', t('deleteWhy')), h('label', erase, t('erase'))], t('delete'),
    () => { setTimeout(() => remove(context, m, refresh, erase.checked)); }); // its undo gets the focus once the dialog is closed
}

// remove hides m, and deletes it when there is no undo any more; with erase also what was said.
function remove(context, m, refresh, erase) {
  const show = () => {
    deleted.delete(m.id);
    refresh();
  };
  deleted.add(m.id);
  refresh();
  context.close();
  toast(t('deleting', { m: m.text }), show, () => call('DELETE', pathOf(m.id), { ...context.scope, erase }).catch((error) => {
    toast(error.message);
    show();
  }));
}

// pin appends m to a core block.
async function pin(context, m, block) {
  const write = (change) => post('blocks', { scope: context.scope, name: block.name, ...change });
  const { text } = block;
  Object.assign(block, await write({ append: m.text }));
  toast(t('pinned', { b: block.name }), async () => Object.assign(block, await write({ text, version: block.version })));
}
