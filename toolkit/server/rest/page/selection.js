// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Deleting memories: one, or several that were ticked in a list, with one confirmation and a time to undo it.
import { post } from './api.js';
import { ask, button, check, h, number, put, toast } from './dom.js';
import { t } from './i18n.js';

const few = 5; // memories that the question shows

export const deleted = new Set(); // ids of memories that are deleted, or are about to be

// selection is what is ticked of a list. start begins it, box is of a row, bar says what to do with the ticked ones.
// redraw draws the list once more, and refresh reads it, too.
export function selection(context, redraw, refresh) {
  const ticked = new Map(), bar = h('div.selected.card', { hidden: true, role: 'region', 'aria-label': t('select') });
  let isOn = false;
  const end = () => {
    isOn = false;
    ticked.clear();
    redraw();
    draw();
  };
  const ended = () => {
    if (isOn) end();
    refresh();
  };
  const draw = () => {
    bar.hidden = !isOn;
    put(bar, h('strong', { 'aria-live': 'polite' }, t('selected', { n: number(ticked.size) })),
      button(t('deleteThese'), () => askToDelete(context, [...ticked.values()], ended),
        { class: 'danger', id: 'delete-all', disabled: !ticked.size }),
      button(t('cancel'), end));
  };
  const begin = () => {
    isOn = true;
    redraw();
    draw();
  };
  const tick = (m, isTicked) => {
    if (isTicked) ticked.set(m.id, m);
    else ticked.delete(m.id);
    draw();
  };
  const tickAll = (list) => {
    for (const m of list.filter((one) => one.id)) ticked.set(m.id, m);
    redraw();
    draw();
  };
  return {
    bar,
    start: (list) => context.write && (isOn ? button(t('selectAll'), () => tickAll(list), { id: 'select-all' }) :
      button(t('select'), begin, { id: 'select' })),
    box: (m) => isOn && m.id && h('input', { type: 'checkbox', class: 'tick', checked: ticked.has(m.id), 'aria-label': m.text,
      onchange: (event) => tick(m, event.target.checked) }),
  };
}

// askToDelete asks whether what was said goes with the memories.
export function askToDelete(context, list, refresh) {
  const way = (id, text, checked) => check(id, text, checked, { type: 'radio', name: 'how' });
  const keep = way('keep', t('deleteWhy'), true), erase = way('erase', t('erase'), false);
  ask(list.length === 1 ? t('deleteTitle') : t('deleteSome', { n: number(list.length) }),
    [h('ul.those', list.slice(0, few).map((m) => h('li.text', m.text)),
      list.length > few && h('li.muted', t('andMore', { n: number(list.length - few) }))), keep.label, erase.label],
    // its undo gets the focus once the dialog is closed
    t('delete'), () => { setTimeout(() => remove(context, list, refresh, erase.box.checked)); });
}

// remove hides memories, and deletes them when there is no undo any more; with erase also what was said.
function remove(context, list, refresh, erase) {
  const show = () => {
    for (const m of list) deleted.delete(m.id);
    refresh();
  };
  for (const m of list) deleted.add(m.id);
  refresh();
  context.close();
  const text = list.length === 1 ? t('deleting', { m: list[0].text }) : t('deletingSome', { n: number(list.length) });
  toast(text, show, () => post('memories/delete', { scope: context.scope, ids: list.map((m) => m.id), erase }).catch((error) => {
    toast(error.message);
    show();
  }));
}
