/** The fleet: what needs an operator, whose gate is open now, how full each worker is. */

import { bar, card, clamped, command, GLYPHS, since, skeleton, table, workerLink } from "./parts.js";
import { h } from "./render.js";
import { link, waitingList, workloadLink } from "./store.js";
import { clockTime, countdown, counted, moment } from "./text.js";

const SMALL_TILES_FROM = 40;
const SEVERITIES = { critical: 0, warning: 1 };
const MOST_ITEMS = 20;

export const title = () => "Fleet";
export const commandLine = () => "turnstile top";

export function view(state, { now, route }) {
  const waiting = waitingList(state, now);
  return [
    h("h1", null, "Fleet"),
    needsYou(state, waiting, now),
    h("div", { class: "columns" }, litNow(state, waiting, now), waits(state, waiting)),
    atRisk(state, now),
    workers(state, waiting, now, route),
    last(state),
  ];
}

function needsYou(state, waiting, now) {
  if (!state.synced) return card("Needs you", "", skeleton(2));
  const items = [...state.rows.attention.entries()].sort(
    ([a, one], [b, two]) =>
      SEVERITIES[one.severity] - SEVERITIES[two.severity] || (one.since < two.since ? -1 : 1) || (a < b ? -1 : 1),
  );
  if (!items.length) {
    const running = fleet(state).phases?.Admitted ?? 0;
    const lastGate = headlines(state).find((each) => each.event === "GateOpened");
    const ago = lastGate ? ` The last gate opened ${since(lastGate.time, now).children[0]} ago.` : "";
    return card(
      "Needs you",
      0,
      h("p", { class: "calm" }, `Nothing needs you. ${waiting.length.toLocaleString("en")} wait, ${running.toLocaleString("en")} run.${ago}`),
    );
  }
  return card(
    "Needs you",
    items.length,
    h(
      "ul",
      { class: "items" },
      items.slice(0, MOST_ITEMS).map(([key, item]) =>
        h(
          "li",
          { key, class: item.severity },
          h("span", { class: "sign", "aria-hidden": "true" }, "▲"),
          h(
            "div",
            null,
            h("p", null, h("span", { class: "unseen" }, `${item.severity}: `), clamped(item.message, key), item.since && [" · for ", since(item.since, now)]),
            h(
              "p",
              { class: "remedy" },
              item.remedy.startsWith("turnstile ") ? command(item.remedy, true) : ["Remedy: ", clamped(item.remedy, `remedy ${key}`)],
              item.kind === "Workload" && [" ", h("a", { href: workloadLink(item.name) }, "lanes")],
              item.alert && h("span", { class: "quiet-text" }, ` alert ${item.alert}`),
            ),
          ),
        ),
      ),
    ),
    items.length > MOST_ITEMS && h("p", { class: "quiet-text" }, `${items.length - MOST_ITEMS} more are left out.`),
  );
}

function litNow(state, waiting, now) {
  if (!state.synced) return card("Gates open now", "", skeleton(2));
  const lit = waiting.filter((each) => each.lit).slice(0, MOST_ITEMS);
  const all = waiting.filter((each) => each.lit).length;
  return card(
    "Gates open now",
    all,
    lit.length
      ? h(
          "ul",
          { class: "lit-list" },
          lit.map((each) => {
            const rest = moment(each.lit.windowEnds) + 999 - now;
            const victims = each.lit.victims ?? 0;
            return h(
              "li",
              { key: each.key },
              h("span", { class: "count" }, countdown(rest)),
              h("span", { class: "who" }, h("a", { href: workloadLink(each.key) }, each.key), h("span", { class: "quiet-text" }, ` on ${each.lit.worker}`)),
              h("span", { class: "victims" }, victims ? [h("span", { "aria-hidden": "true" }, "◇".repeat(Math.min(victims, 5))), ` ${counted(victims, "victim")} forecast`] : "no victim forecast"),
            );
          }),
        )
      : h("p", { class: "calm" }, "No worker may preempt now."),
    all > lit.length && h("p", { class: "quiet-text" }, `${all - lit.length} more are left out.`),
  );
}

function waits(state, waiting) {
  if (!state.synced) return card("Waiting", "", skeleton(2));
  const phases = fleet(state).phases ?? {};
  const asks = waiting.filter((each) => each.lanes.some((lane) => lane.shown === "Asks")).length;
  const entries = Object.entries(phases).filter(([phase]) => phase !== "Admitted");
  const total = entries.reduce((sum, [, number]) => sum + number, 0);
  return card(
    "Waiting",
    total,
    h(
      "dl",
      { class: "numbers" },
      h("div", null, h("dt", null, "ask to preempt"), h("dd", null, h("a", { href: link(["workloads"], { phase: "asks" }) }, asks))),
      entries.map(([phase, number]) =>
        h("div", { key: phase }, h("dt", null, phase), h("dd", null, h("a", { href: link(["workloads"], { phase }) }, number.toLocaleString("en")))),
      ),
      h("div", null, h("dt", null, "admitted"), h("dd", null, h("a", { href: link(["workloads"], { show: "all" }) }, (phases.Admitted ?? 0).toLocaleString("en")))),
    ),
  );
}

