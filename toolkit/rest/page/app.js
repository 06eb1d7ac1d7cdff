// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The page itself: signing in, whose memory is shown, and which part of it. The address after
// "#" says both: #/SECTION/KIND/NAMESPACE/ID/ITEM.
import { all, call, get, key, scopeOf, setKey } from './api.js';
import { arrows, button, byId, empty, h, toast, wrong } from './dom.js';
import { language, setLanguage, t } from './i18n.js';
import { memories } from './memories.js';
import { flush } from './memory.js';
import { blocks, health, notes, sessions, tools } from './sections.js';

const views = { memories, sessions, notes, blocks, tools, health };
const kinds = ['user', 'agent', 'workspace'];
const narrow = matchMedia('(max-width: 999px)');
let me, opener, shown = '', from; // opener: opens an item; from: what had the focus before the panel
const kept = new Map(); // what was chosen in a section, while the page is open

// sectionsOf are the sections that the server offers for a kind of partition.
const sectionsOf = (kind) => ['memories', ...(kind === 'workspace' ? ['tools'] : ['sessions', 'notes']), 'blocks']
  .filter((s) => s === 'memories' || me.features.includes(s));

const opensAll = () => ['namespaces', 'users', 'agents', 'workspaces'].every((k) => me.opens[k].includes('*'));
const link = (section, p, item) =>
  '#/' + [section, ...(p ? [p.kind, p.namespace, p.id] : []), ...(item ? [item] : [])].map(encodeURIComponent).join('/');

function where() {
  try {
    const [section, kind, namespace, id, item] = location.hash.slice(2).split('/').map(decodeURIComponent);
    if (section === 'health') return { section };
    if (Object.hasOwn(views, section) && kinds.includes(kind) && id) return { section, item, person: { kind, namespace, id } };
  } catch { /* an address that is no address of ours */ }
  return {};
}

// show follows the address. What is on the page stays if only the item changed.
function show(anew) {
  const { section, person, item } = where();
  const place = JSON.stringify([section, person]);
  const context = { person, write: me.write, features: me.features, open, close, show: () => show(true),
    scope: person && scopeOf(person), link: (id, s = section) => link(s, person, id), kept: keep(place),
    item: (id, session, of = section) => (id ? { href: link(of, person, id), 'data-id': id, 'aria-current': String(id === where().item) } :
      { href: link('sessions', person, session) }) }; // without an id it was said in a session, and is no memory yet
  if (anew || place !== shown) {
    if (place !== shown) pick(!section);
    shown = place;
    hidePanel();
    const box = h('div.view', { 'data-section': section });
    byId('main').replaceChildren(...(person ? [heading(person, section)] : []), box);
    opener = section && views[section](box, context);
    if (!section) box.append(h('h1', {}, t('choose')), h('p.muted', {}, t('chooseWhy')));
    markPeople();
  }
  for (const a of document.querySelectorAll('#main [data-id]')) a.setAttribute('aria-current', String(a.dataset.id === item));
  if (item && opener) opener(item);
  else hidePanel();
  document.title = person ? `${person.id} · einomem` : 'einomem';
}

// pick shows the list of people on a narrow screen, in the place of all else.
function pick(open) {
  document.body.classList.toggle('picking', open);
  byId('menu').setAttribute('aria-expanded', String(open));
}

function keep(place) {
  if (!kept.has(place)) kept.set(place, {});
  return kept.get(place);
}

function heading(person, section) {
  return h('div.head', {},
    h('div.title', {}, h('span.badge', {}, t(person.kind)), h('h1', {}, person.id),
      me.write && button(t('forget'), () => forget(person), { class: 'danger', id: 'forget' })),
    h('nav.tabs', { 'aria-label': person.id }, sectionsOf(person.kind).map((s) =>
      h('a', { href: link(s, person), 'aria-current': s === section ? 'page' : undefined, 'data-tab': s }, t(s)))));
}

// open shows content in the panel beside the list.
function open(title, ...content) {
  const panel = byId('panel');
  if (panel.hidden) from = document.activeElement;
  const name = h('h2', { id: 'panel-title' }, title);
  panel.replaceChildren(h('div.title', {}, name, button('×', close, { class: 'plain', 'aria-label': t('close') })), ...content);
  panel.setAttribute('aria-labelledby', 'panel-title');
  panel.hidden = false;
  panel.scrollTop = 0;
  cover();
  panel.focus({ preventScroll: true });
}

