// What a click, a form and a choice do.

import { t, pickLang } from './words.js';
import { newId, press, say as send } from './net.js';
import { state } from './store.js';
import { render, say } from './draw.js';

const settle = 400; // a button that came just now is not what the finger aimed at

export function listen() {
  document.addEventListener('click', (e) => {
    const el = e.target.closest('[data-do]');
    if (!el) return;
    const act = acts[el.dataset.do];
    if (act) act(el, e);
  });
  document.addEventListener('submit', (e) => {
    e.preventDefault();
    const f = e.target;
    if (f.dataset.say) return sayIt(f);
    if (f.dataset.act) return submit(f);
  });
  document.addEventListener('input', (e) => {
    if (e.target.id === 'say') grow(e.target);
  });
  document.addEventListener('keydown', (e) => {
    if (e.target.id === 'say' && e.key === 'Enter' && !e.shiftKey && !e.isComposing && e.keyCode !== 229) {
      e.preventDefault();
      e.target.form.requestSubmit();
    }
  });
}

function grow(area) {
  const lines = Math.min((area.value.match(/\n/g) || []).length + 1 + Math.floor(area.value.length / 60), 6);
  area.rows = Math.max(lines, 1);
}

const acts = {
  press: (el) => pressIt(el, el.dataset.msg, el.dataset.act),
  form(el) {
    if (blocked(el, el.dataset.msg)) return;
    state.ui.forms.set(el.dataset.msg, el.dataset.act);
    state.ui.notes.delete(el.dataset.msg);
    focusNext(el, 'textarea');
  },
  unform(el) {
    state.ui.forms.delete(el.dataset.msg);
    focusNext(el, '.buttons .btn');
  },
  wide(el) {
    const id = el.dataset.id;
    if (!state.ui.wide.delete(id)) state.ui.wide.add(id);
    render();
  },
  clear() {
    state.ui.settled.clear();
    render();
  },
  async copy(el) {
    try {
      await navigator.clipboard.writeText(el.dataset.text);
      state.ui.copied = el.dataset.id;
      say(t('copied'));
      setTimeout(() => {
        state.ui.copied = '';
        render();
      }, 2000);
    } catch {
      getSelection().selectAllChildren(el.parentElement.querySelector('code')); // to copy by hand
    }
    render();
  },
  skip(_, e) {
    e.preventDefault();
    const first = document.querySelector('#needs [data-nav]') || document.getElementById('needs');
    first.focus();
  },
  help: () => openHelp(),
  unhelp: () => document.getElementById('help').close(),
  reload: () => location.reload(),
  lang(el) {
    state.ui.lang = el.dataset.value;
    pickLang(state.ui.lang);
    keepPrefs();
  },
  theme(el) {
    state.ui.theme = el.dataset.value;
    if (state.ui.theme) document.documentElement.dataset.theme = state.ui.theme;
    else delete document.documentElement.dataset.theme;
    keepPrefs();
  },
  shortcuts(el) {
    state.ui.shortcuts = el.checked;
    keepPrefs();
  },
};

export function openHelp() {
  const d = document.getElementById('help');
  if (d && !d.open) d.showModal();
}

function keepPrefs() {
  localStorage.setItem('loopx.prefs', JSON.stringify({ lang: state.ui.lang, theme: state.ui.theme, shortcuts: state.ui.shortcuts }));
  render();
}

function focusNext(el, what) {
  const card = el.closest('.card');
  render();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const next = card && card.querySelector(what);
    if (next) next.focus();
  }));
}

// blocked says why a press does not count now, in the card itself.
function blocked(el, message) {
  if (el.getAttribute('aria-disabled') === 'true') return true;
  const moved = state.ui.moved.get(message);
  if (moved !== undefined && performance.now() - moved < settle) {
    note(message, t('just_changed'));
    return true;
  }
  return false;
}

function note(message, text) {
  state.ui.notes.set(message, text);
  if (text) say(text);
  render();
}

async function pressIt(el, message, action, values) {
  if (blocked(el, message) || state.ui.busy.has(message)) return;
  state.ui.busy.set(message, action);
  state.ui.notes.delete(message);
  render();
  const answer = await press(message, action, values);
  if (state.ui.busy.get(message) === action) state.ui.busy.delete(message);
  if (answer.ok) {
    state.ui.forms.delete(message);
    if (answer.notice) note(message, answer.notice);
  } else if (answer.unknown || notKnown(answer.status)) note(message, t('press_unknown'));
  else if (answer.error.class === 'stale') note(message, t('stale_press'));
  else note(message, t('press_failed', answer.error.message || answer.status));
  render();
}

// notKnown: a failure of the bot itself does not say how far it came.
const notKnown = (status) => status >= 500 && status !== 503;

function submit(f) {
  const area = f.querySelector('textarea');
  if (f.dataset.required && !area.value.trim()) {
    note(f.dataset.msg, t('required'));
    return area.focus();
  }
  pressIt(f.querySelector('[type=submit]'), f.dataset.msg, f.dataset.act, { [f.dataset.name]: area.value });
}

async function sayIt(f) {
  const area = f.querySelector('textarea');
  const button = f.querySelector('[type=submit]');
  const text = area.value;
  if (!text.trim() || state.ui.saying || button.getAttribute('aria-disabled') === 'true') return;
  state.ui.saying = true;
  state.ui.sayNote = '';
  render();
  if (state.ui.saidText !== text.trim()) Object.assign(state.ui, { saidText: text.trim(), saidId: newId(), saidAt: Date.now() });
  const answer = await send(text, state.ui.saidId, state.ui.saidAt);
  state.ui.saying = false;
  if (answer.ok) {
    state.ui.saidText = null;
    if (area.value.trim() === text.trim()) area.value = '';
    grow(area);
  } else state.ui.sayNote = answer.unknown || notKnown(answer.status) ? t('say_unknown') : t('say_failed', answer.error.message || answer.status);
  render();
}
