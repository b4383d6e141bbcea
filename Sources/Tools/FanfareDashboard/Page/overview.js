// The overview: totals, trouble, a row for each project, and the workers.

import { badge, cell, duration, el, heads, keyed, number, rate, show, svg, terms, text } from "./dom.js";
import { changeEntry, changeJob } from "./actions.js";
import { SPARK } from "./live.js";
import { address } from "./router.js";

/** States in the order of their urgency; `idle` is last. */
const STATES = ["unreadable", "blocked", "unreachable", "backpressure", "held", "unserved", "paused", "waiting", "working", "idle"];
/** Kinds of trouble in the order of their urgency: states of a project, then its jobs. */
const KINDS = [...STATES.slice(0, 6), "stopped", "canary", "parked", "rejected"];
/** Troubles of one kind that are listed one by one, and projects of one cause that are named. */
const LISTED = 3;
const order = (state) => { const at = STATES.indexOf(state); return at < 0 ? 0 : at; };
/** The urgency of a project: one that needs an operator comes before one that an operator has paused. */
const urgency = (project) => Math.min(order(project.state), project.troubles ? STATES.indexOf("paused") - 0.5 : STATES.length);
const refused = (project) => (project.rates?.failed ?? 0) + (project.rates?.unknown ?? 0);

const COLUMNS = [
  { key: "project", title: "Project", value: (project) => project.id },
  { key: "state", title: "State", value: urgency },
  { title: "Last 5 minutes" },
  { key: "rate", title: "Accepted", value: (project) => -(project.rates?.sent ?? 0) },
  { key: "waiting", title: "Waiting", value: (project) => -(project.recipients_waiting + project.pushed) },
  { key: "left", title: "Empty in about", value: (project) => -(project.drain_seconds ?? -1) },
  { key: "oldest", title: "Oldest wait", value: (project) => -project.oldest_wait_ms },
  { key: "dead", title: "Dead", value: (project) => -project.dead },
];

const WIDTH = 120;
const HEIGHT = 28;

function spark(path, rates) {
  const top = Math.max(...rates, 1);
  const step = WIDTH / (SPARK - 1);
  const start = SPARK - rates.length;
  const points = rates.map((value, at) => `${((start + at) * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 3)).toFixed(1)}`);
  path.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
}

class Row {
  constructor(project) {
    this.state = el("span");
    this.reason = el("span", { class: "why" });
    this.path = svg("path", {});
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", class: "spark" });
    this.picture.append(this.path);
    this.rate = el("span");
    this.quota = el("span", { class: "soft" });
    this.waiting = el("span");
    this.pushed = el("span", { class: "soft" });
    this.left = cell("Empty in about", "n");
    this.oldest = cell("Oldest wait", "n");
    this.dead = el("a", { href: address("p", project.id, "dead"), "aria-label": `Dead jobs of ${project.id}` });
    this.node = el("tr", {},
      el("th", { scope: "row", class: "id" }, el("a", { href: address("p", project.id) }, project.id)),
      cell("State", "", this.state, this.reason),
      cell("Last 5 minutes", "", this.picture),
      cell("Accepted", "n", this.rate, this.quota),
      cell("Waiting", "n", this.waiting, this.pushed),
      this.left, this.oldest,
      cell("Dead", "n", this.dead));
  }

  update(project, rates) {
    const isIdle = project.state === "idle" && !project.dead;
    if (this.node.classList.contains("idle") !== isIdle) this.node.classList.toggle("idle", isIdle);
    badge(this.state, project.state, project.state === "waiting" && project.troubles ? "held" : undefined);
    text(this.reason, project.reason ?? "");
    if (this.rates !== rates || !this.isDrawn) {
      this.isDrawn = true;
      this.rates = rates;
      spark(this.path, rates ?? []);
      this.picture.classList.toggle("flat", !rates);
      this.picture.setAttribute("aria-label", rates ? `Accepted by FCM: now ${rates.at(-1)} a second, most ${Math.max(...rates)}` : "Nothing accepted");
    }
    const quiet = (value, shown) => (value ? shown : "");
    text(this.rate, quiet(project.rates?.sent || project.state === "working", rate(project.rates?.sent)));
    text(this.quota, quiet(project.quota_per_minute && !isIdle, `of ${rate(project.quota_per_minute / 60)}`));
    text(this.waiting, quiet(project.recipients_waiting, number(project.recipients_waiting)));
    text(this.pushed, quiet(project.pushed, jobs(project.pushed) + " pushed"));
    text(this.left, quiet(project.drain_seconds && project.recipients_waiting + project.pushed, duration(project.drain_seconds)));
    text(this.oldest, quiet(project.oldest_wait_ms, duration(project.oldest_wait_ms / 1000)));
    text(this.dead, quiet(project.dead, number(project.dead)));
  }
}

