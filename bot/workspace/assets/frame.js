// The page around everything: rail, bars, notes, the stranger's page, help.

import { h } from './dom.js';
import { t, language } from './words.js';
import { line } from './visible.js';
import { clock, span, now } from './time.js';
import { state } from './store.js';
import { needs, needsOf, needsCount } from './needs.js';
import { overview } from './groups.js';
import { goalPage, goalState } from './board.js';
import { chat } from './chat.js';
import { command, healthList } from './parts.js';

export function app() {
  if (state.ended) return plain(t('signed_out'), h('button', { class: 'btn', type: 'button', 'data-do': 'reload', 'data-fid': 'reload' }, t('reload')));
  if (state.me && state.me.role === 'stranger') return stranger();
  const r = state.route;
  return h('div', { class: 'app view-' + r.view, id: 'app', 'data-key': 'app' },
    h('a', { class: 'skip', href: '#needs', 'data-do': 'skip', 'data-fid': 'skip' }, t('skip')),
    notes(),
    rail(),
    needs(),
    h('main', { class: 'middle', 'data-key': 'main', id: 'main', tabindex: '-1' },
      r.view === 'chat' ? h('div', { class: 'pane has-chat', 'data-key': 'chatpane' }, h('header', { class: 'page-head' }, h('h1', {}, t('chat'))), chat('main'))
        : r.view === 'goal' ? goalPage()
          : r.view === 'goals' ? goalsPane()
            : r.view === 'more' ? more() : overview()),
    bottom(),
    help());
}

function notes() {
  const list = [];
  if (state.conn === 'lost') list.push(h('p', { class: 'bar bar-lost', 'data-key': 'lost', role: 'status' }, h('span', { 'aria-hidden': 'true' }, '◌ '), t('lost', clock(state.lastSeen))));
  else if (state.old && now() - state.lastSeen >= 60000 && !state.trouble) list.push(h('p', { class: 'bar', 'data-key': 'old' }, t('shown_from', span(now() - state.lastSeen))));
  else if (state.conn === 'connecting' && !state.old) list.push(h('p', { class: 'bar', 'data-key': 'conn' }, t('connecting')));
  if (state.trouble) list.push(h('div', { class: 'bar bar-lost', 'data-key': 'trouble', role: 'alert' }, h('span', {}, t('trouble', state.trouble.message, clock(state.asOf))), state.trouble.fix && command(state.trouble.fix, 'trouble')));
  if (state.me && state.me.role === 'viewer') list.push(h('div', { class: 'bar', 'data-key': 'viewer' }, h('span', {}, t('viewer_note')), command('loopx link page ' + state.me.code, 'viewer')));
  return h('div', { class: 'notes', 'data-key': 'notes' }, list);
}

function rail() {
  const r = state.route;
  const goals = (state.status && state.status.goals) || [];
  return h('nav', { class: 'rail', 'data-key': 'rail', 'aria-label': t('goals') },
    h('p', { class: 'brand' }, 'loopx'),
    h('ul', { class: 'rail-top' },
      railLink('#/', t('overview'), r.view === 'overview', 'overview'),
      railLink('#/chat', t('chat'), r.view === 'chat', 'chat')),
    h('h2', {}, t('goals')),
    goals.length ? h('ul', { class: 'rail-goals' }, goals.map((g) => goalLink(g, 'rail'))) : h('p', { class: 'quiet' }, t('empty_group')),
    h('div', { class: 'rail-foot' },
      h('h2', {}, t('connections')),
      healthList('rail'),
      state.me && state.me.demo ? h('p', { class: 'quiet small' }, t('demo_note')) : null,
      h('div', { class: 'rail-tools' },
        h('a', { href: '#/more', 'data-fid': 'rail/more', 'aria-current': r.view === 'more' ? 'page' : null }, t('more')),
        h('button', { type: 'button', 'data-do': 'help', 'data-fid': 'help', 'aria-label': t('shortcuts') }, h('kbd', {}, '?')))));
}

function railLink(href, text, current, id) {
  return h('li', { 'data-key': id }, h('a', { href, 'aria-current': current ? 'page' : null, 'data-nav': 'link', 'data-fid': 'rail/' + id }, text));
}

function goalLink(g, where) {
  const n = needsOf(g.goal_id);
  const current = state.route.view === 'goal' && state.route.goal === g.goal_id;
  return h('li', { 'data-key': g.goal_id },
    h('a', { href: '#/goal/' + encodeURIComponent(g.goal_id) + '/work', 'aria-current': current ? 'page' : null, 'data-nav': 'link', 'data-fid': where + '/g/' + g.goal_id, class: where === 'pane' ? 'row' : null },
      h('span', { class: 'g-name said' }, line(g.title)),
      where === 'pane' && h('span', { class: 'row-meta' }, goalState(g), n ? ' · ' + (n === 1 ? t('needs_count_one') : t('needs_count', n)) : ''),
      n > 0 && where === 'rail' ? h('span', { class: 'dot' }, h('span', { class: 'unseen' }, n === 1 ? t('needs_count_one') : t('needs_count', n))) : null));
}

