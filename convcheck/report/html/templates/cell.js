// The panel of a cell: its cases by attributes and version, its findings, and other entries.

let opener = null;

function openCell(key) {
  opener = document.activeElement;
  change({ cell: key }, false);
  showCell();
  byId("cell").focus();
}

function closeCell() {
  if (!state.cell) return;
  const key = state.cell;
  change({ cell: "" }, false);
  showCell();
  const back = document.querySelector(`[data-key="${CSS.escape(key)}"]`) || opener;
  back?.focus();
}

function casesOfCell(key) {
  const [name, row, column] = key.split("|");
  const family = families.find((one) => one.name === name || one.specs.some((spec) => spec.id === name));
  if (!family) return [];
  const some = family.specs.some((spec) => spec.id === name) ? family.specs.filter((spec) => spec.id === name) : family.specs;
  return some.flatMap((spec) => spec.cases).filter((one) => one.row === row && one.column === column);
}

function showCell() {
  const panel = byId("cell");
  const found = state.cell ? casesOfCell(state.cell) : [];
  for (const open of document.querySelectorAll(".matrix td.open")) open.classList.remove("open");
  panel.hidden = !found.length;
  document.body.classList.toggle("with-cell", found.length > 0);
  panel.replaceChildren();
  if (!found.length) return;
  document.querySelector(`[data-key="${CSS.escape(state.cell)}"]`)?.parentElement.classList.add("open");
  const [name, row, column] = state.cell.split("|");
  const shown = found.filter((one) => one.shown);
  const arrow = found[0].outputs.length ? "→" : "and";
  fill(panel, {}, [
    h("div", { class: "cell-head" },
      h("div", {}, h("p", { class: "sub" }, name), h("h2", { id: "cell-title" }, `${row} ${arrow} ${column}`)),
      h("button", { type: "button", class: "quiet", "aria-label": "Close", "aria-keyshortcuts": "Escape", onclick: closeCell }, "✕")),
    h("div", { class: "cause-buttons" }, causeButtons(causesOf(shown), "cell")),
    splitOf(found),
    shown.length < found.length && h("p", { class: "hint" }, `${number(found.length - shown.length)} of ${plural(found.length, "case")} hidden by the filters`),
    cellFindings(shown),
    cellNotes(shown),
  ]);
}

const FEW = 12; // settings that are shown at once

// Rows are settings, columns are versions. Many settings begin with a row per attribute value.
function splitOf(found) {
  const settings = new Set(found.map((one) => one.setting));
  if (settings.size <= FEW) return crossOf(found);
  const rest = h("details", { ontoggle: () => rest.open && rest.children.length < 2 && rest.append(crossOf(found)) },
    h("summary", { class: "sub" }, `All ${number(settings.size)} combinations`));
  return [marginsOf(found), rest];
}

function varying(found) {
  const values = new Map();
  for (const one of found) {
    for (const [name, value] of one.attributes) {
      if (!values.has(name)) values.set(name, new Map());
      const some = values.get(name);
      if (!some.has(value)) some.set(value, []);
      some.get(value).push(one);
    }
  }
  return [...values].filter(([, some]) => some.size > 1);
}

// The combined status of the cases of each attribute value.
function marginsOf(found) {
  const rows = varying(found).flatMap(([name, values]) => [...values].map(([value, some], i) => {
    const left = some.filter((one) => one.shown);
    const sum = (field) => left.reduce((total, one) => total + one[field], 0);
    const together = { rank: Math.min(...left.map((one) => one.shown.rank)), wrong: sum("wrong"), judged: sum("judged") };
    const failing = left.filter((one) => one.shown.failing).length;
    return h("tr", { class: i ? "" : "first" }, h("th", { scope: "row" }, i ? "" : name), h("th", { scope: "row" }, value),
      left.length ? statusCell(statuses[together.rank], together) : h("td", { class: "out" }, "○"),
      h("td", { class: "n" }, `${number(failing)} of ${plural(left.length, "case")} failing`));
  }));
  return h("div", { class: "scroll" }, h("table", { class: "split" },
    h("caption", { class: "hidden-text" }, "Cases of the cell by the value of each attribute"), h("tbody", {}, rows)));
}

function statusCell(status, one, title) {
  return h("td", { class: `st-${status.key} heat-${heat(one)}`, title },
    h("span", { class: "symbol" }, dot(status.symbol)), " ",
    status.failing && h("span", { class: "share" }, percent(one.wrong, one.judged)),
    h("span", { class: "hidden-text" }, status.word));
}

