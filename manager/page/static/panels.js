/** What is shown in place of a view, or above it: the sign-in, the keys, a link to nowhere. */

import { command } from "./parts.js";
import { h } from "./render.js";

const KEYS = "turnstile.keys";

/** Whether single keys do something. */
export const keysOn = () => localStorage.getItem(KEYS) !== "off";

/** Asks for a token; `onToken` gets it, and whether it may be kept for this tab. */
export function signIn({ status, problem }, onToken) {
  const submit = (event) => {
    event.preventDefault();
    const { token, keep } = event.currentTarget.elements;
    const text = token.value.trim();
    token.value = "";
    onToken(text, keep.checked);
  };
  return [
    h("h1", null, status === 403 ? "This token may not read" : "Sign in"),
    h(
      "div",
      { class: "card" },
      status === 403
        ? h("p", null, "The hub knows the token, but its user may not ", h("code", null, "get"), " ", h("code", null, "/v1/*"), ". The ClusterRole ", h("code", null, "turnstile-inspector"), " permits it.")
        : h("p", null, "The daemon answers those who have a token for it. Paste one; it stays in the memory of this tab."),
      h("p", { class: "quiet-text" }, `The daemon says: ${problem}.`),
      h(
        "form",
        { class: "sign-in", onsubmit: submit },
        h("label", null, h("span", null, "Token"), h("input", { type: "password", name: "token", autocomplete: "off", required: true })),
        h("label", { class: "check" }, h("input", { type: "checkbox", name: "keep" }), " keep it until this tab is closed"),
        h("button", { type: "submit" }, "Sign in"),
      ),
      h("p", null, "On the daemon's machine, or through port-forward, this needs no token of the browser: ", command("turnstile ui")),
    ),
  ];
}

/** What a link leads to that this version does not know. */
export function unknown() {
  return [h("h1", null, "There is no such view"), h("div", { class: "card" }, h("p", null, "The link may be of a later version of Turnstile. ", h("a", { href: "#/" }, "Go to the fleet")))];
}

/** Which keys there are, and a switch that turns single keys off. */
export function help(close) {
  const rows = [
    ["/", "find a Workload"],
    ["g f, g w, g k", "go to the fleet, to the Workloads, to the workers"],
    ["j, k, Enter", "next row, row before, open"],
    ["t", "lanes as a table"],
    ["?", "this help"],
  ];
  return h(
    "div",
    { class: "overlay", onclick: (event) => event.target === event.currentTarget && close() },
    h(
      "div",
      { class: "dialog", role: "dialog", "aria-modal": "true", "aria-label": "keys" },
      h("h2", null, "Keys"),
      h("dl", { class: "keys" }, rows.map(([key, text]) => h("div", { key }, h("dt", null, key), h("dd", null, text)))),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: keysOn(), onchange: (event) => localStorage.setItem(KEYS, event.target.checked ? "on" : "off") }), " single keys are on"),
      h("p", null, h("button", { type: "button", id: "close-help", onclick: close }, "Close")),
    ),
  );
}
