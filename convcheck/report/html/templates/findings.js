// Findings: equal failures of several cases. Their content is made when they are opened.

const PAGE = 50;
let upto = PAGE;

let unfolded = false; // whether findings that causes explain are shown without a filter, too

const KINDS = causes.length ? [
  { title: "Not explained by a cause", where: "f", has: (entry) => !excused(entry) && !causeOf(entry, entry.case) },
  { title: "Known and waived", where: "k", has: excused },
  { title: "Explained by causes", where: "e", has: (entry) => causeOf(entry, entry.case), folds: true },
] : [{ title: "Findings", where: "f", has: () => true }];

function showFindings() {
  const place = byId("findings");
  const every = KINDS.map((kind) => ({ ...kind, folded: kind.folds && !unfolded && !filtered(),
    list: findings.map((one) => [one, one.visible.filter(kind.has)]).filter(([, members]) => members.length) }));
  const some = every.filter(({ list }) => list.length);
  const all = some.reduce((sum, { list, folded }) => sum + (folded ? 0 : list.length), 0);
  let room = upto;
  place.replaceChildren();
  fill(place, {}, [
    (some.length ? some : every.slice(0, 1)).map((kind, i) => {
      const shown = kind.folded ? [] : kind.list.slice(0, room);
      room -= shown.length;
      return kindOf(kind, shown, i);
    }),
    all > upto && h("p", { class: "more" },
      h("button", { type: "button", onclick: () => moreFindings(PAGE) }, `Show ${Math.min(PAGE, all - upto)} more`),
      h("span", { class: "sub" }, `${number(upto)} of ${number(all)}`)),
  ]);
}

function kindOf({ title, where, list, folded }, shown, at) {
  return h("div", { class: "findings-kind" },
    h("div", { class: "section-head" }, h("h2", { id: at ? null : "findings-title" }, `${title} `,
      h("span", { class: "count" }, number(list.length)))),
    folded && h("p", { class: "more" }, h("button", { type: "button", id: "unfold", onclick: unfoldAll },
      `Show the ${plural(list.length, "finding")} that causes explain`)),
    !list.length && h("p", { class: "empty" }, findings.length ? "No finding is left by these filters." : "Nothing failed."),
    shown.length > 0 && h("div", { class: "list" }, shown.map(([one, members]) => findingOf(one, members, where))));
}

function unfoldAll() {
  unfolded = true;
  showFindings();
  byId("findings").querySelector('[data-finding^="e"] button')?.focus();
}

function moreFindings(count) {
  const before = upto;
  upto += count;
  showFindings();
  byId("findings").querySelectorAll(".finding > h3 button")[before]?.focus();
}

function findingOf(one, members, where) {
  const id = `${where}${one.index}`;
  const key = where === "f" ? String(one.index) : id;
  const letters = causes.filter((cause) => members.some((entry) => causeOf(entry, entry.case) === cause));
  const body = h("div", { class: "body", id, hidden: true });
  const count = members.reduce((sum, entry) => sum + entry.count, 0);
  const of = members.reduce((sum, entry) => sum + entry.of, 0);
  const button = h("button", { type: "button", "aria-expanded": "false", "aria-controls": id },
    h("span", { class: "top-line" }, tag(one.status), letters.map((cause) => letterOf(cause.letter)),
      h("span", { class: "kind" }, one.kind || one.message || one.verdict),
      h("span", { class: "counts", title: of ? `how many ${members[0].case.spec.noun} under this rule fail` : "" }, of ? `${number(count)} of ${number(of)}` : "",
        members.length > 1 ? `${of ? " in " : ""}${plural(members.length, "case")}` : "",
        h("code", { class: "finding-id", title: "its id, the same in every run" }, one.id))),
    h("span", { class: "ids" }, shortIds(one, members)),
    one.rules.length > 0 && h("span", { class: "row" }, one.rules[0].name,
      one.rules.length > 1 && `, and ${plural(one.rules.length - 1, "more row")}`));
  const article = h("article", { class: `finding edge-${one.status.key}`, "data-finding": key }, h("h3", {}, button), body);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    unfold(article, one, members, open);
    if (where !== "c") change({ finding: open ? key : "" }, false);
  });
  if (where !== "c" && state.finding === key) {
    requestAnimationFrame(() => unfold(article, one, members, true));
  }
  return article;
}

function unfold(article, one, members, open) {
  const [head, body] = article.children;
  head.firstChild.setAttribute("aria-expanded", String(open));
  body.hidden = !open;
  if (open && !body.firstChild) body.append(...detailsOf(one, members, body));
}

const SHOWN = 3;

function shortIds(one, members) {
  const all = members.length === one.members.length;
  const ids = all ? one.names : members.map((entry) => entry.case.id);
  const kept = ids.slice(0, SHOWN).map((id) => (id.length > 220 ? `${id.slice(0, 219)}…` : id));
  const rest = ids.length - kept.length;
  return [kept.map((id) => h("span", {}, id)), rest > 0 && h("span", { class: "sub" }, `… and ${number(rest)} more`)];
}

