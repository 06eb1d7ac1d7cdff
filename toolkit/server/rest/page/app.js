// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The page itself: signing in, whose memory is shown, and which part of it. The address after
// "#" says both: #/SECTION/KIND/NAMESPACE/ID/ITEM.
import { download, get, key, post, setKey } from './api.js';
import { ask, badge, button, byId, endToasts, facts, h, load, put, toast, wrong } from './dom.js';
import { locale, switchLanguage, t } from './i18n.js';
import { memories } from './memories.js';
import { onlyPerson, overview, side } from './people.js';
import { retention } from './retention.js';
import { blocks, health, notes, scopeOf, sessions, tools } from './sections.js';
import { tidy } from './tidy.js';
import { tryMessage } from './try.js';

const views = { memories, try: tryMessage, sessions, notes, blocks, tools, plans: tidy };
const serverViews = { health, retention };
let me, namespace, shown, openItem; // shown: the place on the page; openItem: opens an item there

// sectionsOf are the sections that the server offers for a kind of person.
const sectionsOf = (person) => ['memories', ...(person.kind === 'workspace' ? ['tools'] : ['try', 'sessions', 'notes']), 'blocks',
  isOwn(person) && me.write && 'plans'].filter((s) => s === 'memories' || s === 'try' || me.features.includes(s));

// opens reports whether the key opens a person; the server decides that for each request.
const opens = ({ kind, namespace: of, id }) => [[`${kind}s`, id], ['namespaces', of]]
  .every(([list, name]) => me.opens[list]?.some((one) => one === '*' || one === name));

// isOwn reports whether the key may have all of a person at once.
const isOwn = (person) => me.admin || person.kind === 'user';

const address = (...parts) => '#/' + parts.map(encodeURIComponent).join('/');
const placeOf = (section, { kind, namespace, id }, ...item) => address(section, kind, namespace, id, ...item);

function where() {
  const [section, kind, namespace, id, item] = location.hash.slice(2).split('/').map(decodeURIComponent);
  if (Object.hasOwn(serverViews, section)) return { section, place: location.hash };
  if (!Object.hasOwn(views, section) || !id) return { place: '' };
  const person = { kind, namespace, id };
  return { section, person, item, place: placeOf(section, person) };
}

// kindsOf are the kinds of memory to ask for. A key that is somebody acts as that person in a workspace: their own
// memories are no part of it.
const kindsOf = (person) => (person?.kind === 'workspace' && !me.admin ? ['task', 'tool', 'skill'] : undefined);

// contextOf is what a section needs to know of the page.
const contextOf = (place, person) => ({
  place, person, open, scope: person && scopeOf(person), write: me.write, kinds: kindsOf(person),
  has: (feature) => me.features.includes(feature),
  close: () => { location.hash = place; },
  show: () => show(true),
  item(section, id, of = person) {
    const href = placeOf(section, of, id);
    return { href, 'aria-current': String(href === location.hash) };
  },
});

// show follows the address. What is on the page stays if only the item changed.
function show(anew) {
  const { section, person, item, place } = where();
  if (anew || place !== shown) {
    shown = place;
    const view = h(section ? 'div.view' : 'div.view.start');
    const isClosed = person && !opens(person);
    put(byId('main'), person && heading(person, isClosed ? '' : section), view);
    openItem = undefined;
    if (isClosed) put(view, wrong({ message: t('e_denied') }));
    else openItem = section ? { ...views, ...serverViews }[section](view, contextOf(place, person)) : overview(view, peopleOf());
    current();
    byId('main').focus({ preventScroll: true });
  }
  const opened = document.querySelector('.item[aria-current=true]');
  for (const a of document.querySelectorAll('.item')) a.setAttribute('aria-current', a.hash === location.hash);
  if (item && openItem) openItem(item);
  else {
    if (byId('panel').contains(document.activeElement)) opened?.focus();
    byId('panel').hidden = true;
  }
  document.title = person ? `${person.id} · einomem` : 'einomem';
}

// heading names a person, with what can be done with all of it, and the sections; without one there is the name alone.
const heading = (person, section) => [
  h('div.title', badge(t(person.kind)), h('h1', { dir: 'auto' }, person.id), section && isOwn(person) && h('div.actions',
    button(t('export'), () => save(person), { id: 'export' }),
    me.write && button(t('forget'), () => forget(person), { class: 'danger', id: 'forget' }))),
  section && h('nav.tabs', { 'aria-label': t('sections') }, sectionsOf(person).map((s) =>
    h('a', { href: placeOf(s, person), 'aria-current': s === section && 'page', 'data-tab': s }, t(s))))];

// save downloads all that is held of a person.
async function save(person) {
  await download('export', scopeOf(person), `${person.kind}-${person.id.replace(/[^\p{L}\p{N}._-]/gu, '_')}.jsonl`);
  toast(t('exported'));
}

