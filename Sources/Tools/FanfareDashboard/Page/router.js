// The addresses of the page, relative to its root, which may be below a prefix of a proxy.

/** The server writes a relative base, which fits only the address that was asked for. */
const base = document.querySelector("base");
base.href = document.baseURI;

/** The path of the root, such as `/` or `/fanfare/`. */
export const root = new URL(base.href).pathname;

const ROUTES = [
  ["overview", /^$/],
  ["jobs", /^jobs$/],
  ["token", /^token$/],
  ["audit", /^audit$/],
  ["redis", /^redis$/],
  ["runbook", /^runbook$/],
  ["runbook", /^runbook\/([^/]+)$/, "page"],
  ["project", /^p\/([^/]+)$/, "project"],
  ["dead", /^p\/([^/]+)\/dead$/, "project"],
  ["audit", /^p\/([^/]+)\/audit$/, "project"],
  ["job", /^p\/([^/]+)\/jobs\/([^/]+)$/, "project", "job"],
];

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The view of an address: its name and parameters, with the query as `params.query`; the name is null for no view. */
export function parse(location) {
  const path = location.pathname.startsWith(root) ? location.pathname.slice(root.length) : "";
  const query = new URLSearchParams(location.search);
  for (const [view, pattern, ...names] of ROUTES) {
    const match = path.replace(/\/+$/, "").match(pattern);
    if (match) return [view, { query, ...Object.fromEntries(names.map((name, at) => [name, decode(match[at + 1])])) }];
  }
  return [null, { query }];
}

/** The address of a view, relative to the root: `address("p", "shop", "jobs", id)`. */
export const address = (...parts) => parts.map(encodeURIComponent).join("/") || "./";

/** Follows the addresses of the window: `change(view, params)` is called for each new one. */
export class Router {
  constructor(change) {
    this.change = change;
    addEventListener("popstate", () => this.read());
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link || event.defaultPrevented || event.button !== 0) return;
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      if (link.target || link.hasAttribute("download") || !link.href.startsWith(document.baseURI)) return;
      event.preventDefault();
      this.go(link.href);
    });
  }

  read() {
    this.change(...parse(location));
  }

  /** Shows an address, relative to the root; `replace` leaves no entry for Back. */
  go(to, replace = false) {
    const url = new URL(to, document.baseURI);
    if (replace || url.href === location.href) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
    this.read();
  }

  /** Changes parameters of the query in the address, without a new view; an empty value removes one. */
  query(changes) {
    const url = new URL(location);
    for (const [name, value] of Object.entries(changes)) {
      if (value) url.searchParams.set(name, value);
      else url.searchParams.delete(name);
    }
    history.replaceState(null, "", url);
  }
}
