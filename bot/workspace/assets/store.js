// What the page knows, and how lines of the stream change it.

import { setClock, now } from './time.js';

const lastName = 'loopx.last';

export const state = {
  me: null, version: '', status: null, goals: new Map(), messages: new Map(), order: [], health: [], trouble: null,
  conn: 'connecting', lastSeen: 0, asOf: 0, old: false, ended: false,
  route: { view: 'overview', goal: '', tab: 'work' },
  ui: {
    forms: new Map(), // message id -> the button whose form is open
    busy: new Map(), // message id -> the button that was pressed
    notes: new Map(), // message id -> what to say inside the card
    wide: new Set(), // texts that are shown whole
    settled: new Map(), // cards decided while they were on this page -> when
    moved: new Map(), // message id -> when its buttons changed
    fresh: new Map(), // key of a part -> when it changed
    sayNote: '', saying: false, copied: '', shortcuts: true, lang: '', theme: '', more: new Set(),
  },
};

export const isLive = (m) => !!m && !!m.card && (m.card.state === 'open' || m.card.state === 'confirming') && (m.card.buttons || []).length > 0;

/** apply takes one line; it returns words for the live region, or nothing. */
export function apply(l) {
  state.lastSeen = now();
  if (l.as_of) state.asOf = l.as_of;
  switch (l.t) {
    case 'hello':
      setClock(l.v.now);
      state.version = l.v.version;
      state.me = me(l.v);
      state.conn = 'live';
      state.lastSeen = l.v.now;
      return null;
    case 'me':
      state.me = me(l.v);
      return null;
    case 'status':
      state.status = l.v;
      state.old = false;
      return null;
    case 'goal': {
      const id = l.v.summary.goal_id;
      const before = state.goals.get(id);
      if (before) mark(before, l.v);
      state.goals.set(id, l.v);
      return null;
    }
    case 'messages':
      return messages(l.v);
    case 'health':
      state.health = l.v || [];
      return null;
    case 'trouble':
      state.trouble = l.v;
      return null;
    case 'bye':
      if (l.v === 'signed_out') state.ended = true;
      return null;
  }
  return null;
}

const me = (v) => ({ role: v.role, user: v.user, code: v.code || '', demo: !!v.demo });

function messages(v) {
  let news = null;
  const first = state.order.length === 0;
  for (const m of v.set || []) {
    const before = state.messages.get(m.id);
    if (isLive(before) && !isLive(m) && m.card) state.ui.settled.set(m.id, now());
    if (before && m.card && buttons(before) !== buttons(m)) {
      state.ui.moved.set(m.id, performance.now());
      state.ui.forms.delete(m.id);
      state.ui.busy.delete(m.id);
    }
    if (before && JSON.stringify(before) !== JSON.stringify(m)) {
      state.ui.fresh.set('m/' + m.id, performance.now());
      if (m.card) news = { card: m };
    }
    if (!before && !first && isLive(m)) {
      state.ui.fresh.set('m/' + m.id, performance.now());
      news = { fresh: m };
    }
    state.messages.set(m.id, m);
  }
  if (v.order) {
    const keep = new Set(v.order);
    for (const id of state.messages.keys()) if (!keep.has(id)) state.messages.delete(id);
    state.order = v.order;
  }
  return news;
}

const buttons = (m) => ((m.card && m.card.buttons) || []).map((b) => b.id).join(' ');

const columns = ['to_do', 'in_progress', 'blocked', 'done', 'later'];

// mark notes which todos moved, so that their new place is lit for a moment.
function mark(before, after) {
  const where = (g) => new Map(columns.flatMap((c) => (g[c] || []).map((x) => [x.todo_id, c + x.state_of + (x.claimed_by || '')])));
  const old = where(before);
  for (const [id, place] of where(after)) {
    if (old.get(id) !== place) state.ui.fresh.set('t/' + id, performance.now());
  }
}

/** isFresh says whether a part changed a moment ago. */
export function isFresh(key) {
  const at = state.ui.fresh.get(key);
  return at !== undefined && performance.now() - at < 1600;
}

/** remember keeps the last known state for the next load of this tab. */
export function remember() {
  if (!state.status || state.old) return;
  try {
    sessionStorage.setItem(lastName, JSON.stringify({
      at: state.lastSeen, asOf: state.asOf, status: state.status, health: state.health, order: state.order,
      messages: [...state.messages.values()], goals: [...state.goals.values()].slice(-3),
    }));
  } catch {
    // no room: the next load starts empty
  }
}

/** recall shows what this tab knew before, until the stream says more. */
export function recall() {
  let last;
  try {
    last = JSON.parse(sessionStorage.getItem(lastName));
  } catch {
    return;
  }
  if (!last || !last.status) return;
  Object.assign(state, { status: last.status, health: last.health, asOf: last.asOf, lastSeen: last.at, old: true, order: last.order });
  for (const m of last.messages) state.messages.set(m.id, m);
  for (const g of last.goals) state.goals.set(g.summary.goal_id, g);
}

export function forget() {
  sessionStorage.removeItem(lastName);
  Object.assign(state, { status: null, health: [], order: [], old: false });
  state.messages.clear();
  state.goals.clear();
}