/** A link to a page of the Runbook. */
const guide = (page) => el("a", { class: "guide", href: address("runbook", page), "aria-label": `Runbook: ${page}` }, "Runbook");
const jobs = (count) => `${number(count)} ${count === 1 ? "job" : "jobs"}`;

/** The lines of the list of trouble: projects with one cause share one. Each has `kind`, `why`, `projects`, `job`, `first` (its trouble). */
export function lines(projects, hasWorker) {
  const causes = new Map();
  for (const project of projects) {
    for (const trouble of project.troubles ?? []) {
      // One line above says that no worker lives.
      if (trouble.kind === "unserved" && !hasWorker) continue;
      const key = trouble.many ? trouble.kind : `${trouble.kind} ${trouble.job ? `${project.id} ${trouble.job}` : trouble.text}`;
      const cause = causes.get(key) ?? { key, kind: trouble.kind, first: trouble, projects: [], count: 0 };
      cause.projects.push(project.id);
      cause.count += trouble.count;
      causes.set(key, cause);
    }
  }
  for (const cause of causes.values()) {
    const { first } = cause;
    // Of a cause of several projects, no job is named.
    [cause.job, cause.entry] = cause.projects.length === 1 ? [first.job, first.entry] : [];
    cause.why = cause.projects.length === 1 ? first.text : first.many ? `${jobs(cause.count)} ${first.many}` : first.text;
  }
  return KINDS.flatMap((kind) => {
    const found = [...causes.values()].filter((cause) => cause.kind === kind);
    if (found.length <= LISTED) return found;
    const rest = found.slice(LISTED - 1);
    const ids = [...new Set(rest.flatMap((cause) => cause.projects))];
    const why = kind === "stopped" || kind === "canary" ? `${number(rest.length)} more jobs wait to be resumed or cancelled` : "for other reasons";
    return [...found.slice(0, LISTED - 1), { key: `${kind} and more`, kind, first: rest[0].first, projects: ids, why }];
  });
}

class Overview {
  constructor(root, params, context) {
    this.context = context;
    this.rows = new Map();
    this.sort = params.query.get("sort") ?? "state";
    this.find = params.query.get("find") ?? "";
    this.alarm = el("p", { class: "alarm", role: "alert", hidden: true });
    this.tiles = el("dl", { class: "figures", "aria-label": "The whole fleet" });
    this.trouble = el("ul", { class: "troubles" });
    this.troubleBox = el("section", { class: "attention", "aria-labelledby": "trouble-title" }, el("h2", { id: "trouble-title" }, "Needs attention"), this.trouble);
    this.input = el("input", { id: "find", type: "search", value: this.find, autocomplete: "off", spellcheck: "false", placeholder: "Name, state or reason", on: { input: () => this.filter() } });
    this.count = el("p", { class: "hint", role: "status" });
    this.heads = COLUMNS.map((column) => this.head(column));
    this.body = el("tbody", {});
    this.table = el("table", { class: "projects", "aria-labelledby": "projects-title" },
      el("thead", {}, el("tr", {}, ...this.heads)), this.body);
    this.empty = el("p", { class: "hint" });
    const sorter = el("select", { id: "sort", on: { change: (event) => this.sortBy(event.target.value) } },
      ...COLUMNS.filter(({ key }) => key).map(({ key, title }) => el("option", { value: key }, title)));
    this.sorter = sorter;
    this.workers = el("tbody", {});
    const workers = el("table", { class: "workers", "aria-labelledby": "workers-title" },
      el("thead", {}, heads(["Worker", "State", "Version", "Host", "In flight", "Batches", "Up for", "Projects"], ["In flight", "Batches"])), this.workers);
    this.day = el("div");
    // The chart is below the fold: its script may come later.
    import("./day.js").then(({ Day }) => { this.chart = new Day(); this.day.append(this.chart.node); }).catch(() => {});
    this.workersBox = el("section", {}, el("h2", { id: "workers-title" }, "Workers"), el("div", { class: "sheet" }, workers));
    root.append(el("h1", { class: "said-only" }, "Overview"), this.alarm, this.troubleBox, this.tiles,
      el("div", { class: "toolbar" }, el("h2", { id: "projects-title" }, "Projects"), el("label", { for: "find", class: "said-only" }, "Search the projects"), this.input,
        el("p", { class: "sorter" }, el("label", { for: "sort" }, "Sort by "), sorter), this.count),
      el("div", { class: "sheet" }, this.table), this.empty, this.day, this.workersBox);
    this.marks();
  }

