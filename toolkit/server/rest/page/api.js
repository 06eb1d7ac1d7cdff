// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// The server's API under api/v1, with the key of this tab.
import { t } from './i18n.js';

const base = new URL('../api/v1/', import.meta.url);
const slot = 'einomem.key';

export const key = () => sessionStorage.getItem(slot);
export const setKey = (secret) => sessionStorage.setItem(slot, secret);

// call sends body as JSON and returns the answer. Its errors have the server's code.
export async function call(method, path, parameters, body) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(parameters)) {
    if (value) url.searchParams.set(name, value);
  }
  const headers = { 'Content-Type': 'application/json' };
  if (key()) headers.Authorization = `Bearer ${key()}`;
  // keepalive: a deletion outlives the page that is left
  const answer = await fetch(url, { method, headers, body: body && JSON.stringify(body),
    keepalive: method === 'DELETE' || path.endsWith('/delete') }).catch(() => undefined);
  const value = await answer?.json().catch(() => undefined);
  if (answer?.ok && value) return value;
  throw failure(answer, value);
}

// codes are those of answers that name none: something in front of the server gave them.
const codes = { 401: 'no_key', 403: 'denied', 404: 'not_found', 413: 'too_large', 429: 'rate', 500: 'internal' };

// failure is an error with a sentence for the reader. Where that is a general one, details are the server's words.
function failure(answer, value) {
  const code = value?.code ?? codes[answer?.status] ?? 'offline', general = t('e_invalid'), sentence = t('e_' + code, {}, general);
  return Object.assign(new Error(sentence), { code, details: sentence === general ? value?.error : '' });
}

// download saves an answer as a file.
export async function download(path, parameters, name) {
  const url = new URL(path, base);
  for (const [field, value] of Object.entries(parameters)) url.searchParams.set(field, value);
  const answer = await fetch(url, { headers: key() ? { Authorization: `Bearer ${key()}` } : {} }).catch(() => undefined);
  if (!answer?.ok) throw failure(answer, await answer?.json().catch(() => undefined));
  const link = Object.assign(document.createElement('a'), { href: URL.createObjectURL(await answer.blob()), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export const get = (path, parameters = {}) => call('GET', path, parameters);
export const post = (path, body) => call('POST', path, {}, body);

// all reads the pages of a list. page reads the one at a cursor; name is where it has its values.
export async function all(page, name) {
  const values = [];
  let cursor;
  do {
    const answer = await page(cursor);
    values.push(...answer[name]);
    cursor = answer.next;
  } while (cursor);
  return values;
}
