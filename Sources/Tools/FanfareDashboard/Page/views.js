// The live view: figures of the fleet, a card for each project, and the workers.

import { badge, duration, el, keyed, number, rate, show, terms, text } from "./dom.js";
import { Chart } from "./charts.js";
import { controls, openDead, openJob, openJobs, pauseProject, resumeProject } from "./details.js";

const LISTS = [
  ["active", "Active fan-outs"],
  ["waiting", "Waiting fan-outs, in their order"],
  ["needing", "Need an operator"],
  ["others", "Other open jobs"],
];

const finished = (job) => job.sent + job.failed + job.unknown + job.cancelled + job.expired;

class Card {
  constructor(project, fleet) {
    this.fleet = fleet;
    this.id = project.id;
    this.state = el("span");
    this.reason = el("p", { class: "reason" });
    this.pause = el("button", { class: "small quiet", on: { click: () => pauseProject(this.id) } }, "Pause");
    this.resume = el("button", { class: "small", on: { click: () => resumeProject(this.id) } }, "Resume");
    this.dead = el("button", { class: "small quiet", on: { click: () => openDead(this.id, fleet) } });
    this.jobs = el("button", { class: "small quiet", on: { click: () => openJobs(this.id, fleet) } }, "All jobs");
    const title = el("h3", { id: `project-${project.id}` }, project.id);
    const head = el("div", { class: "card-head" }, title, this.state,
      el("p", { class: "actions" }, this.jobs, this.dead, this.pause, this.resume), this.reason);
    for (const button of [this.pause, this.resume, this.dead, this.jobs]) {
      button.setAttribute("aria-describedby", title.id);
    }
    this.facts = el("dl", { class: "facts" });
    this.throughput = new Chart("Accepted by FCM", [["sent", "sent", 1]]);
    this.errors = new Chart("Not accepted", [["failed", "failed", 2], ["unknown", "unknown", 3], ["retries", "retried", 4]]);
    this.lists = LISTS.map(([name, title]) => {
      const list = el("ul", { class: "jobs" });
      return { name, box: el("section", {}, el("h4", {}, title), list), list };
    });
    this.node = el("article", { class: "card", "aria-labelledby": title.id }, head, this.facts,
      el("div", { class: "charts" }, this.throughput.node, this.errors.node), ...this.lists.map(({ box }) => box));
  }

  update(project) {
    badge(this.state, project.state);
    text(this.reason, project.reason ?? "");
    show(this.reason, Boolean(project.reason));
    const isStopped = project.state === "paused" || project.state === "blocked";
    show(this.pause, !this.fleet.readOnly && project.state !== "paused");
    show(this.resume, !this.fleet.readOnly && isStopped);
    text(this.dead, `Dead: ${number(project.dead)}`);
    const epoch = project.active.find((job) => job.epoch)?.epoch;
    terms(this.facts, [
      ["Recipients waiting", number(project.recipients_waiting)],
      ["Pushed, not yet taken", number(project.pushed)],
      ["Oldest wait", project.oldest_wait_ms ? duration(project.oldest_wait_ms / 1000) : "none"],
      ["Empty in about", project.recipients_waiting + project.pushed ? duration(project.drain_seconds) : "–"],
      ["Sends in flight", number(project.in_flight)],
      ["Permits", `${rate(project.permits_per_second)} of ${number(project.quota_per_minute)}/min`],
      ["Waiting for a retry", number(project.retrying)],
      ["Cooldown", project.hold_ms ? duration(project.hold_ms / 1000) : "none"],
      ["Unread results", project.results_unread === undefined ? "no reader" : number(project.results_unread)],
      ["Workers alive", number(project.workers)],
      ["Epoch", epoch ?? "–"],
      ["Sent since the start", number(project.tally.sent)],
      ["Failed since the start", number(project.tally.failed)],
    ]);
    for (const { name, box, list } of this.lists) {
      show(box, project[name].length > 0);
      keyed(list, project[name], (job) => job.id, (job) => this.job(job), (node, job) => this.updateJob(node, job));
    }
    if (this.isSeen !== false) this.drawCharts();
  }