  head({ key, title }) {
    const isNumber = ["Accepted", "Waiting", "Empty in about", "Oldest wait", "Dead"].includes(title);
    const head = el("th", { scope: "col", class: isNumber ? "n" : "" });
    if (key) head.append(el("button", { class: "sort", on: { click: () => this.sortBy(this.sort === key ? `-${key}` : key) } }, title));
    else head.append(title);
    return head;
  }

  sortBy(key) {
    this.sort = key;
    this.context.query({ sort: key === "state" ? "" : key });
    this.marks();
    this.draw(true);
  }

  marks() {
    const key = this.sort.replace(/^-/, "");
    COLUMNS.forEach((column, at) => {
      if (!column.key) return;
      const isDown = column.key === key ? (this.sort.startsWith("-") ? "descending" : "ascending") : "none";
      this.heads[at].setAttribute("aria-sort", isDown);
    });
    this.sorter.value = key;
  }

  filter() {
    this.find = this.input.value.trim();
    this.context.query({ find: this.find });
    this.draw(true);
  }

  update(fleet) {
    this.fleet = fleet;
    this.chart?.update();
    this.draw(false);
  }

  draw(isAsked) {
    const fleet = this.fleet;
    if (!fleet) return;
    const all = [...fleet.projects.values()];
    this.drawTiles(all, fleet);
    this.drawTroubles(all, fleet);
    const word = this.find.toLowerCase();
    const found = word ? all.filter((project) => `${project.id} ${project.state} ${(project.troubles ?? []).map(({ kind, text: why }) => `${kind} ${why}`).join(" ")} ${project.reason ?? ""}`.toLowerCase().includes(word)) : all;
    // A row must not move away under the pointer or the focus.
    const isHeld = !isAsked && (this.body.matches(":hover") || this.body.contains(document.activeElement));
    keyed(this.body, isHeld ? this.held(found) : this.sorted(found), (project) => project.id, (project) => {
      const row = new Row(project);
      this.rows.set(project.id, row);
      return row.node;
    }, (node, project) => this.rows.get(project.id).update(project, fleet.spark.get(project.id)));
    for (const [id, row] of this.rows) if (!row.node.isConnected) this.rows.delete(id);
    text(this.count, found.length === all.length ? `${number(all.length)} ${all.length === 1 ? "project" : "projects"}` : `${number(found.length)} of ${number(all.length)} projects`);
    show(this.table.parentNode, found.length > 0);
    show(this.empty, found.length === 0);
    text(this.empty, all.length === 0 ? "No project is registered yet. A worker registers its projects when it starts, and `fanfare send` the project of its job." : "No project matches.");
    this.drawWorkers(fleet);
  }

  /** The projects in the order that is shown, new ones last. */
  held(projects) {
    const places = new Map([...this.body.children].map((node, at) => [node.dataset.key, at]));
    return projects.sort((a, b) => (places.get(a.id) ?? 1e9) - (places.get(b.id) ?? 1e9));
  }

  sorted(projects) {
    const key = this.sort.replace(/^-/, "");
    const sign = this.sort.startsWith("-") ? -1 : 1;
    const { value } = COLUMNS.find((column) => column.key === key) ?? COLUMNS[1];
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return projects.map((project) => [value(project), project])
      .sort(([a, one], [b, two]) => sign * compare(a, b) || compare(one.id, two.id))
      .map(([, project]) => project);
  }

  drawTiles(all, fleet) {
    const sum = (value) => all.reduce((total, project) => total + (value(project) ?? 0), 0);
    const alive = fleet.workers.filter((worker) => worker.alive).length;
    const dead = sum((project) => project.dead);
    const failed = sum(refused);
    terms(this.tiles, [
      ["Accepted by FCM", rate(sum((project) => project.rates?.sent))],
      ["Failed or unknown", rate(failed), failed > 0 && "warn"],
      ["Recipients waiting", number(sum((project) => project.recipients_waiting))],
      ["Jobs pushed, not taken", number(sum((project) => project.pushed))],
      ["Jobs not over", number(sum((project) => project.jobs + project.parked)), "", "jobs"],
      ["Dead", number(dead), dead > 0 && "bad", "jobs?tab=needing"],
      ["Workers alive", number(alive), alive === 0 && "bad"],
    ]);
  }

