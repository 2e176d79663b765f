/** Where everything of a Workload's lanes is on the picture: pure layout, from documents and a time. */

import { moment } from "./text.js";

const RANK = { Waiting: 0, Asks: 1, Open: 2, WindowOver: 3, Reserved: 4, Admitted: 5, Withdrawn: 6 };
const OF_EVENT = {
  Replicated: "Waiting",
  Signalled: "Asks",
  GateOpened: "Open",
  ReservedOnWorker: "Reserved",
  AdmittedOnWorker: "Admitted",
  Removed: "Withdrawn",
};
const WORDS = {
  Waiting: "waits",
  Asks: "asks",
  Open: "open",
  WindowOver: "window over",
  Reserved: "reserved",
  Admitted: "admitted",
  Withdrawn: "withdrawn",
  Lost: "lost",
  None: "no replica",
};
/** Kubernetes writes whole seconds: what happened within one may be told in the wrong order. */
const ROUNDING_MS = 1500;
const LONGEST_IDLE_SHARE = 0.35;
const LEAST_IDLE_MS = 30_000;
const FOLDED_SHARE = 0.06;
const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];
const MOST_TICKS = 9;

/** The word for a state of a lane. */
export function word(state) {
  return WORDS[state] ?? state;
}

/** Whether the window of a lane runs: its gate is open, and nothing came of it yet. The one light. */
export function isLit(lane, replicaState, now) {
  const opened = moment(lane.opened);
  const ends = moment(lane.windowEnds);
  if (opened === null || ends === null || now >= ends) return false;
  return !["QuotaReserved", "Admitted", "Finished", "Evicted", "Missing"].includes(replicaState);
}

/** The states that one lane went through: [{state, from, to}], oldest first; `to` of the last one is now. */
export function segments(lane, events, began, now) {
  const found = [];
  for (const event of events) {
    const state = OF_EVENT[event.event];
    const at = moment(event.time);
    if (event.worker === lane.worker && state && at !== null && at >= began - ROUNDING_MS) found.push({ state, at });
  }
  const add = (state, text) => {
    const at = moment(text);
    const isKnown = found.some((each) => each.state === state && Math.abs(each.at - at) < ROUNDING_MS);
    if (at !== null && at <= now && at >= began - ROUNDING_MS && !isKnown) found.push({ state, at });
  };
  if (lane.created && !found.some((each) => each.state === "Waiting")) add("Waiting", lane.created);
  if (lane.asksSince && !found.some((each) => each.state === "Asks")) add("Asks", lane.asksSince);
  add("Open", lane.opened);
  add("WindowOver", lane.windowEnds);
  add("Reserved", lane.reserved);
  add("Admitted", lane.admitted);
  found.sort((a, b) => a.at - b.at || RANK[a.state] - RANK[b.state]);
  return inOrder(found, lane, began, now);
}

function inOrder(found, lane, began, now) {
  const result = [];
  for (const { state, at } of found) {
    const last = result.at(-1);
    const isWindowEnd = state === "WindowOver";
    if (isWindowEnd && last?.state !== "Open") continue;
    if (last && RANK[state] <= RANK[last.state] && (at - last.from < ROUNDING_MS || state === last.state)) continue;
    if (last) last.to = Math.max(last.from, at);
    if (state === "Withdrawn" && last?.state === "Admitted") continue; // it ran until then
    if (state === "Withdrawn") {
      result.push({ state, from: at, to: at });
      continue;
    }
    result.push({ state, from: Math.max(at, began, last?.to ?? began), to: now });
  }
  const lost = lane.reach === "lost" ? moment(lane.lostSince) : null;
  if (lost !== null) {
    const last = result.at(-1);
    if (last) last.to = Math.max(last.from, Math.min(last.to, lost));
    result.push({ state: "Lost", from: Math.max(lost, began), to: now });
  }
  return result.filter((each) => each.to > each.from || each.state === "Withdrawn");
}

/** A scale from moments to percent, in which long times without any event are folded. */
export function scale(points, busy, { unfolded = false } = {}) {
  const sorted = [...new Set(points)].sort((a, b) => a - b);
  const from = sorted[0];
  const to = Math.max(sorted.at(-1), from + 1000);
  const total = to - from;
  const gaps = [];
  for (let i = 1; i < sorted.length; i++) {
    const [begin, end] = [sorted[i - 1], sorted[i]];
    const isIdle = !busy.some((each) => each.from < end && each.to > begin);
    if (!unfolded && isIdle && end - begin > total * LONGEST_IDLE_SHARE && end - begin > LEAST_IDLE_MS) {
      gaps.push({ from: begin, to: end });
    }
  }
  const idle = gaps.reduce((sum, gap) => sum + gap.to - gap.from, 0);
  const drawn = Math.max(1, total - idle);
  const free = 1 - FOLDED_SHARE * gaps.length;
  const x = (at) => {
    let shown = Math.min(Math.max(at, from), to) - from;
    let folded = 0;
    for (const gap of gaps) {
      if (at >= gap.to) {
        shown -= gap.to - gap.from;
        folded += 1;
      } else if (at > gap.from) {
        shown -= at - gap.from;
        folded += (at - gap.from) / (gap.to - gap.from);
      }
    }
    return 100 * ((shown / drawn) * free + folded * FOLDED_SHARE);
  };
  return { from, to, gaps, drawn: drawn / free, x };
}

