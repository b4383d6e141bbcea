// Charts as SVG. The first half computes scales and texts and needs no document; tests call it directly.

import { el, text } from "./dom.js";

const TIME_STEPS = [10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600, 43200, 86400].map((seconds) => seconds * 1000);

/** Ticks from 0 to at least `max`, at most `count` + 1 of them, in steps of 1, 2 or 5 times a power of ten. */
export function valueTicks(max, { count = 4, isWhole = false } = {}) {
  const top = Number.isFinite(max) ? Math.min(1e15, Math.max(1, max)) : 1;
  const rough = top / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough * 0.999999);
  if (isWhole) step = Math.max(1, step);
  const last = Math.ceil(top / step - 1e-9);
  return Array.from({ length: last + 1 }, (_, index) => Number((index * step).toPrecision(12)));
}

/** At most `most` times between `from` and `to` that a clock shows as round. */
export function timeTicks(from, to, most = 6) {
  if (!(to > from)) return [];
  const step = TIME_STEPS.find((value) => (to - from) / value <= most) ?? to - from;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

const isValue = (value) => typeof value === "number" && Number.isFinite(value);

/** Runs of indices without a missing value and without two times further apart than `gap`. */
export function runs(times, values, gap) {
  const found = [];
  let run = [];
  for (let index = 0; index < times.length; index += 1) {
    const isFar = run.length > 0 && times[index] - times[run.at(-1)] > gap;
    if ((isFar || !isValue(values[index])) && run.length) {
      found.push(run);
      run = [];
    }
    if (isValue(values[index])) run.push(index);
  }
  if (run.length) found.push(run);
  return found;
}

/** The index of the time closest to `at` in ascending times; -1 without times. */
export function nearest(times, at) {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at - times[low - 1] <= times[low] - at ? low - 1 : high < 0 ? -1 : low;
}

/** For each bar series the sum of the series below it, by index. */
export function bases(series, length) {
  const sum = new Array(length).fill(0);
  return series.map((one) => {
    const base = sum.slice();
    for (let index = 0; index < length; index += 1) sum[index] += isValue(one.values[index]) ? one.values[index] : 0;
    return base;
  });
}

/** The highest value to show. A limit counts only if the values come near it: a far limit would flatten the curves. */
export function highest(series, length) {
  const bars = series.filter((one) => one.kind === "bar");
  const base = bases(bars, length);
  let max = 0;
  for (const one of series) {
    if (one.kind === "limit") continue;
    const below = base[bars.indexOf(one)];
    one.values.forEach((value, index) => { if (isValue(value)) max = Math.max(max, value + (below ? below[index] : 0)); });
  }
  for (const one of series) {
    if (one.kind !== "limit") continue;
    const limit = Math.max(0, ...one.values.filter(isValue));
    if (limit > 0 && max >= limit / 4) max = Math.max(max, limit);
  }
  return max;
}

const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fine = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const count = (value) => (Math.abs(value) < 10 ? fine : exact).format(value);

export const UNITS = {
  second: { value: (value) => `${count(value)}/s`, tick: (value) => short.format(value), words: "a second" },
  minute: { value: (value) => `${count(value)}/min`, tick: (value) => short.format(value), words: "a minute" },
  count: { value: count, tick: (value) => short.format(value), words: "", isWhole: true },
  ms: {
    value: (value) => (value < 1000 ? `${count(value)} ms` : `${fine.format(value / 1000)} s`),
    tick: (value) => (value < 1000 ? `${exact.format(value)} ms` : `${short.format(value / 1000)} s`),
    words: "",
  },
};

/** What happened, by the kind of a mark. */
export const MARKS = { hold: "FCM asked to wait", pause: "Paused", resume: "Resumed", block: "Blocked", version: "Worker version", worker: "Worker started",
  lost: "Worker lost", takeover: "Batches taken over" };
export const clock = (ms) => new Date(ms).toISOString().slice(11, 19);

/** One sentence for each series, for people who do not see the chart. */
export function summary(data, unit) {
  if (data.times.length === 0) return "No data in this time.";
  const said = data.series.map((one) => {
    const values = one.values.filter(isValue);
    if (values.length === 0) return `${one.label}: no data.`;
    const last = unit.value(values.at(-1));
    if (one.kind === "limit") return `${one.label}: ${last}.`;
    return `${one.label}: lowest ${unit.value(Math.min(...values))}, highest ${unit.value(Math.max(...values))}, last ${last}.`;
  });
  return `From ${clock(data.from)} to ${clock(data.to)} UTC. ${said.join(" ")}`;
}

// MARK: Drawing

const NS = "http://www.w3.org/2000/svg";
const HEIGHT = 200;
const EDGE = { left: 52, right: 12, top: 14, bottom: 24 };
const round = (value) => Math.round(value * 10) / 10;

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Sets the attribute only if it changed, so that screen readers do not repeat it. */
function set(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

/**
 * A chart with axes. Data: `{ from, to, gap, times, series, marks }`; a series is `{ name, label, kind, values }` of kind
 * `line`, `area`, `bar` (stacked, `step` wide) or `limit`; a mark is `{ at, kind, text }`.
 */
export class Chart {
  constructor(title, unit) {
    this.title = title;
    this.unit = unit;
    this.width = 0;
    this.cursor = null;
    this.onCursor = () => {};
    this.data = { from: 0, to: 1, gap: 1, times: [], series: [], marks: [] };
    this.legend = el("div", { class: "legend" });
    this.grid = svg("g", { class: "grid" });
    this.lines = svg("g", { class: "lines" });
    this.marks = svg("g", { class: "marks" });
    this.hair = svg("g", { class: "hair" });
    this.picture = svg("svg", { height: HEIGHT, "aria-hidden": "true" }, this.grid, this.lines, this.marks, this.hair);
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    const id = `chart-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
    this.said = el("p", { class: "unseen", id });
    this.plot = el("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": `${title}: value at a time`, "aria-describedby": id }, this.picture, this.tip);
    this.empty = el("p", { class: "empty hint", hidden: true }, "No data in this time.");
    this.node = el("figure", { class: "chart" }, el("figcaption", {}, el("strong", {}, title), " ", el("span", { class: "hint" }, unit.words), this.legend),
      this.plot, this.empty, this.said);
    this.listen();
    new ResizeObserver(([entry]) => {
      const width = Math.floor(entry.contentRect.width);
      if (width === this.width) return;
      this.width = width;
      this.draw();
    }).observe(this.plot);
  }

  listen() {
    const move = (event) => {
      const x = event.clientX - this.plot.getBoundingClientRect().left;
      this.point(nearest(this.data.times, this.data.from + ((x - EDGE.left) / this.inner) * (this.data.to - this.data.from)));
    };
    this.plot.addEventListener("pointermove", move);
    this.plot.addEventListener("pointerdown", move);
    this.plot.addEventListener("pointerleave", () => this.point(-1));
    this.plot.addEventListener("blur", () => this.point(-1));
    this.plot.addEventListener("keydown", (event) => {
      const last = this.data.times.length - 1;
      const now = this.cursor === null ? last + 1 : nearest(this.data.times, this.cursor);
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageUp: -10, PageDown: 10 }[event.key];
      let next;
      if (event.key === "Home") next = 0;
      else if (event.key === "End") next = last;
      else if (event.key === "Escape") next = -1;
      else if (step) next = Math.min(last, Math.max(0, now + step));
      else return;
      event.preventDefault();
      this.point(next);
    });
  }

  get inner() { return Math.max(1, this.width - EDGE.left - EDGE.right); }

  point(index) {
    const at = index < 0 ? null : this.data.times[index];
    this.onCursor(at);
    this.show(at, true);
  }

  /** Shows the values at a time; with `isOwn` beside the cursor, too. */
  show(at, isOwn = false) {
    this.cursor = at;
    this.isOwn = isOwn;
    this.drawCursor();
  }

  update(data) {
    this.data = data;
    this.draw();
    text(this.said, summary(data, this.unit));
  }

  x(at) { return EDGE.left + ((at - this.data.from) / (this.data.to - this.data.from)) * this.inner; }

  y(value) { return HEIGHT - EDGE.bottom - (Math.min(value, this.top) / this.top) * (HEIGHT - EDGE.top - EDGE.bottom); }

  draw() {
    if (this.width === 0) return;
    const { data, unit } = this;
    const ticks = valueTicks(highest(data.series, data.times.length), unit);
    this.top = ticks.at(-1);
    this.empty.hidden = data.times.length > 0;
    set(this.picture, "width", this.width);
    const right = this.width - EDGE.right;
    const bottom = HEIGHT - EDGE.bottom;
    this.grid.replaceChildren(
      ...ticks.flatMap((tick) => [
        svg("line", { x1: EDGE.left, x2: right, y1: this.y(tick), y2: this.y(tick), class: tick === 0 ? "axis" : "" }),
        svg("text", { x: EDGE.left - 6, y: this.y(tick) + 4, "text-anchor": "end" }, unit.tick(tick)),
      ]),
      ...timeTicks(data.from, data.to, Math.max(2, Math.floor(this.inner / 80))).flatMap((tick) => [
        svg("line", { x1: this.x(tick), x2: this.x(tick), y1: bottom, y2: bottom + 4, class: "axis" }),
        svg("text", { x: Math.min(this.x(tick), right - 12), y: bottom + 17, "text-anchor": "middle" }, clock(tick).slice(0, 5)),
      ])
    );
    const bars = data.series.filter((one) => one.kind === "bar");
    const base = bases(bars, data.times.length);
    this.lines.replaceChildren(...data.series.flatMap((one) => this.paths(one, base[bars.indexOf(one)])));
    const seen = data.marks.filter((mark) => mark.at >= data.from && mark.at <= data.to);
    this.marks.replaceChildren(...seen.map((mark) => {
      const x = round(this.x(mark.at));
      return svg("path", { class: `mark ${mark.kind}`, d: `M${x},${bottom}V${EDGE.top}m-4,-8h8l-4,8z` });
    }));
    this.drawCursor();
  }

  paths(one, base) {
    const { times, gap, step } = this.data;
    if (one.kind === "bar") {
      const wide = Math.max(1, (step / (this.data.to - this.data.from)) * this.inner - 0.5);
      const bar = (value, index) => {
        const x = Math.max(EDGE.left, this.x(times[index]) - wide);
        return `M${round(x)},${round(this.y(base[index]))}V${round(this.y(base[index] + value))}h${round(wide)}V${round(this.y(base[index]))}z`;
      };
      return [svg("path", { class: `bar ${one.name}`, d: one.values.map((value, index) => (value > 0 ? bar(value, index) : "")).join("") })];
    }
    const drawn = [];
    for (const run of runs(times, one.values, gap)) {
      if (one.kind === "limit" && Math.max(...run.map((index) => one.values[index])) > this.top) continue;
      const points = run.map((index) => `${round(this.x(times[index]))},${round(this.y(one.values[index]))}`);
      const first = points[0].split(",")[0];
      // A single point needs some width to be seen.
      const line = points.length > 1 ? `M${points.join("L")}` : `M${points[0]}h1`;
      if (one.kind === "area") drawn.push(svg("path", { class: `area ${one.name}`, d: `${line}V${this.y(0)}H${first}z` }));
      drawn.push(svg("path", { class: `line ${one.kind} ${one.name}`, d: line }));
    }
    return drawn;
  }

  drawCursor() {
    const { data, unit } = this;
    const index = this.cursor === null ? -1 : nearest(data.times, this.cursor);
    const at = index < 0 ? null : data.times[index];
    const isSeen = at !== null && at >= data.from && at <= data.to;
    const value = (one, place) => (isValue(one.values[place]) ? unit.value(one.values[place]) : "–");
    const shown = isSeen ? index : data.times.length - 1;
    const rows = data.series.map((one) => ({ one, value: value(one, shown) }));
    // Keep the nodes, so that a live chart does not disturb a selection.
    while (this.legend.children.length > rows.length) this.legend.lastChild.remove();
    rows.forEach(({ one, value: said }, place) => {
      const item = this.legend.children[place] ?? this.legend.appendChild(el("span"));
      item.className = `swatch ${one.kind} ${one.name}`;
      text(item, `${one.label} ${said}${one.kind === "limit" && said !== "–" && one.values[shown] > this.top ? " (above the chart)" : ""}`);
    });
    const told = isSeen ? `${clock(at)} UTC: ${rows.map(({ one, value: said }) => `${one.label} ${said}`).join(", ")}` : "no time chosen; arrow keys choose one";
    const near = isSeen ? data.marks.filter((mark) => Math.abs(this.x(mark.at) - this.x(at)) < 5).map((mark) => `${mark.kind}: ${mark.text}`) : [];
    set(this.plot, "aria-valuemin", 0);
    set(this.plot, "aria-valuemax", Math.max(0, data.times.length - 1));
    set(this.plot, "aria-valuenow", Math.max(0, shown));
    set(this.plot, "aria-valuetext", [told, ...near].join(". "));
    this.tip.hidden = !isSeen || !this.isOwn;
    if (!isSeen || this.width === 0) return this.hair.replaceChildren();
    const x = round(this.x(at));
    const dots = rows.filter(({ one }) => one.kind !== "bar" && isValue(one.values[index]) && one.values[index] <= this.top)
      .map(({ one }) => svg("circle", { cx: x, cy: round(this.y(one.values[index])), r: 3.5, class: one.name }));
    this.hair.replaceChildren(svg("line", { x1: x, x2: x, y1: EDGE.top, y2: HEIGHT - EDGE.bottom }), ...dots);
    if (!this.isOwn) return;
    this.tip.replaceChildren(el("strong", {}, `${clock(at)} UTC`),
      ...rows.map(({ one, value: said }) => el("span", { class: `swatch ${one.kind} ${one.name}` }, `${one.label} ${said}`)),
      ...near.map((line) => el("em", {}, line)));
    const wide = this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(this.width - wide, x > this.width / 2 ? x - wide - 12 : x + 12))}px`;
  }
}

/** Makes the cursor of one chart show the same time in all of them. */
export function together(charts) {
  for (const chart of charts) {
    chart.onCursor = (at) => { for (const other of charts) if (other !== chart) other.show(at); };
  }
}
