// One goal: five lines, then its work, its evidence or the conversation.

import { h } from './dom.js';
import { t } from './words.js';
import { line, visible, safeURL } from './visible.js';
import { age, clock, until, now, sameDay } from './time.js';
import { state, isFresh } from './store.js';
import { command, fold, resumes } from './parts.js';
import { asOf } from './groups.js';
import { chat } from './chat.js';

const tabs = ['chat', 'work', 'evidence'];

export function goalPage() {
  const id = state.route.goal;
  const page = state.goals.get(id);
  const sum = page ? page.summary : ((state.status && state.status.goals) || []).find((g) => g.goal_id === id);
  if (!sum) return h('div', { class: 'pane', 'data-key': 'goal-' + id }, state.status && h('div', { class: 'empty' }, h('p', {}, t('no_goal')), command('loopx goal list', 'gone')));
  const tab = state.route.tab;
  return h('div', { class: 'pane goal' + (tab === 'chat' ? ' has-chat' : ''), 'data-key': 'goal-' + id },
    h('header', { class: 'page-head' },
      h('a', { class: 'back narrow-only', href: '#/goals', 'data-fid': 'back' }, h('span', { 'aria-hidden': 'true' }, '‹ '), t('goals')),
      h('h1', { class: 'said' }, line(sum.title)),
      h('span', { class: 'page-meta' }, goalState(sum), ' ', asOf())),
    fiveLines(sum, page),
    h('nav', { class: 'tabs', 'aria-label': line(sum.title) }, tabs.map((x) => h('a', {
      href: '#/goal/' + encodeURIComponent(id) + '/' + x, 'data-fid': 'tab/' + x, 'aria-current': x === tab ? 'page' : null,
    }, t(x)))),
    tab === 'chat' ? chat('goal') : !page ? null : tab === 'evidence' ? evidence(page, id) : work(page, id));
}

const goalShapes = { active: '●', paused: '◐', completed: '✓' };

export function goalState(sum) {
  const s = goalShapes[sum.status] ? sum.status : 'active';
  return h('span', { class: 'goal-state gs-' + s }, h('span', { 'aria-hidden': 'true' }, goalShapes[s] + ' '), t('st_' + s));
}

// fiveLines says the same as the kernel's own lines, with ages and in the
// reader's language where the page knows the parts.
function fiveLines(sum, page) {
  const rows = [
    [t('objective'), line(sum.objective)],
    [t('next'), page ? next(page, sum) : line(sum.next)],
    [t('needs_you'), page ? asked(page) : line(sum.needs_you)],
    [t('evidence'), page ? proof(page) : line(sum.evidence)],
    [t('continues'), sum.status === 'active' && !sum.continues.startsWith('no') ? goesOn(sum, page) : line(sum.continues)],
  ];
  return h('dl', { class: 'five' }, rows.map(([k, v], i) => h('div', { 'data-key': String(i) }, h('dt', {}, k), h('dd', { class: 'said' }, v))));
}

function next(page, sum) {
  const run = page.in_progress[0];
  if (run) return line(run.claimed_by) + ': ' + line(run.title) + ' (P' + run.priority + ')' + (run.claim_since ? ' · ' + t('since', clock(run.claim_since)) : '');
  const ready = page.to_do[0];
  if (ready) return line(ready.title) + ' (P' + ready.priority + ') · ' + t('not_taken');
  if (page.blocked.length && sum.gates_open) return t('waits_decision');
  return line(sum.next);
}

function asked(page) {
  const open = page.gates.filter((g) => g.status === 'open' || g.status === 'expired');
  if (!open.length) return t('nothing');
  const g = open[0];
  return line(g.code) + ' ' + line(g.question) + ' (' + age(g.asked_at) + ')' + (open.length > 1 ? ' · ' + t('and_more', open.length - 1) : '');
}

function proof(page) {
  const list = page.evidence.slice(0, 3);
  return list.length ? list.map((e) => line(e.summary)).join(', ') + ' · ' + clock(list[0].observed_at) : t('none_yet');
}

function goesOn(sum, page) {
  const wake = page && page.later.map((x) => x.watch && x.watch.next_due).filter(Boolean).sort((a, b) => a - b)[0];
  return t('slots_left', Math.max(sum.allowed_slots - sum.spent_slots, 0), sum.allowed_slots) + (wake ? ' · ' + t('next_wake', until(wake)) : '');
}

function work(page, id) {
  const all = page.to_do.length + page.in_progress.length + page.blocked.length + page.done.length + page.later.length;
  if (!all) return h('div', { class: 'empty', 'data-key': 'work' }, h('p', {}, t('empty_work')), command('loopx todo add --goal-id ' + id + ' --text "Write the FAQ"', 'work'));
  const titles = new Map([...page.to_do, ...page.in_progress, ...page.blocked, ...page.done, ...page.later].map((x) => [x.todo_id, x.title]));
  const today = page.done.filter((x) => x.done && sameDay(x.done.at, now()));
  const before = page.done.filter((x) => !today.includes(x));
  return h('div', { class: 'work', 'data-key': 'work' },
    h('div', { class: 'columns' },
      column('todo', t('col_todo'), page.to_do, (x) => todo(x, [t('free'), 'P' + x.priority, age(x.created)])),
      column('progress', t('col_progress'), page.in_progress, (x) => todo(x, [line(x.claimed_by), 'P' + x.priority, age(x.claim_since || x.updated)])),
      column('blocked', t('col_blocked'), page.blocked, (x) => todo(x, ['P' + x.priority, age(x.created)], why(x, titles))),
      doneColumn(today, before)),
    page.later.length > 0 && fold('later', t('later'), page.later.length, true, h('ul', { class: 'rows' }, page.later.map((x) => laterRow(x, titles)))));
}

