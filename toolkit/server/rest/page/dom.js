// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Elements, bars, dates, lists, dialogs, messages. Texts become text nodes: nothing here parses markup.
import { locale, t } from './i18n.js';

export const byId = (id) => document.getElementById(id);

// h makes an element of attributes, texts, elements and lists of them: h('p.muted', {onclick: f}, 'text', [other]).
export function h(name, ...parts) {
  const [tag, ...classes] = name.split('.');
  const element = document.createElement(tag);
  element.classList.add(...classes);
  if (classes.includes('text') || ['input', 'textarea', 'del', 'ins'].includes(tag)) element.dir = 'auto'; // what people wrote
  for (const part of parts.flat(Infinity)) {
    if (part?.constructor === Object) set(element, part);
    else if (part) element.append(part);
  }
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element[name] = value;
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
}

// put replaces what an element holds. A link that had the focus and is drawn again has it again.
export function put(element, ...parts) {
  const hash = element.contains(document.activeElement) && document.activeElement.hash;
  element.replaceChildren(...parts.flat(Infinity).filter(Boolean));
  if (hash) [...element.querySelectorAll('a')].find((a) => a.hash === hash)?.focus({ preventScroll: true });
}

// button is one to click. While what it began goes on, it is dimmed, and another click does nothing.
export function button(text, act, attributes = {}) {
  const onclick = async (event) => {
    if (element.getAttribute('aria-busy')) return;
    element.setAttribute('aria-busy', 'true');
    try {
      await act(event);
    } finally {
      element.removeAttribute('aria-busy');
    }
  };
  const element = h('button', { type: 'button', onclick, ...attributes }, text);
  return element;
}

export const badge = (text, look = 'plain') => h(`span.badge.${look}`, text);
export const wrong = ({ message, details }) => h('div.wrong', { role: 'alert' }, h('p', message), said(details));

// said keeps the words of a program for those who want them.
export const said = (details) => details && h('details', h('summary', t('details')), h('p.text', details));

// wayOut is what a reader can do about an error. Nothing on the page opens what a key does not open.
const wayOut = ({ code }, again) => code === 'no_key' ? button(t('signIn'), () => byId('out').click()) :
  code !== 'denied' && button(t('again'), again);

export const choice = (label, options, value, onchange) => h('select', { 'aria-label': label, onchange },
  options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));

// facts is a list of names and values, without those that have no value.
export const facts = (pairs) => h('dl.facts', pairs.filter(([, value]) => value).map(([name, value]) =>
  h('div', { 'data-fact': name }, h('dt', t(name)), h('dd', value))));

// pairs is a list of the names and values that a program keeps.
export const pairs = (values) => h('dl.facts', Object.entries(values).map(([name, value]) => h('div', { 'data-fact': name },
  h('dt', { dir: 'auto' }, t(`meta_${name}`, {}, name.replaceAll('_', ' '))), h('dd', { dir: 'auto' }, readable(value)))));

const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

// readable shows a value of JSON without its marks.
export function readable(value) {
  if (value === null || value === '') return '–';
  if (Array.isArray(value)) return value.map((one, i) => [i > 0 && t('comma'), readable(one)]);
  if (typeof value === 'object') return pairs(value);
  if (typeof value === 'boolean') return t(value ? 'yes' : 'no');
  return typeof value === 'string' && isTime.test(value) ? moment(value) : String(value); // a number may be a year
}

// spoken shows a text that may be JSON.
export function spoken(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' ? h('div', readable(value)) : h('p.text', text);
  } catch {
    return h('p.text', text);
  }
}

// bar is a line of a plot. What took off is drawn in another colour.
export const bar = (name, text, value, most, shown) => h('div', { 'data-bar': name }, h('dt', text),
  h('dd', h('meter', { class: value < 0 && 'minus', max: most, value: Math.abs(value) }), h('span', shown)));

const format = (options) => (time) => (isSet(time) ? new Intl.DateTimeFormat(locale, options).format(new Date(time)) : '');
export const isSet = (time) => Boolean(time) && !time.startsWith('0001-');
export const day = format({ dateStyle: 'long' });
export const date = format({ dateStyle: 'medium' });
export const moment = format({ dateStyle: 'medium', timeStyle: 'short' });
// brief is a number in a word's room: 495K.
const notation = (n) => (n < 1e5 ? 'standard' : 'compact');
export const brief = (n) => new Intl.NumberFormat(locale, { notation: notation(n), maximumFractionDigits: 1 }).format(n);
export const number = (n, digits = 2) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(n);

