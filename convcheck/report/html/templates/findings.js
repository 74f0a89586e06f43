// Findings: failures that are the same across cases. A list of headings; what is in one is made
// when it is opened.

const PAGE = 50;
let upto = PAGE;

function showFindings() {
  const place = byId("findings");
  const list = findings.filter((one) => one.visible.length);
  const shown = list.slice(0, upto);
  const more = list.length - shown.length;
  place.replaceChildren();
  fill(place, {}, [
    h("div", { class: "section-head" }, h("h2", { id: "findings-title" }, "Findings ",
      h("span", { class: "count" }, number(list.length)))),
    list.length ? h("div", { class: "list" }, shown.map((one) => findingOf(one, one.visible, "f")))
      : h("p", { class: "empty" }, findings.length ? "No finding is left by these filters." : "Nothing failed."),
    more > 0 && h("p", { class: "more" },
      h("button", { type: "button", onclick: () => moreFindings(PAGE) }, `Show ${Math.min(PAGE, more)} more`),
      h("span", { class: "sub" }, `${number(shown.length)} of ${number(list.length)}`)),
  ]);
}

function moreFindings(count) {
  const before = upto;
  upto += count;
  showFindings();
  byId("findings").querySelectorAll(".finding > h3 button")[before]?.focus();
}

function findingOf(one, members, where) {
  const id = `${where}${one.index}`;
  const body = h("div", { class: "body", id, hidden: true });
  const count = members.reduce((sum, entry) => sum + entry.count, 0);
  const of = members.reduce((sum, entry) => sum + entry.of, 0);
  const button = h("button", { type: "button", "aria-expanded": "false", "aria-controls": id },
    h("span", { class: "top-line" }, tag(one.status),
      h("span", { class: "kind" }, one.kind || one.message || one.verdict),
      h("span", { class: "counts", title: of ? `how many ${members[0].case.spec.noun} under this rule fail` : "" }, of ? `${number(count)} of ${number(of)}` : "",
        members.length > 1 ? `${of ? " in " : ""}${plural(members.length, "case")}` : "",
        h("code", { class: "finding-id", title: "its id, the same in every run" }, one.id))),
    h("span", { class: "ids" }, shortIds(one, members)),
    one.rows.length > 0 && h("span", { class: "row" }, one.rows[0].name,
      one.rows.length > 1 && `, and ${plural(one.rows.length - 1, "more row")}`));
  const article = h("article", { class: `finding edge-${one.status.key}`, "data-finding": one.index }, h("h3", {}, button), body);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    unfold(article, one, members, open);
    if (where === "f") change({ finding: open ? String(one.index) : "" }, false);
  });
  if (where === "f" && state.finding === String(one.index)) {
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
  const ids = all ? one.ids : members.map((entry) => entry.case.id);
  const kept = ids.slice(0, SHOWN).map((id) => (id.length > 220 ? `${id.slice(0, 219)}…` : id));
  const rest = ids.length - kept.length;
  return [kept.map((id) => h("span", {}, id)), rest > 0 && h("span", { class: "sub" }, `… and ${number(rest)} more`)];
}

function detailsOf(one, members, body) {
  const row = one.rows[0];
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

function sentenceOf([part, cite, source, translation]) {
  return cite && h("blockquote", {}, h("p", {}, part && `${part}: `, cite),
    source && h("footer", {}, "— ", h("cite", {}, source)),
    translation && h("footer", {}, translation));
}

function ruleOf(one, row) {
  return h("div", { class: "rule" },
    h("p", {}, h("b", {}, row.name), h("span", { class: "level" }, data.levels[row.level]),
      h("span", { class: "place" }, one.places)),
    row.sentences.map(sentenceOf),
    row.inWords && h("p", {}, `in its row: ${row.inWords}`),
    one.rows.length > 1 && h("details", {}, h("summary", {}, plural(one.rows.length - 1, "more row")),
      h("ul", {}, one.rows.slice(1).map((other) => h("li", {}, other.name, " ", h("span", { class: "place" }, other.place))))));
}

// One case of the finding at a time; all of them can be chosen.
function chooser(one, members, place, body) {
  const width = () => Math.max(Math.min(body.clientWidth - 4, 760), 280);
  const show = (at) => place.replaceChildren(...memberOf(one, members[at], width()));
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

function memberOf(one, entry, width) {
  const id = entry.case.id;
  const backend = shell(document.body.dataset.backend);
  if (entry.evidence < 0) return []; // the case failed as a whole: what there is to say is said
  const [digest, packed, left, shown, spans] = data.evidence[entry.evidence];
  const ranges = rangesIn(packed);
  const examples = shown.map((at) => exampleIn(data.examples[at]));
  const axis = data.axes[data.axisOf[entry.case.name.index]];
  const { inputs, outputs } = entry.case.name;
  return [
    h("p", { class: "member-head" }, members(entry)),
    spans && axis && wideLine(spans, axis, inputs[0], outputs[0], width),
    ranges.length > 0 && rangesOf(ranges, left),
    examples.map((example, i) => exampleOf(entry.case, example, exampleTitle(i, examples.length), width, entry.finding.verdict)),
    commands([
      examples.length && `convcheck explain --backend ${backend} ${examples[0].words.replace("@", shell(id))}`,
      `convcheck repro ${shell(id)} --backend ${backend} --group ${digest.slice(0, 8)}`,
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

function rangesOf(ranges, left) {
  const middle = Math.ceil(ranges.length / 2);
  const parts = ranges.map((range) => h("code", {}, range));
  if (left) parts.splice(middle, 0, h("span", { class: "sub" }, `${number(left)} more`));
  return h("p", { class: "ranges" }, h("span", { class: "label" }, "Inputs"), parts);
}

const commands = (lines) => h("div", { class: "commands" }, lines.map((line) => copyable(line, "the command")));
