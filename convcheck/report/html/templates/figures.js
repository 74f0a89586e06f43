// Draw number lines and bits. Places are computed exactly in line.py.

const ACROSS = 1000;

// The fields of a code, with wrong bits marked.
function bits(line) {
  const fields = [];
  for (const piece of line) {
    const last = fields.at(-1);
    if (last && last[0].role === piece.role) last.push(piece);
    else if (piece.text !== " ") fields.push([piece]);
  }
  return h("span", { class: "bits" }, fields.map((pieces) => {
    const name = pieces[0].role === "plain" ? "integer" : pieces[0].role;
    const size = pieces.map((piece) => piece.text).join("").replaceAll(" ", "").length;
    return h("span", { class: `field ${name}`, title: `${name}, ${plural(size, "bit")}` },
      h("i", {}, size > 7 ? name : name[0]), h("span", {}, pieces.map((piece) => (piece.wrong ? h("mark", {}, piece.text) : piece.text))));
  }));
}

// The destination's values around an input, with the expected value and the answer.
function nearLine(line, labels, type, width) {
  const { ticks, marks, failing: stretches } = line;
  const middles = ticks.slice(1).map(([place], i) => (place + ticks[i][0]) / 2);
  const left = 12, room = width - 2 * left, axis = 20 + labels.filter(([, said]) => said).length * 20;
  const x = (place) => left + (Math.min(Math.max(place, 0), ACROSS) / ACROSS) * room;
  const rows = apart(labels.map(([name, said], i) => ({ name, said, place: marks[i] })).filter((one) => one.said), x, width);
  const drawn = [
    stretches.map(([a, b]) => s("rect", { class: "stretch", x: x(a) - 1, width: Math.max(x(b) - x(a), 0) + 2, y: axis - 9, height: 18 })),
    s("line", { class: "axis", x1: 0, x2: width, y1: axis, y2: axis }),
    middles.map((place) => s("line", { class: "middle", x1: x(place), x2: x(place), y1: axis - 6, y2: axis + 6 })),
    ticks.map(([place, said]) => s("line", { class: said ? "tick" : "tick beyond", x1: x(place), x2: x(place), y1: axis - 11, y2: axis + 11 })),
    tickLabels(ticks, x, axis + 25, width),
    rows.map((one, i) => lollipop(one, 14 + i * 20, axis, width)),
  ];
  const said = rows.map(({ name, said: word }) => `${name} ${word}`).join(", ");
  return h("figure", { class: "line-figure" },
    s("svg", { viewBox: `0 0 ${width} ${axis + 44}`, width, height: axis + 44, role: "img", "aria-label": `Number line: ${said}` }, drawn),
    h("figcaption", {}, key("tick", `values of ${type}`), key("middle", "midpoints"),
      ticks.some(([, word]) => !word) && key("tick beyond", "where the next would be"),
      stretches.length > 0 && key("stretch", "inputs that fail")));
}

const key = (name, said) => h("span", { class: "key" }, h("i", { class: `key-${name.replace(" ", "-")}` }), said);

// As many labels as fit, on two rows if neighbours would touch.
function tickLabels(ticks, x, y, width) {
  const free = [-99, -99];
  return ticks.map(([place, said]) => {
    if (!said) return null;
    const size = said.length * 6.7 + 8;
    const middle = Math.min(Math.max(x(place), size / 2), width - size / 2);
    const row = free.findIndex((end) => middle - size / 2 >= end);
    if (row < 0) return null;
    free[row] = middle + size / 2;
    return s("text", { class: "tick-label", x: middle, y: y + row * 14, "text-anchor": "middle" }, said);
  });
}

// Put marks on rows so that no stick crosses a label: from the left downwards with labels to the
// right, and marks without room above these, from the right downwards.
function apart(marks, x, width) {
  const sized = marks.map((one) => {
    const label = one.place < 0 ? `← ${one.name} ${one.said}` : one.place > ACROSS ? `${one.name} ${one.said} →` : `${one.name} ${one.said}`;
    const at = one.place === null ? width : x(one.place);
    return { ...one, label, at, turned: at + label.length * 7.4 + 12 > width };
  });
  const turned = sized.filter((one) => one.turned).sort((a, b) => b.at - a.at);
  return [...turned, ...sized.filter((one) => !one.turned).sort((a, b) => a.at - b.at)];
}

function lollipop({ name, label, place, at, turned }, y, axis, width) {
  if (place === null) {
    return s("text", { class: `flag ${name} off`, x: width, y: y + 4, "text-anchor": "end" }, `${label} (not on the line)`);
  }
  const out = place < 0 || place > ACROSS;
  const edge = place < 0 ? 2 : width - 2;
  return s("g", { class: `flag ${name}` },
    !out && s("line", { x1: at, x2: at, y1: y, y2: axis }),
    !out && s("circle", { cx: at, cy: axis, r: 4 }),
    !out && s("circle", { cx: at, cy: y, r: 3 }),
    s("text", { x: out ? edge : at + (turned ? -9 : 9), y: y + 4, "text-anchor": turned ? "end" : "start" }, label));
}

// The failing ranges on the line of all source values.
function wideLine({ spans, nan }, { ticks, reach }, source, target, width) {
  const left = 8, nans = nan ? 44 : 0;
  const room = width - 2 * left - nans, y = 18;
  const x = (place) => left + (place / ACROSS) * room;
  const drawn = [
    reach && s("rect", { class: "reach", x: x(reach[0][0]), width: Math.max(x(reach[1][0]) - x(reach[0][0]), 1), y: y - 9, height: 18 }),
    s("line", { class: "axis", x1: left, x2: width - left - nans, y1: y, y2: y }),
    ticks.map(([place]) => s("line", { class: "tick", x1: x(place), x2: x(place), y1: y - 5, y2: y + 5 })),
    spans.map(([a, b]) => s("rect", { class: "failing", x: x(a) - 0.75, width: Math.max(x(b) - x(a), 0) + 1.5, y: y - 12, height: 24 })),
    nans && [s("rect", { class: "failing", x: width - 40, width: 40, y: y - 9, height: 18, rx: 2 }),
      s("text", { class: "nan", x: width - 20, y: y + 4, "text-anchor": "middle" }, "NaN")],
    tickLabels(ticks, x, y + 27, width - nans),
  ];
  return h("figure", { class: "line-figure" },
    s("svg", { viewBox: `0 0 ${width} ${y + 46}`, width, height: y + 46, role: "img", "aria-label": `Where ${source} inputs fail` }, drawn),
    h("figcaption", {}, key("failing", "inputs that fail"), `on all of ${source}, as much room for every binade`,
      reach && key("reach", `range of ${target}, ${reach[0][1]} to ${reach[1][1]}`)));
}
