// The page of one job: progress, what it waits for, errors, message and results.

import { announce, at, badge, breakable, crumbs, duration, el, get, keyed, number, rate, RequestError, show, terms, text, time } from "./dom.js";
import { address } from "./router.js";
import { changeJob, jobControls, stalls } from "./actions.js";

const OVER = ["done", "cancelled", "expired", "rejected"];
const PARTS = [["sent", "sent"], ["failed", "failed"], ["unknown", "unknown"], ["ended", "cancelled or expired"], ["retries", "waiting for a retry"]];
const ACTIONS = {
  remove: "Remove the token", replace: "Replace the token", fix_message: "Fix the message",
  fix_credentials: "Fix the credentials", none: "Nothing: it was tried until the limit",
};
const KINDS = { token: "registration tokens", fid: "installation ids", topic: "topic", condition: "condition", group: "device group" };
const MAX_SEARCHES = 40;

/** Says how many recipients may have got the message twice; empty for none. */
export const twice = (job) => (job.maybe_dup > 0 ? `${number(job.maybe_dup)} may have got it twice` : "");

export const finished = (job) => job.sent + job.failed + job.unknown + job.cancelled + job.expired;

/** A share as text; never 100 % for less than all, nor 0 % for more than none. */
export function percent(part, all) {
  if (!all) return "–";
  const share = (100 * part) / all;
  if (part < all && share > 99.9) return "> 99.9 %";
  if (part > 0 && share < 0.1) return "< 0.1 %";
  return `${Number(share.toFixed(1))} %`;
}

/** A time of day; with its date unless it is less than 12 hours away. */
const clock = (ms, now) => (Math.abs(now - ms) < 43200000 ? time(ms).slice(11) : time(ms));

/** How far a time is from now, and the time. */
export function moment(ms, now) {
  if (!ms) return "–";
  const away = Math.abs(now - ms) / 1000;
  return `${away < 1 ? "now" : ms < now ? `${duration(away)} ago` : `in ${duration(away)}`} · ${clock(ms, now)}`;
}

/** How many recipients wait for a retry, and when the first is due if that is known. */
function waits(job) {
  const due = job.next_retry_ms;
  const next = due === undefined ? "" : due > job.now_ms ? `, the next in ${duration((due - job.now_ms) / 1000)}` : ", the next now";
  return `${number(job.retrying)} ${job.retrying === 1 ? "waits" : "wait"} for a retry${next}`;
}

/** What holds the job back, and what stops it: rows for its facts. */
export function guards({ rate, canary, canary_wait_ms: wait, stop_if: stop, send_window: hours }) {
  const rows = [];
  if (rate) rows.push(["Rate", `${number(rate)} first attempts a minute`]);
  if (canary) {
    const size = canary.endsWith("%") ? `the first ${canary}` : `the first ${number(Number(canary))} recipients`;
    rows.push(["Canary", `${size}, ${wait ? `continues after ${duration(wait / 1000)}` : "then it waits for an operator"}`]);
  }
  if (stop) rows.push(["Pauses if", stop]);
  if (hours) rows.push(["Sends only", hours]);
  return rows;
}

/** Whether the job's reason is its rate. An active job with such a reason sends. */
const isPaced = (job) => Boolean(job.reason?.startsWith("rate: "));

/** Why the job waits or is paused; empty if nothing is known. Its rate bounds first attempts only, so it does not explain a tail. */
function cause(job, now) {
  const reason = isPaced(job) && job.first_pass_ms ? undefined : job.reason;
  // A reason names times as 2026-11-23T20:58:03.005Z.
  return (reason ?? job.held_by ?? "").replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, (stamp) => clock(Date.parse(stamp), now));
}

