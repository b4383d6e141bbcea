// The shell of the page: login, live connection, and the view of the current address.
//
// A view is a module that exports `open(root, params, context)`. It fills the empty `root` and returns an object with
// `update(fleet)`, called after each event, and `close()`, called before the next view opens. `params` are the parts of
// the address (`project`, `job`) and its `query`. `context` has `fleet`, the live state (see live.js; `fleet.project` is
// the project of the address, whole, or null until it is known), `go(address, replace)`, `query(changes)`, and
// `title(text)`. All addresses are relative to the root: no URL begins with `/` or `#`.

import { announce, el, get, post, show, text } from "./dom.js";
import { Live } from "./live.js";
import { Router, address, parse } from "./router.js";
/** Modules of the views, each loaded when its first address is opened. */
const VIEWS = {
  overview: () => import("./overview.js"),
  project: () => import("./project.js"),
  job: () => import("./job.js"),
  dead: () => import("./dead.js"),
  jobs: () => import("./jobs.js"),
  token: () => import("./token.js"),
  audit: () => import("./audit.js"),
  redis: () => import("./redis.js"),
  runbook: () => import("./runbook.js"),
};
// The first view loads while the session is asked for.
VIEWS[parse(location)[0]]?.().catch(() => {});

const node = (id) => document.getElementById(id);
let isOpen = false;
let view;
let opened = 0;

function link(word, kind) {
  const line = node("link");
  text(line, word);
  line.className = `link ${kind}`;
}

function trouble(message) {
  text(node("trouble"), message ?? "");
  show(node("trouble"), Boolean(message));
}

const live = new Live({
  link,
  trouble,
  changed: () => view?.update(live.fleet),
  lost: () => setTimeout(start, 3000),
});

const router = new Router((name, params) => { if (isOpen) open(name, params, true); });
const context = {
  fleet: live.fleet,
  go: (to, replace) => router.go(to, replace),
  query: (changes) => router.query(changes),
  title: (name) => { document.title = name ? `${name} · Fanfare` : "Fanfare"; },
};

async function open(name, params, isMove) {
  const turn = ++opened;
  view?.close();
  view = null;
  const root = node("view");
  root.replaceChildren();
  for (const place of node("places").children) {
    if (place.getAttribute("href") === (name === "overview" ? "./" : name)) place.setAttribute("aria-current", "page");
    else place.removeAttribute("aria-current");
  }
  live.follow(params.project);
  context.title("");
  try {
    const module = await VIEWS[name]?.();
    if (turn !== opened) return;
    if (module) view = module.open(root, params, context);
    else root.append(el("h1", {}, "Nothing here"), el("p", {}, "This address has no page. ", el("a", { href: address() }, "To the overview")));
  } catch (error) {
    if (turn === opened) root.append(el("p", { role: "alert" }, `This page could not be loaded: ${error.message}. Reload it.`));
  }
  // Events may have come while the view was loaded.
  if (live.fleet.now) view?.update(live.fleet);
  if (isMove) {
    scrollTo(0, 0);
    node("main").focus({ preventScroll: true });
  }
}

async function start() {
  let session;
  try {
    session = await get("session");
  } catch (error) {
    link("connection lost, trying again", "lost");
    return void setTimeout(start, 3000);
  }
  live.fleet.readOnly = session.read_only;
  isOpen = session.known;
  show(node("login"), !isOpen);
  for (const id of ["view", "search", "places"]) show(node(id), isOpen);
  show(node("logout"), isOpen && session.needs_token);
  show(node("read-only"), isOpen && session.read_only);
  if (session.full) {
    link("too many viewers", "lost");
    trouble("Too many browsers follow this dashboard; it retries by itself.");
    setTimeout(start, 30000);
  } else if (isOpen) {
    if (view) live.follow(live.project);
    else open(...parse(location), false);
  } else {
    link("not logged in", "");
    node("token").focus();
  }
}

node("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  text(node("login-error"), "");
  try {
    await post("login", { token: node("token").value });
    node("token").value = "";
    start();
  } catch (error) {
    text(node("login-error"), error.message);
    node("token").select();
  }
});

node("logout").addEventListener("click", async () => {
  live.close();
  opened += 1;
  view?.close();
  view = null;
  node("view").replaceChildren();
  await post("logout").catch((error) => announce(error.message));
  start();
});

node("skip").addEventListener("click", () => node("main").focus());

node("search").addEventListener("submit", async (event) => {
  event.preventDefault();
  const id = node("job-id").value.trim();
  // The page of the jobs finds parts of ids, and says when it stopped early.
  const parts = (word) => `jobs?${new URLSearchParams({ tab: "all", find: word })}`;
  if (!/^[\w.:-]+$/.test(id)) return router.go(parts(id));
  try {
    const { jobs } = await get(`api/jobs?id=${encodeURIComponent(id)}`);
    if (jobs.length === 0) return router.go(parts(id));
    router.go(address("p", jobs[0].project, "jobs", id));
    if (jobs.length > 1) announce(`Also in ${jobs.slice(1).map((job) => job.project).join(", ")}.`);
  } catch (error) {
    announce(error.message);
  }
});

start();
