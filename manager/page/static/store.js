/** What the page knows, and how events change it. Pure: a state and an event in, a new state out. */

export const TOPICS = ["fleet", "workers", "waiting", "attention", "headlines", "risk"];

/** What is known before anything was heard: not even what is empty. */
export function emptyState() {
  return {
    link: { phase: "connecting", since: null, problem: "", status: 0, polls: false },
    hello: null,
    synced: false,
    restarted: false,
    upgraded: "",
    rows: Object.fromEntries(TOPICS.map((topic) => [topic, new Map()])),
    version: 0,
    lastId: "",
    viewers: 0,
    workload: { key: "", document: undefined },
  };
}

/** Apply one event of the stream; rows are changed in place, because there may be thousands of them. */
export function applyEvent(state, event) {
  const data = event.data;
  switch (event.name) {
    case "hello": {
      const before = state.hello;
      state.hello = data;
      if (before && before.epoch !== data.epoch) state.restarted = true;
      if (before && before.version !== data.version) state.upgraded = data.version;
      break;
    }
    case "reset":
      for (const topic of TOPICS) state.rows[topic].clear();
      state.synced = false;
      break;
    case "rows": {
      const rows = state.rows[data.topic];
      if (!rows) break;
      for (const [key, row] of data.put) rows.set(key, row);
      for (const key of data.drop) rows.delete(key);
      state.version += 1;
      break;
    }
    case "synced":
      state.synced = true;
      break;
    case "beat":
      state.viewers = data.viewers;
      break;
    case "workload":
      if (data.key === state.workload.key) state.workload = { key: data.key, document: data.document };
      break;
  }
  if (event.id) state.lastId = event.id;
  return state;
}

/** Take the answer of `/v1/top` in place of a stream: what is shown where too many look already. */
export function applyTop(state, body) {
  const { daemon, workers, workloads, decisions } = body;
  state.hello = { ...(state.hello ?? {}), ...daemon, now: body.now };
  state.rows.workers = new Map(workers.items.map((each) => [each.name, each]));
  state.rows.waiting = new Map(
    workloads.items
      .filter((each) => !["Admitted", "Finished"].includes(each.phase))
      .map((each) => [
        `${each.namespace}/${each.name}`,
        { ...each, lanes: each.lanes.map((lane) => LANE_FIELDS.map((name) => lane[name])) },
      ]),
  );
  state.rows.headlines = new Map([["", { items: decisions.items }]]);
  state.rows.fleet = new Map([["", { daemon, phases: workloads.phases, leftOut: workloads.more }]]);
  state.synced = true;
  state.version += 1;
  return state;
}

export const LANE_FIELDS = ["worker", "state", "gate", "asksSince", "opened", "windowEnds", "verdict", "victims"];

/** A lane of a row, by the names of its fields. */
export function laneOf(fields) {
  return Object.fromEntries(LANE_FIELDS.map((name, i) => [name, fields[i]]));
}

/** The state of a lane in a row: Lost, Waiting, Asks, Open, WindowOver, Reserved, Admitted, None. */
export function laneState(lane, now) {
  switch (lane.state) {
    case "Unreachable":
    case "Problem":
    case "NotSynced":
      return "Lost";
    case "QuotaReserved":
      return "Reserved";
    case "Admitted":
    case "Finished":
      return "Admitted";
    case "Missing":
    case "Evicted":
      return "None";
  }
  if (lane.gate === "Open") return now < Date.parse(lane.windowEnds) + 999 ? "Open" : "WindowOver";
  return lane.gate === "Asked" || lane.state === "AsksToPreempt" ? "Asks" : "Waiting";
}

/** All waiting Workloads with their lanes, the most urgent first. */
export function waitingList(state, now) {
  const found = [];
  for (const [key, row] of state.rows.waiting) {
    const lanes = row.lanes.map(laneOf).map((lane) => ({ ...lane, shown: laneState(lane, now) }));
    found.push({ key, ...row, lanes, lit: lanes.find((lane) => lane.shown === "Open") ?? null });
  }
  return found.sort((a, b) => b.priority - a.priority || (a.created < b.created ? -1 : a.created > b.created ? 1 : 0) || (a.key < b.key ? -1 : 1));
}

/** Which Workloads a filter leaves: `q` is a part of the name, owner or queue. */
export function filtered(list, filter) {
  const q = (filter.q ?? "").toLowerCase();
  return list.filter((each) => {
    if (filter.phase === "lit" && !each.lit) return false;
    if (filter.phase === "asks" && !each.lanes?.some((lane) => lane.shown === "Asks")) return false;
    if (filter.phase && !["lit", "asks"].includes(filter.phase) && each.phase !== filter.phase) return false;
    if (filter.ns && !each.key.startsWith(`${filter.ns}/`)) return false;
    if (filter.queue && each.queue !== filter.queue && each.clusterQueue !== filter.queue) return false;
    if (filter.worker && !each.lanes?.some((lane) => lane.worker === filter.worker && lane.shown !== "None")) return false;
    return !q || `${each.key} ${each.owner} ${each.queue} ${each.clusterQueue}`.toLowerCase().includes(q);
  });
}

/** Read a place after `#`: a path and its parameters. */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decode);
  return { parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Write a place after `#`. The only function that makes links. */
export function link(parts, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value);
  const search = kept.length ? `?${new URLSearchParams(kept)}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${search}`;
}

/** The link to a Workload. */
export function workloadLink(key, query = {}) {
  const [namespace, name] = key.split("/", 2);
  return link(["workloads", namespace, name], query);
}
