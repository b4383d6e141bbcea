// The last 24 hours of all projects together.

import { el, get, keyed, number, show, text } from "./dom.js";
import { Chart, clock, MARKS, UNITS } from "./charts.js";

const SPAN = 86400000;
const REFRESH = 60000;
/** A worker writes its record of a step up to 10 s after its end. */
const WRITES = 10000;

/** The chart's data of the server's reply: counts of steps become rates at their ends. */
export function dayData(history) {
  const { step_ms: step, now_ms: now } = history;
  const whole = history.at_ms.flatMap((ms, index) => (ms + step + WRITES <= now ? [index] : []));
  const rate = (values) => whole.map((index) => (values[index] === null ? null : (values[index] * 1000) / step));
  const lost = history.failed.map((value, index) => (value === null ? null : value + history.unknown[index]));
  const line = (name, label, values, kind = "line") => ({ name, label, kind, values: rate(values) });
  return {
    from: now - SPAN, to: now, step, gap: step * 2.5, times: whole.map((index) => history.at_ms[index] + step),
    marks: history.marks.map((mark) => ({ at: mark.at_ms, kind: mark.kind, text: mark.text })),
    series: [line("sent", "accepted", history.sent, "area"), line("failed", "failed or unknown", lost), line("retries", "retried", history.retries)],
  };
}

export class Day {
  constructor() {
    this.chart = new Chart("Last 24 hours of all projects", UNITS.second);
    this.status = el("p", { class: "hint", role: "status" });
    this.events = el("ol", { class: "events" });
    this.node = el("section", { class: "card" }, this.chart.node, this.status, this.events);
    this.load();
  }

  async load() {
    this.loadedAt = performance.now();
    try {
      const history = await get("api/history");
      this.chart.update(dayData(history));
      text(this.status, history.whole ? "" : `Only the first ${number(history.projects)} projects.`);
      const newest = history.marks.slice(-8).reverse();
      show(this.events, newest.length > 0);
      keyed(this.events, newest, (mark) => `${mark.at_ms} ${mark.kind} ${mark.text}`, (mark) => el("li", {},
        el("time", { datetime: new Date(mark.at_ms).toISOString() }, `${clock(mark.at_ms)} UTC`), " ", el("span", { class: `flag ${mark.kind}` }, MARKS[mark.kind] ?? mark.kind), ` ${mark.text}`), () => {});
    } catch (error) {
      text(this.status, error.message);
    }
  }

  update() {
    if (!document.hidden && performance.now() - this.loadedAt > REFRESH) this.load();
  }
}