function close() {
  const { section, person } = where();
  if (location.hash !== link(section, person)) location.hash = link(section, person);
  hidePanel();
}

function hidePanel() {
  if (byId('panel').hidden) return;
  byId('panel').hidden = true;
  byId('panel').replaceChildren();
  cover();
  const back = from?.isConnected ? from : [...document.querySelectorAll('#main [data-list] a')].find((a) => a.href === from?.href);
  (back ?? byId('main')).focus();
}

// cover keeps the keyboard in the panel while it covers the page, on narrow screens.
function cover() {
  const covered = narrow.matches && !byId('panel').hidden;
  for (const id of ['main', 'side', 'top']) byId(id).inert = covered;
}

async function people() {
  const root = byId('people'), namespace = byId('open-namespace').value;
  let found;
  try {
    const page = (cursor) => get('people', { namespace, limit: 1000, cursor });
    if (me.features.includes('sessions')) found = await all(page, 'partitions', 5000);
  } catch (error) {
    root.replaceChildren(wrong(error));
    return [];
  }
  root.replaceChildren(...kinds.flatMap((kind) => {
    const of = (found ?? []).filter((p) => p.kind === kind);
    return of.length ? [h('h2', {}, t(kind + 's')), h('ol.rows', { 'data-list': true }, of.map((p) =>
      h('li', {}, h('a', { href: link('memories', p), 'data-person': link('', p) }, p.id))))] : [];
  }));
  if (!found?.length) root.append(empty(t(found ? 'noneYet' : 'noPeople')));
  if (opensAll()) root.append(h('ol.rows.foot', {}, h('li', {}, h('a', { href: '#/health', 'data-person': '#/health' }, t('health')))));
  markPeople();
  return found ?? [];
}

