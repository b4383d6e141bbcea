// The dead jobs of a project: what was pushed, why it needs an operator, and what can be done.

import { announce, at, badge, crumbs, el, get, keyed, number, show, text, time } from "./dom.js";
import { changeEntry, confirm, perform } from "./actions.js";
import { address } from "./router.js";

const KINDS = [["", "All"], ["rejected", "Rejected"], ["parked", "Parked"]];
const MEANING = {
  rejected: "The job broke a rule and nothing was sent. Unchanged it would be rejected again: edit it, then push it.",
  parked: "The job stopped before its end. Replay sends to its unfinished recipients; drop cancels them.",
};
const RECIPIENTS = new Set(["token", "fid", "group", "tokens", "fids", "recipients"]);
const OBJECTS = new Set(["message", "variants"]);
/** The name of the field that the reason is about, as `message` is of `message.android.ttl: rule`; long names are cut there. */
function faultyField(entry) {
  const isAbout = (name) => {
    const letters = [...name];
    const shown = letters.length > 40 ? `${letters.slice(0, 40).join("")}…` : name;
    return entry.reason.startsWith(shown) && /^[.[:]/.test(entry.reason.slice(shown.length));
  };
  return entry.fields.map((field) => field.name).filter(isAbout).sort((a, b) => b.length - a.length)[0];
}

const bytes = (count) => `${number(count)} ${count === 1 ? "byte" : "bytes"}`;

class Entry {
  constructor(entry, view) {
    this.entry = entry;
    this.view = view;
    const { project } = view;
    const kind = el("span");
    badge(kind, entry.kind);
    this.more = el("div", { class: "more", id: `fields-${entry.entry}` });
    this.actions = el("p", { class: "actions" });
    const title = el("h2", {}, el("a", { class: "mono", href: address("p", project, "jobs", entry.job) }, entry.job));
    const evidence = Object.entries(entry.evidence ?? {}).map(([name, value]) => `${name}: ${value}`).join(" · ");
    this.node = el("li", { class: "entry" },
      el("div", { class: "entry-head" }, kind, title, el("span", { class: "soft" }, time(entry.at_ms))),
      el("p", { class: "because" }, entry.reason),
      el("p", { class: "hint" }, entry.fields.map((field) => `${field.name} (${bytes(field.bytes)})`).join(", "), evidence ? ` · ${evidence}` : ""),
      this.actions, this.more);
    if (view.context.fleet.readOnly) return;
    this.toggle = this.button("Show fields", () => this.open(this.more.childElementCount ? null : "fields"), "", `Show the fields of job ${entry.job}`);
    this.toggle.setAttribute("aria-controls", this.more.id);
    if (entry.kind === "rejected") this.edit = this.button("Edit and push again", () => this.open("form"), "", `Edit and push again job ${entry.job}`);
    if (entry.kind === "parked") this.button("Replay", () => this.act("replay"), "", `Replay job ${entry.job}`);
    this.button("Drop", () => this.act("drop"), "danger", `Drop job ${entry.job}`);
    this.open(null);
  }

  button(word, handler, kind, name) {
    const button = el("button", { class: `small ${kind}`, "aria-label": name, on: { click: handler } }, word);
    this.actions.append(button);
    return button;
  }

  path(action) { return at(this.view.project, "dead", this.entry.entry, ...(action ? [action] : [])); }

  async act(action) {
    if (await changeEntry(this.view.project, this.entry, action)) this.view.load();
  }

  /** Shows the `fields`, the `form`, or nothing. */
  async open(what) {
    this.shown = what;
    text(this.toggle, what === "fields" ? "Hide fields" : "Show fields");
    this.toggle.setAttribute("aria-expanded", String(what !== null));
    if (!what) return this.more.replaceChildren();
    try {
      const entry = await get(this.path());
      if (this.shown !== what) return;
      this.more.replaceChildren(what === "form" ? form(entry, this) : el("dl", { class: "pushed" }, ...entry.fields.map(shown)));
      if (what === "form") focusFault(this.more);
    } catch (error) {
      announce(error.message);
    }
  }
}

/** A field and its value, cut unless the user asks for all of it. */
function shown(field) {
  const value = el("dd", { class: "mono" });
  if (field.elements) {
    const list = el("ol", { start: 0 }, ...field.elements.map((element) => el("li", {}, element)));
    value.append(list);
    if (field.count > field.elements.length) value.append(`and ${number(field.count - field.elements.length)} more`);
  } else {
    const whole = field.shown;
    const part = el("span", {}, whole.length > 400 ? `${whole.slice(0, 400)}…` : whole);
    value.append(part);
    if (whole.length > 400) {
      const all = el("button", { class: "small", "aria-label": `Show all of ${field.name}`, on: { click: () => { text(part, whole); all.remove(); } } }, "Show all");
      value.append(" ", all);
    }
  }
  return el("div", {}, el("dt", {}, `${field.name} `, el("span", { class: "soft" }, bytes(field.bytes))), value);
}

/** Puts the cursor where the reason says: into the faulty field, at the member that it names. */
function focusFault(form) {
  const input = form.querySelector("[aria-invalid]") ?? form.querySelector("input, textarea");
  input?.focus();
  const member = input?.dataset.member;
  const start = member ? input.value.indexOf(`${JSON.stringify(member)}:`) : -1;
  if (start >= 0) input.setSelectionRange(start + 1, start + JSON.stringify(member).length - 1);
  else if (input?.matches("textarea")) input.setSelectionRange(0, 0);
}

/** Marks an input as the one that the reason is about. */
function mark(node, input, entry) {
  const id = `${input.id}-fault`;
  node.classList.add("faulty");
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  // Only a member's own name can be looked for: message.android.ttl.
  const member = entry.reason.match(/^[^:]*\.([^.[:]+)(\[\d+\])*:/)?.[1];
  if (member) input.dataset.member = member;
  node.append(el("p", { class: "wrong", id }, entry.reason));
}

/** An editor for one field; `change()` answers the change to send, or null. */
function editor(field, entry) {
  const id = `edit-${entry.entry}-${field.name}`;
  // A list of recipients is shown masked as a whole; a token within another text can be deleted from it.
  const isOpen = field.shown !== undefined && !RECIPIENTS.has(field.name) && !field.is_cut && !field.is_binary;
  const remove = el("input", { type: "checkbox", id: `${id}-remove` });
  const isLine = isOpen && field.bytes < 60 && !field.shown.includes("\n") && !OBJECTS.has(field.name);
  const lines = isOpen ? field.shown.split("\n").reduce((sum, line) => sum + 1 + Math.floor(line.length / 90), 1) : 2;
  const input = isLine
    ? el("input", { id, class: "mono", autocomplete: "off", spellcheck: "false" })
    : el("textarea", { id, class: "mono", rows: Math.max(2, Math.min(20, lines)), autocomplete: "off", spellcheck: "false" });
  input.value = isOpen ? field.shown : "";
  const start = input.value;
  const boxes = [];
  const node = el("div", { class: "edit" }, el("label", { for: id, class: "mono" }, field.name), input);
  if (field.name === faultyField(entry)) mark(node, input, entry);
  if (isOpen && field.is_masked) node.append(el("p", { class: "hint" }, "Holds a masked token: delete it, or leave this field as it is."));
  if (!isOpen) {
    const what = field.is_cut ? "too long to edit here" : field.is_binary ? "not text" : field.elements ? `${number(field.count)} recipients` : field.shown;
    input.placeholder = `Unchanged (${what}). Type to replace the whole value.`;
  }
  if (field.elements) {
    // The reason names the element that is at fault: tokens[2].
    const fault = entry.reason.match(new RegExp(`^${field.name}\\[(\\d+)\\]`))?.[1];
    const list = el("ol", { class: "mono", start: 0 }, ...field.elements.map((element, index) => {
      const box = el("input", { type: "checkbox", id: `${id}-${index}` });
      box.checked = String(index) === fault;
      boxes.push(box);
      return el("li", {}, box, " ", el("label", { for: box.id }, `leave out ${element}`));
    }));
    node.append(el("details", { open: Boolean(fault) }, el("summary", {}, `Leave out single elements of ${field.name}`), list));
  }
  node.append(el("p", { class: "check" }, remove, " ", el("label", { for: remove.id }, `Remove ${field.name}`)));
  return {
    node,
    change() {
      if (remove.checked) return { name: field.name, remove: true };
      if (input.value !== start) return { name: field.name, value: input.value };
      const without = boxes.flatMap((box, index) => (box.checked ? [index] : []));
      return without.length ? { name: field.name, without } : null;
    },
  };
}

function form(entry, owner) {
  const fault = faultyField(entry);
  const fields = [...entry.fields].sort((a, b) => (b.name === fault) - (a.name === fault));
  const editors = fields.map((field) => editor(field, entry));
  const name = el("input", { id: `new-${entry.entry}`, maxlength: 64, autocomplete: "off", spellcheck: "false" });
  const value = el("input", { id: `new-value-${entry.entry}`, autocomplete: "off", spellcheck: "false" });
  const status = el("p", { role: "alert", class: "wrong" });
  const cancel = el("button", { type: "button", on: { click: () => owner.open(null) } }, "Discard");
  return el("form", { class: "editor", "aria-label": `Edit job ${entry.job}`, on: { submit: async (event) => {
    event.preventDefault();
    text(status, "");
    const changes = editors.map((one) => one.change()).filter(Boolean);
    if (name.value.trim()) changes.push({ name: name.value.trim(), value: value.value });
    if (!changes.length) return text(status, "Nothing was changed: the same fields would be rejected again.");
    const given = await confirm({ title: `Push job ${entry.job} again?`, message: `With a changed ${changes.map((change) => change.name).join(", ")}. The entry leaves the dead jobs. If a rule is still broken, the job comes back with the new reason.`, yes: "Push again" });
    if (given && await perform(owner.path("push"), { ...given, changes }, `Job ${entry.job} was pushed again.`)) owner.view.load();
  } } },
  ...editors.map((one) => one.node),
  el("div", { class: "edit" }, el("label", { for: name.id }, "Add a field: name"), name, el("label", { for: value.id }, "value"), value),
  status, el("p", { class: "actions" }, cancel, el("button", { class: "primary" }, "Push again")));
}

class Dead {
  constructor(root, params, context) {
    this.context = context;
    this.project = params.project;
    this.kind = params.query.get("kind") ?? "";
    this.before = params.query.get("before");
    this.entries = new Map();
    this.list = el("ul", { class: "entries" });
    this.status = el("p", { class: "hint", role: "status" });
    this.older = el("a", { class: "button" }, "Older entries");
    this.newest = el("a", { class: "button", href: this.address({}) }, "Newest entries");
    show(this.older, false);
    show(this.newest, Boolean(this.before));
    context.title(`Dead jobs of ${this.project}`);
    const kinds = KINDS.map(([kind, word]) => el("a", { href: this.address({ kind }), "aria-current": kind === this.kind ? "true" : null }, word));
    root.append(crumbs(["Overview", address()], [this.project, address("p", this.project)], ["Dead jobs"]),
      el("h1", {}, `Dead jobs of ${this.project}`),
      el("nav", { class: "choices", "aria-label": "Kind" }, ...kinds), this.status,
      ...KINDS.filter(([kind]) => kind && (!this.kind || kind === this.kind)).map(([kind, word]) => el("p", { class: "hint" }, el("strong", {}, `${word}: `), MEANING[kind])),
      this.list, el("p", { class: "actions" }, this.newest, this.older));
    this.load();
  }

  address({ kind = this.kind, before = "" }) {
    const query = new URLSearchParams({ ...(kind && { kind }), ...(before && { before }) });
    return address("p", this.project, "dead") + (query.size ? `?${query}` : "");
  }

  async load() {
    const now = (this.last = Date.now());
    try {
      const query = new URLSearchParams({ ...(this.kind && { kind: this.kind }), ...(this.before && { before: this.before }) });
      const reply = await get(`${at(this.project, "dead")}?${query}`);
      if (now !== this.last || this.isClosed) return;
      keyed(this.list, reply.entries, (entry) => entry.entry, (entry) => {
        const made = new Entry(entry, this);
        this.entries.set(entry.entry, made);
        return made.node;
      }, () => {});
      show(this.older, Boolean(reply.before));
      if (reply.before) this.older.setAttribute("href", this.address({ before: reply.before }));
      this.isEmpty = reply.entries.length === 0;
      this.say(reply);
    } catch (error) {
      text(this.status, error.message);
    }
  }

  say(reply) {
    const total = this.context.fleet.project?.dead;
    const kind = this.kind ? ` ${this.kind}` : "";
    const shown = reply.entries.length;
    if (!shown) text(this.status, reply.before ? `No${kind} job among these entries; there may be older ones.` : `No${kind} dead jobs${this.before ? " that are older" : ""}.`);
    else text(this.status, `${number(shown)}${kind} ${shown === 1 ? "job" : "jobs"} on this page${total > shown ? `, ${number(total)} dead jobs in all` : ""}.`);
  }

  update(fleet) {
    const dead = fleet.project?.dead;
    const isNew = dead !== undefined && dead !== this.dead;
    this.dead = dead;
    if (isNew || Date.now() - this.last > 5000) this.load();
  }
}

export function open(root, params, context) {
  const view = new Dead(root, params, context);
  return { update: (fleet) => view.update(fleet), close: () => { view.isClosed = true; } };
}