  drawTroubles(all, fleet) {
    const hasWorker = fleet.workers.some((worker) => worker.alive);
    const waiting = all.reduce((sum, project) => sum + project.pushed + project.jobs, 0);
    const isUnread = all.length > 0 && all.every((project) => project.state === "unreadable");
    show(this.alarm, !hasWorker && !isUnread);
    if (!hasWorker && !this.alarm.firstChild) {
      this.alarm.append(el("strong", {}, "No worker is alive"), el("span"), " Start ", el("code", {}, "fanfare worker"), ". ", guide("FanfareNoWorkers"));
    }
    if (!hasWorker) text(this.alarm.children[1], `: nothing is sent.${waiting ? ` ${jobs(waiting)} ${waiting === 1 ? "waits" : "wait"}.` : ""}`);
    const found = lines(all.sort((one, two) => (one.id < two.id ? -1 : 1)), hasWorker);
    show(this.troubleBox, found.length > 0);
    keyed(this.trouble, found, (line) => `${line.key} ${line.entry ?? ""} ${line.projects.join(" ")} ${fleet.readOnly}`, (line) => this.troubleLine(line, fleet), (node, line) => {
      text(node.querySelector(".why"), line.why);
      text(node.querySelector(".since"), line.first.since_ms && line.projects.length === 1 ? `for ${duration((fleet.now - line.first.since_ms) / 1000)}` : "");
    });
  }

  troubleLine({ kind, job, entry, projects, first, key }, fleet) {
    const state = el("span");
    badge(state, kind);
    const isDead = kind === "parked" || kind === "rejected";
    const place = (id) => (isDead ? `${address("p", id, "dead")}?kind=${kind}` : address("p", id, ...(job ? ["jobs", job] : [])));
    const names = projects.slice(0, LISTED).flatMap((id, at) => [at ? ", " : "", el("a", { href: place(id) }, id)]);
    const more = projects.length - LISTED;
    if (more > 0) names.push(" and ", el("a", { href: `./?find=${kind}` }, `${number(more)} more`));
    const button = (word, name, change) => el("button", { class: "small", "aria-label": name, on: { click: change } }, word);
    const buttons = [];
    if (job && !entry) buttons.push(button("Resume", `Resume job ${job} of ${projects[0]}`, () => changeJob(projects[0], job, "resume")));
    if (entry) for (const [action, word] of [["replay", "Replay"], ["drop", "Drop"]]) {
      buttons.push(button(word, `${word} job ${job} of ${projects[0]}`, () => changeEntry(projects[0], { job, entry, kind }, action)));
    }
    const controls = el("span", { class: "does" }, ...(fleet.readOnly ? [] : buttons.flatMap((node) => [node, " "])));
    const what = el("span", { class: "what" }, el("span", { class: "why" }), " ", el("span", { class: "since soft" }),
      el("span", { class: "remedy" }, key.endsWith(" and more") ? "" : ` · ${first.remedy} `));
    return el("li", {}, state, el("span", { class: "names" }, ...names), what, " ", controls, guide(first.page));
  }

  drawWorkers(fleet) {
    show(this.workersBox, fleet.workers.length > 0);
    keyed(this.workers, fleet.workers, (worker) => worker.name,
      (worker) => el("tr", {}, el("th", { scope: "row", class: "id mono" }, worker.name), cell("State", "", el("span")),
        cell("Version"), cell("Host"), cell("In flight", "n"), cell("Batches", "n"), cell("Up for"), cell("Projects")),
      (row, worker) => {
        const [, state, version, host, flight, batches, up, projects] = row.children;
        badge(state.firstElementChild, worker.alive ? "alive" : "silent");
        text(version, worker.version ?? "not said yet");
        text(host, worker.host ? `${worker.host}, process ${worker.pid}` : "–");
        text(flight, number(worker.in_flight));
        text(batches, number(worker.batches));
        text(up, worker.started_ms ? duration(Math.max(0, fleet.now - worker.started_ms) / 1000) : "–");
        const more = (worker.projects ?? 0) - (worker.names?.length ?? 0);
        text(projects, (worker.names ?? []).join(", ") + (more > 0 ? ` and ${number(more)} more` : ""));
      });
  }
}

export function open(root, params, context) {
  const view = new Overview(root, params, context);
  return { update: (fleet) => { view.update(fleet); }, close() {} };
}
