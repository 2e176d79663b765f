/** The picture of a Workload's lanes, and the same as a table. */

import { offset, word } from "./lanes.js";
import { clamped, GLYPHS, table } from "./parts.js";
import { h } from "./render.js";
import { age, clockTime, countdown, moment, saysSentence, span, workerSentence } from "./text.js";

/** What the reader chose; it stays while the page does. */
export const shown = { unfolded: false, asTable: false, details: new Set() };

/** All lanes, with their legend. */
export function lanesCard(picture, now, context) {
  if (!picture.lanes.length) {
    return h("div", { class: "card" }, h("p", { class: "calm" }, "No worker has taken part yet, so there are no lanes."));
  }
  return h(
    "section",
    { class: "card lanes-card", "aria-label": "Lanes" },
    h(
      "div",
      { class: "lanes-head" },
      h("h2", null, "Lanes", h("span", { class: "about" }, `since ${clockTime(new Date(picture.began).toISOString())}`)),
      h(
        "p",
        { class: "chips" },
        (picture.axis.gaps.length > 0 || shown.unfolded) && h("button", { type: "button", class: "chip", "aria-pressed": String(shown.unfolded), onclick: () => ((shown.unfolded = !shown.unfolded), context.update()) }, shown.unfolded ? "fold idle time" : "unfold idle time"),
        h("button", { type: "button", class: "chip", id: "as-table", "aria-pressed": String(shown.asTable), onclick: () => ((shown.asTable = !shown.asTable), context.update()) }, "as table"),
      ),
    ),
    shown.asTable ? asTable(picture, now) : tracks(picture, now, context),
    h("p", { class: "legend" }, legend()),
  );
}

function tracks(picture, now, context) {
  const { axis } = picture;
  const nowX = axis.x(Math.min(now, axis.to));
  return h(
    "div",
    { class: "lanes", role: "list", "aria-label": "one lane for each worker" },
    h(
      "div",
      { class: "axis", "aria-hidden": "true" },
      h(
        "div",
        { class: "track-place" },
        picture.ticks.map((tick) => h("span", { key: tick.label, class: "tick", style: { left: `${tick.x}%` } }, tick.label)),
        now <= axis.to && h("span", { class: "now-label", style: { left: `${nowX}%` } }, "now"),
      ),
    ),
    picture.lanes.map((lane) => laneRow(lane, picture, now, nowX, context)),
  );
}

function laneRow(lane, picture, now, nowX, context) {
  const { axis } = picture;
  const isOpen = shown.details.has(lane.worker);
  const about = lane.about;
  const toggle = () => {
    if (isOpen) shown.details.delete(lane.worker);
    else shown.details.add(lane.worker);
    context.update();
  };
  const says = sentenceOf(lane, now, picture);
  return h(
    "div",
    { class: lane.lit ? "lane lit" : "lane", key: lane.worker, role: "listitem", "data-worker": lane.worker, "data-lit": lane.lit ? "true" : undefined },
    h(
      "div",
      { class: "lane-name" },
      h("button", { type: "button", class: "plain", "aria-expanded": String(isOpen), onclick: toggle, title: "show what is known about it" }, lane.worker),
      h("span", { class: "quiet-text" }, short(about)),
      lane.lane.gates === "missing" && h("span", { class: "warn" }, "gates are not honoured"),
    ),
    h(
      "div",
      { class: "track", role: "img", "aria-label": `${lane.worker}: ${lane.parts.map((part) => `${word(part.state)} from ${offset(part.from - picture.began)}`).join(", ") || "nothing yet"}` },
      h(
        "div",
        { class: "track-place" },
        picture.ticks.map((tick) => h("i", { key: `t${tick.label}`, class: "grid", style: { left: `${tick.x}%` } })),
        axis.gaps.map((gap) => h("i", { key: `g${gap.from}`, class: "fold", style: { left: `${axis.x(gap.from)}%`, width: `${axis.x(gap.to) - axis.x(gap.from)}%` } }, h("span", null, `⋯ ${span((gap.to - gap.from) / 1000)} ⋯`))),
        lane.parts.map((part) =>
          h("i", {
            key: `${part.state} ${part.from}`,
            class: `seg s-${part.state}${part.state === "Open" && !lane.lit ? " past" : ""}`,
            title: `${word(part.state)} from ${offset(part.from - picture.began)}`,
            style: { left: `${axis.x(part.from)}%`, width: `${Math.max(0.2, axis.x(part.to) - axis.x(part.from))}%` },
          }),
        ),
        lane.lit && h("i", { class: "seg rest", style: { left: `${nowX}%`, width: `${Math.max(0, axis.x(lane.ends) - nowX)}%` } }),
        lane.opened !== null && h("i", { class: "gate", title: "gate opened", style: { left: `${axis.x(lane.opened)}%` } }),
        lane.lit && h("i", { class: "gate end", style: { left: `${axis.x(lane.ends)}%` } }),
        lane.opened !== null && marks(lane, axis),
        now <= axis.to && h("i", { class: "now", style: { left: `${nowX}%` } }),
      ),
    ),
    h(
      "div",
      { class: "lane-says" },
      h("span", { class: "word" }, h("span", { class: `s-${lane.state}`, "aria-hidden": "true" }, `${GLYPHS[lane.state] ?? ""} `), word(lane.state), lane.result && h("span", { class: "quiet-text" }, ` forecast ${lane.result}`)),
      h("span", { class: "quiet-text lane-sentence", title: says }, says),
    ),
    isOpen && details(lane, now),
  );
}