function markPeople() {
  const { section, person } = where(), current = person ? link('', person) : link(section);
  for (const a of document.querySelectorAll('[data-person]')) {
    if (a.dataset.person === current) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

// forget erases all of a person, once the id was typed, and shows the receipt.
function forget(person) {
  const dialog = byId('dialog'), typed = h('input', { id: 'typed', autocomplete: 'off', spellcheck: 'false', 'aria-label': t('id') });
  const yes = h('button.danger', { type: 'submit', disabled: true }, t('forgetNow'));
  typed.addEventListener('input', () => { yes.disabled = typed.value !== person.id; });
  const note = h('div', {});
  const erase = async (event) => {
    event.preventDefault();
    if (typed.value !== person.id) return;
    yes.disabled = true;
    note.replaceChildren(h('p.muted', { role: 'status' }, t('forgetting')));
    try {
      await flush();
      const receipt = await call('POST', 'forget', { scope: scopeOf(person) });
      dialog.replaceChildren(...receiptOf(receipt), button(t('done'), () => dialog.close(), { class: 'main', autofocus: true }));
      dialog.querySelector('button').focus();
      await people();
      show(true);
    } catch (error) {
      note.replaceChildren(wrong(error));
      yes.disabled = false;
    }
  };
  dialog.replaceChildren(h('form', { onsubmit: erase }, h('h2', { id: 'dialog-title' }, t('forgetTitle', { id: person.id })),
    h('p', {}, t('forgetWhy')), h('p', {}, h('strong', {}, person.id)), typed, note,
    h('div.actions', {}, yes, button(t('cancel'), () => dialog.close()))));
  dialog.setAttribute('aria-labelledby', 'dialog-title');
  dialog.showModal();
}

function receiptOf(r) {
  const of = { memories: 'memories', sessions: 'sessions', messages: 'rMessages', blobs: 'rBlobs' };
  const counts = (e) => h('dl.facts', {}, Object.entries(of).map(([n, text]) =>
    h('div', {}, h('dt', {}, t(text)), h('dd', { 'data-count': n }, String(e[n])))));
  const lines = (title, list) => (list?.length ? [h('h3', {}, t(title)), h('ul', {}, [...new Set(list)].map((x) => h('li', {}, x)))] : []);
  return [h('h2', { id: 'dialog-title' }, `${t('receipt')}: ${r.partition.id}`), counts(r),
    ...(r.elsewhere ?? []).flatMap((s) => [h('h3', {}, `${t('elsewhere')}: ${t(s.partition.kind)} ${s.partition.id}`), counts(s)]),
    ...lines('checked', r.checked), ...lines('outside', r.outside)];
}

// words puts the texts of index.html in the page's language.
function words() {
  setLanguage(language());
  for (const e of document.querySelectorAll('[data-text]')) e.textContent = t(e.dataset.text);
  for (const e of document.querySelectorAll('[data-label]')) e.setAttribute('aria-label', t(e.dataset.label));
  for (const e of document.querySelectorAll('[data-hint]')) e.placeholder = t(e.dataset.hint);
  const other = language() === 'en' ? 'zh' : 'en';
  byId('language').textContent = other === 'zh' ? '中文' : 'English';
  byId('language').lang = other;
  byId('theme').textContent = t(isDark() ? 'light' : 'dark');
  byId('who').textContent = me ? [me.key, !me.write && t('readOnly')].filter(Boolean).join(' · ') : '';
}

const systemDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (document.documentElement.dataset.theme ?? (systemDark.matches ? 'dark' : 'light')) === 'dark';

function theme(to) {
  localStorage.setItem('einomem.theme', to);
  document.documentElement.dataset.theme = to;
  words();
}

// start asks what the key opens, and shows that, or the form that asks for a key.
async function start(tried) {
  try {
    me = await get('me');
  } catch (error) {
    signIn(error, tried);
    return;
  }
  byId('refused').textContent = '';
  for (const [id, hidden] of [['signin', true], ['work', false], ['menu', false], ['out', !key()]]) byId(id).hidden = hidden;
  const spaces = me.opens.namespaces.filter((n) => n !== '*');
  byId('open-space').hidden = spaces.length === 1 && !me.opens.namespaces.includes('*');
  byId('open-namespace').value = spaces[0] ?? 'default';
  byId('spaces').replaceChildren(...spaces.map((n) => h('option', { value: n })));
  known();
  words();
  const found = await people();
  if (!where().section && found.length === 1) location.replace(link('memories', found[0]));
  show(true);
}

function known() {
  const ids = me.opens[byId('open-kind').value + 's'].filter((id) => id !== '*');
  byId('known').replaceChildren(...ids.map((id) => h('option', { value: id })));
}

function signIn(error, tried) {
  me = undefined;
  setKey('');
  for (const [id, hidden] of [['signin', false], ['work', true], ['menu', true], ['out', true]]) byId(id).hidden = hidden;
  hidePanel();
  const why = { no_key: tried ? t('wrongKey') : '', denied: t('hereOnly') };
  byId('refused').textContent = error ? why[error.code] ?? error.message : '';
  byId('key').value = '';
  byId('key').focus();
  words();
}

byId('signin').addEventListener('submit', (event) => {
  event.preventDefault();
  const secret = byId('key').value.trim();
  if (!/^[\x21-\x7e]+$/.test(secret)) byId('refused').textContent = t('wrongKey'); // no header can carry it
  else { setKey(secret); start(true); }
});
byId('open').addEventListener('submit', (event) => {
  event.preventDefault();
  const [kind, namespace, id] = ['open-kind', 'open-namespace', 'open-id'].map((field) => byId(field).value.trim());
  if (id) location.hash = link('memories', { kind, namespace: namespace || 'default', id });
});
byId('open-kind').addEventListener('change', known);
byId('open-namespace').addEventListener('change', people);
byId('menu').addEventListener('click', () => pick(!document.body.classList.contains('picking')));
byId('people').addEventListener('click', (event) => event.target.closest('a') && pick(false));
byId('skip').addEventListener('click', () => byId('main').focus());
byId('language').addEventListener('click', () => {
  setLanguage(language() === 'en' ? 'zh' : 'en');
  words();
  if (me) people().then(() => show(true));
});
byId('theme').addEventListener('click', () => theme(isDark() ? 'light' : 'dark'));
byId('out').addEventListener('click', async () => { await flush(); location.hash = ''; signIn(); });
systemDark.addEventListener('change', words);
narrow.addEventListener('change', cover);
window.addEventListener('hashchange', () => me && show());
window.addEventListener('refused', () => me && signIn({ code: 'no_key' }, true));
window.addEventListener('pageshow', (event) => event.persisted && location.reload());
window.addEventListener('unhandledrejection', (event) => toast(String(event.reason?.message ?? event.reason)));
document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || byId('dialog').open) return;
  const typing = event.target.matches('input, textarea, select');
  if (event.key === '/' && !typing && byId('search')) {
    event.preventDefault();
    close();
    byId('search').focus();
  } else if (event.key === 'Escape' && !byId('panel').hidden) close();
  else arrows(event);
});

if (localStorage.getItem('einomem.theme')) document.documentElement.dataset.theme = localStorage.getItem('einomem.theme');
words();
start();
