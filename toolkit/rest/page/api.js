// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The server's API under api/v1, with the key of this tab.
import { t } from './i18n.js';

const base = new URL('../api/v1/', import.meta.url);
const slot = 'einomem.key';

export const key = () => sessionStorage.getItem(slot) ?? '';
export const setKey = (secret) => (secret ? sessionStorage.setItem(slot, secret) : sessionStorage.removeItem(slot));

// Failure is an answer that is no success, or none at all (status 0).
export class Failure extends Error {
  constructor(status, code, text) {
    const known = t('e_' + code);
    super(known === 'e_' + code ? text || code : known);
    this.status = status;
    this.code = code;
  }
}

// call sends body as JSON and returns the answer. Too many requests are repeated after a second.
export async function call(method, path, body, options = {}, tries = 3) {
  const headers = {};
  if (key()) headers.Authorization = `Bearer ${key()}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let answer, value;
  try {
    answer = await fetch(new URL(path, base), { method, headers, body: body && JSON.stringify(body), ...options });
    value = await answer.json();
  } catch {
    throw new Failure(answer?.status ?? 0, 'offline');
  }
  if (answer.ok) return value;
  if (answer.status === 429 && tries > 1) {
    await new Promise((done) => setTimeout(done, 1000));
    return call(method, path, body, options, tries - 1);
  }
  if (answer.status === 401) window.dispatchEvent(new Event('refused'));
  throw new Failure(answer.status, value.code, value.error);
}

// get reads path with parameters; those without a value are left out.
export const get = (path, parameters = {}) => call('GET', address(path, parameters));

export function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, v]) => v !== undefined && v !== '');
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

// all reads pages until there are no more, or there are `most` values.
export async function all(page, name, most) {
  const values = [];
  let next = '';
  do {
    const answer = await page(next || undefined);
    values.push(...answer[name]);
    next = answer.next;
  } while (next && values.length < most);
  return values;
}

// scopeOf is the scope that names a partition.
export function scopeOf({ kind, namespace, id }) {
  return { namespace, [kind === 'workspace' ? kind : `${kind}_id`]: id };
}
