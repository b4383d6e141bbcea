// Who acted, on what, and why.

import { at, cell, crumbs, el, get, heads, keyed, show, text, time } from "./dom.js";
import { address } from "./router.js";

const WORDS = {
  cancel: "Cancelled job", pause: "Paused job", resume: "Resumed job", pause_project: "Paused project", resume_project: "Resumed project",
  replay: "Replayed dead job", drop: "Dropped dead job", push_edited: "Edited and pushed again",
  forget_project: "Forgot project",
};

export function open(root, { project }, context) {
  const body = el("tbody", {});
  const status = el("p", { class: "hint", role: "status" });
  const columns = ["When", "Who", ...(project ? [] : ["Project"]), "Action", "Target", "Reason"];
  const title = project ? `Audit list of ${project}` : "Audit list";
  context.title(title);
  if (project) root.append(crumbs(["Overview", address()], [project, address("p", project)], ["Audit list"]));
  const sheet = el("div", { class: "sheet" }, el("table", { class: "audit", "aria-label": title },
    el("thead", {}, heads(columns)), body));
  root.append(el("h1", {}, title),
    el("p", { class: "hint" }, "Changes that operators made here or on the command line. The last 1,000 of each project are kept."), status, sheet);
  let last = 0;
  let isClosed = false;

  function row(entry) {
    const isJob = ["cancel", "pause", "resume"].includes(entry.action);
    return el("tr", {},
      cell("When", "", time(entry.at_ms)), cell("Who", "", entry.actor || "not known"),
      ...(project ? [] : [cell("Project", "", el("a", { href: address("p", entry.project) }, entry.project))]),
      cell("Action", "", WORDS[entry.action] ?? entry.action),
      cell("Target", "", isJob ? el("a", { class: "mono", href: address("p", entry.project, "jobs", entry.target) }, entry.target) : el("span", { class: "mono" }, entry.target || entry.project)),
      cell("Reason", "", entry.reason || "–"));
  }

  async function load() {
    last = Date.now();
    try {
      const reply = await get(project ? at(project, "audit") : "api/audit");
      if (isClosed) return;
      const counts = new Map();
      const key = (entry) => {
        const name = JSON.stringify(entry);
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return `${name} ${counts.get(name)}`;
      };
      const keys = reply.entries.map((entry) => [key(entry), entry]);
      keyed(body, keys, ([name]) => name, ([, entry]) => row(entry), () => {});
      show(sheet, keys.length > 0);
      text(status, keys.length === 0 ? "No changes yet." : reply.whole ? "" : "The newest changes; older ones are kept in each project.");
    } catch (error) {
      text(status, error.message);
    }
  }

  load();
  return { update() { if (Date.now() - last > 5000) load(); }, close() { isClosed = true; } };
}
