// Start, routes, the stream's life.

import { loadWords, pickLang } from './words.js';
import { openSession, openStream, dropSession } from './net.js';
import { state, apply, remember, recall, forget } from './store.js';
import { render, tell } from './draw.js';
import { listen } from './actions.js';
import { keys } from './keys.js';

let close = () => {};
let tries = 0;
let timer;
let signedIn = false;

function readRoute() {
  const [view, goal, tab] = location.hash.replace(/^#\/?/, '').split('/');
  const was = state.route;
  if (view === 'goal' && goal) state.route = { view, goal: decoded(goal), tab: ['chat', 'work', 'evidence'].includes(tab) ? tab : 'work' };
  else state.route = { view: ['chat', 'goals', 'more'].includes(view) ? view : 'overview', goal: '', tab: 'work' };
  return { goal: was.goal !== state.route.goal, place: was.view !== state.route.view || was.goal !== state.route.goal };
}

function decoded(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

function connect() {
  clearTimeout(timer);
  close();
  close = openStream(state.route.goal, onLine, (why) => {
    if (state.ended) return render();
    if (state.conn === 'live' || tries > 0) state.conn = 'lost';
    render();
    tries++;
    // A session that is refused at once, twice, has to wait like a lost connection.
    const wait = why === 'session' && tries === 1 ? 0 : Math.min(500 * 2 ** tries, 8000) * (0.75 + Math.random() / 2);
    timer = setTimeout(why === 'session' ? start : connect, wait);
  });
}

function onLine(l) {
  tries = 0;
  const was = state.me && state.me.role;
  tell(apply(l));
  if (state.conn !== 'live') state.conn = 'live';
  if (was && state.me && was !== state.me.role) forgetNotes();
  if (l.t === 'bye' && state.ended) {
    dropSession();
    forget();
  }
  render();
}

function forgetNotes() {
  state.ui.notes.clear();
}

async function start() {
  const answer = await openSession();
  signedIn = !!answer.ok;
  if (answer.ok) {
    state.me = { role: answer.role, user: answer.user, code: answer.code || '', demo: !!answer.demo };
    if (answer.role === 'stranger') forget();
    render();
    return connect();
  }
  state.conn = 'lost';
  render();
  tries++;
  timer = setTimeout(start, Math.min(1000 * 2 ** tries, 15000));
}

async function boot() {
  let prefs = {};
  try {
    prefs = JSON.parse(localStorage.getItem('loopx.prefs')) || {};
  } catch {
    // the first visit
  }
  state.ui.lang = prefs.lang || '';
  state.ui.theme = prefs.theme || '';
  state.ui.shortcuts = prefs.shortcuts !== false;
  if (state.ui.theme) document.documentElement.dataset.theme = state.ui.theme;
  await loadWords(document.documentElement.dataset.assets);
  pickLang(state.ui.lang);
  if (!location.hash.startsWith('#ticket=')) readRoute();
  recall();
  listen();
  keys();
  render();
  addEventListener('hashchange', () => {
    if (location.hash.startsWith('#ticket=')) return start(); // opened again in this tab
    const other = readRoute();
    if (other.place) {
      scrollTo(0, 0);
      document.getElementById('main')?.scrollTo(0, 0);
    }
    render();
    if (other.goal && state.route.goal && signedIn) connect();
  });
  addEventListener('online', () => state.conn === 'lost' && signedIn && connect());
  addEventListener('visibilitychange', () => (document.hidden ? remember() : state.conn === 'lost' && signedIn && connect()));
  addEventListener('pagehide', remember);
  setInterval(render, 20000); // ages
  await start();
}

boot();
