// Dialogs over the live view: a job and its results, lists of jobs, dead jobs, and confirmations.

import { post, get, at, badge, duration, el, keyed, number, rate, Refusal, announce, show, terms, text, time } from "./dom.js";

const node = (id) => document.getElementById(id);

export const panel = node("panel");
node("panel-close").addEventListener("click", () => panel.close());

const OVER = ["done", "cancelled", "expired", "rejected"];

function open(title) {
  text(node("panel-title"), title);
  node("panel-body").replaceChildren();
  if (!panel.open) panel.showModal();
  return node("panel-body");
}

/** Asks for confirmation. Resolves to the reason, which is empty unless asked for, or to null. */
function confirm(title, message, yes, no, reason = false) {
  text(node("confirm-title"), title);
  text(node("confirm-text"), message);
  text(node("confirm-yes"), yes);
  text(node("confirm-no"), no);
  show(node("confirm-field"), reason);
  node("confirm-input").value = "";
  const dialog = node("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  (reason ? node("confirm-input") : node("confirm-no")).focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? { reason: node("confirm-input").value } : null), { once: true });
  });
}

// Enter in the field of the reason confirms; by default it would press the form's first button.
node("confirm-input").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  node("confirm").close("yes");
});

/** Performs an action and announces the result. */
async function perform(path, body, done) {
  try {
    const reply = await post(path, body);
    announce(typeof done === "function" ? done(reply) : done);
    return true;
  } catch (error) {
    announce(error instanceof Refusal ? error.message : `The result is unknown: ${error.message}`);
    return false;
  }
}

export async function pauseProject(id) {
  const given = await confirm(`Pause project ${id}?`, "All sends stop until it is resumed. Jobs can still be pushed, and wait.", "Pause", "Leave it", true);
  if (given) await perform(at(id, "pause"), given, `Project ${id} is paused.`);
}

export async function resumeProject(id) {
  await perform(at(id, "resume"), {}, `Project ${id} is resumed.`);
}

async function changeJob(project, id, action) {
  if (action === "cancel") {
    const given = await confirm(`Cancel job ${id}?`, "No new send starts, and recipients without a result are cancelled. This cannot be undone.", "Cancel the job", "Keep it");
    if (!given) return false;
  }
  const said = { pause: "is paused", resume: "is resumed", cancel: "is being cancelled" }[action];
  return perform(at(project, "jobs", id, action), {}, `Job ${id} ${said}.`);
}

/** The buttons that a job's state allows. */
export function controls(box, project, job, fleet, after = () => {}) {
  const isOver = OVER.includes(job.state) || job.ending;
  let actions = [];
  if (!fleet.readOnly && !isOver && job.state === "parked") actions = ["cancel"];
  else if (!fleet.readOnly && !isOver) actions = [job.state === "paused" ? "resume" : "pause", "cancel"];
  const words = { pause: "Pause", resume: "Resume", cancel: "Cancel" };
  keyed(box, actions, (action) => action, (action) => el("button", {
    class: action === "resume" ? "small" : "small quiet",
    "aria-label": `${words[action]} job ${job.id}`,
    on: { click: async () => { if (await changeJob(project, job.id, action)) after(); } },
  }, words[action]), () => {});
}

// MARK: One job

export async function find(id, fleet) {
  let found;
  try {
    found = (await get(`/api/jobs?id=${encodeURIComponent(id)}`)).jobs;
  } catch (error) {
    return announce(error.message);
  }
  if (found.length === 1) return openJob(found[0].project, id, fleet);
  const body = open(`Job ${id}`);
  if (found.length === 0) {
    body.append(el("p", { role: "status" }, "No project has such a job: it was never pushed, not yet taken by a worker, or is no longer kept."));
  }
  for (const job of found) {
    body.append(el("p", {}, el("button", { class: "quiet", on: { click: () => openJob(job.project, id, fleet) } }, `In project ${job.project}: ${job.state}`)));
  }
}

export async function openJob(project, id, fleet) {
  const body = open(`Job ${id}`);
  const state = el("span");
  const actions = el("p", { class: "actions" });
  const facts = el("dl", { class: "facts" });
  body.append(el("div", { class: "card-head" }, state, el("span", { class: "hint" }, `project ${project}`), actions), facts);
  const refresh = async () => {
    try {
      const job = await get(at(project, "jobs", id));
      badge(state, job.state);
      const rows = [["Recipients", number(job.total)], ["Sent (accepted by FCM)", number(job.sent)]];
      for (const name of ["failed", "unknown", "cancelled", "expired", "retrying", "duplicates"]) {
        rows.push([name[0].toUpperCase() + name.slice(1), number(job[name])]);
      }
      if (job.rate !== undefined) rows.push(["Rate since its start", rate(job.rate)]);
      if (job.left_seconds !== undefined) rows.push(["Left, estimated", duration(job.left_seconds)]);
      if (job.ahead !== undefined) rows.push(["Fan-outs before it", number(job.ahead)]);
      if (job.reason ?? job.held_by) rows.push(["Why", job.reason ?? job.held_by]);
      rows.push(["Pushed", time(job.created_ms)], ["Started", time(job.started_ms)], ["First pass finished", time(job.first_pass_ms)], ["Finished", time(job.finished_ms)]);
      terms(facts, rows);
      controls(actions, project, job, fleet, refresh);
    } catch (error) {
      text(facts, error.message);
    }
  };
  await refresh();
  body.append(results(project, id));
}

