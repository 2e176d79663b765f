/** Starts the page: who may look, which view is shown, what the header says, and the keys. */

import { help, keysOn, signIn, unknown } from "./panels.js";
import { command } from "./parts.js";
import { h, render } from "./render.js";
import { applyEvent, applyTop, emptyState, link, parseRoute, TOPICS, workloadLink } from "./store.js";
import { clockTime, span } from "./text.js";
import { AnswerError, Live, Wire } from "./wire.js";

const VIEWS = {
  "": { name: "Fleet", load: () => import("./fleet.js"), key: "f" },
  workloads: { name: "Workloads", load: () => import("./workloads.js"), key: "w" },
  workers: { name: "Workers", load: () => import("./workers.js"), key: "k" },
};
const WORKLOAD = { name: "Workloads", load: () => import("./workload.js") };
const KEPT = "turnstile.token";
const THEME = "turnstile.theme";
const SPEAK_MS = 5000;

const state = emptyState();
const wire = new Wire();
const ui = { skew: 0, module: null, route: parseRoute(location.hash), scrollTop: 0, signIn: null, menu: false, help: false, prefix: "", dismissed: false, spokenAt: -Infinity, waiting: [] };
const page = document.getElementById("page");
const said = document.getElementById("said");

const live = new Live(wire, {
  onEvents(events) {
    for (const event of events) {
      applyEvent(state, event);
      const told = event.data.now ?? event.data.document?.now; // what is shown is never older than what it says
      if (told) ui.skew = Date.parse(told) - Date.now();
    }
    setLink("live");
  },
  async onTop(body) {
    applyTop(state, body);
    ui.skew = Date.parse(body.now) - Date.now();
    await askForWorkload();
    setLink("polling", state.link.phase === "polling" ? state.link.problem : "");
  },
  onLost: (problem, status) => setLink(state.hello ? "stale" : "failed", problem, status),
  onCrowded: (problem) => setLink("polling", problem, 503),
  onRefused(status, problem) {
    ui.signIn = { status, problem };
    setLink("refused", problem, status);
  },
});
live.query = () => ({ topics: TOPICS.join(","), workload: state.workload.key });
live.lastId = () => state.lastId;

function setLink(phase, problem = "", status = 0) {
  if (state.link.phase !== phase || phase !== "stale") state.link = { phase, problem, status, since: state.link.phase === phase ? state.link.since : Date.now() + ui.skew };
  else Object.assign(state.link, { problem, status });
  update();
}

async function askForWorkload() {
  const key = state.workload.key;
  if (!key) return;
  const [namespace, name] = key.split("/");
  try {
    const document = await wire.ask(`workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/lanes`);
    if (state.workload.key === key) state.workload = { key, document };
  } catch (error) {
    if (error.status === 404 && state.workload.key === key) state.workload = { key, document: null };
  }
}

/** Show a route: load its view, and follow its Workload. */
async function show() {
  const route = (ui.route = parseRoute(location.hash));
  const [first = "", namespace, name] = route.parts;
  const isWorkload = first === "workloads" && route.parts.length === 3;
  const isWorker = first === "workers" && route.parts.length === 2;
  const view = isWorkload ? WORKLOAD : route.parts.length <= 1 || isWorker ? VIEWS[first] : undefined;
  const key = isWorkload ? `${namespace}/${name}` : "";
  ui.current = isWorkload ? "workloads" : first;
  ui.menu = false;
  if (key !== state.workload.key) {
    state.workload = { key, document: undefined };
    live.restart();
  }
  ui.module = view ? await view.load() : null;
  ui.isUnknown = !view;
  document.title = `${ui.module?.title(route) ?? "Not found"} · Turnstile`;
  update();
}

let frame = 0;
function update() {
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    draw();
  });
}

