// The page's own words, in the reader's language.

let table = {};
let lang = 'en';

export async function loadWords(base) {
  table = await (await fetch(base + '/words.json')).json();
}

export function pickLang(choice) {
  const first = (navigator.languages && navigator.languages[0]) || navigator.language || 'en';
  lang = choice === 'en' || choice === 'zh' ? choice : first.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
}

export const language = () => lang;

/** t gives a word; {0}, {1} are filled in. */
export function t(key, ...args) {
  return fill(key, lang, args);
}

/** tIn gives a word in a card's own language. */
export function tIn(of, key, ...args) {
  return fill(key, of === 'zh' || of === 'en' ? of : lang, args);
}

function fill(key, of, args) {
  const row = table[key];
  if (!row) return key;
  return row[of].replace(/\{(\d)\}/g, (_, i) => String(args[i] ?? ''));
}
