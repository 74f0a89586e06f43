"use strict";
// The choice of colours, filters, and the keys of a heat map. Pages work without it.
(() => {
const root = document.documentElement;
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

// Filter long tables by the words of a row.

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

// A heat map is one Tab stop. Arrow keys move between cells. It shows the newest release.

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
  startFilters();
  startHeat();
  root.dataset.ready = "";
});
})();
