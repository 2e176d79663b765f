/** Workers: whether each takes part, and one of them with the quota of its ClusterQueues, as the daemon's model has it. */

import { bar, card, clamped, command, quoted, since, skeleton, STATE_WORDS, table } from "./parts.js";
import { h } from "./render.js";
import { link, waitingList, workloadLink } from "./store.js";
import { counted } from "./text.js";

const MOST_ROWS = 200;
const REREAD_MS = 5000;
const GATES = { Honoured: "honoured", Unknown: "not known yet", NotHonoured: "not honoured" };

const quota = { worker: "", items: [], next: "", problem: "", isKnown: false, isReading: false, readAt: -Infinity };

export const title = (route) => route.parts[1] ?? "Workers";
export const commandLine = (route) => (route.parts[1] ? `turnstile doctor --worker ${quoted(route.parts[1])}` : "turnstile status workers -o wide");

export function view(state, context) {
  const name = context.route.parts[1];
  if (name === undefined) return [h("h1", null, "Workers"), list(state, context.now)];
  const head = [h("p", { class: "crumbs" }, h("a", { href: link(["workers"]) }, "Workers")), h("h1", null, name)];
  if (!state.synced) return [...head, h("div", { class: "card" }, skeleton(5))];
  const worker = state.rows.workers.get(name);
  if (!worker) return [...head, h("div", { class: "card" }, h("p", null, "There is no worker of this name in the configuration."))];
  read(name, context);
  return [...head, h("p", { class: "facts" }, facts(worker)), trouble(worker, context.now), quotaCard(worker), here(state, worker, context.now)];
}

function list(state, now) {
  if (!state.synced) return h("div", { class: "card" }, skeleton(5));
  const all = [...state.rows.workers.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  if (!all.length) return h("div", { class: "card" }, h("p", { class: "calm" }, "No worker is configured yet."), command("turnstile worker add --help"));
  return h(
    "div",
    { class: "card" },
    table(
      "workers",
      [
        ["worker", (each) => h("a", { href: link(["workers", each.name]) }, each.name), "keep"],
        ["connection", (each) => (each.connection === "Connected" ? "connected" : [h("span", { class: "s-Lost" }, `! ${each.connection.toLowerCase()}`), each.lostSince && [" for ", since(each.lostSince, now)]])],
        ["gates", (each) => GATES[each.gates?.state] ?? "–"],
        ["clock", (each) => `${each.clockSkewSeconds} s off`, "number"],
        ["replicas", (each) => each.replicas, "number"],
        ["forecasts", (each) => (each.hitRate === null ? each.forecast : `${each.forecast}, ${each.hitRate} % right`)],
        ["quota", (each) => (each.quota?.resources ?? []).slice(0, 2).map(bar)],
      ],
      all.slice(0, MOST_ROWS),
      (each) => each.name,
    ),
    all.length > MOST_ROWS && h("p", { class: "quiet-text" }, `${all.length - MOST_ROWS} more are left out.`),
  );
}

function facts(worker) {
  const found = [
    worker.connection.toLowerCase(),
    `gates ${GATES[worker.gates?.state] ?? "not known"}`,
    `clock ${worker.clockSkewSeconds} s off`,
    counted(worker.replicas ?? 0, "replica"),
    worker.hitRate === null ? `forecasts ${worker.forecast}` : `forecasts ${worker.forecast}, ${worker.hitRate} % right`,
  ];
  return found.join(" · ");
}

function trouble(worker, now) {
  if (worker.connection === "Connected" && !worker.forecastProblem) return null;
  const isLost = worker.connection !== "Connected";
  return h(
    "div",
    { class: isLost ? "banner bad" : "banner", role: "status" },
    h("div", null, h("strong", null, isLost ? `${worker.name} takes no part.` : "Its quota cannot be followed."), h("p", null, clamped(isLost ? worker.message : worker.forecastProblem, "problem"), isLost && worker.lostSince && [" · for ", since(worker.lostSince, now)])),
  );
}

function quotaCard(worker) {
  if (worker.forecast === "off") return card("Quota", "", h("p", { class: "calm" }, "Forecasts are off (forecast.enabled), so quota is not followed."));
  if (!quota.isKnown) return card("Quota", "", skeleton(4));
  return card(
    "Quota",
    "of each ClusterQueue, as Turnstile's model of the worker has it",
    quota.problem && h("p", { class: "warn" }, quota.problem),
    quota.items.length
      ? table(
          "quota of ClusterQueues",
          [
            ["cohort", (each) => each.cohort || "–"],
            ["ClusterQueue", (each) => [each.clusterQueue, !each.active && h("span", { class: "warn" }, " not active")]],
            ["flavor", (each) => each.flavor],
            ["used", (each) => bar(each)],
          ],
          quota.items.slice(0, MOST_ROWS),
          (each) => `${each.clusterQueue} ${each.flavor} ${each.resource}`,
        )
      : h("p", { class: "calm" }, "No ClusterQueue is known there."),
    (quota.next || quota.items.length > MOST_ROWS) && h("p", { class: "quiet-text" }, `Only the first ${Math.min(quota.items.length, MOST_ROWS)} are shown. `, command(`turnstile status workers -o json`, true)),
  );
}

function here(state, worker, now) {
  const found = waitingList(state, now)
    .map((each) => ({ ...each, lane: each.lanes.find((lane) => lane.worker === worker.name) }))
    .filter((each) => each.lane && each.lane.shown !== "None");
  const atRisk = [...state.rows.risk.values()].filter((each) => each.worker === worker.name);
  return h(
    "div",
    { class: "columns" },
    card(
      "Waits here",
      found.length,
      found.length
        ? table(
            "Workloads that wait on this worker",
            [
              ["Workload", (each) => h("a", { href: workloadLink(each.key) }, each.key)],
              ["lane", (each) => h("span", { class: `s-${each.lane.shown}` }, STATE_WORDS[each.lane.shown])],
              ["priority", (each) => each.priority, "number"],
            ],
            found.slice(0, 50),
            (each) => each.key,
            (each) => (each.lane.shown === "Open" ? "lit" : ""),
          )
        : h("p", { class: "calm" }, "No Workload waits on this worker."),
      found.length > 50 && h("p", { class: "quiet-text" }, `${found.length - 50} more are left out.`),
    ),
    card(
      "At risk here",
      atRisk.length,
      atRisk.length
        ? table(
            "workloads at risk on this worker",
            [
              ["workload", (each) => h("span", { class: "mono" }, each.workload)],
              ["for", (each) => each.for.map((name, i) => [i > 0 && ", ", h("a", { key: name, href: workloadLink(name) }, name)])],
            ],
            atRisk.slice(0, 50),
            (each) => each.workload,
          )
        : h("p", { class: "calm" }, "No forecast names a workload that runs here."),
    ),
  );
}

async function read(worker, context) {
  if (quota.worker !== worker) Object.assign(quota, { worker, items: [], next: "", problem: "", isKnown: false, isReading: false, readAt: -Infinity });
  if (quota.isReading || performance.now() - quota.readAt < REREAD_MS) return;
  quota.isReading = true;
  let found;
  try {
    const body = await context.ask(`workers/${encodeURIComponent(worker)}/quota`);
    found = { items: body.quota, next: body.continue, problem: "" };
  } catch (error) {
    found = { problem: error.message };
  }
  if (quota.worker !== worker) return;
  Object.assign(quota, found, { isKnown: true, isReading: false, readAt: performance.now() });
  context.update();
}
