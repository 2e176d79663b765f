/** One Workload across the fleet: a lane for each worker, the one that may preempt now, and what comes next. */

import { layout, offset } from "./lanes.js";
import { clamped, quoted, skeleton, table } from "./parts.js";
import { h } from "./render.js";
import { link } from "./store.js";
import { age, clockTime, countdown, headline, moment, span, stateMessage, upper } from "./text.js";
import { lanesCard, shown } from "./tracks.js";

const REREAD_MS = 1500;
const MOST_EVENTS = 200;

const history = { key: "", events: [], problem: "", readAt: -Infinity, isReading: false, isKnown: false, version: null };
const spoken = { lit: "", key: "" };

export const title = (route) => `${route.parts[1]}/${route.parts[2]}`;
export const commandLine = (route) => `turnstile explain ${quoted(`${route.parts[1]}/${route.parts[2]}`)}`;

export function view(state, context) {
  const { route, now } = context;
  const key = `${route.parts[1]}/${route.parts[2]}`;
  const body = state.workload.key === key ? state.workload.document : undefined;
  follow(key, body, context);
  const head = [h("p", { class: "crumbs" }, h("a", { href: link(["workloads"]) }, "Workloads")), h("h1", { class: "long" }, key)];
  if (body === undefined) return [...head, h("div", { class: "card" }, skeleton(6))];
  if (body === null) return [...head, gone(key), ...lastLife(now, context)];
  if (body.phase === "Unreadable") {
    return [...head, h("div", { class: "banner bad", role: "status" }, h("strong", null, "This Workload cannot be read."), h("p", null, clamped(body.problem, "problem")))];
  }
  const picture = layout(body, history.events, now, { unfolded: shown.unfolded });
  announce(key, picture, context);
  return [
    ...head,
    h("p", { class: "facts" }, facts(body, now)),
    banner(body, picture, now, context),
    lanesCard(picture, now, context),
    h("div", { class: "columns" }, outcome(picture), why(picture)),
  ];
}

function facts(body, now) {
  const found = [
    body.owner,
    body.queue && `LocalQueue ${body.queue}`,
    body.clusterQueue && `ClusterQueue ${body.clusterQueue}`,
    `priority ${body.priority}`,
    body.phase === "Finished" ? body.cluster && `ran on ${body.cluster}` : body.cluster ? `on ${body.cluster}` : body.created && `waits for ${age(body.created, now)}`,
    body.phase,
  ];
  return found.filter(Boolean).join(" · ");
}

function banner(body, picture, now, context) {
  const lit = picture.lit;
  const [first, second] = headline(body, lit, now);
  const at = moment(body.next?.at);
  const isSame = lit.length === 1 && at !== null && Math.abs(at - lit[0].ends) < 1500; // rounded up for messages
  const rest = lit.length ? (isSame ? at : lit[0].ends) - now : null;
  const message = stateMessage(body);
  const kind = lit.length > 1 ? "bad" : lit.length ? "lit" : body.cluster ? "runs" : body.state?.remedy ? "bad" : "";
  const number = rest !== null ? countdown(rest) : at !== null && at > now && !body.cluster ? countdown(at - now) : "";
  return h(
    "div",
    { class: `banner ${kind}`, id: "sentence" },
    number && h("span", { class: "count", "aria-hidden": "true" }, context.isStale ? `≤ ${number}` : number),
    h(
      "div",
      null,
      h("strong", null, first),
      h("p", null, h("span", { id: "next" }, second), !body.cluster && body.phase === "Pending" && ` ${body.policy}, ${span(body.timeoutSeconds)} each.`),
      body.givesUpAt && h("p", null, `Gives up at ${body.givesUpAt}, unless a worker admits it.`),
      message && h("p", null, clamped(message, "message")),
    ),
  );
}

function outcome(picture) {
  const rows = picture.lanes.flatMap((lane) => {
    const forecast = lane.opened === null ? (lane.about.forecast?.victims ?? []).map((each) => ({ ...each, forecast: true, seen: null })) : lane.victims;
    return forecast.map((victim) => ({ lane, victim }));
  });
  const seen = ({ lane, victim }) => {
    if (victim.seen) return h("span", { class: victim.forecast ? "good-text" : "warn" }, `◆ preempted${victim.at ? ` ${clockTime(victim.at)}` : ""}${victim.forecast ? "" : ", not forecast"}`);
    if (lane.opened === null) return h("span", { class: "quiet-text" }, "gate closed");
    if (lane.state === "WindowOver") return h("span", { class: "warn" }, "◇ did not stop in time");
    return lane.lit ? "not yet" : h("span", { class: "quiet-text" }, "not preempted");
  };
  return h(
    "section",
    { class: "card", "aria-label": "Forecast and what came of it" },
    h("h2", null, "Forecast and what came of it"),
    rows.length
      ? table(
          "victims: forecast and seen",
          [
            ["worker", ({ lane }) => lane.worker, "keep"],
            ["victim", ({ victim }) => h("span", { class: "mono" }, victim.workload)],
            ["forecast", ({ victim }) => (victim.forecast ? "◇ preempted" : "–"), "keep"],
            ["seen", seen],
          ],
          rows.slice(0, 50),
          ({ lane, victim }) => `${lane.worker} ${victim.workload}`,
        )
      : h("p", { class: "calm" }, picture.lanes.some((lane) => lane.about.forecast) ? "No worker would preempt anything for it." : "There is no forecast: forecasts are off, or no worker's quota can be read."),
    rows.length > 50 && h("p", { class: "quiet-text" }, `${rows.length - 50} more are left out.`),
  );
}