function atRisk(state, now) {
  if (!state.synced) return card("At risk", "", skeleton(2));
  if (state.link.phase === "polling") return null;
  const all = [...state.rows.risk.entries()].sort(([a, one], [b, two]) => two.open - one.open || (a < b ? -1 : 1));
  if (!all.length) return card("At risk", 0, h("p", { class: "calm" }, "No forecast names a running workload as a victim."));
  return card(
    "At risk",
    `${all.length}, running now and named by forecasts`,
    table(
      "running workloads that forecasts name as victims",
      [
        ["worker", ([, row]) => row.worker, "keep"],
        ["workload", ([, row]) => [h("span", { class: "mono" }, row.workload), row.owner && h("span", { class: "quiet-text" }, ` ${row.owner}`)]],
        ["for", ([, row]) => [row.for.map((name, i) => [i > 0 && ", ", h("a", { key: name, href: workloadLink(name) }, name)]), row.more > 0 && ` and ${row.more} more`]],
        ["when", ([, row]) => (row.open ? h("span", { class: "s-Open" }, "◑ now: the gate is open") : "if that gate opens"), "keep"],
        ["priority", ([, row]) => row.priority, "number"],
        ["pods", ([, row]) => row.pods, "number"],
        ["runs for", ([, row]) => since(row.runningSince, now), "number"],
      ],
      all.slice(0, MOST_ITEMS),
      ([key]) => key,
    ),
    all.length > MOST_ITEMS && h("p", { class: "quiet-text" }, `${all.length - MOST_ITEMS} more are left out.`),
  );
}

function workers(state, waiting, now, route) {
  if (!state.synced) return card("Workers", "", skeleton(3));
  const all = [...state.rows.workers.values()];
  const connected = all.filter((each) => each.connection === "Connected").length;
  const order = route.query.workers ?? "name";
  const counts = new Map(all.map((each) => [each.name, { Asks: 0, Open: 0 }]));
  for (const workload of waiting) {
    for (const lane of workload.lanes) {
      const found = counts.get(lane.worker);
      if (found && lane.shown in found) found[lane.shown] += 1;
    }
  }
  const fullest = (each) => -Math.max(0, ...(each.quota?.resources ?? []).map((use) => use.share ?? 0));
  const asking = (each) => -(counts.get(each.name).Asks + counts.get(each.name).Open);
  const by = { name: () => 0, fullest, asking }[order] ?? (() => 0);
  all.sort((a, b) => by(a) - by(b) || (a.name < b.name ? -1 : 1));
  if (!all.length) {
    return card("Workers", 0, h("p", { class: "calm" }, "No worker is configured yet."), command("turnstile worker add --help"));
  }
  return card(
    "Workers",
    `${connected} of ${all.length} connected`,
    h(
      "p",
      { class: "chips", role: "group", "aria-label": "order of workers" },
      ["name", "fullest", "asking"].map((each) =>
        h("a", { class: "chip", key: each, href: link([], { workers: each === "name" ? "" : each }), "aria-current": each === order ? "true" : undefined }, `by ${each}`.replace("by fullest", "fullest first").replace("by asking", "asking first")),
      ),
      h("span", { class: "legend" }, h("i", { class: "used" }), "used ", h("i", { class: "free" }), "free"),
    ),
    h(
      "ul",
      { class: all.length > SMALL_TILES_FROM ? "tiles small" : "tiles" },
      all.map((each) => tile(each, counts.get(each.name), now)),
    ),
  );
}

function tile(worker, counts, now) {
  const isAway = worker.connection !== "Connected";
  const resources = worker.quota?.resources ?? [];
  return h(
    "li",
    { key: worker.name, class: isAway ? "tile away" : "tile" },
    h(
      "p",
      { class: "name" },
      workerLink(worker.name),
      h(
        "span",
        { class: "tile-counts" },
        counts.Open > 0 && h("span", { class: "s-Open", title: "gates open" }, `${GLYPHS.Open} ${counts.Open}`),
        counts.Asks > 0 && h("span", { class: "s-Asks", title: "ask to preempt" }, `${GLYPHS.Asks} ${counts.Asks}`),
      ),
    ),
    isAway
      ? h("p", { class: "quiet-text" }, h("span", { class: "s-Lost" }, `! ${worker.connection.toLowerCase()}`), worker.lostSince ? [" for ", since(worker.lostSince, now)] : "")
      : resources.length
        ? resources.slice(0, 3).map((use) => bar(use))
        : h("p", { class: "quiet-text" }, quotaWords(worker)),
    !isAway && worker.hitRate !== null && h("p", { class: "quiet-text" }, `forecasts ${worker.forecast}, ${Math.round(worker.hitRate)} % right`),
    !isAway && worker.gates && worker.gates.state !== "Honoured" && h("p", { class: "warn" }, worker.gates.state === "Unknown" ? "gates: not known yet" : "gates are not honoured"),
  );
}

function quotaWords(worker) {
  if (worker.forecast === "off") return "forecasts are off: quota is not followed";
  return worker.quota?.message || worker.forecastProblem || "no ClusterQueue";
}

function last(state) {
  if (!state.synced) return card("Last", "", skeleton(2));
  const items = headlines(state).slice(0, 8);
  return card(
    "Last",
    "",
    items.length
      ? h(
          "ol",
          { class: "headlines" },
          items.map((each) =>
            h(
              "li",
              { key: `${each.time} ${each.event} ${each.worker} ${each.namespace}/${each.name}` },
              h("time", { datetime: each.time }, clockTime(each.time)),
              h("span", { class: "event" }, each.event),
              h("span", { class: "about" }, h("a", { href: workloadLink(`${each.namespace}/${each.name}`) }, `${each.namespace}/${each.name}`), each.worker && ` on ${each.worker}`),
            ),
          ),
        )
      : h("p", { class: "calm" }, "Nothing has been done since the daemon started."),
  );
}

function fleet(state) {
  return state.rows.fleet.get("") ?? { phases: {}, leftOut: 0 };
}

function headlines(state) {
  return state.rows.headlines.get("")?.items ?? [];
}
