// Follows the fleet and draws it; shows the login if a token is required.

import { announce, get, post, show, text } from "./dom.js";
import { Board } from "./views.js";
import { find, panel } from "./details.js";

const node = (id) => document.getElementById(id);
const fleet = { now: 0, projects: new Map(), workers: [], history: new Map(), readOnly: false };
const board = new Board(fleet);
let source;
let stale;

function link(word, kind) {
  const line = node("link");
  text(line, word);
  line.className = `link ${kind}`;
}

function trouble(message) {
  text(node("trouble"), message ?? "");
  show(node("trouble"), Boolean(message));
}

/** Reports a stale view if no event arrives for 10 s. */
function watch() {
  clearTimeout(stale);
  stale = setTimeout(() => link("no news for 10 s", "lost"), 10000);
}

function draw() {
  trouble();
  link("live", "live");
  watch();
  board.draw();
}

function on(event, handler) {
  source.addEventListener(event, (message) => handler(JSON.parse(message.data)));
}

function follow() {
  source?.close();
  source = new EventSource("/api/events");
  on("fleet", (whole) => {
    fleet.now = whole.now_ms;
    fleet.projects = new Map(whole.projects.map((project) => [project.id, project]));
    fleet.workers = whole.workers;
    fleet.history = new Map(Object.entries(whole.history));
    draw();
  });
  on("change", (change) => {
    fleet.now = change.now_ms;
    for (const project of change.projects) fleet.projects.set(project.id, project);
    for (const id of change.gone) {
      fleet.projects.delete(id);
      fleet.history.delete(id);
    }
    if (change.workers) fleet.workers = change.workers;
    for (const [id, sample] of Object.entries(change.samples)) {
      const samples = fleet.history.get(id) ?? [];
      if (samples.at(-1)?.[0] !== sample[0]) samples.push(sample);
      if (samples.length > 300) samples.shift();
      fleet.history.set(id, samples);
    }
    draw();
  });
  on("trouble", ({ message }) => {
    link("Redis does not answer", "lost");
    watch();
    trouble(message);
  });
  source.onerror = () => {
    link("connection lost, trying again", "lost");
    // After a refusal a browser does not reconnect: the session may be over, or the limit of browsers reached.
    if (source.readyState === EventSource.CLOSED) setTimeout(start, 3000);
  };
}

async function start() {
  let session;
  try {
    session = await get("/session");
  } catch (error) {
    link("connection lost, trying again", "lost");
    return void setTimeout(start, 3000);
  }
  fleet.readOnly = session.read_only;
  show(node("login"), !session.known);
  show(node("board"), session.known);
  show(node("search"), session.known);
  show(node("logout"), session.known && session.needs_token);
  show(node("read-only"), session.read_only);
  if (session.full) {
    link("too many viewers", "lost");
    trouble("Too many browsers follow this dashboard; it retries by itself.");
    setTimeout(start, 30000);
  } else if (session.known) follow();
  else {
    link("not logged in", "");
    node("token").focus();
  }
}

node("login").addEventListener("submit", async (event) => {
  event.preventDefault();
  text(node("login-error"), "");
  try {
    await post("/login", { token: node("token").value });
    node("token").value = "";
    start();
  } catch (error) {
    text(node("login-error"), error.message);
    node("token").select();
  }
});

node("logout").addEventListener("click", async () => {
  source?.close();
  clearTimeout(stale);
  panel.close();
  await post("/logout").catch((error) => announce(error.message));
  start();
});

node("search").addEventListener("submit", (event) => {
  event.preventDefault();
  find(node("job-id").value.trim(), fleet);
});

start();