/** Marks on the time axis, none of them within what is folded. */
export function ticks(axis) {
  const seconds = axis.drawn / 1000;
  const step = STEPS_S.find((each) => seconds / each <= MOST_TICKS) ?? STEPS_S.at(-1) * Math.ceil(seconds / 9 / 86_400);
  const found = [];
  for (let at = axis.from, i = 0; at <= axis.to && i < 10_000; i++, at = axis.from + i * step * 1000) {
    const hidden = axis.gaps.some((gap) => at > gap.from && at < gap.to);
    const x = axis.x(at);
    if (!hidden && (found.length === 0 || x - found.at(-1).x > 4)) found.push({ x, label: offset(at - axis.from) });
  }
  return found;
}

/** Time since the beginning: `+4 s`, `+2 m`, `+3 h`; `exact` writes tenths of the first minute's seconds. */
export function offset(ms, exact = false) {
  if (exact && ms < 60_000) return `+${(Math.max(0, ms) / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 120) return `+${s} s`;
  if (s < 7200) return s % 60 ? `+${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")} m` : `+${s / 60} m`;
  return `+${Math.round(s / 360) / 10} h`;
}

/** Who was forecast to be preempted on a worker, and who was: [{workload, forecast, seen, at, reason}]. */
export function victimsOf(worker, events) {
  const found = new Map();
  const note = (workload, change) => found.set(workload, { workload, forecast: false, seen: null, ...found.get(workload), ...change });
  const lastOpening = events.filter((each) => each.event === "GateOpened" && each.worker === worker.name).at(-1);
  for (const event of events) {
    if (event.worker !== worker.name || (lastOpening && event.time < lastOpening.time)) continue;
    if (event.event === "Forecast") for (const name of event.details?.victims ?? []) note(name, { forecast: true });
    if (event.event === "Victim") {
      for (const each of event.details?.victims ?? []) note(each.workload, { seen: true, at: event.time, reason: each.reason });
    }
  }
  for (const each of worker.preemption?.victims ?? []) {
    const known = found.get(each.workload);
    note(each.workload, { ...each, forecast: each.forecast || known?.forecast || false, seen: known?.seen || each.preempted });
  }
  return [...found.values()];
}

/** Lanes of workers that only the journal knows: their replicas are gone. */
function formerLanes(body, events) {
  const known = new Set((body.lanes ?? []).map((lane) => lane.worker));
  const former = new Set(events.filter((each) => OF_EVENT[each.event] && each.worker).map((each) => each.worker));
  return [...former].filter((worker) => !known.has(worker)).sort().map((worker) => ({ worker, reach: "synced", gates: "honoured" }));
}

/** Everything that is drawn. `unfolded` shows long idle times in full. */
export function layout(body, events, now, { unfolded = false } = {}) {
  const began = moment(body.began) ?? moment(body.created) ?? now;
  const current = events.filter((each) => (moment(each.time) ?? 0) >= began - ROUNDING_MS);
  const workers = new Map(body.workers.map((each) => [each.name, each]));
  const lanes = [...(body.lanes ?? []), ...formerLanes(body, current)].map((lane) => {
    const worker = workers.get(lane.worker) ?? { name: lane.worker, replica: { state: "Missing" }, forecast: null };
    const lit = isLit(lane, worker.replica.state, now);
    const parts = segments(lane, current, began, now);
    const result = current.filter((each) => each.event === "Verified" && each.worker === lane.worker).at(-1);
    return {
      worker: lane.worker,
      lane,
      about: worker,
      lit,
      state: lit ? "Open" : (parts.at(-1)?.state ?? (lane.reach === "lost" ? "Lost" : "None")),
      parts,
      ends: lit ? moment(lane.windowEnds) : null,
      opened: parts.filter((part) => part.state === "Open").at(-1)?.from ?? moment(lane.opened),
      victims: victimsOf(worker, current),
      result: result?.details?.result ?? "",
      resultMessage: result?.message ?? "",
    };
  });
  const running = !lanes.some((each) => each.lit) && lanes.some((each) => ["Admitted", "Withdrawn"].includes(each.state));
  const points = [began, ...lanes.flatMap((each) => each.parts.flatMap((part) => [part.from, ...(part.to < now ? [part.to] : [])]))];
  const last = Math.max(...points);
  const end = running ? Math.min(now, last + Math.max(2000, (last - began) * 0.25)) : now;
  const ends = lanes.map((each) => each.ends).filter((each) => each !== null);
  const busy = lanes.flatMap((each) => each.parts.filter((part) => part.state === "Open"));
  const lit = ends.length ? [{ from: now, to: Math.max(...ends) }] : [];
  const axis = scale([...points, end, ...ends].filter((at) => at <= Math.max(end, ...ends)), [...busy, ...lit], { unfolded });
  return { began, axis, end, lanes, lit: lanes.filter((each) => each.lit), ticks: ticks(axis) };
}
