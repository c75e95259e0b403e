// visible() shows what a reader could not see: the same rules as the other
// surfaces have, so that a text looks alike everywhere. A test compares them.

const fillers = new Set([0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x3164, 0xffa0, 0x2800, 0x00ad]);
const selectors = [[0x180b, 0x180f], [0xfe00, 0xfe0d], [0xe0100, 0xe01ef]];
const combining = [[0x0300, 0x036f], [0x1ab0, 0x1aff], [0x1dc0, 0x1dff], [0x20d0, 0x20ff], [0xfe20, 0xfe2f]];
const pictures = [[0x1f000, 0x1faff], [0x2190, 0x2bff]];
const single = new Set([0xfe0f, 0x00a9, 0x00ae, 0x203c, 0x2049, 0x2122, 0x2139, 0x3030, 0x303d, 0x3297, 0x3299]);
const unseen = /[\p{Zl}\p{Zp}\p{Cf}\p{Co}\p{Cs}\p{Cn}]/u;
const space = /\p{Zs}/u;

const within = (r, ranges) => ranges.some(([a, b]) => r >= a && r <= b);
const picture = (r) => single.has(r) || within(r, pictures);
const keycap = (r) => (r >= 0x30 && r <= 0x39) || r === 0x23 || r === 0x2a;

function hidden(prev, r, next) {
  if (r === 0x0a || r === 0x09) return false;
  if (r < 0x20 || (r >= 0x7f && r < 0xa0)) return true;
  if (r === 0x27e6) return true; // our own bracket, so that nobody can draw an escape
  if (r === 0x200d) return !picture(prev) || !picture(next);
  if (r === 0xfe0e || r === 0xfe0f) return !picture(prev) && !keycap(prev);
  if (r === 0x20e3) return prev !== 0xfe0f && !keycap(prev);
  if (fillers.has(r) || within(r, selectors) || within(r, combining)) return true;
  if (r === 0x20) return false;
  const c = String.fromCodePoint(r);
  if (space.test(c)) return r !== 0x3000;
  return unseen.test(c);
}

/** visible makes everything hidden in s visible as ⟦U+202E⟧. */
export function visible(s) {
  const text = String(s ?? '');
  if (/^[\x20-\x7e\n\t]*$/.test(text)) return text;
  const runes = [...text.replaceAll('\r\n', '\n')].map((c) => c.codePointAt(0));
  let out = '';
  runes.forEach((r, i) => {
    out += hidden(runes[i - 1] ?? 0, r, runes[i + 1] ?? 0)
      ? '⟦U+' + r.toString(16).toUpperCase().padStart(4, '0') + '⟧'
      : String.fromCodePoint(r);
  });
  return out;
}

/** line is for parts that are one line by nature. */
export function line(s) {
  return visible(s).replaceAll('\n', '⟦U+000A⟧');
}

/** safeURL gives the host of an address that may be clickable, or ''. */
export function safeURL(raw) {
  if (!raw || raw.length > 2000 || visible(raw) !== raw || /[ \t\n<>|"`]/.test(raw)) return '';
  try {
    const u = new URL(raw);
    return (u.protocol === 'http:' || u.protocol === 'https:') && u.host && !u.username && !u.password ? u.host : '';
  } catch {
    return '';
  }
}
