/** Pieces that several views show: glyphs, tracks, commands to copy, tables. */

import { h } from "./render.js";
import { link } from "./store.js";
import { span } from "./text.js";

/** For each state of a lane its sign, so that no state is told by colour alone. */
export const GLYPHS = {
  Waiting: "○",
  Asks: "◔",
  Open: "◑",
  WindowOver: "◕",
  Reserved: "◍",
  Admitted: "●",
  Withdrawn: "–",
  Lost: "!",
  None: "·",
};
export const STATE_WORDS = {
  Waiting: "waits",
  Asks: "asks to preempt",
  Open: "gate open",
  WindowOver: "window over",
  Reserved: "reserved",
  Admitted: "admitted",
  Withdrawn: "withdrawn",
  Lost: "not readable",
  None: "no replica",
};

/** The lanes of a Workload in small: one sign for each worker. */
export function smallLanes(lanes, more = 0) {
  const told = lanes.map((lane) => `${lane.worker} ${STATE_WORDS[lane.shown]}`).join(", ");
  return h(
    "span",
    { class: "small-lanes", role: "img", "aria-label": told || "no lanes", title: told },
    lanes.map((lane) => h("span", { class: `cell s-${lane.shown}`, "aria-hidden": "true" }, GLYPHS[lane.shown])),
    more > 0 && h("span", { "aria-hidden": "true" }, `+${more}`),
  );
}

/** A command, with a button that copies it. */
export function command(text, isCompact = false) {
  const copy = async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      button.dataset.text = "copied";
    } catch {
      button.dataset.text = "select it";
    }
    setTimeout(() => (button.dataset.text = "copy"), 1500);
  };
  return h(
    "span",
    { class: isCompact ? "command compact" : "command", key: `command ${text}` },
    h("code", null, text),
    h("button", { type: "button", class: "quiet", onclick: copy, own: true, "aria-label": `copy ${text}`, "data-text": "copy" }),
  );
}

/** A quoted argument for a command line. */
export function quoted(text) {
  return /^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A long text of a cluster: two lines, and the rest when asked for. */
export function clamped(text, key = text) {
  if (text.length <= 140) return h("span", { class: "told" }, text);
  return h(
    "details",
    { class: "told", key: `told ${key}` },
    h("summary", null, `${text.slice(0, 120)}… `, h("span", { class: "more" }, "more")),
    text,
  );
}

/** What stands where nothing is known yet; never "none". */
export function skeleton(lines = 3) {
  return h(
    "div",
    { class: "skeleton", role: "status", "aria-label": "loading" },
    Array.from({ length: lines }, () => h("span", { "aria-hidden": "true" })),
  );
}

/** A link to a worker. */
export function workerLink(name) {
  return h("a", { href: link(["workers", name]) }, name);
}

/** A card with a heading. */
export function card(title, about, ...children) {
  return h(
    "section",
    { class: "card", "aria-label": title, key: `card ${title}` },
    h("h2", null, title, about !== undefined && h("span", { class: "about" }, about)),
    ...children,
  );
}

/** A table; `columns` are [heading, cell of a row, class]. On a phone each cell says its heading. */
export function table(caption, columns, rows, keyOf, classOf = () => "") {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h(
      "table",
      null,
      h("caption", { class: "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map(([heading, , kind]) => h("th", { scope: "col", class: kind }, heading)))),
      h(
        "tbody",
        null,
        rows.map((row) =>
          h(
            "tr",
            { key: keyOf(row), class: classOf(row) },
            columns.map(([heading, cell, kind]) => h("td", { "data-heading": heading, class: kind }, cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** How long something has lasted, with its moment for those who need it. */
export function since(text, now) {
  if (!text) return "";
  return h("time", { datetime: text, title: text }, span((now - Date.parse(text)) / 1000));
}

/** How much of a quota is used. */
export function bar(use) {
  const share = use.share ?? 0;
  return h(
    "p",
    { class: "bar", key: use.resource },
    h("span", { class: "bar-name" }, use.resource),
    h("span", { class: "bar-track", "aria-hidden": "true" }, h("i", { class: share > 0.9 ? "high" : "", style: { width: `${Math.min(100, share * 100)}%` } })),
    h("span", { class: "bar-text" }, `${use.used} of ${use.nominal}`),
  );
}
