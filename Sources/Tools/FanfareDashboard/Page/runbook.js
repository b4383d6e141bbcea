// A page of the Runbook, drawn from the Markdown that the documentation is written in: headings, paragraphs, lists, code
// and tables. The server holds the pages, so they need no Internet.

import { code, crumbs, el, get, heads, text } from "./dom.js";
import { address } from "./router.js";

/** The nodes of a line: code, bold words, and links, of which only those to pages of the Runbook can be followed. */
export function inline(words) {
  return words.split(/(\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\)|`[^`]+`)/).flatMap((part) => {
    const link = part.match(/^\[([^\]]+)\]\(([^)]+)\)$/);
    if (!link) return part.startsWith("**") ? [el("strong", {}, ...code(part.slice(2, -2)))] : code(part);
    const page = link[2].match(/^(?:Runbook\/)?(Fanfare\w+)\.md$/);
    if (page) return [el("a", { href: address("runbook", page[1]) }, ...code(link[1]))];
    if (link[2].startsWith("https://")) return [el("a", { href: link[2], target: "_blank", rel: "noopener" }, ...code(link[1]))];
    return [el("em", {}, ...code(link[1]))];
  });
}

const cells = (line) => line.replace(/^\||\|$/g, "").split(" | ").map((one) => one.replace(/\|$/, "").trim());

function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, heads(head)),
    el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((one) => el("td", {}, ...inline(one))))))));
}

const BULLET = /^(?:-|\d+\.) /;

/** The nodes of a page. Each block ends with an empty line or where a block of another kind begins. */
export function render(markdown) {
  const nodes = [];
  const lines = markdown.split("\n");
  const block = (fits) => {
    const found = [];
    while (lines.length && fits(lines[0], found.length)) found.push(lines.shift());
    return found;
  };
  while (lines.length) {
    const line = lines[0];
    const heading = line.match(/^(#{1,4}) (.*)/);
    if (!line.trim()) lines.shift();
    else if (heading) nodes.push(el(`h${heading[1].length}`, {}, ...inline((lines.shift(), heading[2]))));
    else if (line.startsWith("```")) {
      lines.shift();
      nodes.push(el("pre", { tabindex: 0 }, block((one) => !one.startsWith("```")).join("\n")));
      lines.shift();
    } else if (line.startsWith("|")) nodes.push(table(block((one) => one.startsWith("|"))));
    else if (BULLET.test(line)) {
      const items = [];
      for (const one of block((next) => next.trim() && (BULLET.test(next) || next.startsWith("  ")))) {
        if (BULLET.test(one)) items.push(one.replace(BULLET, ""));
        else items[items.length - 1] += ` ${one.trim()}`;
      }
      nodes.push(el(line.startsWith("-") ? "ul" : "ol", {}, ...items.map((item) => el("li", {}, ...inline(item)))));
    } else nodes.push(el("p", {}, ...inline(block((one, count) => one.trim() && (count === 0 || !/^(#|```|\||- )/.test(one))).join(" "))));
  }
  return nodes;
}

export function open(root, { page = "" }, context) {
  const status = el("p", { class: "hint", role: "status" });
  const body = el("article", { class: "card page" });
  context.title(page || "Runbook");
  root.append(...(page ? [crumbs(["Runbook", address("runbook")], [page])] : []), status, body);
  get(page ? `api/runbook/${encodeURIComponent(page)}` : "api/runbook").then(
    (reply) => body.append(...render(reply.text)),
    (error) => {
      body.remove();
      text(status, error.status === 404 ? `The Runbook has no page ${page}.` : error.message);
    }
  );
  return { update() {}, close() {} };
}