function draw() {
  const isStale = ["stale", "failed"].includes(state.link.phase);
  const now = isStale ? (ui.frozenAt ??= Date.now() + ui.skew) : Date.now() + ui.skew;
  if (!isStale) ui.frozenAt = undefined;
  const context = { now, isStale, route: ui.route, scrollTop: ui.scrollTop, update, go, say, ask: (path, query) => wire.ask(path, query), scroll };
  document.documentElement.classList.toggle("stale", isStale);
  render(
    page,
    h("a", { class: "skip", href: "#main", onclick: skip }, "Skip to the content"),
    header(),
    h("div", { class: "notices" }, notices(now)),
    h(
      "main",
      { id: "main", tabindex: "-1" },
      state.link.phase === "refused" && ui.signIn ? signIn(ui.signIn, onToken) : ui.isUnknown ? unknown() : ui.module ? ui.module.view(state, context) : null,
    ),
    footer(),
    ui.help && help(closeHelp),
  );
}

function onToken(token, keeps) {
  wire.token = token;
  if (keeps) sessionStorage.setItem(KEPT, token);
  ui.signIn = null;
  setLink("connecting");
  live.start();
}

function closeHelp() {
  ui.help = false;
  update();
}

function header() {
  return h(
    "header",
    null,
    h(
      "div",
      { class: "bar-inner" },
      h("a", { class: "brand", href: "#/" }, h("span", { class: "logo", "aria-hidden": "true" }), "Turnstile"),
      h("button", { type: "button", class: "menu-button", "aria-expanded": String(ui.menu), "aria-controls": "menu", onclick: () => ((ui.menu = !ui.menu), update()) }, "Menu"),
      h(
        "nav",
        { id: "menu", "aria-label": "views", class: ui.menu ? "open" : "" },
        Object.entries(VIEWS).map(([path, view]) => h("a", { key: path, href: `#/${path}`, "aria-current": ui.current === path ? "page" : undefined }, view.name)),
      ),
      h("form", { role: "search", class: "find", onsubmit: find }, h("input", { type: "search", id: "find", "aria-label": "find a Workload, by name or job", placeholder: "find a Workload" })),
      h("p", { class: `link ${state.link.phase}`, id: "link" }, h("span", { class: "dot", "aria-hidden": "true" }), linkWords()),
    ),
  );
}

function linkWords() {
  const daemon = state.hello;
  const origin = daemon?.origin ? ` · ${daemon.origin}` : "";
  switch (state.link.phase) {
    case "live":
      return `live${origin}`;
    case "polling":
      return `asks every 10 s${origin}`;
    case "stale":
      return `not connected${origin}`;
    case "refused":
      return "not signed in";
    case "failed":
      return "no answer";
    default:
      return "connecting";
  }
}

function notices(now) {
  const daemon = state.rows.fleet.get("")?.daemon ?? state.hello;
  const found = [];
  const note = (key, kind, ...words) => found.push(h("div", { key, class: `notice ${kind}`, role: "status" }, ...words));
  const { phase, problem, since, status } = state.link;
  if (phase === "stale") {
    const at = new Date(since).toISOString();
    note("stale", "warn", `Not connected since ${clockTime(at)}: ${problem}. What you see is ${span((Date.now() + ui.skew - since) / 1000)} old.`);
  }
  if (phase === "failed") note("failed", "bad", status === 503 ? `The token cannot be checked now: ${problem}.` : `The daemon cannot be asked: ${problem}. Trying again.`);
  if (phase === "polling" && problem) note("crowded", "warn", `${problem}. This page asks every 10 s instead.`);
  else if (phase === "polling") note("polling", "warn", "The stream of changes does not get through, so this page asks every 10 s.");
  if (state.upgraded) note("upgraded", "", `The daemon is of version ${state.upgraded} now. `, h("button", { type: "button", onclick: () => location.reload() }, "Reload the page"));
  else if (state.restarted && !ui.dismissed) note("restarted", "", "The daemon was started again. ", h("button", { type: "button", onclick: () => ((ui.dismissed = true), update()) }, "Fine"));
  if (daemon?.isShadow) note("shadow", "", "Shadow mode: Turnstile looks on, forecasts and compares; it writes nothing.");
  else if (daemon && daemon.acts === false) note("standby", "warn", `This instance stands by${daemon.leader ? `; ${daemon.leader} leads` : ""}. What it shows may lag, and it decides nothing.`);
  if (daemon?.hub && daemon.hub !== "Connected" && phase !== "refused") note("hub", "bad", `The hub cannot be read (${daemon.hub}): what is shown of Workloads is as it was.`);
  return found;
}