function goalsPane() {
  const goals = (state.status && state.status.goals) || [];
  return h('div', { class: 'pane', 'data-key': 'goals' },
    h('header', { class: 'page-head' }, h('h1', {}, t('goals'))),
    goals.length ? h('ul', { class: 'rows' }, goals.map((g) => goalLink(g, 'pane')))
      : h('div', { class: 'empty' }, h('p', {}, t('empty_goals')), command('loopx goal create --goal-id site --objective "Ship the new pricing page"', 'goals')));
}

function more() {
  const me = state.me || {};
  return h('div', { class: 'pane more', 'data-key': 'more' },
    h('header', { class: 'page-head' }, h('h1', {}, t('more'))),
    h('section', { 'aria-labelledby': 'm-c' }, h('h2', { id: 'm-c' }, t('connections')), healthList('more')),
    h('section', { 'aria-labelledby': 'm-l' }, h('h2', { id: 'm-l' }, t('language')),
      choice('lang', [['en', 'English'], ['zh', '中文']], language())),
    h('section', { 'aria-labelledby': 'm-t' }, h('h2', { id: 'm-t' }, t('theme')),
      choice('theme', [['', t('theme_auto')], ['light', t('theme_light')], ['dark', t('theme_dark')]], state.ui.theme)),
    h('section', { 'aria-labelledby': 'm-k' }, h('h2', { id: 'm-k' }, t('shortcuts')),
      h('label', { class: 'check' }, h('input', { type: 'checkbox', 'data-do': 'shortcuts', 'data-fid': 'shortcuts', checked: state.ui.shortcuts }), t('shortcuts_on')),
      keysList()),
    h('p', { class: 'quiet' }, [me.role === 'owner' ? t('role_owner') : t('role_viewer'), state.version && t('version') + ' ' + state.version].filter(Boolean).join(' · ')),
    me.demo ? h('p', { class: 'quiet' }, t('demo_note')) : null);
}

function choice(name, list, now) {
  return h('div', { class: 'choice', role: 'group' }, list.map(([value, text]) => h('button', {
    type: 'button', class: 'btn', 'data-do': name, 'data-value': value, 'aria-pressed': String(value === now), 'data-fid': name + '/' + value, lang: value === 'zh' ? 'zh-CN' : null,
  }, text)));
}

function keysList() {
  const keys = [['j / k', 'k_move'], ['Enter', 'k_open'], ['a', 'k_answer'], ['1 2 3', 'k_go'], ['?', 'k_help'], ['Esc', 'k_close']];
  return h('dl', { class: 'keys' }, keys.map(([k, w]) => h('div', {}, h('dt', {}, h('kbd', {}, k)), h('dd', {}, t(w)))));
}

function help() {
  return h('dialog', { id: 'help', 'data-key': 'help', 'aria-labelledby': 'help-h' },
    h('h2', { id: 'help-h' }, t('shortcuts')), keysList(),
    h('button', { class: 'btn', type: 'button', 'data-do': 'unhelp', 'data-fid': 'unhelp' }, t('close')));
}

const icons = {
  needs: 'M3 12.5 5.6 4.8h10.8L19 12.5v4.7H3zM3 12.5h4.7a3.3 3.3 0 0 0 6.6 0H19',
  goals: 'M11 3a8 8 0 1 0 8 8M11 7a4 4 0 1 0 4 4M11 11l7.5-7.5M15.5 3v3.5H19',
  chat: 'M4 4.5h14v10H9.5L6 18v-3.5H4z',
  more: 'M5 11h.01M11 11h.01M17 11h.01',
};

function bottom() {
  const v = state.route.view;
  const n = needsCount();
  const tab = (href, text, current, id, badge) => h('a', { href, 'aria-current': current ? 'page' : null, 'data-fid': 'bottom/' + id },
    h('span', { class: 'b-icon', 'aria-hidden': 'true' }, h('svg', { viewBox: '0 0 22 22' }, h('path', { d: icons[id] })), badge ? h('span', { class: 'badge' }, String(badge)) : null),
    h('span', { class: 'b-text' }, text, badge ? h('span', { class: 'unseen' }, ', ' + badge) : null));
  return h('nav', { class: 'bottom', 'data-key': 'bottom', 'aria-label': t('overview') },
    tab('#/', t('needs_you'), v === 'overview', 'needs', n),
    tab('#/goals', t('goals'), v === 'goals' || v === 'goal', 'goals'),
    tab('#/chat', t('chat'), v === 'chat', 'chat'),
    tab('#/more', t('more'), v === 'more', 'more'));
}

function stranger() {
  return plain(t('stranger_title'),
    h('p', {}, t('stranger_note')),
    h('p', { class: 'code' }, h('span', { class: 'label' }, t('code')), h('strong', {}, state.me.code)),
    command('loopx link page ' + state.me.code, 'stranger'));
}

function plain(title, ...body) {
  return h('main', { class: 'plain', id: 'app', 'data-key': 'plain' }, h('p', { class: 'brand' }, 'loopx'), h('h1', {}, title), ...body);
}
