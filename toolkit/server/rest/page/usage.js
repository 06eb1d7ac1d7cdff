// Copyright 2026 The einomem Authors
// SPDX-License-Identifier: Apache-2.0

// What the memory costs: calls and tokens of today, and of the days before.
import { get } from './api.js';
import { bar, brief, date, h, number } from './dom.js';
import { t } from './i18n.js';

const shown = 14; // days of the plot
const tokensOf = (d) => d.prompt_tokens + d.completion_tokens + d.embedding_tokens + d.note_tokens;

// usage draws today's numbers, and a plot of the days.
export async function usage() {
  const { days, budget } = await get('usage');
  const [today] = days, most = Math.max(1, ...days.map(tokensOf));
  const card = (name, value, note, isLate) => h(isLate ? 'div.card.count.late' : 'div.card.count', { 'data-count': name },
    h('strong', { title: number(value) }, brief(value)), h('span', t(name)), note && h('span.note', note));
  const withNote = today.notes > 0 && t('noteTokens', { n: number(today.note_tokens / today.notes, 0) });
  const failed = today.failed_calls > 0 && t('failedCalls', { n: number(today.failed_calls) });
  const bounds = ['calls', 'tokens'].filter((of) => budget?.[of]).map((of) => t(`at_most_${of}`, { n: number(budget[of]) }));
  const worse = today.by_words + today.in_part;
  return [h('h2', t('today')), h('div.counts',
    card('modelCalls', today.model_calls, failed, failed),
    card('tokensRead', today.prompt_tokens), card('tokensWritten', today.completion_tokens),
    card('embeddings', today.embedding_requests),
    card('searches', today.searches, worse > 0 && t('worse', { n: number(worse) }), worse > 0), card('notesShown', today.notes, withNote)),
  bounds.length > 0 && h('p.muted', t('budget', { all: bounds.join(t('comma')) })),
  days.length > 1 && h('figure.card', { 'data-plot': 'tokensADay' }, h('figcaption', t('tokensADay')),
    h('dl', days.slice(0, shown).map((d) => bar(d.day, date(d.day), tokensOf(d), most, brief(tokensOf(d))))))];
}
