// Elements and their update in place. Text is only ever set as text.

/** h makes an element: h('p', {class: 'x'}, 'text', child, [children], null). */
export function h(tag, props, ...kids) {
  const el = tag === 'svg' || tag === 'path' ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on') || name === 'style' || name === 'srcdoc') continue; // no handlers, no inline style
    el.setAttribute(name, value === true ? '' : String(value));
  }
  add(el, kids);
  return el;
}

function add(el, kids) {
  for (const kid of kids) {
    if (Array.isArray(kid)) add(el, kid);
    else if (kid instanceof Node) el.append(kid);
    else if (kid !== undefined && kid !== null && kid !== false && kid !== '') el.append(String(kid));
  }
}

/**
 * morph makes `from` look like `to` and keeps what a person has in hand: the
 * elements themselves (so focus, selection and scroll stay), what is typed, and
 * what is folded out. Children with data-key are matched by it.
 */
export function morph(from, to) {
  if (from.nodeType !== to.nodeType || from.nodeName !== to.nodeName || keyOf(from) !== keyOf(to)) {
    from.replaceWith(to);
    return to;
  }
  if (from.nodeType === Node.TEXT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return from;
  }
  if (from.nodeType !== Node.ELEMENT_NODE) return from;
  attributes(from, to);
  if (from.nodeName !== 'TEXTAREA') children(from, to);
  return from;
}

function attributes(from, to) {
  const folded = from.nodeName === 'DETAILS' || from.nodeName === 'DIALOG'; // whether it is open is the reader's choice
  for (const { name, value } of [...to.attributes]) {
    if (folded && name === 'open') continue;
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (folded && name === 'open') continue;
    if (!to.hasAttribute(name)) from.removeAttribute(name);
  }
}

function children(from, to) {
  const keyed = new Map();
  for (const kid of from.childNodes) if (keyOf(kid)) keyed.set(keyOf(kid), kid);
  let at = from.firstChild;
  for (const want of [...to.childNodes]) {
    const key = keyOf(want);
    let have = key ? keyed.get(key) : at;
    if (!key) {
      while (have && keyOf(have)) have = have.nextSibling; // keyed ones wait for their own
      if (have && (have.nodeType !== want.nodeType || have.nodeName !== want.nodeName)) have = null;
    }
    if (!have) {
      from.insertBefore(want, at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else {
      // Take away what stands between before moving anything: an element that
      // stays where it is keeps its focus.
      while (at && at !== have && !stays(at, to)) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      if (at === have) at = at.nextSibling;
      else from.insertBefore(have, at);
    }
    keyed.delete(key);
    morph(have, want);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function stays(node, to) {
  const key = keyOf(node);
  if (!key) return false;
  for (const kid of to.childNodes) if (keyOf(kid) === key) return true;
  return false;
}

function keyOf(node) {
  return node.nodeType === Node.ELEMENT_NODE ? node.getAttribute('data-key') : null;
}
