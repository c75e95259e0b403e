// The conversation.

import { h } from './dom.js';
import { t } from './words.js';
import { line, visible } from './visible.js';
import { clock, stamp } from './time.js';
import { state, isFresh } from './store.js';
import { cardOf } from './card.js';

export function chat(place) {
  const list = state.order.map((id) => state.messages.get(id)).filter(Boolean);
  const off = !state.me || state.me.role !== 'owner' || state.conn !== 'live';
  return h('div', { class: 'chat', 'data-key': 'chat' },
    h('div', { class: 'log', role: 'log', 'aria-label': t('chat'), tabindex: '0', 'data-fid': 'log', 'data-key': 'log' },
      list.length === 0 && h('p', { class: 'quiet', 'data-key': 'empty' }, t('empty_chat')),
      list.map((m) => message(m, 'chat-' + place))),
    h('form', { class: 'composer', 'data-key': 'composer', 'data-say': '1' },
      state.ui.sayNote && h('p', { class: 'note', 'data-key': 'note', role: 'alert' }, state.ui.sayNote),
      h('div', { class: 'composer-row', 'data-key': 'row' },
        h('textarea', { id: 'say', rows: '1', 'aria-label': t('say_hint'), placeholder: t('say_hint'), 'data-fid': 'say', maxlength: '8000' }),
        h('button', { type: 'submit', class: 'btn primary', 'aria-disabled': off || state.ui.saying ? 'true' : null, 'data-fid': 'send' }, t('send'))),
      h('p', { class: 'hint', 'data-key': 'hint' }, t('one_talk'))));
}

function message(m, place) {
  const mine = state.me && m.from.id === state.me.user;
  const bot = m.from.kind === 'self';
  return h('div', { class: ['msg', mine && 'mine', m.to && 'private', isFresh('m/' + m.id) && !m.card && 'fresh'].filter(Boolean).join(' '), 'data-key': m.id },
    h('p', { class: 'msg-head' },
      h('span', { class: 'who said' }, mine ? t('you') : bot ? 'loopx' : line(m.from.name || m.from.id)),
      ' ',
      h('time', stamp(m.at), clock(m.at)),
      m.to ? h('span', { class: 'only' }, ' · ' + t('only_you')) : null,
      m.edited ? h('span', {}, ' · ' + t('edited', clock(m.edited))) : null),
    m.card ? cardOf(m, place) : h('p', { class: 'text said' }, visible(m.text)));
}