function marks(lane, axis) {
  const x = axis.x(lane.opened);
  return lane.victims.slice(0, 12).map((victim, i) => {
    const style = { left: `calc(${x}% + ${8 + i * 16}px)` };
    return [
      victim.forecast && h("i", { key: `f${victim.workload}`, class: "mark forecast", style, title: `forecast: ${victim.workload}` }, "◇"),
      victim.seen && h("i", { key: `s${victim.workload}`, class: "mark seen", style, title: `preempted: ${victim.workload}` }, victim.forecast ? "◆" : "◆+"),
    ];
  });
}

/** What a worker would do, in two words. */
function short(worker) {
  const victims = worker.preemption?.victims?.length;
  if (victims) return `${worker.preemption.victims.every((each) => each.preempted) ? "Preempted" : "Preempts"} ${victims}`;
  const forecast = worker.forecast;
  if (!forecast) return "no forecast";
  return forecast.verdict === "Preempts" ? `Preempts ${forecast.cost.victims}` : forecast.verdict;
}

function sentenceOf(lane, now, picture) {
  if (lane.lit) {
    const seen = lane.victims.filter((each) => each.seen).length;
    const part = lane.victims.length ? `; ${seen} of ${lane.victims.length} preempted` : "";
    return `may preempt for ${countdown(lane.ends - now)} more${part}`;
  }
  if (lane.state === "WindowOver") {
    const stuck = lane.victims.filter((each) => each.forecast && !each.seen).map((each) => each.workload);
    return stuck.length ? `its window is over: ${stuck.join(", ")} did not stop` : "its window is over without quota";
  }
  if (lane.state === "Asks" && lane.lane.asksSince) return `asks since ${offset(moment(lane.lane.asksSince) - picture.began, true)}`;
  if (lane.state === "Withdrawn") return "its replica was removed";
  if (lane.about.forecast?.message && lane.state === "Waiting" && lane.about.forecast.verdict !== "Fits") return lane.about.forecast.message;
  return saysSentence(lane.about);
}

function details(lane, now) {
  const about = lane.about;
  const facts = [
    ["would", workerSentence(about)],
    ["says", saysSentence(about)],
    about.forecast?.message && ["forecast", about.forecast.message],
    about.forecast?.clusterQueue && ["ClusterQueue", about.forecast.clusterQueue],
    about.pods && ["pods", `${about.pods.verdict} ${about.pods.message ?? ""}`],
    lane.lane.clockSkewSeconds && ["clock", `${lane.lane.clockSkewSeconds} s off, corrected here`],
    lane.resultMessage && ["result", lane.resultMessage],
  ].filter(Boolean);
  const victims = about.preemption?.victims?.length ? about.preemption.victims : (about.forecast?.victims ?? []);
  return h(
    "div",
    { class: "details" },
    h("dl", null, facts.map(([name, text]) => h("div", { key: name }, h("dt", null, name), h("dd", null, clamped(String(text), `${lane.worker} ${name}`))))),
    victims.length > 0 &&
      table(
        `victims on ${lane.worker}`,
        [
          ["victim", (each) => each.workload],
          ["job", (each) => each.owner || "–"],
          ["priority", (each) => each.priority ?? "–", "number"],
          ["pods", (each) => each.pods ?? "–", "number"],
          ["runs for", (each) => age(each.runningSince, now)],
          ["cost", (each) => each.preemptionCost || "–", "number"],
          ["reason", (each) => each.reason],
        ],
        victims.slice(0, 100),
        (each) => each.workload,
      ),
    victims.length > 100 && h("p", { class: "quiet-text" }, `${victims.length - 100} more are left out.`),
  );
}

function asTable(picture, now) {
  return table(
    "lanes as a table",
    [
      ["worker", (lane) => lane.worker],
      ["state", (lane) => `${GLYPHS[lane.state] ?? ""} ${word(lane.state)}`],
      ["asked", (lane) => (moment(lane.lane.asksSince) ? offset(moment(lane.lane.asksSince) - picture.began) : "–")],
      ["gate opened", (lane) => (lane.opened !== null ? offset(lane.opened - picture.began) : "–")],
      ["window ends", (lane) => (moment(lane.lane.windowEnds) ? offset(moment(lane.lane.windowEnds) - picture.began) : "–")],
      ["would", (lane) => workerSentence(lane.about)],
      ["says", (lane) => sentenceOf(lane, now, picture)],
    ],
    picture.lanes,
    (lane) => lane.worker,
    (lane) => (lane.lit ? "lit" : ""),
  );
}

function legend() {
  const part = (state, text) => [h("i", { class: `swatch s-${state}` }), ` ${text} `];
  return [
    part("Waiting", "waits"),
    part("Asks", "asks"),
    part("Open", "may preempt"),
    part("Reserved", "reserved"),
    part("Admitted", "admitted"),
    h("span", { class: "bad-text" }, "◇"),
    " forecast victim ",
    h("span", { class: "bad-text" }, "◆"),
    " seen",
  ];
}