function detailsOf(one, members, body) {
  const row = one.rules[0];
  const place = h("div", { class: "member" });
  return [
    one.excuse && excuseOf(one.excuse),
    row && ruleOf(one, row),
    (one.reading || one.where) && h("p", {}, [one.reading && `closest reading: ${one.reading}`,
      one.where].filter(Boolean).join(", ")),
    one.message && h("pre", { class: "message" }, one.message),
    chooser(one, members, place, body),
    place,
  ].filter(Boolean);
}

function excuseOf([kind, reason, issue, place]) {
  const link = /^https?:\/\//i.test(issue)
    ? h("a", { href: issue, rel: "noopener noreferrer" }, issue) : issue;
  return h("p", { class: "excuse" }, h("b", {}, kind === "waived" ? "Waived: " : "Known: "), reason,
    issue && [" ", link], h("span", { class: "place" }, ` ${place}`));
}

function sentenceOf({ of: part, cite, source, gloss }) {
  return cite && h("blockquote", {}, h("p", {}, part && `${part}: `, cite),
    source && h("footer", {}, "— ", h("cite", {}, source)),
    gloss && h("footer", {}, gloss));
}

function ruleOf(one, row) {
  return h("div", { class: "rule" },
    h("p", {}, h("b", {}, row.name), h("span", { class: "level" }, row.level),
      h("span", { class: "place" }, one.places)),
    row.sentences.map(sentenceOf),
    row.row_in_words && h("p", {}, `in its row: ${row.row_in_words}`),
    one.rules.length > 1 && h("details", {}, h("summary", {}, plural(one.rules.length - 1, "more row")),
      h("ul", {}, one.rules.slice(1).map((other) => h("li", {}, other.name, " ", h("span", { class: "place" }, other.place))))));
}

const widthOf = (body) => Math.max(Math.min(body.clientWidth - 4, 760), 280);

// One case of the finding at a time, chosen from all.
function chooser(one, members, place, body) {
  const show = (at) => place.replaceChildren(...memberOf(one, members[at], widthOf(body)));
  requestAnimationFrame(() => show(0));
  if (members.length < 2) return null;
  const select = h("select", { onchange: () => step(0) },
    members.map((entry, i) => h("option", { value: i }, entry.case.id)));
  const at = h("span", { class: "sub" });
  const step = (by) => {
    select.selectedIndex = (select.selectedIndex + by + members.length) % members.length;
    at.textContent = `${number(select.selectedIndex + 1)} of ${number(members.length)}`;
    show(select.selectedIndex);
  };
  at.textContent = `1 of ${number(members.length)}`;
  return h("div", { class: "chooser" }, h("label", {}, h("span", {}, "Case"), select),
    h("button", { type: "button", class: "small", "aria-label": "Case before", onclick: () => step(-1) }, "‹"),
    h("button", { type: "button", class: "small", "aria-label": "Next case", onclick: () => step(1) }, "›"), at);
}

const backend = () => shell(document.body.dataset.backend);

const explainCommand = (example) => `convcheck explain --backend ${backend()} ${example.words}`;

function memberOf(one, entry, width) {
  if (!entry.evidence) return []; // the case failed as a whole: what there is to say is said
  const { digest, ranges, more, examples, overview, axis } = entry.evidence;
  const { inputs, outputs } = entry.case;
  return [
    h("p", { class: "member-head" }, members(entry)),
    overview && axis && wideLine(overview, axis, inputs[0], outputs[0], width),
    ranges.length > 0 && rangesOf(ranges, more),
    examples.map((example, i) => exampleOf(example, exampleTitle(i, examples.length), width, entry.finding.verdict)),
    commands([
      examples.length && explainCommand(examples[0]),
      `convcheck repro ${shell(entry.case.id)} --backend ${backend()} ${entry.finding.id}`,
    ].filter(Boolean)),
    h("p", { class: "digest" }, "digest of the failing inputs and answers ", h("code", {}, digest)),
  ].flat().filter(Boolean);
}

const exampleTitle = (i, count) => (count < 2 ? "Example" : i ? "Extreme" : "First");

function members(entry) {
  const by = entry.by && entry.by.name;
  return [h("b", {}, `${number(entry.count)} of the ${number(entry.of)}`),
    ` ${entry.case.spec.noun} that ${by} decides in ${entry.case.id}`, entry.kind && entry.kind !== entry.finding.kind && `: ${entry.kind}`];
}

function rangesOf(ranges, more) {
  const middle = Math.ceil(ranges.length / 2);
  const parts = ranges.map((range) => h("code", {}, range));
  if (more) parts.splice(middle, 0, h("span", { class: "sub" }, `${number(more)} more`));
  return h("p", { class: "ranges" }, h("span", { class: "label" }, "Inputs"), parts);
}

const commands = (lines) => h("div", { class: "commands" }, lines.map((line) => copyable(line, "the command")));
