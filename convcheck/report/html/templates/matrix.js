// The heat maps: a table per family of specs (or for the chosen spec), a button per cell.

function showMatrices() {
  const place = byId("matrices");
  const chosen = state.spec ? specs.find((one) => one.id === state.spec) : null;
  const shown = chosen ? [chosen.family] : families;
  place.replaceChildren(...shown.map((family) => matrixOf(family, chosen)).filter(Boolean));
}

function cellsOf(family, chosen) {
  const cells = new Map();
  for (const spec of chosen ? [chosen] : family.specs) {
    for (const one of spec.cases) {
      if (!one.shown) continue;
      const key = `${one.row}>${one.column}`;
      if (!cells.has(key)) cells.set(key, { rank: 99, cases: 0, failing: 0, wrong: 0, judged: 0, some: [] });
      const cell = cells.get(key);
      cell.rank = Math.min(cell.rank, one.shown.rank);
      cell.cases += 1;
      cell.some.push(one);
      cell.failing += one.shown.failing;
      cell.wrong += one.wrong;
      cell.judged += one.judged;
    }
  }
  return cells;
}

function matrixOf(family, chosen) {
  const cells = cellsOf(family, chosen);
  const all = (chosen ? [chosen] : family.specs).flatMap((spec) => spec.cases);
  const { rows, columns } = axes(family, filtered() ? all.filter((one) => one.shown) : all);
  if (!rows.length) return null;
  const name = chosen ? chosen.id : family.specs.length > 1 ? family.name : family.specs[0].id;
  const id = `matrix-${family.index}`;
  const versions = !chosen && family.specs.length > 1 ? `${family.specs.length} versions together, the worst of a cell shown` : "";
  const head = h("thead", {}, h("tr", {}, h("td", { class: "corner" },
    h("span", { class: "down" }, all[0].outputs.length ? "from" : "first"),
    h("span", { class: "across" }, all[0].outputs.length ? "to" : "second")),
    columns.map((column) => h("th", { scope: "col" }, h("span", {}, column)))));
  const body = h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row),
    columns.map((column) => tableCell(name, row, column, cells.get(`${row}>${column}`))))));
  const table = h("table", { role: "grid", class: "matrix", "aria-labelledby": id, "data-name": name }, head, body);
  const first = table.querySelector("button");
  if (first) first.tabIndex = 0;
  table.addEventListener("keydown", moveInMatrix);
  table.addEventListener("focusin", (event) => rove(table, event.target));
  return h("figure", { class: "heat" },
    h("figcaption", {}, h("h2", { id }, name), h("span", { class: "sub" }, versions)),
    h("div", { class: "scroll" }, table), legend(cells, name));
}

function tableCell(name, row, column, cell) {
  if (!cell) return h("td", { role: "gridcell", "aria-label": "not asked" });
  const status = statuses[cell.rank];
  const share = status.failing ? percent(cell.wrong, cell.judged) : "";
  const explained = causesOf(cell.some).map((cause) => cause.label).join(", ");
  const said = `${row} to ${column}: ${status.word}, ${plural(cell.cases, "case")}` +
    (cell.failing ? `, ${number(cell.failing)} failing` : "") +
    (cell.wrong ? `, ${number(cell.wrong)} of ${number(cell.judged)} wrong` : "") +
    (explained && `, explained by ${explained}`);
  const key = `${name}|${row}|${column}`;
  const mark = markOf(cell.some);
  const button = h("button", { type: "button", tabindex: -1, title: said, "aria-label": said,
    "aria-haspopup": "dialog", "data-key": key, class: `st-${status.key} heat-${heat(cell)}`,
    onclick: () => openCell(key) },
    mark ? h("span", { class: "symbol letter" }, mark) : h("span", { class: "symbol" }, dot(status.symbol)),
    share && h("span", { class: "share" }, share));
  return h("td", { role: "gridcell", class: state.cell === key ? "open" : "" }, button);
}

// Five shades: up to 1%, 5%, 20%, 50% wrong, and more. Failures without counts have the last.
function heat(cell) {
  const share = cell.wrong ? cell.wrong / cell.judged : 1;
  return 1 + [0.01, 0.05, 0.2, 0.5].filter((bound) => share > bound).length;
}

function rove(table, target) {
  const button = target.closest("td button");
  if (!button) return;
  for (const other of table.querySelectorAll("td button[tabindex='0']")) other.tabIndex = -1;
  button.tabIndex = 0;
}

const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function moveInMatrix(event) {
  const button = event.target.closest("td button");
  if (!button || event.ctrlKey || event.altKey || event.metaKey) return;
  const rows = [...event.currentTarget.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  let y = rows.findIndex((row) => row.includes(button.parentElement));
  let x = rows[y].indexOf(button.parentElement);
  let step = STEPS[event.key];
  if (event.key === "Home") [step, x] = [[0, 1], -1];
  if (event.key === "End") [step, x] = [[0, -1], rows[y].length];
  if (!step) return;
  event.preventDefault();
  do {
    y += step[0];
    x += step[1];
  } while (rows[y]?.[x] && !rows[y][x].firstChild); // over what was not asked
  rows[y]?.[x]?.firstChild?.focus();
}

function legend(cells, name) {
  const present = new Set([...cells.values()].map((cell) => cell.rank));
  const some = statuses.filter((one) => present.has(one.rank));
  const failing = some.some((one) => one.failing);
  const marks = new Set([...cells.values()].map((cell) => markOf(cell.some)));
  const explained = causesOf([...cells.values()].flatMap((cell) => cell.some))
    .filter((one, i, all) => marks.has(one.mark) && all.findIndex((other) => other.mark === one.mark) === i);
  return h("p", { class: "legend" },
    some.map((one) => h("span", {}, shade(one.symbol, one), one.word)),
    failing && h("span", {}, "shade and %: share of answers that are wrong"),
    explained.length > 0 && h("span", {}, "a letter: what explains the cell, of several causes that of most cases:"),
    causeButtons(explained, name));
}