function crossOf(found) {
  const shown = varying(found).map(([name]) => name);
  const rows = new Map(found.map((one) => [one.setting, one.attributes]));
  const versions = [...new Set(found.map((one) => one.spec))];
  const at = new Map(found.map((one) => [`${one.spec.index} ${one.setting}`, one]));
  const cell = (spec, rest) => {
    const one = at.get(`${spec.index} ${rest}`);
    if (!one) return h("td", {});
    if (!one.shown) return h("td", { class: "out", title: "hidden by the filters" }, "○");
    const wrong = one.wrong ? `, ${number(one.wrong)} of ${number(one.judged)} wrong` : "";
    return statusCell(one.shown, one, `${one.id}: ${one.shown.word}${wrong}, ${one.coverage}`);
  };
  return h("div", { class: "scroll" }, h("table", { class: "split" },
    h("caption", { class: "hidden-text" }, "Cases of the cell by attributes and version"),
    h("thead", {}, h("tr", {}, shown.map((name) => h("th", { scope: "col" }, name)),
      versions.map((spec) => h("th", { scope: "col", class: "version", title: spec.id }, spec.version || spec.id)))),
    h("tbody", {}, [...rows].map(([rest, attributes]) => h("tr", {},
      shown.map((name) => h("th", { scope: "row" }, (attributes.find(([key]) => key === name) || ["", "—"])[1])),
      versions.map((spec) => cell(spec, rest)))))));
}

function cellFindings(shown) {
  const some = new Set(shown);
  const list = findings.map((one) => [one, one.visible.filter((entry) => some.has(entry.case))])
    .filter(([, members]) => members.length);
  if (!list.length) return h("p", { class: "empty" }, "Nothing fails here.");
  const articles = list.slice(0, PAGE).map(([one, members]) => findingOf(one, members, "c"));
  if (list.length === 1) requestAnimationFrame(() => unfold(articles[0], ...list[0], true));
  return [h("h3", {}, plural(list.length, "finding")), h("div", { class: "list" }, articles),
    list.length > PAGE && h("p", { class: "sub" }, `… and ${number(list.length - PAGE)} more: filter by the types to see all`)];
}

function cellNotes(shown) {
  const rows = notes(shown);
  return rows.length > 0 && [h("h3", {}, "Also"), notesTable(rows)];
}

// Tolerated, undefined and unsupported entries, grouped by rule and words.
function notes(some) {
  const found = new Map();
  for (const one of some) {
    for (const entry of one.entries) {
      if (!entry.matched || entry.status.failing || entry.status === statusOf.pass) continue;
      const rule = entry.by ? entry.by.rule : "";
      // versions and line numbers vary in the same message
      const key = [entry.status.word, rule, entry.kind.replace(/\b\d+\b/g, "0")].join("\n");
      if (!found.has(key)) found.set(key, { status: entry.status, rule, kind: entry.kind, cases: new Set() });
      found.get(key).cases.add(one);
    }
  }
  return [...found.values()].sort((a, b) => a.status.rank - b.status.rank || b.cases.size - a.cases.size);
}

function notesTable(rows) {
  return h("div", { class: "scroll" }, h("table", { class: "notes" }, h("tbody", {}, rows.map(({ status, rule, kind, cases: some }) =>
    h("tr", {}, h("td", {}, tag(status)),
      h("td", {}, rule && h("b", {}, rule, kind && ": "), status === statusOf.tolerated && kind ? `read as “${kind}”` : kind || (rule ? "" : "no reason given")),
      h("td", { class: "n" }, plural(some.size, "case")))))));
}

function showRecorded() {
  const place = byId("recorded");
  const rows = notes(cases.filter((one) => one.shown));
  place.hidden = !rows.length;
  const list = h("div", {});
  const show = (count) => {
    list.replaceChildren();
    fill(list, {}, [notesTable(rows.slice(0, count)), rows.length > count && h("p", { class: "more" },
      h("button", { type: "button", onclick: () => show(rows.length) }, `Show all ${number(rows.length)}`))]);
  };
  const details = h("details", { ontoggle: () => details.open && !list.firstChild && show(PAGE) },
    h("summary", {}, h("h2", { id: "recorded-title" }, "Tolerated, undefined, unsupported ", h("span", { class: "count" }, number(rows.length)))),
    list);
  place.replaceChildren(details);
}
