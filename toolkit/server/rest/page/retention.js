// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// What the server's rules would delete now. Nothing is deleted here.
import { get } from './api.js';
import { badge, facts, h, load, number, put, rows } from './dom.js';
import { t } from './i18n.js';

// retention shows the memories that would go, with the reasons.
export function retention(top, context) {
  const root = h('div');
  put(top, h('h1', t('retention')), root);
  load(root, async () => {
    const report = await get('retention').catch((error) => {
      if (error.code === 'not_found') return undefined;
      throw error;
    });
    if (!report) return h('p.empty', t('retentionNone'));
    const { erased = {}, items = [], texts, partitions, memories } = report;
    const total = Object.values(erased).reduce((sum, n) => sum + n, 0);
    const row = ({ partition: { kind, namespace, id }, reason, id: memory }) =>
      h('a.item', context.item('memories', memory, { kind, namespace, id }), h('div', h('p.text', texts[memory] ?? memory),
        h('p.meta', badge(t(`retain_${reason}`), 'late'), h('span', { dir: 'auto' }, `${t(kind)} ${id}`))));
    return [h('p.muted', t('retentionWhy', { n: number(memories), p: number(partitions) })),
      total > 0 && h('div.card', facts(Object.entries(erased).map(([reason, n]) => [`retain_${reason}`, number(n)]))),
      total > items.length && h('p.muted', t('retentionFirst', { n: number(items.length), of: number(total) })),
      rows(items, row, t('retentionNothing'))];
  });
}
