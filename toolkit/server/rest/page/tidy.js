// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// Suggestions for tidying what is remembered of a person: looked at, and carried out or declined.
import { get, post } from './api.js';
import { button, check, h, load, number, put, readable, toast, wrong } from './dom.js';
import { t } from './i18n.js';

// tidy shows the suggestions that wait, or offers to look for some.
export function tidy(root, context) {
  const body = h('div', { id: 'plan', 'aria-live': 'polite' });
  const of = (plan) => (plan?.operations?.length ? suggestions(context, plan, () => put(body, of())) :
    h('p.empty', t(plan ? 'tidyNone' : 'tidyReady')));
  const look = button(t('tidyLook'), async () => {
    look.disabled = true;
    put(body);
    await load(body, async () => of(await post('plans', { scope: context.scope })));
    look.disabled = false;
  }, { class: 'main', id: 'look' });
  put(root, h('p.muted', t('tidyWhy')), h('div.actions', look), body, h('p.muted', t('tidyWaits')));
  load(body, async () => of((await get('plans', context.scope)).plans[0]));
}

// suggestions are the operations of a plan, each with a box.
function suggestions(context, plan, end) {
  const boxes = plan.operations.map((op, i) => ({ op, ...check(`op-${i}`, t(`op_${op.op}`), true) })), problem = h('div');
  const act = async (keep, text) => {
    try {
      const done = await post('plans/apply', { scope: context.scope, id: plan.id, keep });
      end();
      const isUndoable = done.done > 0;
      toast(done.conflicts?.length ? t('tidyPartly', { n: done.conflicts.length }) : text, isUndoable && (() => undo(context, plan)));
    } catch (error) {
      put(problem, wrong(error.code === 'not_found' ? { message: t('tidyGone') } : error));
    }
  };
  const ticked = () => boxes.flatMap(({ box }, i) => (box.checked ? [i] : []));
  return [h('h2', t('tidyFound', { n: number(boxes.length) })), h('ol.rows', boxes.map(({ op, label }) =>
    h('li', h('div.card.suggestion', { 'data-op': op.op }, label, effect(op), h('p.meta', t('becauseOf', { r: reasonOf(op) })))))),
  problem, h('div.actions', button(t('tidyDo'), () => {
    const keep = ticked();
    act(keep, keep.length ? t('tidyDone', { n: number(keep.length) }) : t('tidyDeclined'));
  }, { class: 'main', id: 'apply' }), button(t('tidyDecline'), () => act([], t('tidyDeclined')), { id: 'decline' }))];
}

const undo = (context, plan) => post('plans/undo', { scope: context.scope, id: plan.id }).then(() => toast(t('tidyUndone')));

// effect shows what an operation takes away, and what it leaves or adds.
function effect({ op, changes = [], evidence = [], stays, text, field, value, into, votes }) {
  const gone = op === 'field' || op === 'vote' || op === 'promote' ? 'p' : 'del';
  const fresh = text || stays?.text || (field && [`${field.replaceAll('_', ' ')}: `, readable(value)]);
  return [changes.map((m) => h(`${gone}.text`, m.text)), fresh && h('ins.text', fresh), into && h('p.meta', t('into', { w: into })),
    votes && h('p.meta', t('votes', { n: votes > 0 ? `+${votes}` : votes })),
    evidence.length > 0 && [h('p.meta', t('evidence')), h('ul', evidence.map((m) => h('li.text', m.text)))]];
}

const reasonOf = ({ rule, op, reason }) => t(`rule_${rule}_${op}`, {}, t(`rule_${rule}`, {}, reason));
