// Building the page. Everything that documents say goes through text nodes: it can be read, never run.

const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text whose control characters, those that turn the direction of writing too, can be seen. */
export function visible(text) {
  return String(text).replace(CONTROLS, (c) => `⟨U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

/** An element: attributes, `on…` listeners and `style` properties from an object; strings become text. */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(9)) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

export function fill(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

/** What a document says, apart from the text around it in its direction. */
export const said = (text, attributes = {}) => el("bdi", { dir: "auto", ...attributes }, text);

export const number = (value) => Number(value).toLocaleString("en");
export const plural = (value, one, many = `${one}s`) => `${number(value)} ${Number(value) === 1 ? one : many}`;
export const money = (value) => (value === null || value === undefined ? "no price known" : `$${Number(value).toFixed(value < 1 ? 4 : 2)}`);
export const when = (text) => (text ? new Date(text).toLocaleString() : "");

/** Marks of a node that is not as it should be. */
export function marks(node) {
  return [
    node.degraded && el("span", { class: "chip warn", title: node.degraded }, "degraded"),
    node.stale && el("span", { class: "chip warn", title: "Something below was forgotten; the text waits for the next improve." }, "stale"),
    node.withheld && el("span", { class: "chip bad", title: "Not served until it has been rewritten." }, "withheld"),
  ];
}

export const flawed = (node) => Boolean(node.degraded || node.stale || node.withheld);
export const kindOf = (node) => (node.kind === "root" ? "root" : node.kind === "area" ? `area, level ${node.level}` : "summary of a chunk");
