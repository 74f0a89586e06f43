// Make elements. Data is always set as text and never parsed as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(child));
  }
  return element;
}

const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

const byId = (id) => document.getElementById(id);

// 1,204,331 in any locale, as on the command line.
const number = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

function percent(part, whole) {
  if (!part || !whole) return "";
  const share = (part / whole) * 100;
  if (share < 1) return "<1%";
  return share > 99 && part < whole ? "99%" : `${Math.round(share)}%`;
}

// Quote an argument for a shell, like shlex.quote.
const shell = (text) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;

function say(text) {
  byId("status").textContent = text;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { class: "hidden-text" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => (button.textContent = "Copy"), 1500);
}

function copyable(text, what) {
  const button = h("button", { type: "button", class: "small", "aria-label": `Copy ${what}` }, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return h("div", { class: "command" }, h("code", { tabindex: 0 }, text), button);
}

const dot = (symbol) => (symbol === "." ? "·" : symbol);

function shade(symbol, status) {
  return h("span", { class: `mark st-${status.key}`, "aria-hidden": "true" }, dot(symbol));
}

function tag(status) {
  return h("b", { class: `tag st-${status.key}` }, status.word);
}
