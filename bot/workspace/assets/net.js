// The session, the stream and the two writes.

const keyName = 'loopx.key';

const read = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};

async function post(path, body) {
  const headers = { 'Content-Type': 'application/json' };
  const key = read(keyName);
  if (key) headers['X-Loopx-Key'] = key;
  let answer;
  try {
    answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(20000), redirect: 'error' });
  } catch {
    return { unknown: true };
  }
  let json = {};
  try {
    json = await answer.json();
  } catch {
    if (answer.ok) return { unknown: true };
  }
  return answer.ok ? { ok: true, ...json } : { status: answer.status, error: json.error || {} };
}

/** openSession signs this browser in; two tabs do it one after the other. */
export function openSession() {
  return navigator.locks ? navigator.locks.request('loopx.session', signIn) : signIn();
}

// signIn takes the ticket of the redirect file, if there is one.
async function signIn() {
  const m = /^#ticket=([A-Z2-7]+)$/.exec(location.hash);
  if (m) history.replaceState(null, '', '/'); // it works once, and is nobody's business
  const answer = await post('/api/session', m ? { ticket: m[1] } : {});
  if (answer.ok && answer.key) localStorage.setItem(keyName, answer.key);
  return answer;
}

export function dropSession() {
  localStorage.removeItem(keyName);
}

export const press = (message, action, values) =>
  post('/api/press', values ? { message_id: message, action, values } : { message_id: message, action });

/** say repeats with the same id and time what it got no answer to; it counts once. */
export const say = (text, id, at) => post('/api/say', { text, id, at });

export function newId() {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  return 'm_' + Array.from(crypto.getRandomValues(new Uint8Array(26)), (b) => letters[b % 32]).join('');
}

const silence = 25000; // the bot says something every 10 s

/**
 * openStream reads lines until it ends or close() is called. end() gets 'again',
 * or 'session' when a new session is needed.
 */
export function openStream(goal, onLine, end) {
  const stop = new AbortController();
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), silence);
  };
  (async () => {
    let why = 'again';
    try {
      alive();
      const answer = await fetch('/api/stream' + (goal ? '?goal=' + encodeURIComponent(goal) : ''), {
        headers: { 'X-Loopx-Key': read(keyName) || '' }, signal: stop.signal, cache: 'no-store', redirect: 'error',
      });
      if (answer.status === 401) why = 'session';
      else if (answer.ok) await lines(answer.body.getReader(), (l) => { alive(); onLine(l); });
    } catch {
      // told by end()
    }
    clearTimeout(timer);
    end(why);
  })();
  return () => {
    end = () => {};
    stop.abort();
  };
}

async function lines(reader, onLine) {
  const text = new TextDecoder();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += text.decode(value, { stream: true });
    const parts = rest.split('\n');
    rest = parts.pop();
    for (const p of parts) if (p) onLine(JSON.parse(p));
  }
}
