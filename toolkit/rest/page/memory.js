// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// One memory: what is known of it, and what can be done with it.
import { address, call, get } from './api.js';
import { bars, button, byId, choice, date, h, isSet, load, moment, number, toast, wrong } from './dom.js';
import { t } from './i18n.js';
import { messageOf } from './sections.js';

const grace = 8; // seconds in which a deletion can be undone
const pending = new Map(); // deletions that are not sent yet, by id

export const isPending = (id) => pending.has(id);

// flush sends them. A page that is left sends them at once: keepalive lets them outlive it.
export const flush = (keepalive = false) => Promise.all([...pending.values()].map((send) => send(keepalive)));
window.addEventListener('pagehide', () => flush(true));

// openMemory shows a memory in the panel. hit is what a search found, if one did; redraw shows
// the list once more, also read again.
export async function openMemory(context, id, hit, redraw) {
  const { scope } = context, path = `memories/${encodeURIComponent(id)}`;
  const box = h('div.memory', { 'data-memory': id });
  const again = () => openMemory(context, id, hit, redraw);
  context.open(t('memory'), box);
  await load(box, async () => {
    const [read, events] = await Promise.allSettled([get(path, scope), get(`${path}/history`, scope)]);
    if (read.reason && read.reason.status !== 404) throw read.reason;
    const changes = historyOf(events.value?.events ?? [], id);
    if (read.reason) return [h('p.wrong', {}, t('gone')), ...changes];
    const m = read.value, turn = h('div', {});
    const body = h('p.text.large', {}, m.text), actions = h('div.actions', {});
    if (context.write) tools(context, m, path, { body, actions, again, redraw });
    teach(turn, context, m);
    return [h('p.meta', {}, h('span.badge', {}, t(m.kind)), m.superseded_by && h('span.badge.ended', {}, t('superseded'))),
      body, actions,
      hit && [h('h3', {}, `${t('why')} · ${t('score')} ${hit.score.toFixed(2)}`), ...bars([hit])],
      m.supersedes && await chain(context, 'replaces', m.supersedes),
      m.superseded_by && await chain(context, 'replacedBy', m.superseded_by),
      h('h3', {}, t('turn')), turn, ...changes, facts(m)].flat();
  });
}

async function chain(context, title, id) {
  const text = await get(`memories/${encodeURIComponent(id)}`, context.scope).then((m) => m.text, () => id);
  return h('p.chain', { 'data-chain': title }, h('span.muted', {}, t(title)), h('a', { href: context.link(id) }, text));
}

function facts(m) {
  const rows = [['whenToUse', m.when_to_use], ['said', moment(m.observed)], ['since', date(m.valid)], ['ended', moment(m.invalidated)],
    ['stored', moment(m.created)], ['changed', m.updated !== m.created && moment(m.updated)], ['expires', moment(m.expires)],
    ['quality', m.quality !== undefined && number(m.quality)],
    ['from', [m.origin?.speaker, m.origin?.role && t(m.origin.role)].filter(Boolean).join(' · ')], ['by', m.origin?.author],
    ['metadata', m.metadata && JSON.stringify(m.metadata)], ['id', m.id]];
  return h('dl.facts', {}, rows.filter(([, v]) => v).map(([name, v]) => h('div', {}, h('dt', {}, t(name)), h('dd', {}, v))));
}

function historyOf(events, id) {
  return [h('h3', {}, t('history')), events.length ? h('ol.history', {}, [...events].reverse().map((e) => h('li', { 'data-event': e.type },
    h('span.meta', {}, h('span.badge', {}, t(e.type)), h('time', {}, moment(e.time)), e.actor && h('span', {}, e.actor)),
    e.old && h('del', {}, e.old), e.new && !(e.type === 'superseded' && e.memory_id === id) && h('ins', {}, e.new)))) :
    h('p.muted', {}, t('noHistory'))];
}