/** What the job's state means now, and what an operator may do about it. */
export function explain(job, now) {
  const why = cause(job, now);
  switch (job.state) {
    case "scheduled": return `It starts at ${time(job.not_before_ms)}${job.not_before_ms > now ? `, in ${duration((job.not_before_ms - now) / 1000)}` : ""}. ${why}`;
    case "waiting":
      if (why) return `It waits: ${why}`;
      if (job.ahead === 0) return "It is the next fan-out: it starts when the active one gives up the slot.";
      return job.ahead > 0 ? `It waits for its turn: ${number(job.ahead)} fan-outs are before it.` : "It waits for a worker.";
    case "active": return why;
    case "retrying": return why ? `The first pass is over. The tail waits: ${why}` : "The first pass is over. The rest waits for its next attempts.";
    case "paused":
      if (why === "canary") return `Its canary had its first attempts. ${job.guards?.canary_wait_ms ? "The rest goes out when the canary's time is over." : "The rest goes out when it is resumed."}`;
      return `${why || "It is paused"}. Nothing is sent until it is resumed.`;
    case "parked": return `${why || "It is parked"}. Nothing is sent until an operator replays or drops its entry among the dead jobs.`;
    case "rejected": return `${why || "It broke a rule"}. Nothing was sent. Correct the field and push the job again: among the dead jobs its entry can be edited and pushed.`;
    case "expired":
      if (job.id_free) return "Its time was over (expires_at) before a recipient was sent to. Its id may be used again.";
      return "Its time was over (expires_at) before each recipient was sent to. To reach the others, push a new job with another id.";
    case "cancelled":
      if (job.id_free) return "An operator or the producer cancelled it before a recipient was sent to. Its id may be used again.";
      return "An operator or the producer cancelled it. Recipients that had a result before keep it.";
    case "done":
      if (job.failed + job.unknown > 0) return "Every recipient has a result, not all are sent: see the errors.";
      return job.maybe_dup > 0 ? "Every recipient is sent; some may have got the message twice." : "FCM accepted every recipient.";
    default: return why;
  }
}

// MARK: Progress

class Progress {
  /** `showTwice()` shows the results that may be duplicates. */
  constructor(showTwice) {
    this.bar = el("div", { class: "stack", role: "progressbar", "aria-label": "Recipients with a result", "aria-valuemin": 0, "aria-valuemax": 100 },
      ...PARTS.map(([name]) => el("span", { class: name })));
    this.line = el("p", { class: "large" });
    this.legend = el("p", { class: "legend" }, ...PARTS.map(([name]) => el("span", { class: `swatch ${name}` })));
    this.passes = el("dl", { class: "facts" });
    this.twice = el("span");
    this.twiceLine = el("p", { class: "notice", hidden: true }, this.twice, " ",
      el("button", { class: "small", "aria-label": "Show the results that may be duplicates", on: { click: showTwice } }, "Show"));
    this.node = el("section", { class: "card" }, el("h2", {}, "Progress"), this.line, this.bar, this.legend, this.twiceLine, this.passes);
  }

  update(job) {
    const done = finished(job);
    const counts = { sent: job.sent, failed: job.failed, unknown: job.unknown, ended: job.cancelled + job.expired, retries: job.retrying };
    const isOver = OVER.includes(job.state);
    const line = [`${number(done)} of ${number(job.total)} have a result (${percent(done, job.total)})`];
    if (!isOver && job.left_seconds !== undefined) line.unshift(`About ${duration(job.left_seconds)} left`);
    const isHeld = job.state !== "active" || (job.reason && !isPaced(job)) || job.held_by;
    if (job.rate && (isOver || !isHeld)) line.push(isOver ? `${rate(job.rate)} in its first pass` : rate(job.rate));
    text(this.line, line.join(" · "));
    this.bar.setAttribute("aria-valuenow", job.total ? Math.floor((100 * done) / job.total) : 0);
    this.bar.setAttribute("aria-valuetext", line[line.length > 1 && !isOver ? 1 : 0]);
    PARTS.forEach(([name, word], index) => {
      this.bar.children[index].style.width = job.total ? `${(100 * counts[name]) / job.total}%` : "0";
      const item = this.legend.children[index];
      text(item, `${word} ${number(counts[name])}`);
      show(item, counts[name] > 0 || name === "sent");
    });
    text(this.twice, `${twice(job)}: a worker was lost or an answer did not come, and the message was sent again.`);
    show(this.twiceLine, twice(job) !== "");
    show(this.passes, job.total > 1);
    const attempted = Math.min(job.total, done + job.retrying);
    const took = (from, to) => duration(Math.max(0, to - from) / 1000);
    const first = job.first_pass_ms ? `over after ${took(job.started_ms, job.first_pass_ms)}`
      : `${number(attempted)} of ${number(job.total)} (${percent(attempted, job.total)})`;
    let tail = "begins after the first pass";
    if (job.first_pass_ms) {
      if (job.finished_ms) tail = job.finished_ms - job.first_pass_ms < 1000 ? "none" : `over after another ${took(job.first_pass_ms, job.finished_ms)}`;
      else if (job.retrying > 0) tail = [waits(job), cause(job, job.now_ms)].filter(Boolean).join(": ");
      else tail = `${number(Math.max(0, job.total - done))} in flight`;
    } else if (job.retrying > 0) tail = waits(job);
    terms(this.passes, [["First pass: each recipient once", first], ["Tail: further attempts", tail]]);
  }
}

