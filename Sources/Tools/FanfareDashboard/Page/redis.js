// The state of Redis: facts, and the verdicts and remedies of `fanfare doctor`.

import { badge, code, duration, el, get, keyed, number, show, terms, text } from "./dom.js";

const REFRESH = 10000;
const ORDER = ["fail", "warn", "ok"];

function size(bytes) {
  const unit = bytes >= 10 * 2 ** 30 ? ["GiB", 2 ** 30] : bytes >= 10 * 2 ** 20 ? ["MiB", 2 ** 20] : ["KiB", 2 ** 10];
  return `${number(Math.round(bytes / unit[1]))} ${unit[0]}`;
}

function facts(server, now) {
  const share = server.maxmemory ? server.used_memory / server.maxmemory : 0;
  const version = server.valkey_version ? `Valkey ${server.valkey_version}` : `Redis ${server.redis_version ?? "–"}`;
  return [
    ["Memory", server.maxmemory ? `${size(server.used_memory)} of ${size(server.maxmemory)}` : size(server.used_memory ?? 0), share >= 0.8 ? "bad" : share >= 0.6 ? "warn" : ""],
    ["Eviction policy", server.maxmemory_policy ?? "–", server.maxmemory_policy === "noeviction" ? "" : "bad"],
    ["Append-only file", server.aof_enabled ? server.appendfsync ?? "on" : "off", server.aof_enabled ? "" : "bad"],
    ["Last snapshot", server.rdb_last_save_time ? `${duration(Math.max(0, now / 1000 - server.rdb_last_save_time))} ago` : "none"],
    ["Role, replicas", `${server.role === "slave" ? "replica" : "primary"}, ${number(server.connected_slaves ?? 0)}`, server.role === "slave" && "bad"],
    ["Clients", number(server.connected_clients)],
    ["Commands", `${number(server.instantaneous_ops_per_sec ?? 0)}/s`],
    ["Keys evicted", number(server.evicted_keys ?? 0), server.evicted_keys > 0 && "bad"],
    ["Version", version],
    ["Up for", duration(server.uptime_in_seconds)],
  ];
}

class Redis {
  constructor(root, context) {
    this.context = context;
    this.status = el("p", { class: "hint", role: "status" }, "Asking Redis …");
    this.servers = el("div");
    this.rows = el("tbody");
    this.sheet = el("div", { class: "sheet", hidden: true }, el("table", { class: "checks", "aria-label": "Checks of Redis" },
      el("thead", {}, el("tr", {}, ...["Verdict", "Check", "Finding and remedy"].map((word) => el("th", { scope: "col" }, word)))), this.rows));
    context.title("Redis");
    root.append(el("h1", {}, "Redis"), this.status, this.servers, this.sheet,
      el("p", { class: "hint" }, "The same checks as ", el("code", {}, "fanfare doctor"), ", which also looks at credentials and the route to FCM."));
    this.load();
  }

  async load() {
    this.loadedAt = performance.now();
    try {
      const reply = await get("api/redis");
      if (this.isClosed) return;
      this.draw(reply);
    } catch (error) {
      text(this.status, error.message);
    }
  }

  draw(reply) {
    const checks = reply.checks ?? [];
    const worst = ORDER.find((word) => checks.some((check) => check.verdict === word)) ?? "ok";
    const count = checks.filter((check) => check.verdict !== "ok").length;
    text(this.status, reply.refused ? `Redis does not let this dashboard's user read INFO, so its state is not known: ${reply.refused}`
      : worst === "ok" ? "Every check is ok." : `${number(count)} ${count === 1 ? "check needs" : "checks need"} an operator.`);
    const now = this.context.fleet.now || Date.now();
    keyed(this.servers, reply.servers ?? [], (server) => server.name, (server) => el("section", {}, el("h2", { class: "mono" }, server.name), el("dl", { class: "figures" })),
      (node, server) => terms(node.lastElementChild, facts(server, now)));
    const sorted = checks.map((check, at) => [ORDER.indexOf(check.verdict), at, check]).sort(([a, one], [b, two]) => a - b || one - two).map(([, , check]) => check);
    keyed(this.rows, sorted, (check) => JSON.stringify(check), (check) => {
      const verdict = el("span");
      badge(verdict, check.verdict);
      return el("tr", {}, el("td", { "data-label": "Verdict" }, verdict), el("th", { scope: "row" }, check.check),
        el("td", { "data-label": "Finding" }, check.text, check.remedy ? el("span", { class: "why" }, ...code(`Remedy: ${check.remedy}`)) : ""));
    }, () => {});
    show(this.sheet, checks.length > 0);
  }

  update() {
    if (!document.hidden && performance.now() - this.loadedAt > REFRESH) this.load();
  }
}

export function open(root, params, context) {
  const view = new Redis(root, context);
  return { update: () => view.update(), close() { view.isClosed = true; } };
}
