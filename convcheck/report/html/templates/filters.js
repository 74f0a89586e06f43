// The row of filters. It is made once. Counts and choices are updated at each change.

const chips = { status: new Map(), level: new Map() };
const choices = new Map();
let counted;

function startFilters() {
  const search = h("input", {
    type: "search", id: "search", placeholder: causes.length ? "Search cause, rule, kind or case" : "Search rule, kind or case", autocomplete: "off",
    spellcheck: "false", "aria-label": "Search rule, kind of failure or case", "aria-keyshortcuts": "/",
  });
  let waiting = 0;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => change({ q: search.value.trim() }), 80);
  });
  const all = new Set(cases.flatMap((one) => one.entries.map((entry) => entry.status)));
  const levels = new Set(cases.flatMap((one) => one.entries.map((entry) => entry.level)));
  counted = h("p", { class: "counted", role: "status" });
  byId("filters").append(
    h("div", { class: "line" }, search, ...selects()),
    h("div", { class: "line" }, chipGroup("status", "Verdict", statuses.filter((one) => all.has(one)))),
    h("div", { class: "line" },
      chipGroup("level", "Level",
        data.levels.filter((word) => levels.has(word)).map((word) => ({ word }))),
      h("div", { class: "last" }, counted,
        h("button", { type: "button", class: "quiet", id: "clear", onclick: () => change(null) }, "Clear filters"))),
  );
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
}

function chipGroup(kind, label, words) {
  const made = words.map((one) => {
    const count = h("span", { class: "count" });
    const chip = h("button", { type: "button", class: "chip", "aria-pressed": "false",
      onclick: () => toggle(kind, one.word) },
      one.symbol && shade(one.symbol, one), one.word, " ", count);
    chips[kind].set(one.word, { chip, count });
    return chip;
  });
  return h("div", { class: "chips", role: "group", "aria-label": label },
    h("span", { class: "label", "aria-hidden": "true" }, label), made);
}

function toggle(kind, word) {
  const chosen = new Set(state[kind]);
  if (!chosen.delete(word)) chosen.add(word);
  change({ [kind]: chosen });
}

const sorted = (words) => [...new Set(words)];

function selects() {
  const made = [
    choice("from", "from", sorted(cases.flatMap((one) => one.inputs))),
    choice("to", "to", sorted(cases.flatMap((one) => [one.column, ...one.outputs]))),
  ];
  if (causes.length) made.unshift(choice("cause", "cause", causes.map((one) => one.letter)));
  const values = new Map();
  for (const one of cases) {
    for (const [name, value] of one.attributes) {
      if (!values.has(name)) values.set(name, new Set());
      values.get(name).add(value);
    }
  }
  for (const [name, words] of values) {
    if (words.size > 1) made.push(choice(`where ${name}`, name, [...words], name));
  }
  return made;
}

function choice(key, label, words, attribute = "") {
  const select = h("select", {
    onchange: () => {
      if (!attribute) return change({ [key]: select.value });
      const attributes = new Map(state.attributes);
      if (select.value) attributes.set(attribute, select.value);
      else attributes.delete(attribute);
      return change({ attributes });
    },
  }, h("option", { value: "" }, "any"), words.map((word) => h("option", { value: word }, word)));
  choices.set(key, select);
  return h("label", { class: "choice" }, h("span", {}, label), select);
}

function chipTitle(kind, word, cases, others) {
  if (kind === "level") return `${plural(cases, "case")} with values of this level`;
  return `${plural(cases, "case")}: ${word}` + (others ? `; some values of ${plural(others, "case")} that stand otherwise as a whole` : "");
}

function showFilters(counts) {
  const search = byId("search");
  if (document.activeElement !== search) search.value = state.q;
  for (const kind of ["status", "level"]) {
    const [numbers, others] = kind === "status" ? [counts.byStatus, counts.inPart] : [counts.byLevel, []];
    for (const [word, { chip, count }] of chips[kind]) {
      const at = kind === "status" ? statusOf[word].rank : data.levels.indexOf(word);
      chip.setAttribute("aria-pressed", String(state[kind].has(word)));
      chip.classList.toggle("none", !numbers[at] && !others[at]);
      count.textContent = number(numbers[at]) + (others[at] ? ` +${number(others[at])} in part` : "");
      chip.title = chipTitle(kind, word, numbers[at], others[at]);
    }
  }
  for (const [key, select] of choices) {
    const value = key.startsWith("where ") ? state.attributes.get(key.slice(6)) : state[key];
    select.value = value || "";
    select.parentElement.classList.toggle("chosen", Boolean(value));
  }
  const all = filtered();
  byId("clear").hidden = !all;
  counted.textContent = all
    ? `${number(counts.cases)} of ${plural(cases.length, "case")}, ${number(counts.findings)} of ${plural(findings.length, "finding")}`
    : `${plural(cases.length, "case")}, ${plural(findings.length, "finding")}`;
}