function why(picture) {
  const events = [...history.events].reverse().slice(0, MOST_EVENTS);
  const spared = picture.lanes.filter((lane) => lane.opened === null && lane.about.forecast?.verdict === "Preempts");
  const victims = spared.reduce((sum, lane) => sum + lane.about.forecast.cost.victims, 0);
  return h(
    "section",
    { class: "card", "aria-label": "Why" },
    h("h2", null, "Why", h("span", { class: "about" }, "what happened, newest first")),
    history.problem && h("p", { class: "warn" }, `${upper(history.problem)}: only what the hub's record says is shown.`),
    !history.isKnown
      ? skeleton(3)
      : events.length
        ? h(
            "ol",
            { class: "why" },
            events.map((each, i) =>
              h(
                "li",
                { key: `${each.time} ${each.event} ${each.worker} ${events.length - i}` },
                h("time", { datetime: each.time, title: each.time }, moment(each.time) >= picture.began - 1500 ? offset(moment(each.time) - picture.began, true) : clockTime(each.time)),
                h("span", null, h("strong", null, each.event), each.worker && ` ${each.worker}`, each.message && [" · ", clamped(each.message, `${each.time} ${each.event} ${each.worker}`)]),
              ),
            ),
          )
        : h("p", { class: "calm" }, "Nothing has happened yet."),
    victims > 0 && h("p", { class: "quiet-text spared" }, "Spared so far: ", h("strong", null, victims), ` ${victims === 1 ? "workload" : "workloads"} on ${spared.map((lane) => lane.worker).join(", ")} that would be preempted without gates (by forecast).`),
  );
}

function gone(key) {
  return h(
    "div",
    { class: "card" },
    h("p", null, h("strong", null, "There is no such Workload on the hub."), " It may have been deleted, or its name may be different."),
    !history.isKnown
      ? skeleton(3)
      : history.events.length
        ? h("p", null, "Its last life, from the journal:")
        : h("p", { class: "calm" }, history.problem ? `${upper(history.problem)}.` : "The journal knows nothing of it either."),
    h("p", null, h("a", { href: link(["workloads"], { q: key.split("/")[1] }) }, "Find Workloads by this name")),
  );
}

/** The lanes of a Workload that is gone, as far as the journal tells. */
function lastLife(now, context) {
  if (!history.events.length) return [];
  const began = history.events.filter((each) => each.event === "QuotaReserved" && !each.worker).at(-1) ?? history.events[0];
  const picture = layout({ began: began.time, workers: [], lanes: [] }, history.events, now, { unfolded: shown.unfolded });
  return [picture.lanes.length > 0 && lanesCard(picture, now, context), why(picture)];
}

/** Read what happened when the Workload changed, but not more often than that is worth. */
function follow(key, body, context) {
  if (history.key !== key) Object.assign(history, { key, events: [], problem: "", readAt: -Infinity, isReading: false, isKnown: false, version: undefined });
  if (body === undefined || history.isReading || history.version === body || performance.now() - history.readAt < REREAD_MS) return;
  history.isReading = true;
  history.version = body;
  const [namespace, name] = key.split("/");
  context
    .ask(`workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/timeline`)
    .then((answer) => ({ events: answer.events, problem: answer.journalProblem }))
    .catch((error) => ({ events: history.events, problem: error.status === 404 ? "" : error.message, failed: error.status !== 404 }))
    .then((found) => {
      if (history.key !== key) return;
      Object.assign(history, { events: found.events, problem: found.problem, isReading: false, isKnown: true, readAt: performance.now() });
      if (found.failed) history.version = undefined;
      context.update();
    });
}

/** Tell those who listen when a gate opens or a window ends. */
function announce(key, picture, context) {
  const lit = picture.lit.map((lane) => lane.worker).join(", ");
  if (spoken.key === key && spoken.lit !== lit) context.say(lit ? `The gate of ${lit} is open.` : `No gate of ${key} is open any more.`);
  Object.assign(spoken, { key, lit });
}

