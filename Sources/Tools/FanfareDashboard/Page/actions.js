// Changes that a user makes: the question before them, the request, and the announcement of the result.

import { announce, at, keyed, el, post, RequestError, show, text } from "./dom.js";

const node = (id) => document.getElementById(id);

/** Asks for confirmation. `danger` makes the answer red. Resolves to `{ reason }`, or to null if the user declines. */
export function confirm({ title, message, yes, no = "Leave it", danger = false, reason = true }) {
  text(node("confirm-title"), title);
  text(node("confirm-text"), message);
  text(node("confirm-yes"), yes);
  text(node("confirm-no"), no);
  node("confirm-yes").className = danger ? "danger" : "primary";
  show(node("confirm-field"), reason);
  node("confirm-input").value = "";
  const dialog = node("confirm");
  dialog.returnValue = "no";
  dialog.showModal();
  (danger ? node("confirm-no") : reason ? node("confirm-input") : node("confirm-yes")).focus();
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

/** Performs an action and announces the result; `done` is the announcement, or makes it from the reply. */
export async function perform(path, body, done) {
  try {
    const reply = await post(path, body);
    announce(typeof done === "function" ? done(reply) : done);
    return true;
  } catch (error) {
    announce(error instanceof RequestError ? error.message : `The result is unknown: ${error.message}`);
    return false;
  }
}

/** Asks, then performs; resolves to whether it was done. */
export async function act(question, path, done) {
  const given = await confirm(question);
  return given ? perform(path, given, done) : false;
}

export const pauseProject = (id) => act(
  { title: `Pause project ${id}?`, message: "All sends stop until it is resumed. Jobs can still be pushed, and wait.", yes: "Pause" },
  at(id, "pause"), `Project ${id} is paused.`);

export const resumeProject = (id) => act(
  { title: `Resume project ${id}?`, message: "Sends begin again. A blocked project is tried at once.", yes: "Resume" },
  at(id, "resume"), `Project ${id} is resumed.`);

export const JOB = {
  pause: { word: "Pause", message: "No new send starts until it is resumed.", many: "No new send of them starts until they are resumed.", said: "is paused", past: "paused" },
  resume: { word: "Resume", message: "Sending continues where it stopped.", said: "is resumed", past: "resumed" },
  cancel: { word: "Cancel", message: "No new send starts, and recipients without a result are cancelled. This cannot be undone.", said: "is being cancelled", past: "cancelled", danger: true },
};

export function changeJob(project, id, action) {
  const { word, message, said, danger } = JOB[action];
  const yes = danger ? `${word} the job` : word;
  return act({ title: `${word} job ${id}?`, message, yes, no: danger ? "Keep it" : "Leave it", danger }, at(project, "jobs", id, action), `Job ${id} ${said}.`);
}

/** Replays or drops an entry of `dead`: its `entry`, `job` and `kind`. */
export function changeEntry(project, { entry, job, kind }, action) {
  const message = kind === "parked" ? "The job continues with its unfinished recipients." : "The same fields are pushed again. They are rejected again, unless the configuration or the workers' version allows them now.";
  const question = action === "replay"
    ? { title: `Replay job ${job}?`, message, yes: "Replay" }
    : { title: `Drop job ${job}?`, message: "Its entry is deleted; unfinished recipients of a parked job are cancelled. This cannot be undone.", yes: "Drop it", no: "Keep it", danger: true };
  const done = action === "drop" ? "was dropped" : kind === "parked" ? "continues" : "was pushed again";
  return act(question, at(project, "dead", entry, action), `Job ${job} ${done}.`);
}

/** The class of the badge of a job that its project stops; undefined for any other. */
export const stalls = (project, job) => (project && job.state === "active" && !["working", "waiting", "idle"].includes(project.state) ? "held" : undefined);

const OVER = ["done", "cancelled", "expired", "rejected"];

/** The actions that a job's state allows. */
export function allowed(job) {
  if (OVER.includes(job.state) || job.ending) return [];
  return job.state === "parked" ? ["cancel"] : [job.state === "paused" ? "resume" : "pause", "cancel"];
}

/** Keeps the buttons in `box` that a job's state allows. `after()` follows a change. */
export function jobControls(box, project, job, fleet, after = () => {}) {
  keyed(box, fleet.readOnly ? [] : allowed(job), (action) => action, (action) => el("button", {
    class: action === "cancel" ? "small danger" : "small",
    "aria-label": `${JOB[action].word} job ${job.id}`,
    on: { click: async () => { if (await changeJob(project, job.id, action)) after(); } },
  }, JOB[action].word), () => {});
}

/** The Pause and Resume buttons of a project; call `update(state)` of the result. */
export function projectControls(id, fleet) {
  const pause = el("button", { class: "small", "aria-label": `Pause project ${id}`, on: { click: () => pauseProject(id) } }, "Pause");
  const resume = el("button", { class: "small", "aria-label": `Resume project ${id}`, on: { click: () => resumeProject(id) } }, "Resume");
  return {
    nodes: [pause, resume],
    update(state) {
      show(pause, !fleet.readOnly && state !== "paused");
      show(resume, !fleet.readOnly && (state === "paused" || state === "blocked"));
    },
  };
}
