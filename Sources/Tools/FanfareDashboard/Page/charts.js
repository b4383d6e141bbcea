// Charts of the last five minutes as SVG.

import { el, text, number } from "./dom.js";

const NS = "http://www.w3.org/2000/svg";
const SPAN = 300000;
const WIDTH = 300;
const HEIGHT = 100;

function svg(tag, attributes) {
  const node = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** The next 1, 2 or 5 times a power of ten. */
function ceiling(value) {
  if (value <= 1) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

export class Chart {
  /** `series`: [class, label, index in a sample]. */
  constructor(title, series) {
    this.title = title;
    this.series = series;
    this.picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.picture.append(svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 }));
    this.area = svg("path", { class: `area ${series[0][0]}` });
    this.picture.append(this.area);
    this.lines = series.map(([name]) => svg("path", { class: name }));
    this.picture.append(...this.lines);
    this.labels = series.map(([name]) => el("span", { class: `swatch ${name}` }));
    this.scale = el("span");
    this.node = el("figure", { class: "chart" }, el("figcaption", {}, el("strong", {}, title), ...this.labels, this.scale));
    this.node.append(this.picture);
  }

  update(samples, now) {
    const start = now - SPAN;
    const seen = samples.filter((sample) => sample[0] >= start);
    const top = ceiling(Math.max(1, ...seen.flatMap((sample) => this.series.map(([, , index]) => sample[index]))));
    const last = seen[seen.length - 1];
    this.series.forEach(([, label, index], at) => {
      const points = seen.map((sample) => {
        const x = ((sample[0] - start) / SPAN) * WIDTH;
        const y = HEIGHT - (sample[index] / top) * (HEIGHT - 4) - 2;
        return `${x.toFixed(1)},${y.toFixed(1)}`;
      });
      const path = points.length > 1 ? `M${points.join("L")}` : "";
      this.lines[at].setAttribute("d", path);
      if (at === 0) {
        const from = points.length > 1 ? points[0].split(",")[0] : 0;
        const to = points.length > 1 ? points[points.length - 1].split(",")[0] : 0;
        this.area.setAttribute("d", path ? `${path}L${to},${HEIGHT}L${from},${HEIGHT}Z` : "");
      }
      text(this.labels[at], `${label} ${last ? number(last[index]) : "–"}/s`);
    });
    text(this.scale, `full height ${number(top)}/s, five minutes`);
    const current = this.series.map(([, label, index]) => `${label} ${last ? number(last[index]) : 0}`).join(", ");
    this.picture.setAttribute("aria-label", `${this.title}, now a second: ${current}; highest shown ${number(top)}`);
  }
}