// MARK: Results

class Results {
  constructor(project, id) {
    this.path = at(project, "jobs", id, "results");
    this.status = el("select", { id: "result-status" }, new Option("any", ""), ...["sent", "failed", "unknown", "cancelled", "expired"].map((word) => new Option(word)));
    this.error = el("select", { id: "result-error" }, new Option("any", ""));
    this.twice = el("input", { type: "checkbox", id: "result-twice" });
    this.rows = el("tbody");
    this.said = el("p", { class: "hint", role: "status" });
    this.first = el("button", { class: "small", hidden: true, on: { click: () => this.load() } }, "First page");
    this.more = el("button", { class: "small", hidden: true, on: { click: () => this.load(this.next) } }, "Next page");
    this.links = ["ndjson", "csv"].map((kind) => el("a", { class: "button small", download: true, "aria-label": `Download the results as ${kind.toUpperCase()}` }, kind.toUpperCase()));
    for (const field of [this.status, this.error, this.twice]) field.addEventListener("change", () => this.load());
    const head = ["#", "Status", "Error", "What to do", "Attempts", "Recipient"];
    this.table = el("table", { class: "cards", "aria-label": "Results" }, el("thead", {}, el("tr", {}, ...head.map((word, index) => el("th", { scope: "col", class: index % 4 ? null : "n" }, word)))), this.rows);
    this.node = el("section", { class: "card", id: "results" }, el("h2", {}, "Results"),
      el("div", { class: "row" }, el("label", {}, "Status ", this.status), el("label", {}, "Error ", this.error), el("label", {}, this.twice, " only possible duplicates"),
        el("p", { class: "actions" }, el("span", { class: "hint" }, "Download"), ...this.links)),
      this.said, this.table, el("p", { class: "actions" }, this.first, this.more));
    this.load();
  }

  /** Reads the first page again if it was empty and the job has results to keep since. */
  update(job) {
    this.offer(job.errors);
    this.policy = { failures: ": this job keeps only results that are not sent", none: ": this job keeps none (results=none)" }[job.results_policy];
    this.kept = job.results_policy === "none" ? 0 : finished(job) - (job.results_policy === "failures" ? job.sent : 0);
    if (this.isEmpty && this.kept > this.keptBefore) this.load();
  }

  /** Offers the errors that the job has. */
  offer(errors) {
    const known = [...this.error.options].map((option) => option.value);
    for (const { error } of errors) if (!known.includes(error)) this.error.append(new Option(error));
  }

  /** Shows the results with an error, or of recipients that may have got the message twice. */
  filter({ error = "", isTwice = false }) {
    if (error) this.offer([{ error }]);
    this.status.value = "";
    this.error.value = error;
    this.twice.checked = isTwice;
    this.load();
    this.node.scrollIntoView();
    (isTwice ? this.twice : this.error).focus({ preventScroll: true });
  }

