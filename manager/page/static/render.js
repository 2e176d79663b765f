/** Elements from descriptions, patched in place: `h(tag, properties, ...children)` says what should be there.
 *
 * Texts become text nodes and nothing else, so that no text of a cluster can become markup. An element keeps its
 * identity while its tag and key stay the same: focus, selection and scroll position survive every update.
 */

const SVG = "http:" + "//www.w3.org/2000/svg"; // a name, not an address
const SVG_TAGS = new Set(["svg", "g", "rect", "line", "path", "pattern", "defs", "title", "circle", "text"]);
const AS_PROPERTY = new Set(["value", "checked", "selected", "disabled", "open", "hidden"]);
const HANDLERS = Symbol("handlers");

/** Describe an element. Children may be nested lists; null, undefined and false are left out. */
export function h(tag, properties, ...children) {
  return { tag, properties: properties ?? {}, children: flat(children) };
}

/** Make the children of `parent` what the descriptions say. */
export function render(parent, ...children) {
  patchChildren(parent, flat(children), parent.namespaceURI === SVG);
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

function patchChildren(parent, wanted, inSvg) {
  const keyed = new Map();
  const free = [];
  for (const node of parent.childNodes) {
    if (node.vkey !== undefined) keyed.set(node.vkey, node);
    else free.push(node);
  }
  let place = parent.firstChild;
  let nextFree = 0;
  for (const description of wanted) {
    const key = description.properties?.key;
    const node = key === undefined ? free[nextFree++] : keyed.get(key);
    if (key !== undefined) keyed.delete(key);
    const made = patchNode(node, description, inSvg);
    if (node && made !== node) {
      if (place === node) place = node.nextSibling;
      node.remove();
    }
    if (made !== place) parent.insertBefore(made, place);
    place = made.nextSibling;
  }
  for (const node of [...keyed.values(), ...free.slice(nextFree)]) node.remove();
}

function patchNode(node, description, inSvg) {
  if (typeof description !== "object") {
    const text = String(description);
    if (node?.nodeType !== Node.TEXT_NODE) return document.createTextNode(text);
    if (node.data !== text) node.data = text;
    return node;
  }
  const { tag, properties, children } = description;
  const isSvg = tag === "svg" || (inSvg && SVG_TAGS.has(tag));
  let element = node;
  if (element?.nodeType !== Node.ELEMENT_NODE || element.vtag !== tag) {
    element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
    element.vtag = tag;
    element.vprops = {};
    if (properties.key !== undefined) element.vkey = properties.key;
  }
  patchProperties(element, element.vprops, properties);
  element.vprops = properties;
  if (!properties.own) patchChildren(element, children, isSvg);
  return element;
}

function patchProperties(element, before, after) {
  for (const name of Object.keys(before)) {
    if (!(name in after)) setProperty(element, name, undefined);
  }
  for (const [name, value] of Object.entries(after)) {
    if (before[name] !== value || AS_PROPERTY.has(name)) setProperty(element, name, value, before[name]);
  }
}

function setProperty(element, name, value, before) {
  if (name === "key" || name === "own") return;
  if (name.startsWith("on")) listen(element, name.slice(2), value);
  else if (name === "style") setStyle(element, before ?? {}, value ?? {});
  else if (AS_PROPERTY.has(name)) {
    if (element[name] !== (value ?? "")) element[name] = value ?? (name === "value" ? "" : false);
  } else if (value === undefined || value === null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

function setStyle(element, before, after) {
  for (const name of Object.keys(before)) if (!(name in after)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(after)) {
    if (before[name] !== value) element.style.setProperty(name, String(value));
  }
}

function listen(element, event, handler) {
  element[HANDLERS] ??= {};
  if (!(event in element[HANDLERS])) element.addEventListener(event, (seen) => element[HANDLERS][event]?.(seen));
  element[HANDLERS][event] = handler;
}
