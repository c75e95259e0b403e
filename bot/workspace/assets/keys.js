// The keyboard: everything works without a mouse, and single keys are quick
// ways that can be turned off.

import { state } from './store.js';
import { openHelp } from './actions.js';

export function keys() {
  document.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') return leave(e);
    if (!state.ui.shortcuts || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || typing(e.target) || document.querySelector('dialog[open]')) return;
    const act = single[e.key];
    if (act && act(e) !== false) e.preventDefault();
  });
}

const typing = (el) => el instanceof Element && (el.closest('textarea, select, [contenteditable]') || (el.nodeName === 'INPUT' && el.type !== 'checkbox'));

const single = {
  j: () => move(1),
  k: () => move(-1),
  a: answer,
  '?': openHelp,
  1: () => needsFirst(),
  2: () => go('#/'),
  3: () => go('#/chat'),
  Enter: (e) => open(e),
};

function go(hash) {
  location.hash = hash;
}

function seen(el) {
  return el.getClientRects().length > 0 && el.checkVisibility({ visibilityProperty: true });
}

const stops = () => [...document.querySelectorAll('#needs [data-nav], #main [data-nav]')].filter(seen);

function move(by) {
  const list = stops();
  if (!list.length) return;
  const at = list.indexOf(document.activeElement.closest ? document.activeElement.closest('[data-nav]') : null);
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)];
  next.focus();
  next.scrollIntoView({ block: 'nearest' });
}

function needsFirst() {
  const first = document.querySelector('#needs [data-nav]');
  if (first && seen(first)) first.focus();
  else go('#/');
}

// answer goes to the buttons of the card that has the focus, else of the first.
function answer() {
  const here = document.activeElement.closest && document.activeElement.closest('.card');
  const cards = [here, ...document.querySelectorAll('#needs .card')].filter(Boolean);
  const button = cards.map((c) => c.querySelector('.form textarea, .buttons .btn')).find((b) => b && seen(b));
  if (button) button.focus();
  else needsFirst();
}

// open is for what is no link: a card opens at its buttons.
function open(e) {
  if (e.target.matches && e.target.matches('.card')) return answer();
  return false;
}

function leave(e) {
  const el = document.activeElement;
  if (!el || el === document.body) return;
  const form = el.closest('.form');
  if (form) {
    form.querySelector('[data-do=unform]').click();
    e.preventDefault();
  } else if (typing(el)) el.blur();
  else if (el.closest('.card') && !el.matches('.card')) el.closest('.card').focus();
}
