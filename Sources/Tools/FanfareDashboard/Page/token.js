// What happened to a token. The token is posted, so that no address and no log holds it.

import { badge, cell, code, el, heads, number, post, show, text, time } from "./dom.js";
import { address } from "./router.js";

export function open(root, params, context) {
  context.title("A token");
  const input = el("textarea", { id: "story-token", rows: 2, maxlength: 1200, required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const project = el("select", { id: "story-project" }, el("option", { value: "" }, "All projects"));
  const unmasked = el("input", { type: "checkbox", id: "story-unmasked" });
  const button = el("button", { class: "primary" }, "Search");
  const status = el("p", { role: "status" });
  const found = el("div", { class: "stories" });
  const form = el("form", { class: "story-form" },
    el("p", {}, el("label", { for: input.id }, "Registration token or installation id"), input),
    el("p", {}, el("label", { for: project.id }, "In "), project),
    el("p", { class: "check" }, unmasked, " ", el("label", { for: unmasked.id }, "Show replacement tokens in full")),
    el("p", { class: "actions" }, button));
  show(unmasked.parentNode, !context.fleet.readOnly);
  root.append(el("h1", {}, "What happened to a token?"),
    el("p", { class: "hint" }, "Searches the results and the feedback that are kept. The token is in no address and no log."),
    form, status, found);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    form.requestSubmit();
  });

  const ask = (more) => post("api/token", { token: input.value.trim(), unmasked: unmasked.checked, ...(project.value && { project: project.value }), ...more });

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    found.replaceChildren();
    text(status, "Searching.");
    try {
      const reply = await ask({});
      const seen = reply.projects.filter((story) => story.jobs.length || story.feedback.length || !story.whole);
      const others = reply.projects.length - seen.length;
      const results = seen.reduce((sum, story) => sum + story.jobs.length, 0);
      text(status, results || seen.some((story) => story.feedback.length)
        ? `${reply.token}: ${number(results)} ${results === 1 ? "result" : "results"} in ${number(seen.length)} ${seen.length === 1 ? "project" : "projects"}.`
        : `${reply.token}: nothing is kept about this token${seen.length ? " in what was searched" : ""}.`);
      found.append(...seen.map((story) => part(story)));
      if (others) {
        const notes = new Set(reply.projects.filter((story) => !seen.includes(story)).flatMap((story) => story.notes));
        found.append(el("p", { class: "hint" }, `No trace in ${others === reply.projects.length ? "" : "the other "}${number(others)} ${others === 1 ? "project" : "projects"}. `, ...[...notes].slice(0, 5).map((note) => el("span", {}, ...code(note), " "))));
      }
    } catch (error) {
      text(status, error.message);
    }
    button.disabled = false;
  });

  function part(story) {
    const box = el("section", { class: "story" }, el("h2", {}, el("a", { href: address("p", story.project) }, story.project)));
    for (const entry of story.feedback) {
      const verb = entry.action === "replace" ? "replace it" : "remove it";
      box.append(el("p", { class: "notice" }, `${time(entry.at_ms)}: feedback told the application to ${verb}${entry.error ? ` (${entry.error})` : ""}, because of job `,
        el("a", { class: "mono", href: address("p", story.project, "jobs", entry.job) }, entry.job), entry.replacement ? [". The new token is ", entry.replacement].join("") : "", "."));
    }
    if (story.jobs.length) {
      box.append(el("div", { class: "sheet" }, el("table", { "aria-label": `Results in ${story.project}` },
        el("thead", {}, heads(["When", "Job", "Status", "Error", "Attempts", "Message id"], ["Attempts"])),
        el("tbody", {}, ...story.jobs.map((result) => row(story.project, result))))));
    }
    box.append(...story.notes.map((note) => el("p", { class: "hint" }, ...code(note))));
    if (story.kept_since_ms) box.append(el("p", { class: "hint" }, `Results are kept since ${time(story.kept_since_ms)}.`));
    if (story.cursor) {
      const more = el("button", { "aria-label": `Search further in ${story.project}` }, "Search further");
      more.addEventListener("click", async () => {
        more.disabled = true;
        try {
          const reply = await ask({ project: story.project, cursor: story.cursor });
          more.replaceWith(...reply.projects.map(part));
        } catch (error) {
          text(status, error.message);
          more.disabled = false;
        }
      });
      box.append(el("p", {}, more));
    }
    return box;
  }

  function row(project, result) {
    const status = el("span");
    badge(status, result.status);
    const error = result.error ? `${result.error}${result.raw_error && result.raw_error !== result.error ? ` (${result.raw_error})` : ""}` : "–";
    const extra = [result.action && result.action !== "none" ? `what to do: ${result.action.replace("_", " the ")}` : "", result.maybe_dup ? "possibly twice" : "", result.canonical ? `new token ${result.canonical}` : ""].filter(Boolean);
    return el("tr", {}, cell("When", "", time(result.at_ms)),
      cell("Job", "", el("a", { class: "mono", href: address("p", project, "jobs", result.job) }, result.job)),
      cell("Status", "", status), cell("Error", "", error, ...extra.map((line) => el("span", { class: "why" }, line))), cell("Attempts", "n", number(result.attempts)),
      cell("Message id", "", el("span", { class: "mono" }, result.message_id || "–")));
  }

  let names = "";
  return {
    update(fleet) {
      const ids = [...fleet.projects.keys()].sort();
      if (names === ids.join()) return;
      names = ids.join();
      const chosen = project.value;
      project.replaceChildren(el("option", { value: "" }, "All projects"), ...ids.map((id) => el("option", { value: id }, id)));
      project.value = chosen;
    },
    close() {},
  };
}