  /** Reads a page. The server bounds each search, so that one page may need several. */
  async load(after) {
    const query = new URLSearchParams();
    if (this.status.value) query.set("status", this.status.value);
    if (this.error.value) query.set("error", this.error.value);
    if (this.twice.checked) query.set("maybe_dup", "1");
    for (const [index, kind] of ["ndjson", "csv"].entries()) this.links[index].href = `${this.path}.${kind}?${query}`;
    const mine = (this.turn = (this.turn ?? 0) + 1);
    this.isEmpty = false;
    this.keptBefore = this.kept ?? 0;
    const results = [];
    const unreadable = [];
    let next = after;
    try {
      for (let search = 0; search < MAX_SEARCHES; search += 1) {
        if (next) query.set("after", next);
        const reply = await get(`${this.path}?${query}`);
        if (mine !== this.turn) return;
        results.push(...reply.results);
        unreadable.push(...(reply.unreadable ?? []));
        next = reply.next;
        if (!next || results.length > 0) break;
        text(this.said, `Searching: nothing up to ${time(Number(next.split("-")[0]))}.`);
      }
      this.next = next;
      this.isEmpty = results.length === 0 && !next && !after;
      this.rows.replaceChildren(...results.map((result) => this.row(result)));
      show(this.table, results.length > 0);
      show(this.more, Boolean(next));
      show(this.first, Boolean(after));
      const count = results.length ? `${number(results.length)} on this page${next ? "" : after ? ", the last" : ""}.`
        : next ? "Nothing found so far; Next page continues." : `No such results are kept${this.policy ?? ""}.`;
      text(this.said, unreadable.length ? `${count} Left out, because no worker wrote them: entries ${unreadable.join(", ")}.` : count);
    } catch (error) {
      if (mine === this.turn) text(this.said, error.message);
    }
  }

  row(result) {
    const recipient = ["token", "fid", "topic", "condition", "group", "group_name"].map((kind) => result[kind]).find(Boolean) ?? "";
    const error = [result.error ?? "–", result.maybe_dup ? "(maybe twice)" : ""].join(" ").trim();
    const cell = (label, value, kind) => el("td", { class: kind, "data-label": label }, value);
    const detail = result.raw_error && result.raw_error !== result.error ? el("span", {}, ...breakable(error), " ", el("span", { class: "hint" }, result.raw_error)) : el("span", {}, ...breakable(error));
    return el("tr", {}, cell("#", number(result.i), "n"), cell("Status", result.status, result.status === "sent" ? "" : "failed"), cell("Error", detail),
      cell("What to do", result.error || result.action === "replace" ? ACTIONS[result.action] ?? result.action ?? "–" : "–"),
      cell("Attempts", result.attempts ?? "–", "n"), cell("Recipient", recipient, "mono id"));
  }
}

// MARK: The page

class JobPage {
  constructor(root, params, context) {
    Object.assign(this, { project: params.project, id: params.job, fleet: context.fleet, loadedAt: -Infinity });
    context.title(`${this.id} · ${this.project}`);
    this.state = el("span");
    this.actions = el("p", { class: "actions" });
    this.why = el("p", { class: "view-why", hidden: true });
    this.deadLink = el("a", { class: "button small", hidden: true, href: address("p", this.project, "dead") }, "Open the dead jobs");
    this.notice = el("div", { class: "notice", role: "status", hidden: true });
    this.progress = new Progress(() => this.results?.filter({ isTwice: true }));
    this.errorRows = el("tbody");
    this.errorBase = el("p", { class: "hint" });
    this.errors = el("section", { class: "card", hidden: true }, el("h2", {}, "Errors"), this.errorBase, el("table", { class: "cards", "aria-label": "Errors" },
      el("thead", {}, el("tr", {}, ...["Error", "What to do", "Recipients", ""].map((word, index) => el("th", { scope: "col", class: index === 2 ? "n" : "" }, word || el("span", { class: "unseen" }, "Results"))))), this.errorRows));
    this.facts = el("dl", { class: "facts" });
    this.times = el("dl", { class: "facts" });
    this.about = el("section", { class: "card" }, el("h2", {}, "About the job"), this.facts, el("h3", {}, "Times"), this.times);
    this.body = el("div", { hidden: true }, this.progress.node, this.errors, this.about);
    root.append(crumbs(["Overview", address()], [this.project, address("p", this.project)], ["job"]),
      el("div", { class: "row title" }, el("h1", { class: "id" }, this.id), this.state, this.actions), this.why, this.deadLink, this.notice, this.body);
    this.load();
  }

  update() {
    const age = performance.now() - this.loadedAt;
    const pause = !this.job ? 3000 : this.job.parts ? 5000 : OVER.includes(this.job.state) ? 15000 : 800;
    if (this.job && !this.job.parts) this.drawTimes();
    if (!this.isLoading && !document.hidden && age > pause) this.load();
  }

