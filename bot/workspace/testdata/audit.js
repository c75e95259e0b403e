// What a reviewer with a ruler would look for; gives a list of complaints.
(() => {
  const out = [];
  const seen = (el) => el.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && el.getClientRects().length > 0 && !el.closest('.unseen') && !el.matches('.skip');
  const name = (el) => (el.className && el.className.baseVal === undefined ? el.tagName.toLowerCase() + '.' + el.className : el.tagName) + ' "' + (el.innerText || el.value || '').slice(0, 40) + '"';

  // Contrast of every text against the first background behind it.
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgb = (css) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const behind = (el) => {
    for (let e = el; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] === 255) return c;
      if (c[3] > 0) out.push('half transparent background: ' + name(e));
    }
    return [255, 255, 255, 255];
  };
  const light = (c) => {
    const [r, g, b] = c.slice(0, 3).map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05);
  };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const el = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !seen(el) || el.closest('script, noscript')) continue;
    const s = getComputedStyle(el);
    const r = ratio(rgb(s.color), behind(el));
    if (r < 4.5) out.push('contrast ' + r.toFixed(2) + ': ' + name(el));
    const size = parseFloat(s.fontSize);
    if (size < 13) out.push('text of ' + size + ' px: ' + name(el));
    if (!['400', '600'].includes(s.fontWeight)) out.push('weight ' + s.fontWeight + ': ' + name(el));
  }
  for (const el of document.querySelectorAll('.btn, textarea, input')) {
    const s = getComputedStyle(el);
    if (seen(el) && s.borderTopWidth !== '0px' && !el.matches('.cmd .btn') && ratio(rgb(s.borderTopColor), behind(el.parentElement)) < 3 && ratio(rgb(s.backgroundColor), behind(el.parentElement)) < 3) out.push('edge is faint: ' + name(el));
  }

  // Targets, names, ids, structure.
  for (const el of document.querySelectorAll('a[href], button, summary, textarea, input, select')) {
    if (!seen(el)) continue;
    const box = (el.closest('label') || el).getBoundingClientRect();
    const after = getComputedStyle(el, '::after');
    const grow = after.position === 'absolute' && after.content !== 'none' ? -2 * parseFloat(after.top) : 0;
    if (box.height + grow < 43.5 || box.width + grow < 43.5) out.push('target ' + box.width.toFixed(0) + '×' + box.height.toFixed(0) + ': ' + name(el));
    const label = el.getAttribute('aria-label') || el.innerText || (el.labels && el.labels[0] && el.labels[0].innerText) || '';
    if (!label.trim()) out.push('no name: ' + name(el));
  }
  const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((x) => x === id).length > 1) out.push('id twice: ' + id);
  for (const el of document.querySelectorAll('[aria-labelledby]')) if (!document.getElementById(el.getAttribute('aria-labelledby'))) out.push('labelled by nothing: ' + name(el));
  if (document.querySelectorAll('main').length !== 1) out.push('main landmarks: ' + document.querySelectorAll('main').length);
  if (![...document.querySelectorAll('h1, h2')].some(seen)) out.push('no heading');
  if (!document.documentElement.lang) out.push('no language');
  const regions = new Set();
  for (const el of document.querySelectorAll('nav')) {
    const n = el.getAttribute('aria-label');
    if (seen(el) && regions.has(n)) out.push('two landmarks of one name: ' + n);
    if (seen(el)) regions.add(n);
  }

  // Nothing runs out of the page, nothing moves for long.
  if (document.documentElement.scrollWidth > innerWidth) out.push('wider than the screen by ' + (document.documentElement.scrollWidth - innerWidth));
  for (const el of document.querySelectorAll('#app *')) {
    const s = getComputedStyle(el);
    if (s.transitionDuration.split(',').some((d) => parseFloat(d) > 0.15) || s.animationName !== 'none') out.push('moves: ' + name(el));
    const box = el.getBoundingClientRect();
    if (seen(el) && box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5)) out.push('sticks out: ' + name(el));
  }
  return [...new Set(out)];
})()