function results(project, id) {
  const rows = el("tbody");
  const more = el("button", { class: "quiet" }, "Next page");
  const status = el("p", { class: "hint", role: "status" });
  const failed = el("input", { type: "checkbox", id: "only-failed" });
  const head = ["#", "Status", "Error", "Action", "Attempts", "Recipient"].map((name) => el("th", { scope: "col" }, name));
  const box = el("section", {}, el("h4", {}, "Results"), el("p", {}, failed, " ", el("label", { for: "only-failed" }, "Only results that are not sent")),
    el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Results" }, el("table", {}, el("thead", {}, el("tr", {}, ...head)), rows)), status, more);
  let next;
  const page = async (after) => {
    more.disabled = true;
    try {
      const query = new URLSearchParams();
      if (after) query.set("after", after);
      if (failed.checked) query.set("failed", "1");
      const reply = await get(`${at(project, "jobs", id, "results")}?${query}`);
      rows.replaceChildren(...reply.results.map(row));
      next = reply.next;
      const count = reply.results.length === 0
        ? next ? "Nothing on this page; there may be more." : "The stream holds no such results."
        : `${reply.results.length} results on this page.`;
      text(status, reply.unreadable ? `${count} Left out, because no worker wrote them: entries ${reply.unreadable.join(", ")}.` : count);
      show(more, Boolean(next));
    } catch (error) {
      text(status, error.message);
    }
    more.disabled = false;
  };
  more.addEventListener("click", () => page(next));
  failed.addEventListener("change", () => page());
  page();
  return box;
}

function row(result) {
  const recipient = result.token ?? result.fid ?? result.topic ?? result.condition ?? result.group ?? result.group_name ?? "";
  const error = [result.error ?? "–", result.maybe_dup ? "(maybe twice)" : ""].join(" ").trim();
  return el("tr", {}, el("td", { class: "n" }, result.i), el("td", { class: result.status === "sent" ? "" : "failed" }, result.status),
    el("td", { title: result.raw_error }, error), el("td", {}, result.action ?? "–"), el("td", { class: "n" }, result.attempts ?? "–"),
    el("td", { class: "mono" }, recipient));
}

// MARK: Lists

export async function openJobs(project, fleet) {
  const body = open(`Jobs of ${project}`);
  const choice = el("select", { id: "job-state" }, ...["", "scheduled", "waiting", "active", "retrying", "paused", "parked"].map((state) => el("option", { value: state }, state || "not over")));
  const list = el("ul", { class: "jobs" });
  const status = el("p", { class: "hint", role: "status" });
  body.append(el("p", {}, el("label", { for: "job-state" }, "State "), choice), list, status);
  const refresh = async () => {
    try {
      const reply = await get(`${at(project, "jobs")}${choice.value ? `?state=${choice.value}` : ""}`);
      keyed(list, reply.jobs, (job) => job.id,
        (job) => el("li", { class: "job" }, el("button", { class: "name mono", on: { click: () => openJob(project, job.id, fleet) } }, job.id), el("span"), el("span", { class: "amount" }), el("span", { class: "amount" }), el("p", { class: "actions" })),
        (item, job) => {
          badge(item.children[1], job.state);
          text(item.children[2], `${number(job.sent)} sent, ${number(job.failed)} failed of ${number(job.total)}`);
          text(item.children[3], job.reason ?? time(job.created_ms));
          controls(item.children[4], project, job, fleet, refresh);
        });
      text(status, reply.jobs.length === 0 ? "No matching jobs." : reply.whole ? "" : "More jobs exist; `fanfare job ls` lists all.");
    } catch (error) {
      text(status, error.message);
    }
  };
  choice.addEventListener("change", refresh);
  refresh();
}

export async function openDead(project, fleet) {
  const body = open(`Dead jobs of ${project}`);
  const list = el("ul", { class: "jobs" });
  const status = el("p", { class: "hint", role: "status" });
  const more = el("button", { class: "quiet" }, "Older entries");
  body.append(el("p", { class: "hint" }, "Replay resumes a parked job with its unfinished recipients, and pushes a rejected job again unchanged. Drop deletes the entry."), list, status, more);
  const page = async (before) => {
    try {
      const reply = await get(`${at(project, "dead")}${before ? `?before=${before}` : ""}`);
      list.replaceChildren(...reply.entries.map((entry) => item(entry)));
      text(status, reply.entries.length === 0 ? "No dead jobs." : "");
      show(more, Boolean(reply.before));
      more.onclick = () => page(reply.before);
    } catch (error) {
      text(status, error.message);
    }
  };
  const item = (entry) => {
    const fields = entry.fields.map((field) => `${field.name} (${number(field.bytes)} bytes)`).join(", ");
    const kind = el("span");
    badge(kind, entry.kind);
    const actions = el("p", { class: "actions" });
    if (!fleet.readOnly) {
      actions.append(el("button", { class: "small", "aria-label": `Replay job ${entry.job}`, on: { click: async () => {
        const done = ({ outcome }) => `Job ${entry.job} ${outcome === "pushed" ? "was pushed again" : "is resumed"}.`;
        if (await perform(at(project, "dead", entry.entry, "replay"), {}, done)) page();
      } } }, "Replay"), el("button", { class: "small quiet", "aria-label": `Drop job ${entry.job}`, on: { click: async () => {
        const given = await confirm(`Drop job ${entry.job}?`, "Its entry is deleted; unfinished recipients of a parked job are cancelled. This cannot be undone.", "Drop it", "Keep it");
        if (given && await perform(at(project, "dead", entry.entry, "drop"), {}, `Job ${entry.job} was dropped.`)) page();
      } } }, "Drop"));
    }
    return el("li", { class: "job" }, el("button", { class: "name mono", on: { click: () => openJob(project, entry.job, fleet) } }, entry.job),
      kind, el("span", { class: "amount" }, entry.reason), el("span", { class: "amount" }, `${time(entry.at_ms)} · ${fields}`), actions);
  };
  page();
}