// open shows content in the panel beside the list.
function open(title, content) {
  const panel = byId('panel');
  put(panel, h('div.title', h('h2', title), h('a.close', { href: shown, 'aria-label': t('close') }, '×')), content);
  panel.setAttribute('aria-label', title);
  panel.hidden = false;
  panel.scrollTop = 0;
  panel.focus({ preventScroll: true });
}

// peopleOf is what the list of people and the overview need to know of the page.
const peopleOf = () => ({
  me, namespace, current, placeOf: address, hrefOf: (p) => placeOf('memories', p),
  into(name) {
    namespace = name;
    drawPeople();
    show(true);
  },
});

const drawPeople = () => side(byId('side'), peopleOf());

// current marks who is shown.
function current() {
  const { section, person } = where(), href = person ? placeOf('memories', person) : section ? address(section) : '';
  for (const a of byId('side').querySelectorAll('a')) {
    if (a.hash === href) a.setAttribute('aria-current', 'page');
    else a.removeAttribute('aria-current');
  }
}

// forget erases all of a person, once the id was typed, and shows the receipt.
function forget(person) {
  const typed = h('input', { id: 'typed', required: true, autocomplete: 'off', 'aria-label': t('id') });
  typed.oninput = () => typed.setCustomValidity(typed.value === person.id ? '' : t('forgetWhy'));
  ask(t('forgetTitle', { id: person.id }), [h('p', t('forgetWhy')), typed], t('forgetNow'), async () => {
    endToasts();
    const receipt = await post('forget', { scope: scopeOf(person) });
    drawPeople();
    history.replaceState(null, '', '#');
    show(true);
    put(byId('main'), h('div.view', receiptOf(receipt)));
  });
}

function receiptOf({ partition, elsewhere = [], checked = [], outside = [], ...erased }) {
  const counts = (e) => facts(['memories', 'sessions', 'messages', 'blobs'].map((name) => [name, String(e[name])]));
  const lines = (title, texts) => texts.length > 0 && h('details', h('summary', t(title)), h('ul', texts.map((text) => h('li', text))));
  return [h('h1', `${t('receipt')}: ${partition.id}`), counts(erased),
    elsewhere.map((s) => [h('h3', `${t('elsewhere')}: ${t(s.partition.kind)} ${s.partition.id}`), counts(s)]),
    lines('checked', checked), lines('outside', outside)];
}

// start asks what the key opens, and shows that, or the form that asks for a key.
function start() {
  const root = h('div');
  put(byId('main'), h('div.view', h('h1', 'einomem'), root));
  load(root, async () => {
    try {
      me = await get('me');
    } catch (error) {
      if (error.code !== 'no_key') throw error;
      signIn(key() && wrong(error));
      return;
    }
    byId('who').textContent = me.write ? me.key : `${me.key} · ${t('readOnly')}`;
    byId('out').hidden = !key();
    namespace = me.opens.namespaces.find((name) => name !== '*') ?? 'default';
    drawPeople();
    show(true);
    if (!where().section) onlyPerson(me, namespace).then(openOnly, () => {}); // the list of people says why it failed
  });
}

// openOnly shows the only person of a key, unless the reader went elsewhere meanwhile.
function openOnly(person) {
  if (person && !where().section) location.replace(placeOf('memories', person));
}

function signIn(problem) {
  setKey('');
  const field = h('input', { id: 'key', type: 'password', required: true, pattern: '\\s*[!-~]+\\s*', autocomplete: 'off' });
  const onsubmit = (event) => {
    event.preventDefault();
    setKey(field.value.trim());
    start();
  };
  put(byId('main'), h('form.card', { id: 'signin', onsubmit }, h('h1', t('signIn')), h('p.muted', t('signInWhy')),
    h('label', t('key'), field), problem, h('button.main', t('signIn'))));
  field.focus();
}

function signOut() {
  endToasts();
  setKey('');
  location.replace('#');
  location.reload();
}

for (const [id, text, onclick] of [['language', t('other'), switchLanguage], ['out', t('signOut'), signOut], ['menu', t('people')]]) {
  byId(id).textContent = text;
  byId(id).onclick = onclick;
}
document.documentElement.lang = locale;
byId('side').setAttribute('aria-label', t('people'));
window.onhashchange = () => me && show();
window.onpagehide = endToasts;
window.onpageshow = (event) => event.persisted && location.reload();
window.onunhandledrejection = (event) => toast(event.reason.message);
document.onkeydown = (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId('dialog').open) return;
  const side = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
  const next = event.target.closest('.rows > li')?.[side], isField = event.target.matches('input, textarea, select');
  if (event.key === '/' && !isField && byId('search')) byId('search').focus();
  else if (event.key === 'Escape' && !byId('panel').hidden) location.hash = shown;
  else if (next) next.querySelector('a, input')?.focus();
  else return;
  event.preventDefault();
};
start();