const latest = new WeakMap(); // the work that an element waits for

const patience = 5000; // milliseconds, until the page says that it still waits

// load shows what work returns, or why it failed; done runs once it is shown. An answer that comes after a later question
// is dropped.
export async function load(root, work, done) {
  const turn = {}, isLatest = () => latest.get(root) === turn;
  latest.set(root, turn);
  if (!root.hasChildNodes()) put(root, h('p.muted.loading', t('loading')));
  root.setAttribute('aria-busy', 'true');
  const waits = root.querySelector(':scope > .loading'), slow = setTimeout(() => waits?.append(' ', t('slow')), patience);
  try {
    const content = await work();
    if (isLatest()) {
      put(root, content);
      done?.();
    }
  } catch (error) {
    if (isLatest()) put(root, wrong(error), wayOut(error, () => load(root, work, done)));
  }
  clearTimeout(slow);
  if (isLatest()) root.removeAttribute('aria-busy');
}

// rows shows a list, or that there is nothing: the first items, and more once the reader comes to their end or asks for it.
// Where the server has more, read gives { items, next } of its next page; without next that was the last.
export function rows(items, row, none = t('nothing'), read = undefined) {
  if (!items.length && !read) return h('p.empty', none);
  const list = h('ol.rows'), problem = h('div');
  let isGrowing = false;
  const draw = () => {
    const from = list.children.length;
    list.append(...items.slice(from, from + 100).map((item, i) => h('li', row(item, from + i))));
    more.hidden = list.children.length >= items.length && !read;
    return list.children[from];
  };
  const grow = async () => {
    if (isGrowing) return undefined;
    isGrowing = true;
    more.setAttribute('aria-busy', 'true');
    put(problem);
    try {
      if (list.children.length >= items.length) {
        const page = await read();
        items.push(...page.items);
        if (!page.next) read = undefined;
      }
      return draw();
    } catch (error) {
      put(problem, wrong(error));
      return undefined;
    } finally {
      isGrowing = false;
      more.removeAttribute('aria-busy');
    }
  };
  const more = button(t('more'), () => grow().then((first) => first?.querySelector('a')?.focus()));
  draw();
  const end = new IntersectionObserver(async (seen) => {
    if (!seen.at(-1).isIntersecting || more.hidden) return;
    end.unobserve(more); // to be told again, even if the end stays in sight
    await grow();
    if (!problem.hasChildNodes() && more.isConnected) end.observe(more);
  }, { rootMargin: '600px' });
  end.observe(more);
  return [list, problem, more];
}

// check is a box to tick, or one of several of a name, with its text.
export const check = (id, text, checked, attributes = {}) => {
  const box = h('input', { type: 'checkbox', id, checked, ...attributes });
  return { box, label: h('label.check', box, h('span', text)) };
};

// ask shows a form in the dialog. act runs when it is submitted; the dialog stays if act fails.
export function ask(title, fields, yes, act) {
  const dialog = byId('dialog'), problem = h('div'), submit = h('button.main', yes);
  const onsubmit = async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      put(problem, wrong(error));
    }
    submit.disabled = false;
  };
  put(dialog, h('form', { onsubmit }, h('h2', title), fields, problem,
    h('div.actions', submit, button(t('cancel'), () => dialog.close()))));
  dialog.showModal();
}

// toast shows a message for 8 seconds. With undo it offers that; done runs if undo did not.
export function toast(text, undo, done) {
  const end = (then) => {
    clearTimeout(timer);
    box.remove();
    then?.();
  };
  const box = h('div.toast', h('span', text), undo && button(t('undo'), () => end(undo), { class: 'undo' }),
    button('×', () => end(done), { class: 'close', 'aria-label': t('close') }));
  const timer = setTimeout(end, 8000, done);
  byId('toasts').append(box);
  box.querySelector('.undo')?.focus();
}

// endToasts carries out what could still be undone.
export function endToasts() {
  for (const close of document.querySelectorAll('.toast .close')) close.click();
}
