// Drawing: at most once a frame, never under a finger.

import { h, morph } from './dom.js';
import { t, tIn } from './words.js';
import { line } from './visible.js';
import { app } from './frame.js';
import { state } from './store.js';
import { needsCount } from './needs.js';

let asked = false;
let held = null; // the button under the finger
let heldTimer;

export function render() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    if (!held) draw();
  });
}

// hold keeps everything in place from pressing a button down until the click
// has been handled; a finger that never lifts does not hold the page for ever.
function hold(e) {
  const b = e.target instanceof Element && e.target.closest('button, a, summary');
  if (!b) return;
  held = b;
  clearTimeout(heldTimer);
  heldTimer = setTimeout(release, 5000);
}

function release() {
  clearTimeout(heldTimer);
  heldTimer = setTimeout(() => {
    held = null;
    render();
  }, 0); // after the click that this release makes
}

addEventListener('pointerdown', hold, true);
addEventListener('pointerup', release, true);
addEventListener('pointercancel', release, true);
addEventListener('blur', release);

function draw() {
  const root = document.getElementById('app');
  const log = document.querySelector('.log');
  const followed = !log || log.scrollHeight - log.scrollTop - log.clientHeight < 60;
  const chain = focusChain();
  morph(root, app());
  refocus(chain);
  const now = document.querySelector('.log');
  if (now && (followed || now !== log)) now.scrollTop = now.scrollHeight;
  const n = needsCount();
  document.title = (n ? '(' + n + ') ' : '') + 'loopx';
  quiet();
}

// quiet draws once more when the newest highlight is over.
let quietTimer;
function quiet() {
  clearTimeout(quietTimer);
  for (const [key, at] of state.ui.fresh) if (performance.now() - at > 1600) state.ui.fresh.delete(key);
  if (state.ui.fresh.size) quietTimer = setTimeout(render, 1700);
}

// focusChain names the focused element and what it stands in, so that focus
// goes to the nearest thing that is left when the element is gone.
function focusChain() {
  const out = [];
  for (let el = document.activeElement; el && el !== document.body; el = el.parentElement) {
    if (el.dataset && el.dataset.fid) out.push(el.dataset.fid);
  }
  return out;
}

function refocus(chain) {
  if (!chain.length) return;
  const active = document.activeElement;
  if (active && active !== document.body && active.dataset.fid === chain[0]) return;
  for (const fid of chain) {
    const el = document.querySelector('[data-fid="' + CSS.escape(fid) + '"]');
    if (el) return el.focus({ preventScroll: true });
  }
  const needs = document.getElementById('needs');
  if (needs) needs.focus({ preventScroll: true });
}

/** tell says what happened to those who listen. */
export function tell(news) {
  if (!news) return;
  const m = news.card || news.fresh;
  const card = m.card;
  say(news.fresh ? t('new_question', line(card.question || card.title)) : t('card_now', tIn(card.lang, 'state_' + card.state), line(card.outcome || card.title)));
}

export function say(text) {
  const live = document.getElementById('live');
  live.replaceChildren(h('p', {}, text));
}
