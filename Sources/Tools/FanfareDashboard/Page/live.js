// The live state of the fleet, from the server's events.
//
// Without a project, the events carry a row for each project. With one, they carry that project whole.

/** Points of a sparkline, one for every five seconds. */
export const SPARK = 60;

export class Live {
  /** `changed()` after each event, `link(word, kind)` when the connection changes, `trouble(message)`, `lost()`. */
  constructor(handlers) {
    this.handlers = handlers;
    this.fleet = { now: 0, projects: new Map(), project: null, workers: [], history: new Map(), spark: new Map(), readOnly: false };
  }

  /** Follows the overview, or one project. */
  follow(project = null) {
    if (this.source && this.source.readyState !== EventSource.CLOSED && this.project === project) return;
    this.close();
    this.project = project;
    // What was shown of another project, or of all, is not shown as if it were this one.
    Object.assign(this.fleet, { now: 0, project: null });
    this.source = new EventSource(project ? `api/events?project=${encodeURIComponent(project)}` : "api/events");
    this.on("fleet", (whole) => this.replace(whole));
    this.on("change", (change) => this.apply(change));
    this.source.addEventListener("trouble", (message) => {
      this.handlers.link("Redis does not answer", "lost");
      this.watch();
      this.handlers.trouble(JSON.parse(message.data).message);
    });
    this.source.onerror = () => {
      this.handlers.link("connection lost, trying again", "lost");
      // After a refusal a browser does not reconnect: the session may be over, or the limit of browsers reached.
      if (this.source.readyState === EventSource.CLOSED) this.handlers.lost();
    };
  }

  close() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.stale);
  }

  on(event, handler) {
    this.source.addEventListener(event, (message) => {
      handler(JSON.parse(message.data));
      this.handlers.trouble();
      this.handlers.link("live", "live");
      this.watch();
      this.handlers.changed();
    });
  }

  /** Reports a stale view if no event arrives for 10 s. */
  watch() {
    clearTimeout(this.stale);
    this.stale = setTimeout(() => this.handlers.link("no news for 10 s", "lost"), 10000);
  }

  replace(whole) {
    const fleet = this.fleet;
    fleet.now = whole.now_ms;
    fleet.workers = whole.workers;
    fleet.projects = new Map(whole.projects.map((project) => [project.id, project]));
    fleet.history = new Map(Object.entries(whole.history ?? {}));
    fleet.spark = new Map(Object.entries(whole.spark?.rates ?? {}));
    fleet.project = fleet.projects.get(this.project) ?? null;
  }

  apply(change) {
    const fleet = this.fleet;
    fleet.now = change.now_ms;
    for (const project of change.projects) fleet.projects.set(project.id, project);
    for (const id of change.gone) {
      fleet.projects.delete(id);
      fleet.history.delete(id);
    }
    if (change.workers) fleet.workers = change.workers;
    for (const [id, sample] of Object.entries(change.samples ?? {})) {
      const samples = fleet.history.get(id) ?? [];
      if (samples.at(-1)?.[0] !== sample[0]) samples.push(sample);
      if (samples.length > 300) samples.shift();
      fleet.history.set(id, samples);
    }
    if (change.spark) this.shift(change.spark.rates);
    fleet.project = fleet.projects.get(this.project) ?? null;
  }

  /** Adds the newest point to each sparkline; a line that holds nothing but 0 is left out. */
  shift(rates) {
    const fleet = this.fleet;
    const lines = new Map();
    const length = Math.max(0, ...[...fleet.spark.values()].map((line) => line.length));
    for (const id of fleet.projects.keys()) {
      const line = [...(fleet.spark.get(id) ?? Array(length).fill(0)), rates[id] ?? 0].slice(-SPARK);
      if (line.some((rate) => rate > 0)) lines.set(id, line);
    }
    fleet.spark = lines;
  }
}
