// The overview: the groups in their fixed order, and what was done today.

import { h } from './dom.js';
import { t } from './words.js';
import { line } from './visible.js';
import { age, clock, now, sameDay, until } from './time.js';
import { state, isFresh } from './store.js';
import { command, fold, resumes } from './parts.js';

const groups = ['running', 'watching', 'scheduled', 'stopped'];

export function overview() {
  const s = state.status;
  if (!s) return h('div', { class: 'pane', 'data-key': 'overview' });
  const titles = new Map(s.goals.map((g) => [g.goal_id, g.title]));
  const done = (s.done || []).filter((d) => sameDay(d.at, now())).sort((a, b) => b.at - a.at);
  return h('div', { class: 'pane', 'data-key': 'overview' },
    h('header', { class: 'page-head wide-only' }, h('h1', {}, t('overview')), asOf()),
    s.goals.length === 0 && h('div', { class: 'empty' }, h('p', {}, t('empty_goals')), command('loopx goal create --goal-id site --objective "Ship the new pricing page"', 'goals')),
    // A group that gets its first row opens: its element is a new one then.
    groups.map((g) => fold('g-' + g + (s[g].length ? '' : '-empty'), t(g), s[g].length, s[g].length > 0,
      s[g].length === 0
        ? h('p', { class: 'quiet' }, t('empty_group'))
        : h('ul', { class: 'rows' }, s[g].map((i) => row(g, i, titles.get(i.goal_id)))))),
    done.length > 0 && fold('g-done', t('done_today'), '(' + done.length + ')', false, h('ul', { class: 'rows' }, done.map((d) => doneRow(d, titles.get(d.goal_id))))));
}

export function asOf() {
  return state.asOf ? h('span', { class: 'as-of' }, t('as_of', clock(state.asOf))) : null;
}

const goalLink = (i) => '#/goal/' + encodeURIComponent(i.goal_id) + '/work';

function row(group, i, title) {
  return h('li', { 'data-key': i.id, class: isFresh('t/' + i.id) ? 'fresh' : null },
    h('a', { class: 'row', href: goalLink(i), 'data-nav': 'row', 'data-fid': 'row/' + i.id },
      h('span', { class: 'row-main said' }, line(i.title)),
      h('span', { class: 'row-meta said' }, facts(group, i, title).filter(Boolean).join(' · '))));
}

function facts(group, i, title) {
  const goal = i.kind === 'goal' ? '' : line(title || i.goal_id);
  const prio = i.kind === 'goal' ? '' : 'P' + i.priority;
  switch (group) {
    case 'running':
      return [i.agent && line(i.agent), i.since && age(i.since), prio, goal];
    case 'watching':
      return [i.next ? t('looks_next', until(i.next)) : '', prio, goal];
    case 'scheduled':
      return [i.kind === 'deferred' ? (i.note ? resumes(i.note) : t('deferred')) : t('ready'), prio, goal];
    default:
      return [i.note && line(i.note), i.since && t('since', clock(i.since)), goal];
  }
}

function doneRow(d, title) {
  return h('li', { 'data-key': d.id },
    h('a', { class: 'row is-done', href: goalLink(d), 'data-nav': 'row', 'data-fid': 'done/' + d.id },
      h('span', { class: 'row-main said' }, line(d.title)),
      h('span', { class: 'row-meta said' }, [d.agent && line(d.agent), clock(d.at), line(title || d.goal_id)].filter(Boolean).join(' · '))));
}
