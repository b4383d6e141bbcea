// Text from outside enters the page as text nodes only, never as HTML.

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) node.append(child instanceof Node ? child : String(child));
  return node;
}

/** An element of an SVG picture. */
export function svg(tag, props = {}) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props)) node.setAttribute(name, value);
  return node;
}

/** Sets text only if it changed, so that screen readers, selections and the focus are not disturbed. */
export function text(node, value) {
  const string = value === undefined || value === null ? "" : String(value);
  if (node.textContent !== string) node.textContent = string;
}

export function show(node, isShown) {
  if (node.hidden === isShown) node.hidden = !isShown;
}

/** Makes the children of `parent` match `items`, and keeps existing ones. */
export function keyed(parent, items, key, make, update) {
  const known = new Map([...parent.children].map((node) => [node.dataset.key, node]));
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let node = known.get(name);
    if (node) known.delete(name);
    else {
      node = make(item);
      node.dataset.key = name;
    }
    if (node === place) place = place.nextElementSibling;
    else parent.insertBefore(node, place);
    update(node, item);
  }
  for (const node of known.values()) node.remove();
}

/** A cell with the name of its column, which it shows where rows are cards. */
export const cell = (label, kind, ...children) => el("td", { "data-label": label, class: kind }, ...children);

/** The head row of a table; `numbers` are columns aligned to the right. */
export const heads = (names, numbers = []) => el("tr", {}, ...names.map((name) => el("th", { scope: "col", class: numbers.includes(name) ? "n" : "" }, name)));

/** The way to a page: [text, address] pairs, the last without an address. */
export function crumbs(...places) {
  return el("nav", { class: "crumbs", "aria-label": "Breadcrumb" }, ...places.map(([word, to]) => (to ? el("a", { href: to }, word) : el("span", { "aria-current": "page" }, word))));
}

/** Fills a description list; `rows` are [term, value, class, address]. */
export function terms(list, rows) {
  keyed(
    list,
    rows,
    (row) => row[0],
    (row) => el("div", {}, el("dt", {}, row[3] ? el("a", { href: row[3] }, row[0]) : row[0]), el("dd")),
    (node, [, value, kind]) => {
      text(node.lastElementChild, value);
      if (node.className !== (kind || "")) node.className = kind || "";
    }
  );
}

/** A text with its parts between backticks as code. */
export const code = (text) => text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));

/** A name such as UNREGISTERED_TOKEN, which may be broken after its underscores only. */
export const breakable = (name) => name.split(/(?<=_)/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function number(value) {
  if (value === undefined || value === null) return "–";
  return Math.abs(value) < 10 ? fine.format(value) : whole.format(value);
}

export function rate(value) {
  return value === undefined || value === null ? "–" : `${number(value)}/s`;
}

/** Formats a duration with at most two units, since it is an estimate. */
export function duration(seconds) {
  if (seconds === undefined || seconds === null || !Number.isFinite(seconds)) return "–";
  const rest = Math.ceil(seconds);
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = units.findIndex(([size]) => rest >= size);
  if (first < 0) return "0 s";
  let out = `${Math.floor(rest / units[first][0])} ${units[first][1]}`;
  if (first + 1 < units.length) {
    const more = Math.floor((rest % units[first][0]) / units[first + 1][0]);
    if (more > 0) out += ` ${more} ${units[first + 1][1]}`;
  }
  return out;
}

export function time(ms) {
  return ms === undefined || ms === null ? "–" : new Date(ms).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

/** `tone`: the class instead of the word's own. */
export function badge(node, word, tone = word) {
  text(node, word);
  node.className = `badge ${/^[a-z]+$/.test(tone) ? tone : ""}`;
}

let silence;
/** Announces a message, also to screen readers. */
export function announce(message) {
  const node = document.getElementById("said");
  // Only the content of an open dialog is visible and read aloud.
  const host = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body;
  if (node.parentNode !== host) host.append(node);
  setTimeout(() => { node.textContent = message; }, 50);
  clearTimeout(silence);
  silence = setTimeout(() => { node.textContent = ""; }, 6000);
}

export class RequestError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function answer(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new RequestError(response.status, body.error ?? "unknown", body.message ?? response.statusText);
  return body;
}

export async function get(path) {
  return answer(await fetch(path, { credentials: "same-origin", cache: "no-store" }));
}

export async function post(path, body = {}) {
  return answer(await fetch(path, {
    method: "POST",
    credentials: "same-origin",
    headers: { "Content-Type": "application/json", "X-Fanfare-Request": "1" },
    body: JSON.stringify(body),
  }));
}

/** The address of a request about a project, relative to the root. */
export const at = (...parts) => "api/projects/" + parts.map(encodeURIComponent).join("/");
