// Small parts that several places share.

import { h } from './dom.js';
import { t } from './words.js';
import { line } from './visible.js';
import { clock } from './time.js';
import { state } from './store.js';

/** command is one command to copy. */
export function command(text, where) {
  const id = where + '/' + text;
  return h('div', { class: 'cmd' },
    h('code', {}, text),
    h('button', { type: 'button', class: 'btn small', 'data-do': 'copy', 'data-text': text, 'data-id': id, 'data-fid': 'copy/' + id, 'aria-label': t('copy') + ': ' + text }, state.ui.copied === id ? t('copied') : t('copy')));
}

const healthShape = { ready: '●', starting: '◌', retrying: '◐', standby: '○', failed: '✕', contested: '✕' };

/** healthList is the connections with shape and word. */
export function healthList(where) {
  if (!state.health.length) return h('p', { class: 'quiet' }, t('no_connections'));
  return h('ul', { class: 'health' }, state.health.map((c) => {
    const s = healthShape[c.health.state] ? c.health.state : 'failed';
    return h('li', { 'data-key': where + c.name, class: 'h-' + s },
      h('span', { class: 'h-mark', 'aria-hidden': 'true' }, healthShape[s]),
      h('span', { class: 'h-name said' }, c.name),
      h('span', { class: 'h-word' }, t('h_' + s)),
      (c.health.detail || c.health.fix) && s !== 'ready' ? h('span', { class: 'h-fix said' }, c.health.fix || c.health.detail) : null);
  }));
}

/** fold is a list that folds. It remembers nothing: the element does. */
export function fold(key, title, count, open, ...body) {
  return h('details', { class: 'fold', 'data-key': key, open },
    h('summary', { 'data-nav': 'fold', 'data-fid': 'fold/' + key }, h('span', { class: 'fold-title' }, title), h('span', { class: 'fold-count' }, String(count))),
    h('div', { class: 'fold-body' }, ...body));
}

/** resumes says in words what a parked todo waits for; titles are of todos, by id. */
export function resumes(when, titles) {
  const cut = when.indexOf(':');
  const rest = when.slice(cut + 1);
  switch (when.slice(0, cut)) {
    case 'date':
      return t('resumes_date', clock(Date.parse(rest)));
    case 'event':
      return t('resumes_event', line(rest.replaceAll('-', ' ')));
    case 'todo_done':
      return t('resumes_todo', line((titles && titles.get(rest)) || rest));
    case 'gate':
      return t('resumes_gate');
    default:
      return t('resumes', line(when));
  }
}
