// One example of a failure: bits and number line, or the tensors of a call.

function exampleOf(one, shown, title, width, verdict) {
  const parts = shown.call ? callOf(shown, width, verdict) : valuesOf(one, shown, width, verdict);
  const reading = shown.reading && h("p", { class: "hint" }, `closest reading: ${shown.reading}`);
  return h("section", { class: "example", "aria-label": title }, h("h4", {}, title), reading, parts);
}

const said = (word) => (word === null || typeof word === "string" ? word : word[1]);

// What stands on a number line: a pattern, and a text that spells no number, do not.
const labelsOf = (input, due, got, line, [one, other] = ["expected", "got"]) =>
  [["input", input], [one, due], [other, got]].map(([name, word], i) =>
    [name, Array.isArray(word) || (line && line.marks[i] !== null) ? said(word) : ""]);

// An answer is held against other answers there, not against a standard.
const waysOf = (verdict) => (verdict === "inconsistent" ? ["one way", "another"] : ["expected", "got"]);

function valuesOf(one, shown, width, verdict) {
  const [due, came] = waysOf(verdict);
  const { inputs, outputs } = one;
  const several = shown.inputs.length > 1;
  const below = width < 720 && [...inputs, ...outputs].some((type) => wideType(type));
  const rows = shown.inputs.map((word, i) => bitRow(several ? `input ${i + 1}` : "input", inputs[i], word, undefined, below));
  rows.push(bitRow(due, outputs[0], shown.due, undefined, below));
  rows.push(shown.got === null
    ? wordRow(came, `nothing${shown.message ? `: ${shown.message}` : ""}`)
    : bitRow(came, outputs[0], shown.got, typeof shown.due === "string" ? undefined : shown.due[0], below));
  const labels = labelsOf(shown.inputs[0], shown.due, shown.got, shown.line, [due, came]);
  return [
    verdict === "inconsistent" && shown.got !== null && h("p", {}, shown.message),
    h("div", { class: "scroll" }, h("table", { class: "words" }, h("tbody", {}, rows))),
    shown.line && nearLine(shown.line, labels, outputs[0], width),
  ];
}

const wideType = (type) => (data.types[type] || []).reduce((sum, [, size]) => sum + size, 0) > 32;

// A word with its bits; its value beside them, or below where they leave no room.
function bitRow(label, type, word, other, below) {
  if (typeof word === "string") return wordRow(label, word, type);
  const value = [h("span", { class: "value" }, word[1]), h("span", { class: "code" }, word[0])];
  return h("tr", { class: label.split(" ")[0] }, h("th", { scope: "row" }, label, h("small", {}, type)),
    below ? h("td", {}, bits(type, word[0], other), h("div", {}, value))
      : [h("td", {}, bits(type, word[0], other)), value.map((one) => h("td", {}, one))]);
}

function wordRow(label, words, type) {
  return h("tr", { class: label.split(" ")[0] }, h("th", { scope: "row" }, label, type && h("small", {}, type)),
    h("td", { colspan: 3, class: "plain" }, words));
}

function callOf(shown, width, verdict) {
  const [one, other] = waysOf(verdict);
  const several = shown.inputs.length > 1;
  const rows = shown.inputs.map(([form, few], i) =>
    wordRow(several ? `input ${i + 1}` : "input", [h("b", {}, form), "  ", few]));
  rows.push(wordRow(one, shown.due));
  rows.push(wordRow(other, shown.got === null ? `nothing${shown.message ? `: ${shown.message}` : ""}` : shown.got));
  const parts = [verdict === "inconsistent" && shown.got !== null && h("p", {}, shown.message),
    h("div", { class: "scroll" }, h("table", { class: "words" }, h("tbody", {}, rows)))];
  if (shown.table?.rows.length) parts.push(elementsOf(shown.table, [one, other]));
  if (shown.element) {
    const { type, due, got, line } = shown.element;
    const labels = labelsOf(null, due, got, line, [one, other]);
    parts.push(
      h("div", { class: "scroll" }, h("table", { class: "words" }, h("tbody", {}, bitRow(one, type, due),
        bitRow(other, type, got, typeof due === "string" ? undefined : due[0])))),
      line && nearLine(line, labels, type, width));
  }
  return parts;
}

function elementsOf(table, ways) {
  const heads = [...table.heads.slice(0, -2), ...ways];
  const wrong = new Set(table.wrong);
  return h("div", { class: "scroll" }, h("table", { class: "elements" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, table.rows.map((row, i) =>
      h("tr", { class: [i === table.at && "first", wrong.has(i) && "wrong"].filter(Boolean).join(" ") },
        row.map((cell, column) => h(column ? "td" : "th", column ? {} : { scope: "row" },
          !column && i === table.at && "→ ", cell))))),
    table.rest && h("tfoot", {}, h("tr", {}, h("td", { colspan: heads.length }, table.rest)))));
}