  async load() {
    this.isLoading = true;
    try {
      const job = await get(at(this.project, "jobs", this.id));
      if (this.isClosed) return;
      this.job = job;
      if (job.parts) this.drawParts();
      else this.draw();
    } catch (error) {
      if (!this.isClosed) this.showError(error);
    }
    this.loadedAt = performance.now();
    this.isLoading = false;
  }

  /** The jobs of one local time, and their sums. */
  drawParts() {
    const { job } = this;
    show(this.notice, false);
    show(this.body, true);
    text(this.why, `${number(job.parts.length)} jobs begin at one local time, each in the zones of its instant.`);
    show(this.why, true);
    for (const node of [this.errors, this.about, this.deadLink]) show(node, false);
    this.actions.replaceChildren();
    badge(this.state, job.state);
    this.progress.update(job);
    show(this.progress.passes, false);
    if (!this.partRows) {
      this.partRows = el("tbody");
      const head = ["Job", "State", "Starts", "Recipients", "Sent", "Failed"];
      this.body.append(el("section", { class: "card" }, el("h2", {}, "Jobs"), el("table", { class: "cards", "aria-label": "Jobs" },
        el("thead", {}, el("tr", {}, ...head.map((word, index) => el("th", { scope: "col", class: index > 2 ? "n" : "" }, word)))), this.partRows)));
    }
    keyed(this.partRows, job.parts, (part) => part.id, (part) => el("tr", {},
      el("td", { "data-label": "Job" }, el("a", { class: "id", href: address("p", this.project, "jobs", part.id) }, part.id)),
      el("td", { "data-label": "State" }, el("span")), ...["Starts", "Recipients", "Sent", "Failed"].map((word, index) => el("td", { "data-label": word, class: index ? "n" : "" }))),
      (node, part) => {
        badge(node.children[1].firstChild, part.state);
        const values = [part.not_before_ms ? time(part.not_before_ms) : "–", number(part.total), number(part.sent), number(part.failed)];
        values.forEach((value, index) => text(node.children[index + 2], value));
      });
  }

  draw() {
    const { job } = this;
    show(this.notice, false);
    show(this.body, true);
    show(this.about, true);
    badge(this.state, job.state, stalls(this.fleet.project, job));
    const why = explain(job, job.now_ms).trim();
    text(this.why, why);
    show(this.why, why !== "");
    show(this.deadLink, ["parked", "rejected"].includes(job.state));
    jobControls(this.actions, this.project, job, this.fleet, () => this.load());
    this.progress.update(job);
    show(this.progress.node, job.state !== "rejected");
    this.drawErrors();
    this.drawFacts();
    show(this.facts, job.state !== "rejected");
    this.drawTimes();
    this.addMessage();
    if (!this.results && job.state !== "rejected" && (job.started_ms || finished(job) > 0)) {
      this.results = new Results(this.project, this.id);
      this.body.append(this.results.node);
    }
    this.results?.update(job);
  }

  drawErrors() {
    const { errors } = this.job;
    show(this.errors, errors.length > 0);
    keyed(this.errorRows, errors, (row) => `${row.error} ${row.action}`, (row) => el("tr", {}, el("td", { "data-label": "Error", class: "word" }, ...breakable(row.error)),
      el("td", { "data-label": "What to do" }, ACTIONS[row.action] ?? row.action), el("td", { class: "n", "data-label": "Recipients" }),
      el("td", {}, el("button", { class: "small", "aria-label": `Show the results with ${row.error}`, on: { click: () => this.results?.filter({ error: row.error }) } }, "Show"))),
      (node, row) => text(node.children[2], `${number(row.count)} of ${number(row.of)} (${percent(row.count, row.of)})`));
    text(this.errorBase, `Shares of ${this.job.state === "paused" && this.job.reason === "canary" ? "the canary" : "the results so far"}.`);
  }

