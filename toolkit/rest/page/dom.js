// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Elements, bars, dates, lists, messages. Texts become text nodes: nothing here parses markup.
import { t, locale } from './i18n.js';

export const byId = (id) => document.getElementById(id);

// h makes an element: h('p.muted', {id: 'x', onclick: f}, 'text', other, null).
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.');
  return fill(document.createElement(tag), { class: classes.join(' '), ...attributes }, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'value') element.value = value;
    else if (![undefined, null, false, ''].includes(value)) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

export const button = (text, onclick, attributes) => h('button', { type: 'button', onclick, ...attributes }, text);

export function choice(label, options, value, onchange) {
  return h('select', { 'aria-label': label, onchange: (e) => onchange(e.target.value) },
    options.map(([v, text]) => h('option', { value: v, selected: v === value }, text)));
}

// bar is a line from zero to the right, or to the left for what took off. most is the end of the
// scale, and zero its place on it.
function bar(value, most, zero) {
  const size = (Math.abs(value) / most) * (value < 0 ? zero : 100 - zero);
  return svg('svg', { class: 'bar', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'track', width: 100, height: 6 }),
    svg('rect', { class: value < 0 ? 'minus' : 'plus', x: value < 0 ? zero - size : zero, width: size, height: 6 }),
    svg('rect', { class: 'zero', x: zero - 0.4, width: 0.8, height: 6 }));
}

// partsOf are the parts of a hit's score as [name, text, value].
function partsOf(parts) {
  return [['lexical', t('lexical'), parts.lexical], ['vector', t('vector'), parts.vector],
    ...(parts.rerank ? [['rerank', t('rerank'), parts.rerank]] : []),
    ...Object.entries(parts.signals ?? {}).map(([n, v]) => [n, t('s_' + n).replace(/^s_/, ''), v])];
}

// bars shows what hits were found by, one element a hit, on one scale.
export function bars(hits) {
  const values = hits.flatMap((hit) => partsOf(hit.parts).map(([, , v]) => v));
  const most = Math.max(1e-9, ...values.map(Math.abs)), zero = Math.min(0, ...values) < 0 ? 40 : 0;
  return hits.map((hit) => h('dl.bars', {}, partsOf(hit.parts).map(([name, text, value]) => h('div', { 'data-part': name },
    h('dt', {}, text), h('dd', {}, bar(value, most, zero), h('span.number', {}, value.toFixed(2).replace('-', '−')))))));
}

const format = (options) => (time) => (isSet(time) ? new Intl.DateTimeFormat(locale(), options).format(new Date(time)) : '');
export const isSet = (time) => Boolean(time) && !String(time).startsWith('0001-');
export const day = format({ dateStyle: 'long' });
export const date = format({ dateStyle: 'medium' });
export const moment = format({ dateStyle: 'medium', timeStyle: 'short' });
export const clock = format({ timeStyle: 'short' });
export const number = (n, digits = 2) => new Intl.NumberFormat(locale(), { maximumFractionDigits: digits }).format(n);

export const empty = (text) => h('p.empty', {}, text);
export const wrong = (error) => h('p.wrong', { role: 'alert' }, error.message);

// load shows what `work` returns in root, and meanwhile that it is under way.
export async function load(root, work) {
  root.replaceChildren(h('p.muted', { role: 'status' }, t('loading')));
  try {
    root.replaceChildren(...[await work()].flat().filter(Boolean));
  } catch (error) {
    if (error.status === undefined) throw error; // ours
    root.replaceChildren(wrong(error));
  }
}

// some shows the first rows of a list, and a button for more. Arrows move in it: see arrows.
export function some(items, row, step = 100) {
  const list = h('ol.rows', { 'data-list': true });
  const more = button(t('more'), () => grow());
  const grow = () => {
    const from = list.children.length;
    list.append(...items.slice(from, from + step).map((item, i) => h('li', {}, row(item, from + i))));
    more.hidden = list.children.length >= items.length;
    if (from) list.children[from]?.querySelector('a, button')?.focus();
  };
  grow();
  return [list, more];
}

// arrows moves the focus between the rows of a list.
export function arrows(event) {
  const list = event.target.closest?.('[data-list]');
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!list || !(step || event.key === 'Home' || event.key === 'End')) return;
  const rows = [...list.closest('[data-lists]')?.querySelectorAll('[data-list] > li > a') ?? list.querySelectorAll(':scope > li > a')];
  const at = rows.indexOf(event.target.closest('li > a'));
  if (at < 0) return;
  event.preventDefault();
  rows.at(step ? Math.min(rows.length - 1, Math.max(0, at + step)) : event.key === 'Home' ? 0 : -1).focus();
}

// toast shows a message for some seconds, with a button if there is an action. It returns what closes it.
export function toast(text, action, seconds = 8) {
  const box = h('div.toast', {}, h('span', {}, text),
    action && button(t('undo'), () => { close(); action(); }, { class: 'undo' }),
    button('×', () => close(), { 'aria-label': t('close') }));
  const timer = setTimeout(() => close(), seconds * 1000);
  const close = () => { clearTimeout(timer); box.remove(); };
  byId('toasts').append(box);
  box.querySelector('.undo')?.focus({ preventScroll: true });
  return close;
}
