// Times in the reader's zone, and ages.

import { t, tIn, language } from './words.js';

let skew = 0; // the bot's clock minus this browser's

export function setClock(now) {
  skew = now - Date.now();
}

export const now = () => Date.now() + skew;

/** clock writes a time of day, with the date when it is another day. */
export function clock(ms) {
  if (!ms) return '';
  const d = new Date(ms);
  const tag = language() === 'zh' ? 'zh-CN' : 'en-GB';
  const time = new Intl.DateTimeFormat(tag, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(d);
  if (sameDay(ms, now())) return time;
  const year = d.getFullYear() === new Date(now()).getFullYear() ? undefined : 'numeric';
  return new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', year }).format(d) + ' ' + time;
}

export function sameDay(a, b) {
  return new Date(a).toDateString() === new Date(b).toDateString();
}

/** span writes a length of time with its unit. */
export function span(ms, lang = language()) {
  return words(ms, lang).replaceAll(' ', '\u00a0'); // a number and its unit stay on one line
}

function words(ms, lang) {
  const min = Math.floor(Math.max(ms, 0) / 60000);
  if (min < 1) return tIn(lang, 'age_now');
  if (min < 60) return tIn(lang, 'age_min', min);
  const hours = Math.floor(min / 60);
  return hours < 48 ? tIn(lang, 'age_h', hours) : tIn(lang, 'age_d', Math.floor(hours / 24));
}

export const age = (ms, lang) => span(now() - ms, lang);

/** until writes how far ahead a time is. */
export function until(ms) {
  return ms <= now() ? t('due') : ms - now() < 60000 ? t('due') : t('in_time', span(ms - now()));
}

/** stamp is a <time>'s attributes: the exact time stands in the title. */
export function stamp(ms) {
  const d = new Date(ms);
  return { datetime: d.toISOString(), title: d.toLocaleString(language() === 'zh' ? 'zh-CN' : 'en-GB', { timeZoneName: 'short' }) };
}