  drawCharts() {
    const samples = this.fleet.history.get(this.id) ?? [];
    this.throughput.update(samples, this.fleet.now);
    this.errors.update(samples, this.fleet.now);
  }

  job(job) {
    const open = el("button", { class: "name mono", on: { click: () => openJob(this.id, job.id, this.fleet) } }, job.id);
    const bar = el("progress", { max: 1, "aria-label": `Progress of ${job.id}` });
    return el("li", { class: "job" }, open, el("span"), bar, el("span", { class: "amount" }), el("p", { class: "actions" }));
  }

  updateJob(node, job) {
    const [, state, bar, amount, actions] = node.children;
    badge(state, job.ending ? `ending` : job.state);
    bar.value = job.total > 0 ? finished(job) / job.total : 0;
    const parts = [`${number(finished(job))} of ${number(job.total)}`];
    if (job.failed) parts.push(`${number(job.failed)} failed`);
    if (job.retrying) parts.push(`${number(job.retrying)} retrying`);
    if (job.rate) parts.push(rate(job.rate));
    if (job.slot_left_ms) parts.push(`FCM fans out for ${duration(job.slot_left_ms / 1000)}`);
    else if (job.left_seconds !== undefined) parts.push(`${duration(job.left_seconds)} left`);
    if (job.priority !== undefined && job.priority !== 5) parts.push(`priority ${job.priority}`);
    if (job.reason) parts.push(job.reason);
    text(amount, parts.join(" · "));
    controls(actions, this.id, job, this.fleet);
  }
}

export class Board {
  constructor(fleet) {
    this.fleet = fleet;
    this.cards = new Map();
    this.observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const card = this.cards.get(target.dataset.key);
        if (!card) continue;
        card.isSeen = isIntersecting;
        if (isIntersecting) card.drawCharts();
      }
    });
  }

  draw() {
    const projects = [...this.fleet.projects.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    show(document.getElementById("no-projects"), projects.length === 0);
    const sum = (value) => projects.reduce((all, project) => all + (value(project) ?? 0), 0);
    terms(document.getElementById("summary"), [
      ["Workers alive", number(this.fleet.workers.filter((worker) => worker.alive).length)],
      ["Accepted by FCM", rate(sum((project) => project.rates?.sent))],
      ["Failed or unknown", rate(sum((project) => (project.rates?.failed ?? 0) + (project.rates?.unknown ?? 0)))],
      ["Recipients waiting", number(sum((project) => project.recipients_waiting))],
      ["Open jobs", number(sum((project) => project.jobs + project.parked))],
      ["Need an operator", number(sum((project) => project.dead))],
    ]);
    keyed(document.getElementById("projects"), projects, (project) => project.id, (project) => {
      const card = new Card(project, this.fleet);
      this.cards.set(project.id, card);
      this.observer.observe(card.node);
      return card.node;
    }, (node, project) => this.cards.get(project.id).update(project));
    for (const id of this.cards.keys()) {
      if (this.fleet.projects.has(id)) continue;
      this.observer.unobserve(this.cards.get(id).node);
      this.cards.delete(id);
    }
    this.drawWorkers();
  }

  drawWorkers() {
    const body = document.querySelector("#workers tbody");
    const cell = (kind) => el("td", { class: kind });
    keyed(body, this.fleet.workers, (worker) => worker.name,
      () => el("tr", {}, cell("mono"), el("td", {}, el("span")), cell(), cell(), cell("n"), cell("n"), cell(), cell()),
      (row, worker) => {
        const [name, state, version, host, flight, batches, up, projects] = row.children;
        text(name, worker.name);
        badge(state.firstElementChild, worker.alive ? "alive" : "silent");
        text(version, worker.version ?? "not said yet");
        text(host, worker.host ? `${worker.host}, process ${worker.pid}` : "–");
        text(flight, number(worker.in_flight));
        text(batches, number(worker.batches));
        text(up, worker.started_ms ? duration(Math.max(0, this.fleet.now - worker.started_ms) / 1000) : "–");
        text(projects, worker.projects.map((project) => project.id).join(", "));
      });
  }
}
