// The jobs of all projects: lists by state, search, order, and changes of several jobs at once.

import { announce, badge, cell, duration, el, get, keyed, number, post, rate, show, text, time } from "./dom.js";
import { allowed, confirm, JOB } from "./actions.js";
import { address } from "./router.js";

const TABS = [["open", "Not over"], ["running", "Running"], ["needing", "Need an operator"], ["paused", "Paused"], ["scheduled", "Scheduled"], ["over", "Over"], ["all", "All"]];
const STATES = ["active", "retrying", "waiting", "scheduled", "paused", "parked", "done", "cancelled", "expired", "rejected"];
const ACTIONS = ["pause", "resume", "cancel"];
/** The server changes at most so many jobs at once. */
const MOST = 500;
const REFRESH = 5000;
/** Projects with dead jobs that are named. */
const NAMED = 12;

const finished = (job) => job.sent + job.failed + job.unknown + job.cancelled + job.expired;
const key = (job) => `${job.project} ${job.id}`;
const count = (jobs) => `${number(jobs)} ${jobs === 1 ? "job" : "jobs"}`;

const COLUMNS = [
  { key: "project", title: "Project", value: (job) => job.project },
  { key: "job", title: "Job", value: (job) => job.id },
  { key: "state", title: "State", value: (job) => STATES.indexOf(job.state) },
  { key: "done", title: "Done", kind: "n", value: (job) => (job.total ? -finished(job) / job.total : 0) },
  { key: "failed", title: "Failed", kind: "n", value: (job) => -job.failed },
  { key: "rate", title: "Rate", kind: "n", value: (job) => -(job.rate ?? 0) },
  { key: "left", title: "Left", kind: "n", value: (job) => job.left_seconds ?? 1e12 },
  { key: "pushed", title: "Pushed", value: (job) => -(job.created_ms ?? 0) },
];

const OVER = new Set(["done", "cancelled", "expired", "rejected"]);

class Row {
  constructor(job, view) {
    this.box = el("input", { type: "checkbox", "aria-label": `Choose job ${job.id} of ${job.project}`, on: { change: () => view.choose(job, this.box.checked) } });
    this.state = el("span");
    this.why = el("span", { class: "why" });
    this.bar = el("progress", { max: 1, "aria-label": `Progress of ${job.id}` });
    this.amount = el("span");
    [this.failed, this.rate, this.left, this.pushed] = COLUMNS.slice(4).map(({ title, kind }) => cell(title, kind ?? "when"));
    this.node = el("tr", {},
      cell("Choose", "pick", this.box),
      cell("Project", "", el("a", { href: address("p", job.project) }, job.project)),
      el("th", { scope: "row", class: "id" }, el("a", { class: "mono", href: address("p", job.project, "jobs", job.id) }, job.id)),
      cell("State", "", this.state, this.why),
      cell("Done", "n", this.amount, this.bar), this.failed, this.rate, this.left, this.pushed);
  }

  update(job, isChosen, now) {
    this.box.checked = isChosen;
    badge(this.state, job.state);
    text(this.why, job.held_by ?? (OVER.has(job.state) && job.state !== "rejected" ? "" : job.reason ?? ""));
    this.bar.value = job.total ? finished(job) / job.total : 0;
    text(this.amount, `${number(finished(job))} of ${number(job.total)}`);
    text(this.failed, job.failed ? number(job.failed) : "");
    const runs = !OVER.has(job.state) && job.state !== "paused";
    text(this.rate, runs && job.rate ? rate(job.rate) : "");
    const ago = (ms) => (ms === undefined ? "" : `${duration(Math.max(0, now - ms) / 1000)} ago`);
    text(this.left, job.finished_ms ? `ended ${ago(job.finished_ms)}` : job.left_seconds === undefined ? "" : duration(job.left_seconds));
    text(this.pushed, ago(job.created_ms));
    this.pushed.title = time(job.created_ms);
  }
}

