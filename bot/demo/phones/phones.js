'use strict'
// Draws what the simulators hold, and acts as the person who holds the phone.
const main = document.getElementById('phones')
const state = document.getElementById('state')

function el(tag, props = {}, ...children) {
  const e = Object.assign(document.createElement(tag), props)
  e.append(...children)
  return e
}

async function act(platform, what) {
  const r = await fetch('act', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ platform, ...what }) })
  state.textContent = r.ok ? '' : (await r.json()).error
}

function fields(inputs) {
  return inputs.map((i) => el('label', {}, i.label, el(i.multi ? 'textarea' : 'input', { name: i.name, maxLength: i.max, required: i.required })))
}

function values(form) {
  return Object.fromEntries(new FormData(form))
}

function message(phone, m, fresh) {
  const [title, ...rest] = m.text.split('\n')
  const card = !m.mine && rest.length > 0
  const e = el('div', { className: 'message' + (m.mine ? ' mine' : '') + (m.only ? ' only' : '') + (fresh ? ' new' : '') })
  e.dataset.id = m.id
  if (card) e.append(el('div', { className: 'title', textContent: title }), ...rest.filter(Boolean).map((line) => el('div', { className: 'line', textContent: line })))
  else e.append(m.text)
  const row = el('form', { className: 'buttons' }, ...(m.inputs.length ? fields(m.inputs) : []))
  row.addEventListener('submit', (ev) => ev.preventDefault())
  for (const b of m.buttons) {
    const press = el('button', { type: 'button', textContent: b.label })
    press.addEventListener('click', () => act(phone.platform, b.form
      ? { act: 'submit', message: m.id, button: b.label, values: values(row) }
      : { act: 'press', message: m.id, button: b.label }))
    row.append(press)
  }
  if (m.buttons.length) e.append(row)
  return e
}

const known = new Map() // platform -> what was drawn

function draw(phone) {
  const text = JSON.stringify(phone)
  const old = known.get(phone.platform)
  if (old && old.text === text) return
  let box = main.querySelector(`[data-platform="${phone.platform}"]`)
  const typed = box ? box.querySelector('.say input').value : ''
  if (!box) {
    const input = el('input', { ariaLabel: 'Message on ' + phone.name, placeholder: 'status, gates, help' })
    const say = el('form', { className: 'say' }, input, el('button', { textContent: 'Send' }))
    say.addEventListener('submit', (ev) => {
      ev.preventDefault()
      if (input.value.trim()) act(phone.platform, { act: 'say', text: input.value.trim() })
      input.value = ''
    })
    box = el('section', { className: 'phone', ariaLabel: phone.name }, el('div', { className: 'bar' }, el('b', { textContent: phone.name }), el('span', { textContent: 'loopx, private' })),
      el('div', { className: 'list' }), say)
    box.dataset.platform = phone.platform
    main.append(box)
  }
  box.querySelector('.say input').value = typed
  const list = box.querySelector('.list')
  const end = list.scrollTop + list.clientHeight >= list.scrollHeight - 40
  const before = old ? new Map(old.phone.messages.map((m) => [m.id, JSON.stringify(m)])) : new Map()
  list.replaceChildren(...phone.messages.map((m) => message(phone, m, old && before.get(m.id) !== JSON.stringify(m))))
  if (end || !old) list.scrollTop = list.scrollHeight
  box.querySelectorAll('.form, .toast').forEach((e) => e.remove())
  if (phone.form) {
    const form = el('form', { className: 'form' }, el('b', { textContent: phone.form.title }), ...fields(phone.form.inputs), el('div', { className: 'buttons' }, el('button', { textContent: 'Submit' })))
    form.addEventListener('submit', (ev) => {
      ev.preventDefault()
      act(phone.platform, { act: 'submit', values: values(form) })
    })
    box.append(form)
    form.querySelector('input, textarea')?.focus()
  }
  if (phone.toast) box.append(el('div', { className: 'toast', role: 'status', textContent: phone.toast }))
  known.set(phone.platform, { text, phone })
}

async function follow() {
  let seen = -1
  for (;;) {
    try {
      const r = await fetch('state?seen=' + seen)
      const s = await r.json()
      seen = s.version
      s.phones.forEach(draw)
    } catch {
      state.textContent = 'The demo does not answer; this is what was last known.'
      await new Promise((done) => setTimeout(done, 1000))
    }
  }
}
follow()
