"use strict";
// The colours of a choice, search, filters, and the keys of a heat map. Every page reads without it.
(() => {
const root = document.documentElement;
const here = document.documentElement.dataset.root;
const themes = ["system", "light", "dark"];

function kept() {
  try { return localStorage.getItem("convcheck-theme") || "system"; } catch { return "system"; }
}

function colour(theme) {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

colour(kept());

function startTheme() {
  const button = document.getElementById("theme");
  let theme = kept();
  const say = () => {
    button.textContent = theme === "system" ? "Auto" : theme === "light" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Colours: ${theme === "system" ? "as the system has them" : theme}`);
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("convcheck-theme", theme); } catch { /* it is not kept */ }
    colour(theme);
    say();
  });
  say();
  button.hidden = false;
}

// Search: the index is a script beside this one, so that a page from disk can have it.

let loading = null;

function loadIndex() {
  loading ??= new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = `${here}search.js`;
    script.addEventListener("load", () => done(window.convcheckIndex));
    script.addEventListener("error", failed);
    document.head.append(script);
  });
  return loading;
}

function ranked(index, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  index.entries.forEach(([kind, title, address, more], at) => {
    const name = title.toLowerCase();
    const all = `${name} ${index.kinds[kind]} ${more.toLowerCase()}`;
    if (words.length && words.every((word) => all.includes(word))) {
      const inName = words.filter((word) => name.includes(word)).length;
      const starts = name.startsWith(words[0]) ? 1 : 0;
      found.push([-inName, -starts, kind, at, title, address]);
    }
  });
  found.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || a[3] - b[3]);
  return found.slice(0, 30);
}

function startSearch() {
  const input = document.getElementById("search");
  const list = document.getElementById("found");
  let at = -1;
  const options = () => [...list.querySelectorAll("[role=option]")];
  const close = () => {
    list.hidden = true;
    at = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const choose = (next) => {
    const all = options();
    if (!all.length) return;
    at = (next + all.length) % all.length;
    all.forEach((one, i) => one.setAttribute("aria-selected", String(i === at)));
    input.setAttribute("aria-activedescendant", all[at].id);
    all[at].scrollIntoView({ block: "nearest" });
  };
  const show = async () => {
    const text = input.value;
    if (!text.trim()) return close();
    const index = await loadIndex();
    if (input.value !== text) return;
    const found = ranked(index, text);
    list.replaceChildren(...(found.length ? found.map((one, i) => option(index, one, i)) : [none()]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    choose(0);
  };
  input.addEventListener("input", show);
  input.addEventListener("focus", () => { loadIndex(); if (input.value) show(); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") choose(at + 1);
    else if (event.key === "ArrowUp") choose(at - 1);
    else if (event.key === "Enter" && options()[at]) options()[at].firstChild.click();
    else if (event.key === "Escape") { input.value = ""; close(); return; }
    else return;
    event.preventDefault();
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".finder")) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
    }
  });
  document.querySelector(".finder").hidden = false;
}

function option(index, [, , kind, , title, address], i) {
  const item = document.createElement("li");
  item.id = `found-${i}`;
  item.setAttribute("role", "option");
  const link = document.createElement("a");
  link.href = here + address;
  link.tabIndex = -1;
  const small = document.createElement("small");
  small.textContent = index.kinds[kind];
  const name = document.createElement("span");
  name.textContent = title;
  link.append(small, name);
  item.append(link);
  return item;
}

function none() {
  const item = document.createElement("li");
  item.className = "none";
  item.textContent = "Nothing has these words.";
  return item;
}

// Filters of long tables, by the words of a row.

function startFilters() {
  for (const input of document.querySelectorAll("[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    const rows = [...table.querySelectorAll("tbody tr:not(.group)")];
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
      for (const head of table.querySelectorAll("tr.group")) {
        head.hidden = ![...head.parentNode.rows].some((row) => row !== head && !row.hidden);
      }
    });
    input.closest(".filter").hidden = false;
  }
}

// A heat map is one stop of the Tab key; arrows go from cell to cell. It shows the newest release.

function startHeat() {
  for (const table of document.querySelectorAll("table.heat")) {
    const box = table.closest(".scroll");
    box.scrollLeft = box.scrollWidth;
    const grid = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td .cell")]);
    const links = grid.flat().filter((cell) => cell.href);
    links.forEach((link, i) => { link.tabIndex = i ? -1 : 0; });
    table.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
      const step = steps[event.key];
      const y = grid.findIndex((row) => row.includes(event.target));
      if (!step || y < 0) return;
      event.preventDefault();
      const next = nextLink(grid, y, grid[y].indexOf(event.target), step);
      if (!next) return;
      event.target.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
}

function nextLink(grid, y, x, [down, right]) {
  do {
    y += down;
    x += right;
  } while (grid[y]?.[x] && !grid[y][x].href);
  return grid[y]?.[x];
}

document.addEventListener("DOMContentLoaded", () => {
  startTheme();
  startSearch();
  startFilters();
  startHeat();
  root.dataset.ready = "";
});
})();