class Jobs {
  constructor(root, params, context) {
    this.context = context;
    const query = (name) => params.query.get(name) ?? "";
    this.tab = TABS.some(([tab]) => tab === query("tab")) ? query("tab") : "open";
    this.state = STATES.includes(query("state")) ? query("state") : "";
    [this.find, this.project, this.sort] = [query("find"), query("project"), query("sort") || "project"];
    this.jobs = [];
    this.rows = new Map();
    this.chosen = new Set();
    const change = (name) => (event) => this.filter(name, event.target.value.trim());
    const input = el("input", { id: "find", type: "search", value: this.find, maxlength: 128, autocomplete: "off", spellcheck: "false", placeholder: "Part of an id", on: { input: (event) => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => change("find")(event), 300);
    } } });
    this.projects = el("select", { id: "project", on: { change: change("project") } }, el("option", { value: "" }, "all"));
    if (this.project) this.projects.append(el("option", { value: this.project, selected: true }, this.project));
    const option = (value, chosen, word = value) => el("option", { value, selected: value === chosen }, word);
    const states = el("select", { id: "state", on: { change: change("state") } }, option("", this.state, "all"), ...STATES.map((state) => option(state, this.state)));
    this.sorter = el("select", { id: "sort", on: { change: (event) => this.sortBy(event.target.value) } }, ...COLUMNS.map(({ key, title }) => option(key, this.sort, title)));
    this.status = el("p", { class: "hint", role: "status" });
    this.dead = el("p", { class: "notice", hidden: true });
    this.pushed = el("p", { class: "notice", hidden: true });
    this.heads = COLUMNS.map((column) => el("th", { scope: "col", class: column.kind }, el("button", { class: "sort", on: { click: () => this.sortBy(this.sort === column.key ? `-${column.key}` : column.key) } }, column.title)));
    this.body = el("tbody");
    this.sheet = el("div", { class: "sheet", hidden: true }, el("table", { class: "jobs", "aria-label": "Jobs" },
      el("thead", {}, el("tr", {}, el("td"), ...this.heads)), this.body));
    this.more = el("button", { hidden: true, on: { click: () => this.load(this.next) } }, "Show more");
    this.all = el("input", { type: "checkbox", id: "all", on: { change: () => this.chooseAll() } });
    this.allLabel = el("label", { for: "all" });
    this.buttons = ACTIONS.map((action) => el("button", { class: action === "cancel" ? "small danger" : "small", on: { click: () => this.act(action) } }));
    this.bar = el("div", { class: "row bulk", hidden: true, role: "group", "aria-label": "Change the chosen jobs" }, el("p", { class: "check" }, this.all, " ", this.allLabel), ...this.buttons);
    this.outcome = el("section", { class: "notice bad", role: "status", hidden: true });
    const tabs = TABS.map(([tab, word]) => el("a", { href: `jobs?tab=${tab}`, "aria-current": tab === this.tab ? "true" : null }, word));
    context.title("Jobs");
    root.append(el("h1", {}, "Jobs of all projects"), el("nav", { class: "choices", "aria-label": "Lists of jobs" }, ...tabs),
      el("div", { class: "toolbar" }, el("label", { for: "find", class: "said-only" }, "Search the jobs"), input,
        el("p", {}, el("label", { for: "project" }, "Project "), this.projects), el("p", {}, el("label", { for: "state" }, "State "), states),
        el("p", { class: "sorter" }, el("label", { for: "sort" }, "Sort by "), this.sorter)),
      this.dead, this.pushed, this.outcome, this.bar, this.status, this.sheet, el("p", { class: "actions" }, this.more));
    this.marks();
    this.load();
  }

  // MARK: Reading

  filter(name, value) {
    this[name] = value;
    this.context.query({ [name]: value });
    this.load();
  }

  /** Reads the first page, or adds the page after a project. */
  async load(after) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    this.loadedAt = performance.now();
    const given = Object.entries({ tab: this.tab, find: this.find, project: this.project, state: this.state, after: after ?? "" });
    try {
      const reply = await get(`api/jobs?${new URLSearchParams(given.filter(([, value]) => value))}`);
      if (turn !== this.turn || this.isClosed) return;
      this.jobs = after ? [...this.jobs, ...reply.jobs] : reply.jobs;
      this.cut = after ? [...this.cut, ...reply.cut] : reply.cut;
      this.next = reply.next;
      this.drawPushed(after ? [...this.untaken, ...(reply.pushed ?? [])] : reply.pushed ?? []);
      this.isPaged = Boolean(after);
      this.draw();
    } catch (error) {
      if (turn === this.turn) text(this.status, error.message);
    }
  }

  update() {
    this.drawAround();
    // A list that the user has paged through stays as it is.
    if (!document.hidden && !this.isPaged && performance.now() - this.loadedAt > REFRESH) this.load();
  }

  // MARK: Drawing

  drawAround() {
    const fleet = this.context.fleet;
    const known = new Set([...this.projects.options].map((option) => option.value));
    for (const id of [...fleet.projects.keys()].sort()) if (!known.has(id)) this.projects.append(el("option", { value: id }, id));
    const dead = [...fleet.projects.values()].filter((project) => project.dead > 0).sort((a, b) => b.dead - a.dead);
    show(this.dead, this.tab === "needing" && dead.length > 0);
    if (this.dead.hidden) return;
    const said = dead.slice(0, NAMED).map((project) => `${project.id} ${project.dead}`).join() + dead.length;
    if (said === this.said) return;
    this.said = said;
    const links = dead.slice(0, NAMED).flatMap((project, at) => [at ? ", " : "", el("a", { href: address("p", project.id, "dead") }, `${project.id} ${number(project.dead)}`)]);
    this.dead.replaceChildren("Dead jobs, to replay or drop: ", ...links, dead.length > NAMED ? ` and ${number(dead.length - NAMED)} more projects` : "");
  }

  /** Jobs of the search that no worker has taken. */
  drawPushed(untaken) {
    this.untaken = untaken;
    show(this.pushed, untaken.length > 0);
    this.pushed.replaceChildren("Pushed, not yet taken: ", ...untaken.flatMap(({ project, id }, at) => [at ? ", " : "", el("a", { href: address("p", project, "jobs", id) }, `${project}: ${id}`)]));
  }

  draw() {
    const now = this.context.fleet.now || Date.now();
    // A row must not move away under the pointer or the focus.
    const isHeld = this.body.matches(":hover") || this.body.contains(document.activeElement);
    keyed(this.body, isHeld ? this.held() : this.sorted(), key, (job) => {
      const row = new Row(job, this);
      this.rows.set(key(job), row);
      return row.node;
    }, (node, job) => this.rows.get(key(job)).update(job, this.chosen.has(key(job)), now));
    for (const [name, row] of this.rows) {
      if (row.node.isConnected) continue;
      this.rows.delete(name);
      this.chosen.delete(name);
    }
    show(this.sheet, this.jobs.length > 0);
    show(this.more, Boolean(this.next));
    text(this.status, this.summary());
    this.drawBulk();
  }

  summary() {
    const projects = new Set(this.jobs.map((job) => job.project)).size;
    const parts = [this.jobs.length ? `${count(this.jobs.length)} of ${number(projects)} ${projects === 1 ? "project" : "projects"}.` : this.next ? "No job so far." : "No job in this list."];
    if (this.next) parts.push(`The list ends with project ${this.next}: show more.`);
    if (this.cut.length) parts.push(`Not whole: ${this.cut.slice(0, 3).join(", ")}${this.cut.length > 3 ? ` and ${number(this.cut.length - 3)} more` : ""} ${this.cut.length === 1 ? "has" : "have"} more jobs than were read; choose one project, or use fanfare job ls --limit.`);
    if (this.tab === "over" || this.tab === "all") parts.push("Of jobs that ended, the last 1,000 of a project with an id or more than one recipient are kept.");
    return parts.join(" ");
  }

  sorted() {
    const name = this.sort.replace(/^-/, "");
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const { value } = COLUMNS.find((column) => column.key === name) ?? COLUMNS[0];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return this.jobs.map((job, at) => [value(job), at, job]).sort(([a, one], [b, two]) => sign * compare(a, b) || one - two).map(([, , job]) => job);
  }

  /** The jobs in the order that is shown, new ones last. */
  held() {
    const places = new Map([...this.body.children].map((node, at) => [node.dataset.key, at]));
    return this.jobs.toSorted((a, b) => (places.get(key(a)) ?? 1e9) - (places.get(key(b)) ?? 1e9));
  }

  sortBy(name) {
    this.sort = name;
    this.context.query({ sort: name === "project" ? "" : name });
    this.marks();
    this.draw();
  }

  marks() {
    const name = this.sort.replace(/^-/, "");
    COLUMNS.forEach((column, at) => {
      this.heads[at].setAttribute("aria-sort", column.key === name ? (this.sort.startsWith("-") ? "descending" : "ascending") : "none");
    });
    this.sorter.value = name;
  }

  // MARK: Several jobs at once

  choose(job, isChosen) {
    if (isChosen) this.chosen.add(key(job));
    else this.chosen.delete(key(job));
    this.drawBulk();
  }

  chooseAll() {
    this.chosen = new Set(this.all.checked ? this.jobs.filter((job) => allowed(job).length).map(key) : []);
    for (const [name, row] of this.rows) row.box.checked = this.chosen.has(name);
    this.drawBulk();
  }

  /** The chosen jobs that an action changes. */
  fitting(action) {
    return this.jobs.filter((job) => this.chosen.has(key(job)) && allowed(job).includes(action));
  }

  drawBulk() {
    const open = this.jobs.filter((job) => allowed(job).length);
    show(this.bar, !this.context.fleet.readOnly && open.length > 0);
    this.all.checked = open.length > 0 && open.every((job) => this.chosen.has(key(job)));
    text(this.allLabel, this.chosen.size ? `${number(this.chosen.size)} chosen` : `Choose all ${number(open.length)}`);
    ACTIONS.forEach((action, at) => {
      const jobs = this.fitting(action).length;
      text(this.buttons[at], jobs ? `${JOB[action].word} ${number(jobs)}` : JOB[action].word);
      this.buttons[at].disabled = jobs === 0;
    });
    for (const row of this.rows.values()) show(row.box, !this.bar.hidden);
  }

  async act(action) {
    const jobs = this.fitting(action);
    const { word, message, many = message, past, danger } = JOB[action];
    if (jobs.length > MOST) return announce(`At most ${MOST} jobs are changed at once; choose fewer.`);
    const projects = [...new Set(jobs.map((job) => job.project))];
    const left = jobs.reduce((sum, job) => sum + Math.max(0, job.total - finished(job)), 0);
    const names = `${jobs.slice(0, 3).map((job) => job.id).join(", ")}${jobs.length > 3 ? ` and ${number(jobs.length - 3)} more` : ""}`;
    const where = projects.length === 1 ? `project ${projects[0]}` : `${number(projects.length)} projects`;
    const given = await confirm({
      title: `${word} ${count(jobs.length)} of ${where}?`, message: `${names}: ${number(left)} recipients have no result yet. ${many}`,
      yes: `${word} ${count(jobs.length)}`, no: "Leave them", danger,
    });
    if (!given) return;
    try {
      const reply = await post(`api/jobs/${action}`, { ...given, jobs: jobs.map(({ project, id }) => ({ project, id })) });
      announce(`${count(reply.done)} ${past}.${reply.failed.length ? ` ${number(reply.failed.length)} failed.` : ""}`);
      this.report(reply, past);
      this.chosen.clear();
    } catch (error) {
      announce(error.message);
    }
    this.load();
  }

  /** Failures stay on the page until the next change. */
  report(reply, past) {
    show(this.outcome, reply.failed.length > 0);
    this.outcome.replaceChildren(el("p", {}, `${count(reply.done)} ${past}, ${number(reply.failed.length)} not:`), el("ul", {},
      ...reply.failed.map(({ project, id, message }) => el("li", {}, el("a", { href: address("p", project, "jobs", id) }, `${project}: ${id}`), ` ${message}`))));
  }
}

export function open(root, params, context) {
  const view = new Jobs(root, params, context);
  return { update: () => view.update(), close() { view.isClosed = true; } };
}
