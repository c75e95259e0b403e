// The column that is always there: what is asked of the reader.

import { h } from './dom.js';
import { t } from './words.js';
import { line } from './visible.js';
import { age, now } from './time.js';
import { state, isLive } from './store.js';
import { cardOf, stateMark } from './card.js';
import { command } from './parts.js';

const settledFor = 10 * 60000; // a decision stays in sight while it can be changed

/** waiting gives the cards that wait, oldest first: a new one comes below. */
export function waiting() {
  return state.order.map((id) => state.messages.get(id)).filter(isLive);
}

/** loose gives what waits without a card here: requests, and decisions whose card is not here yet. */
function loose() {
  // A card that was decided a moment ago counts too: it is ahead of the list.
  const cards = [...state.messages.values()].filter((m) => m.card);
  const titles = new Map(((state.status && state.status.goals) || []).map((g) => [g.goal_id, g.title]));
  return ((state.status && state.status.needs_you) || []).filter((i) => !(i.kind === 'gate' && cards.some((m) => covers(m.card, i, titles.get(i.goal_id)))));
}

// covers: a card names its goal first and its decision's code in the footer.
function covers(card, item, title) {
  const foot = card.footer || '';
  return (foot === item.code || foot.startsWith(item.code + ' ')) && card.title.startsWith(title || item.goal_id);
}

/** needsCount counts what waits, once each. */
export function needsCount() {
  const cards = waiting();
  return cards.length + loose().length;
}

export function needsOf(goal) {
  return ((state.status && state.status.needs_you) || []).filter((i) => i.goal_id === goal).length;
}

export function needs() {
  const cards = waiting();
  const rest = loose();
  const shown = state.order.map((id) => state.messages.get(id)).filter((m) => isLive(m) || (m && m.card && now() - (state.ui.settled.get(m.id) || -Infinity) < settledFor));
  const settled = shown.length - cards.length;
  const n = cards.length + rest.length;
  return h('aside', { class: 'needs', id: 'needs', 'data-key': 'needs', 'aria-labelledby': 'needs-h', tabindex: '-1' },
    h('header', { class: 'col-head' },
      h('h2', { id: 'needs-h' }, t('needs_you'), n > 0 && h('span', { class: 'count' }, String(n))),
      settled > 0 && h('button', { class: 'link', type: 'button', 'data-do': 'clear', 'data-fid': 'clear' }, t('dismiss'))),
    shown.map((m) => isLive(m) || m.card.state !== 'decided' ? cardOf(m, 'needs') : settledCard(m)),
    rest.length > 0 && h('ul', { class: 'loose', 'data-key': 'loose' }, rest.map(looseItem)),
    n === 0 && settled === 0 && h('div', { class: 'empty', 'data-key': 'empty' }, h('p', {}, t('empty_needs')), command('loopx status', 'needs')));
}

const settledCard = (m) => cardOf(m, 'needs');

function looseItem(i) {
  return h('li', { 'data-key': i.id },
    h('a', { class: 'row', href: '#/goal/' + encodeURIComponent(i.goal_id) + '/work', 'data-nav': 'row', 'data-fid': 'loose/' + i.id },
      h('span', { class: 'row-main said' }, i.code ? h('b', {}, line(i.code) + ' ') : null, line(i.title)),
      h('span', { class: 'row-meta' },
        i.kind === 'gate' ? (i.note === 'expired' ? stateMark({ state: 'expired' }) : t('no_card')) : i.agent ? t('asks', line(i.agent)) : t('asked_you'),
        i.since ? ' · ' + t('waits', age(i.since)) : '')));
}