function column(key, title, list, draw, rest) {
  return h('section', { class: 'column c-' + key, 'data-key': key, 'aria-labelledby': 'col-' + key },
    h('h2', { id: 'col-' + key }, title, h('span', { class: 'count' }, String(list.length))),
    list.length ? h('ul', {}, list.map(draw)) : !rest && h('p', { class: 'quiet' }, t('col_empty')),
    rest);
}

function doneColumn(today, before) {
  const draw = (x) => todo(x, [x.done && line(x.done.by), clock(x.done ? x.done.at : x.updated)].filter(Boolean), '', true);
  const folds = [
    today.length > 0 && fold('today', t('done_today'), '(' + today.length + ')', false, h('ul', {}, today.map(draw))),
    before.length > 0 && fold('before', t('earlier'), '(' + before.length + ')', false, h('ul', {}, before.map(draw))),
  ].filter(Boolean);
  return h('section', { class: 'column c-done', 'data-key': 'done', 'aria-labelledby': 'col-done' },
    h('h2', { id: 'col-done' }, t('col_done'), h('span', { class: 'count' }, String(today.length + before.length))),
    folds.length ? folds : h('p', { class: 'quiet' }, t('col_empty')));
}

function todo(x, facts, reason, done) {
  return h('li', { class: ['todo', done && 'is-done', isFresh('t/' + x.todo_id) && 'fresh'].filter(Boolean).join(' '), 'data-key': x.todo_id, 'data-fid': 'todo/' + x.todo_id, 'data-nav': 'todo', tabindex: '-1' },
    h('span', { class: 'todo-title said' }, line(x.title)),
    h('span', { class: 'todo-meta said' }, facts.filter(Boolean).join(' · ')),
    reason && h('span', { class: 'todo-why said' }, reason));
}

function why(x, titles) {
  const gate = (x.blocked_by || [])[0];
  if (gate) {
    const key = { open: 'b_gate', expired: 'b_gate_expired', withdrawn: 'b_gate_withdrawn', reject: 'b_gate_reject', cancel: 'b_gate_cancel' }[gate.state] || 'b_gate';
    return t(key, line(gate.code || gate.gate_id));
  }
  const after = x.waits_for || [];
  if (after.length === 1) return t('b_after', line(titles.get(after[0]) || after[0]));
  if (after.length > 1) return t('b_after_n', after.length);
  return x.note ? line(x.note) : t('b_plain');
}

function laterRow(x, titles) {
  const facts = x.state_of === 'watching'
    ? [t('watching'), x.watch && x.watch.next_due ? t('looks_next', until(x.watch.next_due)) : '']
    : x.state_of === 'asked' ? [t('asked_you'), age(x.created)] : [x.resume_when ? resumes(x.resume_when, titles) : t('deferred')];
  return h('li', { 'data-key': x.todo_id, 'data-fid': 'todo/' + x.todo_id, 'data-nav': 'todo', tabindex: '-1', class: 'row' + (isFresh('t/' + x.todo_id) ? ' fresh' : '') },
    h('span', { class: 'row-main said' }, line(x.title)),
    h('span', { class: 'row-meta said' }, [...facts, 'P' + x.priority].filter(Boolean).join(' · ')));
}

function evidence(page, id) {
  if (!page.evidence.length) return h('div', { class: 'empty', 'data-key': 'evidence' }, h('p', {}, t('empty_evidence')), command('loopx todo complete --goal-id ' + id + ' --todo-id TODO --evidence "check:212 tests pass"', 'evidence'));
  return h('ul', { class: 'rows proof', 'data-key': 'evidence' }, page.evidence.map((e) => {
    const host = safeURL(e.ref);
    return h('li', { 'data-key': e.evidence_id, class: 'row', 'data-nav': 'todo', tabindex: '-1', 'data-fid': 'ev/' + e.evidence_id },
      h('span', { class: 'row-main said' }, visible(e.summary), host && h('a', { href: e.ref, target: '_blank', rel: 'noopener noreferrer', 'aria-label': host + ', ' + t('opens_new') }, ' ' + host + ' ↗')),
      h('span', { class: 'row-meta said' }, [e.kind && line(e.kind), line(e.agent), clock(e.observed_at), t('ago', age(e.observed_at))].filter(Boolean).join(' · '),
        e.stale && h('span', { class: 'stale' }, ' · ◌ ' + t('stale_mark'))));
  }));
}