// teach shows the turn that taught m, with two messages before and after it.
async function teach(root, context, m) {
  const { session, turn, message_ids: ids = [] } = m.origin ?? {};
  if (!session || !context.features.includes('sessions')) {
    root.replaceChildren(h('p.muted', {}, session ? t('notShown', { id: session }) : t('noTurn')));
    return;
  }
  const { namespace, user_id, agent_id } = m.scope; // experience lives in a workspace, and its session with whom it was learnt from
  const scope = context.person.kind === 'workspace' ? { namespace, ...(user_id ? { user_id } : { agent_id }) } : context.scope;
  const taught = (e) => (ids.length ? ids.includes(e.id) : e.turn === turn);
  try {
    let read = [], page, last;
    do { // the log is asked by sequence numbers, which a memory does not have
      page = (await get('messages', { ...scope, session_id: session, after: read.at(-1)?.seq ?? 0, limit: 1000 })).messages;
      read = [...read, ...page];
      last = read.findLastIndex(taught);
    } while (page.length === 1000 && (last < 0 || last > read.length - 3));
    if (last < 0) throw new Error(t('turnGone'));
    const around = read.slice(Math.max(0, read.findIndex(taught) - 2), last + 3);
    root.replaceChildren(...around.map((e) => messageOf(e, taught(e) && 'taught')),
      context.person.kind === 'workspace' ? '' : h('a', { href: context.link(session, 'sessions') }, t('wholeSession')));
  } catch {
    root.replaceChildren(h('p.muted', {}, t('turnGone')));
  }
}

// tools are the buttons that change m.
function tools(context, m, path, { body, actions, again, redraw }) {
  const write = (text, version) => call('PATCH', address(path, context.scope), { text, version });
  const shown = () => { if (byId('panel').querySelector('[data-memory]')?.dataset.memory === m.id) again(); redraw(true); };
  let version = m.version;

  function edit() {
    const field = h('textarea', { id: 'text', rows: 5, value: m.text, 'aria-label': t('edit') }), problem = h('div', { role: 'alert' });
    const save = async (event) => {
      event.preventDefault();
      const text = field.value.trim();
      if (!text || text === m.text) { again(); return; }
      try {
        const after = await write(text, version);
        toast(t('saved'), () => write(m.text, after.version).then(() => { toast(t('undone')); shown(); }), 12);
        shown();
      } catch (error) {
        problem.replaceChildren(wrong(error));
        if (error.status !== 409) return;
        const now = await get(path, context.scope);
        version = now.version;
        problem.replaceChildren(h('p.wrong', {}, t('conflict')),
          h('blockquote', { id: 'theirs' }, now.text), h('p.wrong', {}, t('conflictThen')));
      }
    };
    const form = h('form', { onsubmit: save }, field, problem,
      h('div.actions', {}, h('button.main', { type: 'submit' }, t('save')), button(t('cancel'), again)));
    form.addEventListener('keydown', (e) => {
      if (e.key === 'Escape') { e.preventDefault(); again(); } else if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) form.requestSubmit();
    });
    body.replaceWith(form);
    actions.hidden = true;
    field.focus();
  }

  function remove() {
    const back = () => { clearTimeout(timer); pending.delete(m.id); redraw(); };
    const send = async (keepalive) => {
      clearTimeout(timer);
      hide();
      pending.set(m.id, () => sent);
      const sent = call('DELETE', address(path, context.scope), undefined, { keepalive })
        .catch((error) => error.status === 404 || toast(error.message)).finally(() => { pending.delete(m.id); redraw(true); });
      await sent;
    };
    const timer = setTimeout(send, grace * 1000);
    pending.set(m.id, send);
    redraw();
    context.close();
    const hide = toast(t('deleting', { m: m.text.length > 60 ? m.text.slice(0, 60) + '…' : m.text }), back, grace);
  }

  actions.append(button(t('edit'), edit, { id: 'edit' }), button(t('delete'), remove, { id: 'delete', class: 'danger' }));
  if (context.features.includes('blocks')) pins(context, m, actions);
}

// pins adds what appends m to a core block, for the blocks that can be written to.
async function pins(context, m, actions) {
  const { blocks } = await get('blocks', context.scope).catch(() => ({ blocks: [] }));
  const open = blocks.filter((b) => !b.read_only);
  if (!open.length) return;
  let name = open[0].name;
  const change = (more) => call('POST', 'blocks', { scope: context.scope, name, ...more });
  const pin = async () => {
    const former = open.find((b) => b.name === name).text;
    try {
      const { version } = await change({ append: m.text });
      toast(t('pinned', { b: name }), () => change({ text: former, version }).then(() => toast(t('undone'))));
    } catch (error) {
      toast(error.message);
    }
  };
  const label = button(open.length > 1 ? t('pin') : t('pinTo', { b: name }), pin, { id: 'pin' });
  const which = open.length > 1 && choice(t('blocks'), open.map((b) => [b.name, b.name]), name, (v) => { name = v; });
  actions.append(...[label, which].filter(Boolean)); // behind the others: what comes later moves none of them
}
