// The project page: its state, charts, and jobs.

import { at, badge, crumbs, duration, el, get, keyed, number, rate, show, terms, text } from "./dom.js";
import { address } from "./router.js";
import { jobControls, projectControls, stalls } from "./actions.js";
import { Chart, clock, MARKS, together, UNITS } from "./charts.js";
import { finished, moment, percent, twice } from "./job.js";

const SPANS = [["5m", "5 min", 300], ["1h", "1 h", 3600], ["24h", "24 h", 86400]];
const LISTS = [["", "Not over"], ["active", "Active"], ["waiting", "Waiting"], ["scheduled", "Scheduled"],
  ["retrying", "Retrying"], ["paused", "Paused"], ["parked", "Parked"], ["over", "Over"]];
const REFRESH = 10000;
/** A worker writes its record of a step up to 10 s after its end. */
const WRITES = 10000;

/** A row of buttons of which one is pressed. `choose(value)` follows a press. */
function choice(label, options, value, choose) {
  const buttons = options.map(([key, word]) => el("button", { class: "small", "aria-pressed": String(key === value), on: { click: () => {
    for (const [index, [other]] of options.entries()) buttons[index].setAttribute("aria-pressed", String(other === key));
    choose(key);
  } } }, word));
  return el("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

// MARK: Charts

const perSecond = (values, step) => values.map((value) => (value === null ? null : (value * 1000) / step));

/** The charts' data of a history reply and of live samples: time, sent, failed, unknown, retries (means of 5 s), waiting. */
export function chartData(history, live, span, quota) {
  const step = history.step_ms;
  const to = Math.max(history.now_ms, live.at(-1)?.[0] ?? 0);
  const from = to - span * 1000;
  // Times are the ends of steps. A step has too few counts until each worker has written its record of it.
  const whole = history.at_ms.map((ms, index) => index).filter((index) => history.at_ms[index] + step + WRITES <= history.now_ms);
  const times = whole.map((index) => history.at_ms[index] + step);
  const column = (values) => whole.map((index) => values[index] ?? null);
  const recent = live.filter((sample) => sample[0] >= from).map((sample, index, all) => {
    const near = all.slice(Math.max(0, index - 4), index + 1);
    return sample.map((value, column) => (column === 0 || column === 5 ? value : near.reduce((sum, one) => sum + one[column], 0) / near.length));
  });
  const old = recent.length ? times.filter((time) => time < recent[0][0]) : times;
  const mixed = (values, index) => [...values.slice(0, old.length), ...recent.map((sample) => sample[index])];
  const counts = (name) => perSecond(column(history[name]), step);
  const limits = [...column(history.quota_per_minute).slice(0, old.length), ...recent.map(() => quota)];
  const base = { from, to, step, gap: step * 2.5, marks: history.marks.map((mark) => ({ at: mark.at_ms, kind: mark.kind, text: mark.text })) };
  const mixedTimes = [...old, ...recent.map((sample) => sample[0])];
  const line = (name, label, values, kind = "line") => ({ name, label, kind, values });
  return {
    throughput: { ...base, times: mixedTimes, series: [
      line("sent", "sent", mixed(counts("sent"), 1), "area"), line("failed", "failed", mixed(counts("failed"), 2)),
      line("retries", "retried", mixed(counts("retries"), 4)),
      line("quota", "quota", limits.map((value) => (value === null ? null : value / 60)), "limit"),
    ] },
    failures: { ...base, times, series: Object.entries(history.errors).map(([code, values], index) =>
      line(`c${index}`, code, perSecond(column(values), step).map((value) => (value === null ? null : value * 60)), "bar")) },
    latency: { ...base, times, series: [["p50", "half below"], ["p95", "95 % below"], ["p99", "99 % below"]].map(([name, label]) =>
      line(name, label, column(history[`${name}_ms`]))) },
    waiting: { ...base, times: mixedTimes, series: [line("waits", "waiting", mixed(column(history.waiting), 5), "area")] },
  };
}

/** What a mark says beyond the name of its kind. */
function happened({ kind, text: words }) {
  const name = MARKS[kind] ?? kind;
  if (!words) return "";
  return words.startsWith(name) ? words.slice(name.length) : `: ${words}`;
}

class Charts {
  constructor(project, params, context) {
    this.project = project;
    this.span = SPANS.find(([key]) => key === params.query.get("span")) ?? SPANS[0];
    this.charts = {
      throughput: new Chart("Throughput", UNITS.second), failures: new Chart("Failures by code", UNITS.minute),
      latency: new Chart("Latency of requests to FCM", UNITS.ms), waiting: new Chart("Waiting recipients", UNITS.count),
    };
    together(Object.values(this.charts));
    this.status = el("p", { class: "hint", role: "status" });
    this.events = el("ol", { class: "events" });
    this.eventBox = el("section", { hidden: true }, el("h3", {}, "What happened"), this.events);
    this.twice = el("p", { class: "notice", hidden: true });
    const spans = choice("Time shown", SPANS, this.span[0], (key) => {
      this.span = SPANS.find(([name]) => name === key);
      context.query({ span: key === SPANS[0][0] ? "" : key });
      this.history = null;
      this.load();
    });
    this.node = el("section", { class: "card" }, el("div", { class: "row" }, el("h2", {}, "History"), spans), this.status,
      el("div", { class: "charts" }, ...Object.values(this.charts).map((chart) => chart.node)), this.twice, this.eventBox);
    this.load();
    this.timer = setInterval(() => { if (!document.hidden) this.load(); }, REFRESH);
  }

  async load() {
    const span = this.span;
    try {
      const history = await get(`${at(this.project, "history")}?span=${span[2]}`);
      if (this.span !== span) return;
      this.history = history;
      text(this.status, "");
      this.draw();
      this.drawEvents();
      const maybe_dup = history.maybe_dup.reduce((sum, count) => sum + (count ?? 0), 0);
      text(this.twice, `In this time ${twice({ maybe_dup })}: a worker was lost or an answer did not come, and the message was sent again.`);
      show(this.twice, maybe_dup > 0);
    } catch (error) {
      if (this.span === span) text(this.status, error.message);
    }
  }

  /** `samples` are the live ones of the last five minutes, a second each. */
  update(samples, quota) {
    this.samples = samples;
    this.quota = quota;
    if (this.span[2] === 300) this.draw();
  }

  draw() {
    if (!this.history) return;
    const live = this.span[2] === 300 ? this.samples ?? [] : [];
    const data = chartData(this.history, live, this.span[2], this.quota ?? null);
    for (const [name, chart] of Object.entries(this.charts)) chart.update(data[name]);
  }

  drawEvents() {
    const newest = this.history.marks.slice(-20).reverse();
    show(this.eventBox, newest.length > 0);
    keyed(this.events, newest, (mark) => `${mark.at_ms} ${mark.kind} ${mark.text}`,
      (mark) => el("li", {}, el("time", { datetime: new Date(mark.at_ms).toISOString() }, `${clock(mark.at_ms)} UTC`), " ",
        el("span", { class: `flag ${mark.kind}` }, MARKS[mark.kind] ?? mark.kind), happened(mark)), () => {});
  }

  close() {
    clearInterval(this.timer);
  }
}

// MARK: Jobs

class Jobs {
  constructor(project, params, context) {
    this.project = project;
    this.fleet = context.fleet;
    this.state = LISTS.some(([key]) => key === params.query.get("jobs")) ? params.query.get("jobs") : "";
    this.status = el("p", { class: "hint", role: "status" });
    this.open = el("ul", { class: "joblist" });
    this.rows = el("tbody");
    const head = ["Job", "State", "Recipients", "Sent", "Failed", "Unknown", "Ended", "Took"];
    this.over = el("table", { class: "cards", "aria-label": "Jobs that are over" }, el("thead", {}, el("tr", {}, ...head.map((word, index) =>
      el("th", { scope: "col", class: ["", "", "n", "n", "n", "n extra", "", "extra"][index] }, word)))), this.rows);
    this.more = el("button", { hidden: true, on: { click: () => this.load(this.before) } }, "Show older jobs");
    const lists = choice("Jobs shown", LISTS, this.state, (key) => {
      this.state = key;
      context.query({ jobs: key });
      this.open.replaceChildren();
      this.load();
    });
    this.node = el("section", { class: "card" }, el("div", { class: "row" }, el("h2", {}, "Jobs"), lists), this.status, this.open, this.over, this.more);
    this.load();
  }

  async load(before) {
    const state = this.state;
    this.loadedAt = performance.now();
    try {
      const isOver = state === "over";
      const reply = await get(isOver ? `${at(this.project, "finished")}${before ? `?before=${before}` : ""}`
        : `${at(this.project, "jobs")}${state ? `?state=${state}` : ""}`);
      if (state !== this.state) return;
      show(this.open, !isOver);
      show(this.over, isOver && (reply.jobs.length > 0 || Boolean(before)));
      show(this.more, isOver && Boolean(reply.before));
      this.before = reply.before;
      if (isOver) {
        if (!before) this.rows.replaceChildren();
        this.rows.append(...reply.jobs.map((job) => this.overRow(job)));
        this.isPaged = Boolean(before);
        text(this.status, this.rows.children.length ? "" : "No job that ended is kept. The last 1,000 with an id or more than one recipient are listed here.");
      } else {
        this.jobs = reply.jobs;
        text(this.status, reply.jobs.length === 0 ? state ? `No job is ${state}.` : "Every job is over." : reply.whole ? "" : "These are the first 100; `fanfare job ls` lists all.");
        this.drawOpen();
      }
    } catch (error) {
      if (state === this.state) text(this.status, error.message);
    }
  }

  update() {
    // A list that the user has paged through stays as it is.
    const age = performance.now() - this.loadedAt;
    if (!document.hidden && age > (this.state === "over" ? 5000 : 2000) && !(this.state === "over" && this.isPaged)) this.load();
    else this.drawOpen();
  }

  drawOpen() {
    if (this.state === "over" || !this.jobs) return;
    // The live view knows rate and estimate of the jobs that it lists.
    const project = this.fleet.project;
    const live = new Map((project ? [...project.active, ...project.waiting, ...project.needing, ...project.others] : []).map((job) => [job.id, job]));
    keyed(this.open, this.jobs, (job) => job.id, (job) => this.openRow(job), (node, job) => this.updateRow(node, { ...job, ...live.get(job.id) }));
  }

  openRow(job) {
    return el("li", {}, el("div", { class: "row" }, el("a", { class: "mono id", href: address("p", this.project, "jobs", job.id) }, job.id), el("span"), el("p", { class: "actions" })),
      el("progress", { max: 1, "aria-label": `Progress of ${job.id}` }), el("p", { class: "amount" }), el("p", { class: "hint" }));
  }

  updateRow(node, job) {
    const [head, bar, amount, why] = node.children;
    badge(head.children[1], job.ending ? "ending" : job.state, stalls(this.fleet.project, job));
    jobControls(head.children[2], this.project, job, this.fleet, () => this.load());
    bar.value = job.total > 0 ? finished(job) / job.total : 0;
    const parts = [`${number(finished(job))} of ${number(job.total)}`];
    for (const name of ["failed", "unknown", "retrying"]) if (job[name]) parts.push(`${number(job[name])} ${name}`);
    if (twice(job)) parts.push(twice(job));
    if (job.rate) parts.push(rate(job.rate));
    if (job.left_seconds !== undefined) parts.push(`about ${duration(job.left_seconds)} left`);
    if (job.priority !== undefined && job.priority !== 5) parts.push(`priority ${job.priority}`);
    text(amount, parts.join(" · "));
    text(why, job.reason ?? "");
    show(why, Boolean(job.reason));
  }

  overRow(job) {
    const state = el("span");
    badge(state, job.state);
    const took = job.finished_ms && job.started_ms ? duration(Math.max(0, job.finished_ms - job.started_ms) / 1000) : "–";
    const cell = (label, value, kind) => el("td", { class: kind, "data-label": label }, value);
    return el("tr", {}, cell("Job", el("a", { class: "mono id", href: address("p", this.project, "jobs", job.id) }, job.id)), cell("State", state),
      cell("Recipients", number(job.total), "n"), cell("Sent", job.total ? `${number(job.sent)} (${percent(job.sent, job.total)})` : number(job.sent), "n"),
      cell("Failed", number(job.failed), job.failed ? "n failed" : "n"), cell("Unknown", number(job.unknown), "n extra"),
      cell("Ended", moment(job.finished_ms, this.fleet.now || Date.now()), "when"), cell("Took", took, "when extra"));
  }
}

// MARK: The page

export function open(root, params, context) {
  const id = params.project;
  const { fleet } = context;
  context.title(id);
  const state = el("span");
  const since = el("span", { class: "hint" });
  const reason = el("p", { class: "view-why", hidden: true });
  const controls = projectControls(id, fleet);
  const dead = el("a", { class: "button small", href: address("p", id, "dead") }, "Dead");
  const audit = el("a", { class: "button small", href: address("p", id, "audit"), "aria-label": `Audit list of ${id}` }, "Audit");
  const facts = el("dl", { class: "figures" });
  const missing = el("p", { class: "notice", role: "status", hidden: true });
  const charts = new Charts(id, params, context);
  const jobs = new Jobs(id, params, context);
  root.append(crumbs(["Overview", address()], [id]),
    el("div", { class: "row title" }, el("h1", {}, id), state, since, el("p", { class: "actions" }, dead, audit, ...controls.nodes)),
    reason, missing, facts, charts.node, jobs.node);
  return {
    update() {
      const project = fleet.project;
      show(missing, !project);
      for (const node of [facts, charts.node, jobs.node]) show(node, Boolean(project));
      if (!project) return text(missing, `Redis holds nothing about project ${id}. A worker registers its projects when it starts; check the spelling.`);
      badge(state, project.state);
      text(since, project.since_ms ? `for ${duration(Math.max(0, fleet.now - project.since_ms) / 1000)}` : "");
      text(reason, project.reason ?? "");
      show(reason, Boolean(project.reason));
      controls.update(project.state);
      text(dead, `Dead: ${number(project.dead)}`);
      const waits = project.recipients_waiting + project.pushed > 0;
      terms(facts, [
        [`Sent, quota ${rate(project.quota_per_minute / 60)}`, rate(project.rates?.sent)],
        ["Failed or unknown", rate(project.rates && project.rates.failed + project.rates.unknown)],
        ["Recipients waiting", number(project.recipients_waiting)],
        ["Pushed, not yet taken", number(project.pushed)],
        ["Empty in about", waits && project.drain_seconds !== undefined ? duration(project.drain_seconds) : "–"],
        ["Oldest wait", project.oldest_wait_ms ? duration(project.oldest_wait_ms / 1000) : "none"],
        ["Waiting for a retry", number(project.retrying)],
        ["In flight", number(project.in_flight)],
        ["Workers", number(project.workers)],
      ]);
      charts.update(fleet.history.get(id) ?? [], project.quota_per_minute);
      jobs.update();
    },
    close() {
      charts.close();
    },
  };
}