  drawFacts() {
    const { job } = this;
    const { kind, name, count } = job.target;
    const target = name ? `${KINDS[kind] ?? kind} ${name}` : count === 1 ? `one ${(KINDS[kind] ?? kind).replace(/s$/, "")}` : `${number(count)} ${KINDS[kind] ?? kind}`;
    const rows = [["Target", target], ["Priority", `${job.priority}${job.priority === 5 ? " (default)" : ""}`]];
    if (job.op !== "send") rows.unshift(["Operation", job.op]);
    rows.push(["After an unanswered attempt", { at_least_once: "sent again (at least once)", at_most_once: "not sent again (at most once)", replace: "sent again, replaces the first on the device" }[job.delivery] ?? job.delivery]);
    rows.push(["Results kept", { all: "all", failures: "all but sent", none: "none" }[job.results_policy] ?? job.results_policy]);
    if (job.validate_only) rows.push(["Validate only", "FCM checks it and delivers nothing"]);
    if (job.personal) rows.push(["Message", "one for each recipient"]);
    rows.push(...guards(job.guards ?? {}));
    if (job.class) rows.push(["Class", job.class]);
    if (job.duplicates) rows.push(["Pushed again", `${number(job.duplicates)} times, not sent again`]);
    terms(this.facts, rows);
  }

  drawTimes() {
    const { job } = this;
    const now = Math.max(job.now_ms, this.fleet.now);
    const rows = [["Pushed", job.created_ms], ["Scheduled for", job.not_before_ms], ["Started", job.started_ms],
      ["First pass over", job.first_pass_ms], ["Finished", job.finished_ms], ["Expires", OVER.includes(job.state) ? undefined : job.expires_at_ms]]
      .filter(([name, ms]) => ms || (name === "Started" && !OVER.includes(job.state))).map(([name, ms]) => [name, ms ? moment(ms, now) : "not yet"]);
    terms(this.times, rows);
  }

  /** The message, once it is asked for: it may be long, and not everybody may see it. */
  addMessage() {
    if (this.preview || !this.job.has_message) return;
    const shown = el("pre", { tabindex: 0, role: "region", "aria-label": "Message" });
    this.preview = el("details", { class: "card" }, el("summary", {}, el("h2", {}, "Message")), shown);
    this.preview.addEventListener("toggle", async () => {
      if (!this.preview.open || shown.textContent) return;
      try {
        shown.textContent = (await get(at(this.project, "jobs", this.id, "message"))).text;
      } catch (error) {
        announce(error.message);
      }
    });
    this.about.after(this.preview);
  }

  showError(error) {
    // A job that was shown stays readable while Redis is away.
    const isMissing = error instanceof RequestError && error.status === 404;
    if (this.job && !isMissing) return;
    show(this.body, false);
    show(this.why, false);
    show(this.notice, true);
    this.job = null;
    const project = this.fleet.project;
    const lines = [];
    if (error.code === "not_taken") {
      badge(this.state, "pushed");
      lines.push(error.message);
      if (project?.reason) lines.push(`Project ${this.project} is ${project.state}: ${project.reason}.`);
      if (project?.workers === 0) lines.push("Start a worker that serves this project: fanfare worker -c fanfare.yaml.");
      else lines.push("Workers take jobs in the order in which they were pushed. This page changes by itself.");
      if (!this.fleet.readOnly) {
        keyed(this.actions, ["cancel"], (word) => word, () => el("button", { class: "small danger", "aria-label": `Cancel job ${this.id}`,
          on: { click: () => changeJob(this.project, this.id, "cancel") } }, "Cancel"), () => {});
      }
    } else if (isMissing) {
      badge(this.state, "unknown");
      this.actions.replaceChildren();
      lines.push(`Nothing is known about a job ${this.id} in project ${this.project}.`,
        "If it was pushed: check id and project. Other projects are searched with the field above.",
        "If it ended: a job is kept for 7 days after its end, a job to one recipient without an id of its own for 1 hour, unless configured.",
        project?.pushed ? `${number(project.pushed)} pushed jobs of this project are not taken yet.` : "Every job that was pushed to this project is taken.");
    } else {
      lines.push(error.message);
    }
    const said = lines.join("\n");
    if (this.notice.dataset.said === said) return;
    this.notice.dataset.said = said;
    this.notice.replaceChildren(...lines.map((line) => el("p", {}, line)));
  }
}

export function open(root, params, context) {
  const page = new JobPage(root, params, context);
  return {
    update: () => page.update(),
    close() { page.isClosed = true; },
  };
}
