// The specs side by side: a small picture of each matrix, a pixel per cell.

const cards = new Map();
let allCard;

function startSpecs() {
  if (specs.length < 2) return;
  const several = families.filter((family) => family.specs.length > 1);
  const single = families.filter((family) => family.specs.length === 1);
  const groups = [...several.map((family) => family.specs), single.flatMap((family) => family.specs)]
    .map((some) => some.length > 0 && h("div", { class: "family" }, some.map((spec) => card(spec))));
  allCard = h("button", { type: "button", class: "quiet", "aria-pressed": "true",
    onclick: () => change({ spec: "" }) }, "All specs");
  byId("specs").append(
    h("div", { class: "section-head" }, h("h2", { id: "specs-title" }, "Specs"), allCard),
    h("div", { class: "gallery" }, groups));
}

function card(spec) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  const counts = h("span", { class: "card-counts" });
  const button = h("button", { type: "button", class: "card", "aria-pressed": "false",
    onclick: () => change({ spec: state.spec === spec.id ? "" : spec.id }) },
    canvas, h("span", { class: "card-name" }, spec.id), counts);
  cards.set(spec, { button, canvas, counts });
  return button;
}

function showSpecs() {
  if (specs.length < 2) return;
  allCard.setAttribute("aria-pressed", String(!state.spec));
  for (const [spec, { button, counts }] of cards) {
    const asked = spec.cases.filter((one) => one.unscoped);
    const failing = asked.filter((one) => one.unscoped.rank <= statusOf.inconsistent.rank);
    button.setAttribute("aria-pressed", String(state.spec === spec.id));
    const judged = asked.some((one) => one.unscoped.rank <= statusOf.pass.rank);
    counts.replaceChildren(...(judged
      ? [h("b", failing.length ? { class: "bad" } : {}, number(failing.length)), ` of ${number(asked.length)} fail`]
      : [asked.length ? "none judged" : "none left"]));
  }
  drawThumbnails();
}

function drawThumbnails() {
  const style = getComputedStyle(document.documentElement);
  const colours = statuses.map((one) => style.getPropertyValue(`--c-${one.key}`).trim());
  for (const [spec, { canvas }] of cards) {
    const { rows, columns } = axes(spec.family, spec.cases);
    canvas.width = columns.length;
    canvas.height = rows.length;
    const at = new Map();
    for (const one of spec.cases) {
      if (!one.unscoped) continue;
      const place = columns.indexOf(one.column) + rows.indexOf(one.row) * columns.length;
      at.set(place, Math.min(at.has(place) ? at.get(place) : 99, one.unscoped.rank));
    }
    const pen = canvas.getContext("2d");
    for (const [place, rank] of at) {
      pen.fillStyle = colours[rank];
      pen.fillRect(place % columns.length, Math.floor(place / columns.length), 1, 1);
    }
  }
}

function axes(family, some) {
  const rows = new Set(some.map((one) => one.row));
  const columns = new Set(some.map((one) => one.column));
  return {
    rows: family.rows.filter((name) => rows.has(name)),
    columns: family.columns.filter((name) => columns.has(name)),
  };
}