function footer() {
  const text = ui.module?.commandLine?.(ui.route) ?? "turnstile status";
  const theme = localStorage.getItem(THEME) ?? "auto";
  const next = { auto: "light", light: "dark", dark: "auto" }[theme];
  return h(
    "footer",
    null,
    h("span", null, "The same on a terminal: ", command(text, true)),
    h("span", null, h("button", { type: "button", class: "quiet", id: "theme", onclick: () => (setTheme(next), update()) }, `theme: ${theme}`), " ", h("button", { type: "button", class: "quiet", onclick: () => ((ui.help = true), update()) }, "keys: ?")),
  );
}

function setTheme(theme) {
  if (theme === "auto") localStorage.removeItem(THEME);
  else localStorage.setItem(THEME, theme);
  document.documentElement.dataset.theme = theme;
}

function go(place, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", place);
    show();
  } else location.hash = place;
}

function skip(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

async function find(event) {
  event.preventDefault();
  const input = event.currentTarget.querySelector("input");
  const text = input.value.trim();
  if (!text) return;
  const name = text.replace(/^job\//, "");
  const known = [...state.rows.waiting].find(([key, row]) => key === name || key.split("/")[1] === name || row.owner === `Job ${name}`);
  input.value = "";
  input.blur();
  if (known) go(workloadLink(known[0]));
  else if (/^[^/]+\/[^/]+$/.test(name) && text === name) go(workloadLink(name));
  else go(link(["workloads"], { q: name }));
}

function scroll(top) {
  ui.scrollTop = top;
  update();
}

/** Say a sentence to those who listen, at most one in five seconds. */
function say(sentence) {
  const wait = ui.spokenAt + SPEAK_MS - performance.now();
  clearTimeout(ui.speaking);
  ui.speaking = setTimeout(
    () => {
      ui.spokenAt = performance.now();
      said.textContent = sentence;
    },
    Math.max(0, wait),
  );
}

function onKey(event) {
  const isTyping = event.target.closest?.("input, select, textarea, [contenteditable]");
  if (event.key === "Escape" && ui.help) {
    closeHelp();
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !keysOn()) return;
  const links = [...document.querySelectorAll("main tbody th a, main .lit-list a")];
  const at = links.indexOf(document.activeElement);
  const actions = {
    "/": () => document.getElementById("find").focus(),
    "?": () => ((ui.help = true), update(), setTimeout(() => document.getElementById("close-help")?.focus(), 50)),
    g: () => ((ui.prefix = "g"), setTimeout(() => (ui.prefix = ""), 1500)),
    j: () => links[Math.min(links.length - 1, at + 1)]?.focus(),
    k: () => links[Math.max(0, at - 1)]?.focus(),
    t: () => document.getElementById("as-table")?.click(),
  };
  if (ui.prefix === "g") {
    ui.prefix = "";
    const found = Object.entries(VIEWS).find(([, view]) => view.key === event.key);
    if (found) go(`#/${found[0]}`);
    event.preventDefault();
  } else if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
}

/** Take the secret out of the address at once, so that it is in no history and no screenshot. */
function takeSecret() {
  const secret = /[#&]k=([\w-]+)/.exec(location.hash)?.[1];
  if (secret) {
    sessionStorage.setItem(KEPT, secret);
    history.replaceState(null, "", `${location.pathname}#/`);
  }
  wire.token = sessionStorage.getItem(KEPT) ?? "";
}

window.addEventListener("error", (event) => crashed(event.error));
window.addEventListener("unhandledrejection", (event) => !(event.reason instanceof AnswerError) && crashed(event.reason));
function crashed(error) {
  document.body.dataset.crashed = String(error?.message ?? error);
}

takeSecret();
setTheme(localStorage.getItem(THEME) ?? "auto");
window.addEventListener("hashchange", () => {
  ui.scrollTop = 0;
  show();
});
window.addEventListener("keydown", onKey);
setInterval(() => !document.hidden && update(), 1000);
update();
show().then(() => live.start());
