// Any card, in the fixed order of its parts; empty parts vanish.

import { h } from './dom.js';
import { t, tIn, language } from './words.js';
import { visible, line, safeURL } from './visible.js';
import { age, now } from './time.js';
import { state, isFresh, isLive } from './store.js';

const shapes = { open: '○', confirming: '◐', decided: '●', stale: '◌', expired: '✕', waiting: '○', running: '◐', answered: '●', ended: '✕' };
const marks = { approves: 1, rejects: 1, cancels: 1, answers: 1 };

/** stateMark is a state as shape and word. */
export function stateMark(card) {
  const s = shapes[card.state] ? card.state : 'expired';
  return h('span', { class: 'state state-' + s }, h('span', { 'aria-hidden': 'true' }, shapes[s] + ' '), tIn(card.lang, 'state_' + s));
}

/** cardOf draws the card of a message; place tells its copies apart. */
export function cardOf(m, place) {
  const card = m.card;
  const id = place + '-' + m.id;
  const zh = card.lang === 'zh' ? 'zh-CN' : card.lang === 'en' ? 'en' : null;
  return h('article', {
    class: ['card', 'is-' + card.state, card.protected && 'is-protected', isFresh('m/' + m.id) && 'fresh'].filter(Boolean).join(' '),
    'data-key': id, 'data-fid': id, 'data-nav': 'card', 'data-msg': m.id, tabindex: '-1', 'aria-labelledby': id + '-t', lang: zh,
  },
    head(m, card, id),
    card.question && h('p', { class: 'question said' + (card.struck ? ' struck' : '') }, card.struck ? h('s', {}, visible(card.question)) : visible(card.question)),
    card.outcome && h('p', { class: 'outcome said' }, line(card.outcome)),
    (card.quotes || []).map((q, i) => quote(card, q, id + '-q' + i)),
    (card.options || []).length > 0 && options(card),
    (card.facts || []).map((f) => h('p', { class: 'fact said' }, line(f))),
    (card.fields || []).length > 0 && h('dl', { class: 'fields' }, card.fields.map((f) => [h('dt', { class: 'said' }, line(f.label)), h('dd', { class: 'said' }, line(f.value))])),
    (card.evidence || []).length > 0 && evidence(card),
    card.footer && h('p', { class: 'foot said' }, line(card.footer)),
    actions(m, card, place, id),
  );
}

function head(m, card, id) {
  return h('header', { class: 'card-head' },
    h('h3', { id: id + '-t', class: 'said' }, line(card.title)),
    h('span', { class: 'card-state' },
      isLive(m) && card.state === 'open' && m.at ? h('span', { class: 'waits' }, waits(card, m.at) + ' ') : null,
      stateMark(card)));
}

// waits says for how long; nothing waits "just now".
function waits(card, at) {
  return now() - at < 60000 ? tIn(card.lang, 'age_now') : tIn(card.lang, 'waits', age(at, card.lang || undefined));
}

const quoteMost = 300;

function quote(card, q, id) {
  const text = visible(q.text);
  const long = [...text].length > quoteMost;
  const wide = state.ui.wide.has(id);
  return h('figure', { class: 'quote', 'data-key': id },
    h('figcaption', { class: 'said' }, isAsking(card) ? line(q.from) : tIn(card.lang, 'says', line(q.from))),
    h('blockquote', { class: 'said' }, long && !wide ? shortened(text) : text),
    long && h('button', { class: 'link', type: 'button', 'data-do': 'wide', 'data-id': id, 'data-fid': 'wide/' + id, 'aria-expanded': String(wide) }, t(wide ? 'show_less' : 'show_all')));
}

// shortened cuts at a word where there is one near.
function shortened(text) {
  const cut = [...text].slice(0, quoteMost).join('');
  const at = cut.lastIndexOf(' ');
  return (at > quoteMost - 40 ? cut.slice(0, at) : cut).replace(/[\s.,;:，。；：、-]+$/u, '') + '…';
}

const isAsking = (card) => (card.options || []).length > 0 || !!card.question;

function options(card) {
  return h('ul', { class: 'options' }, card.options.map((o) => h('li', {},
    h('span', { class: 'opt-label said' }, h('span', { 'aria-hidden': 'true', class: 'tri' }, '▸'), line(o.label)),
    h('span', { class: 'opt-text' }, h('span', { class: 'said' }, line(o.consequence || '')), ' ',
      o.mark && h('span', { class: 'opt-mark' }, '(' + (marks[o.mark] ? tIn(card.lang, 'mark_' + o.mark) : line(o.mark)) + ')')))));
}

function evidence(card) {
  return h('div', { class: 'evidence' },
    h('span', { class: 'label' }, tIn(card.lang, 'evidence')),
    h('ul', {}, card.evidence.map((e) => {
      const host = safeURL(e.url);
      return h('li', { class: e.stale ? 'is-stale' : null },
        host
          ? h('a', { href: e.url, target: '_blank', rel: 'noopener noreferrer', class: 'said', 'aria-label': line(e.text) + ', ' + host + ', ' + t('opens_new') }, line(e.text), ' ', h('span', { class: 'host' }, host + ' ↗'))
          : h('span', { class: 'said' }, line(e.text)),
        ' ', e.stale && h('span', { class: 'stale' }, '◌ ' + tIn(card.lang, 'stale_mark')));
    })));
}

function actions(m, card, place, id) {
  const note = state.ui.notes.get(m.id);
  const buttons = card.buttons || [];
  if (!buttons.length) return note ? h('p', { class: 'note said', 'data-key': 'note' }, line(note)) : null;
  const open = buttons.find((b) => b.id === state.ui.forms.get(m.id) && b.form && card.input);
  const busy = state.ui.busy.get(m.id);
  const off = !state.me || state.me.role !== 'owner' || state.conn !== 'live';
  return [
    note && h('p', { class: 'note said', 'data-key': 'note' }, line(note)),
    open
      ? form(m, card, open, id, place, !!busy || off)
      : h('div', { class: 'buttons', 'data-key': 'buttons', role: 'group', 'aria-labelledby': id + '-t' }, buttons.map((b) => h('button', {
        type: 'button', class: 'btn' + (b.style === 'danger' ? ' danger' : ''), 'data-key': b.id, 'data-do': b.form && card.input ? 'form' : 'press',
        'data-msg': m.id, 'data-act': b.id, 'data-fid': 'b/' + place + '/' + b.id,
        'aria-disabled': busy || off ? 'true' : null, 'aria-busy': busy === b.id ? 'true' : null,
      }, line(b.label)))),
  ];
}

function form(m, card, b, id, place, off) {
  const field = id + '-f';
  const input = card.input;
  return h('form', { class: 'form', 'data-key': 'form', 'data-msg': m.id, 'data-act': b.id, 'data-name': input.name, 'data-required': input.required ? '1' : null },
    h('label', { for: field, class: 'said' }, line(input.label)),
    h('textarea', { id: field, rows: input.multi === false ? '1' : '3', maxlength: input.max || null, 'data-fid': 'f/' + place + '/' + m.id, lang: language() === 'zh' ? 'zh-CN' : 'en', 'aria-required': input.required ? 'true' : null }),
    h('div', { class: 'buttons' },
      h('button', { type: 'submit', class: 'btn' + (b.style === 'danger' ? ' danger' : ''), 'aria-disabled': off ? 'true' : null, 'data-fid': 's/' + place + '/' + m.id }, line(b.label).replace(/…$/, '')),
      h('button', { type: 'button', class: 'btn', 'data-do': 'unform', 'data-msg': m.id, 'data-fid': 'x/' + place + '/' + m.id }, t('cancel'))));
}
