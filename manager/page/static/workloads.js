/** Workloads: those that wait, live; all of them, page by page. */

import { clamped, skeleton, smallLanes, since, STATE_WORDS } from "./parts.js";
import { h } from "./render.js";
import { filtered, link, parseRoute, waitingList, workloadLink } from "./store.js";
import { countdown, counted, moment } from "./text.js";

const ROW = 44;
const SHOWN = 60;
const PAGE = "100";

const held = { keys: null, isInside: false, changes: 0 };
const pages = { key: "", items: [], next: "", problem: "", isLoading: false };

export const title = () => "Workloads";
export const commandLine = (route) => `turnstile status workloads ${route.query.ns ? `-n ${route.query.ns}` : "-A"}`;

export function view(state, context) {
  const { route, now } = context;
  const all = route.query.show === "all";
  return [
    h("h1", null, "Workloads"),
    filters(state, route, context),
    all ? everything(context) : !state.synced ? h("div", { class: "card" }, skeleton(6)) : waiting(state, route, now, context),
  ];
}

function filters(state, route, context) {
  const change = (name) => (event) => context.go(link(["workloads"], { ...route.query, [name]: event.target.value }), { replace: true });
  const phases = Object.keys(state.rows.fleet.get("")?.phases ?? {}).filter((phase) => phase !== "Admitted");
  const option = (value, text, chosen) => h("option", { value, key: value, selected: chosen === value }, text);
  const workers = [...state.rows.workers.keys()].sort();
  return h(
    "form",
    { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    h("label", null, h("span", null, "Find"), h("input", { type: "search", name: "q", value: route.query.q ?? "", placeholder: "name, job or queue", oninput: change("q") })),
    h(
      "label",
      null,
      h("span", null, "Show"),
      h(
        "select",
        { onchange: (event) => context.go(link(["workloads"], { ...route.query, show: event.target.value })) },
        option("", "waiting", route.query.show ?? ""),
        option("all", "all, page by page", route.query.show),
      ),
    ),
    h(
      "label",
      null,
      h("span", null, "Phase"),
      h(
        "select",
        { onchange: change("phase") },
        option("", "any", route.query.phase ?? ""),
        option("lit", "gate open", route.query.phase),
        option("asks", "asks to preempt", route.query.phase),
        phases.map((phase) => option(phase, phase, route.query.phase)),
        route.query.phase && !["lit", "asks", ...phases].includes(route.query.phase) && option(route.query.phase, route.query.phase, route.query.phase),
      ),
    ),
    h(
      "label",
      null,
      h("span", null, "Worker"),
      h("select", { onchange: change("worker") }, option("", "any", route.query.worker ?? ""), workers.map((name) => option(name, name, route.query.worker)), route.query.worker && !workers.includes(route.query.worker) && option(route.query.worker, route.query.worker, route.query.worker)),
    ),
  );
}

function waiting(state, route, now, context) {
  const list = inOrder(filtered(waitingList(state, now), route.query));
  const leftOut = state.rows.fleet.get("")?.leftOut ?? 0;
  const isFiltered = Object.values(route.query).some(Boolean);
  if (!list.length) {
    return h(
      "div",
      { class: "card" },
      h("p", { class: "calm" }, isFiltered ? "No waiting Workload matches." : "No Workload waits. One appears here when its job is queued on the hub and has Turnstile's admission check."),
      isFiltered && h("p", null, h("a", { href: link(["workloads"]) }, "Show all that wait")),
    );
  }
  const top = Math.max(0, Math.min(Math.floor((context.scrollTop ?? 0) / ROW) - 10, list.length - SHOWN));
  const shown = list.slice(top, top + SHOWN);
  const inside = (value) => () => {
    held.isInside = value;
    if (!value) context.update();
  };
  return h(
    "div",
    { class: "card list", onmouseenter: inside(true), onmouseleave: inside(false), onfocusin: inside(true), onfocusout: inside(false) },
    h(
      "p",
      { class: "summary", role: "status" },
      counted(list.length, "Workload"),
      leftOut > 0 && ` · the most urgent of ${(list.length + leftOut).toLocaleString("en")}; ${leftOut.toLocaleString("en")} are left out`,
      held.changes > 0 && [" ", h("button", { type: "button", class: "pill", onclick: () => ((held.keys = null), context.update()) }, `${counted(held.changes, "change")} of order · apply`)],
    ),
    h(
      "div",
      { class: "scroll rows", tabindex: "0", role: "region", "aria-label": "Workloads that wait", onscroll: (event) => context.scroll(event.currentTarget.scrollTop) },
      h(
        "table",
        { class: "workloads", "aria-rowcount": list.length + 1, style: { "--above": `${top * ROW}px`, "--below": `${Math.max(0, list.length - top - SHOWN) * ROW}px` } },
        h("caption", { class: "unseen" }, "Workloads that wait, the most urgent first"),
        h("thead", null, h("tr", null, ["Workload", "Phase", "Lanes", "Priority", "Queue", "Waits", "Gate", "Would preempt"].map((name) => h("th", { scope: "col", key: name, class: ["Priority", "Waits"].includes(name) ? "number" : "" }, name)))),
        h("tbody", { class: "above", "aria-hidden": "true" }),
        h("tbody", null, shown.map((each, i) => row(each, top + i, now))),
        h("tbody", { class: "below", "aria-hidden": "true" }),
      ),
    ),
  );
}

/** Keep rows where they are while somebody points at them or has the focus among them. */
function inOrder(list) {
  held.changes = 0;
  if (held.isInside && held.keys) {
    const known = new Map(list.map((each) => [each.key, each]));
    const kept = held.keys.filter((key) => known.has(key)).map((key) => known.get(key));
    const before = new Set(held.keys);
    const added = list.filter((each) => !before.has(each.key));
    const result = [...kept, ...added];
    held.changes = result.reduce((sum, each, i) => sum + (list[i] !== each ? 1 : 0), 0);
    return result;
  }
  held.keys = list.map((each) => each.key);
  return list;
}

function row(each, index, now) {
  const open = each.lit ?? each.lanes.find((lane) => lane.shown === "WindowOver");
  const least = each.lanes.filter((lane) => lane.verdict === "Preempts" && lane.victims !== null).sort((a, b) => a.victims - b.victims)[0];
  const fits = each.lanes.find((lane) => lane.verdict === "Fits");
  return h(
    "tr",
    { key: each.key, class: each.lit ? "lit" : "", "aria-rowindex": index + 2 },
    h("th", { scope: "row" }, h("a", { href: workloadLink(each.key) }, each.key), each.owner && h("span", { class: "quiet-text" }, each.owner)),
    h("td", { "data-heading": "Phase" }, each.phase),
    h("td", { "data-heading": "Lanes" }, each.lanes.length ? smallLanes(each.lanes, each.moreLanes) : clamped(each.message || "no lane yet", each.key)),
    h("td", { class: "number", "data-heading": "Priority" }, each.priority),
    h("td", { "data-heading": "Queue" }, each.clusterQueue || each.queue),
    h("td", { class: "number", "data-heading": "Waits" }, since(each.created, now)),
    h("td", { "data-heading": "Gate" }, each.lit ? h("span", { class: "s-Open" }, `◑ ${each.lit.worker} ${countdown(moment(each.lit.windowEnds) + 999 - now)}`) : open ? h("span", null, `${open.worker}: ${STATE_WORDS.WindowOver}`) : "closed"),
    h("td", { "data-heading": "Would preempt" }, fits ? `nothing on ${fits.worker}` : least ? `${least.victims} on ${least.worker}` : "–"),
  );
}

function everything(context) {
  const { route } = context;
  const key = JSON.stringify([route.query.ns, "all"]);
  if (pages.key !== key) Object.assign(pages, { key, items: [], next: "", problem: "", isLoading: false, isDone: false });
  if (!pages.items.length && !pages.isLoading && !pages.problem && !pages.isDone) load(context, key);
  const list = filtered(pages.items.map((each) => ({ ...each, key: `${each.namespace}/${each.name}`, lanes: each.nominated.map((worker) => ({ worker, shown: each.cluster === worker ? "Admitted" : "Waiting" })) })), { ...route.query, show: "" });
  return h(
    "div",
    { class: "card list" },
    pages.problem && h("p", { class: "warn" }, pages.problem),
    !pages.items.length && pages.isLoading && skeleton(6),
    pages.isDone && !list.length && h("p", { class: "calm" }, "No Workload matches."),
    list.length > 0 && [
      h("p", { class: "summary" }, `${counted(list.length, "Workload")}${pages.next ? ", more follow" : ""} · read once; `, h("button", { type: "button", class: "quiet", onclick: () => ((pages.key = ""), context.update()) }, "read again")),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "all Workloads" },
        h(
          "table",
          { class: "workloads" },
          h("caption", { class: "unseen" }, "All Workloads by name"),
          h("thead", null, h("tr", null, ["Workload", "Phase", "Runs on", "Queue", "Created", "Forecast", "Message"].map((name) => h("th", { scope: "col", key: name }, name)))),
          h(
            "tbody",
            null,
            list.map((each) =>
              h(
                "tr",
                { key: each.key },
                h("th", { scope: "row" }, h("a", { href: workloadLink(each.key) }, each.key), each.owner && h("span", { class: "quiet-text" }, each.owner)),
                h("td", { "data-heading": "Phase" }, each.phase),
                h("td", { "data-heading": "Runs on" }, each.cluster || "–"),
                h("td", { "data-heading": "Queue" }, each.clusterQueue || each.queue),
                h("td", { "data-heading": "Created" }, since(each.created, context.now)),
                h("td", { "data-heading": "Forecast" }, each.forecast || "–"),
                h("td", { "data-heading": "Message" }, clamped(each.message, each.key)),
              ),
            ),
          ),
        ),
      ),
    ],
    pages.next && h("p", null, h("button", { type: "button", disabled: pages.isLoading, onclick: () => load(context, key) }, pages.isLoading ? "reading…" : "more")),
  );
}

async function load(context, key) {
  pages.isLoading = true;
  try {
    const body = await context.ask("workloads", { limit: PAGE, namespace: parseRoute(location.hash).query.ns, continue: pages.next });
    if (pages.key !== key) return;
    pages.items.push(...body.workloads);
    pages.next = body.continue ?? "";
    pages.isDone = !pages.next;
    pages.problem = "";
  } catch (error) {
    if (pages.key === key) pages.problem = error.message;
  }
  pages.isLoading = false;
  context.update();
}
