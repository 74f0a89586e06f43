// An example of a failure: bits and number line, or the tensors of a call.

function exampleOf(shown, title, width, verdict) {
  const below = width < 720 && (shown.rows || []).some((row) => row.bits.flat().map((piece) => piece.text).join("").length > 40);
  const lines = (shown.lines || []).map((line) => wordRow(line.label, line.words));
  const rows = (shown.rows || []).map((row, i) => bitRow(row, shown.types[i], below));
  return h("section", { class: "example", "aria-label": title }, h("h4", {}, title),
    shown.reading && h("p", { class: "hint" }, `closest reading: ${shown.reading}`),
    verdict === "inconsistent" && h("p", {}, shown.message),
    lines.length > 0 && wordTable(lines),
    shown.elements?.rows.length > 0 && elementsOf(shown.elements),
    rows.length > 0 && wordTable(rows),
    shown.line && nearLine(shown.line, labelsOf(shown), shown.types.at(-1), width));
}

const wordTable = (rows) => h("div", { class: "scroll" }, h("table", { class: "words" }, h("tbody", {}, rows)));

// The labels of a number line. Patterns and texts without a number have none.
function labelsOf({ rows, line }) {
  const [due, got] = rows.slice(-2);
  return [rows.length > 2 ? rows[0] : { label: "input", value: "", words: "" }, due, got].map((row, i) =>
    [row.label, row.value || (line.marks[i] !== null ? row.words : "")]);
}

const rowOf = (label, type, ...cells) => h("tr", { class: label.split(" ")[0] },
  h("th", { scope: "row" }, label, type && h("small", {}, type)), cells);

// A word with its bits, and its value beside or below them.
function bitRow(row, type, below) {
  if (!row.bits.length) return wordRow(row.label, row.words, type);
  const value = [h("span", { class: "value" }, row.value), h("span", { class: "code" }, row.code)];
  const drawn = row.bits.map((line) => h("div", {}, bits(line)));
  return below ? rowOf(row.label, type, h("td", {}, drawn, h("div", {}, value)))
    : rowOf(row.label, type, h("td", {}, drawn), value.map((one) => h("td", {}, one)));
}

const wordRow = (label, words, type) => rowOf(label, type, h("td", { colspan: 3, class: "plain" }, words));

function elementsOf({ heads, rows, output, first, at, wrong, rest }) {
  const names = [output ? `output ${output}, element` : "element", ...heads];
  return h("div", { class: "scroll" }, h("table", { class: "elements" },
    h("thead", {}, h("tr", {}, names.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, rows.map((row, i) => {
      const differs = first + i === at;
      return h("tr", { class: [differs && "first", wrong.includes(i) && "wrong"].filter(Boolean).join(" ") },
        h("th", { scope: "row" }, differs && "→ ", String(first + i)), row.map((cell) => h("td", {}, cell.full)));
    })),
    rest && h("tfoot", {}, h("tr", {}, h("td", { colspan: names.length }, rest)))));
}
