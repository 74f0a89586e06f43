// The causes of failures, a card each. Choosing a cause opens it and filters by it.

const causeCards = new Map();

function startCauses() {
  if (!causes.length) return;
  const together = causes.filter((one) => !one.says);
  fill(byId("cause-cards"), {}, [
    h("div", { class: "cause-list" }, causes.filter((one) => one.says).map(causeCard)),
    together.length > 0 && [h("p", { class: "together" }, "At work together"), h("div", { class: "cause-list" }, together.map(causeCard))],
  ]);
}

function chooseCause(cause) {
  change({ cause: state.cause === cause.letter ? "" : cause.letter });
}

const letterOf = (letter) => h("span", { class: "letter" }, letter);

function causeCard(cause) {
  const id = `cause-${cause.letter}`;
  const body = h("div", { class: "body", id, hidden: true });
  const counts = h("span", { class: "counts" });
  const answers = h("span", { class: "counts" }, `${number(cause.answers)} of ${plural(cause.answers, "answer")}`);
  const button = h("button", { type: "button", "aria-pressed": "false", "aria-expanded": "false", "aria-controls": id,
    onclick: () => chooseCause(cause) },
    h("span", { class: "top-line" }, letterOf(cause.letter),
      h("span", { class: "kind" }, cause.says || cause.whole, !cause.gated && h("span", { class: "sub" }, " (below the gate)")),
      counts),
    cause.says && [h("span", { class: "ids" }, cause.scope),
      h("span", { class: "last-line" }, h("code", { class: "wrong-answer" }, cause.wrong), answers)],
    !cause.says && answers);
  const card = h("article", { class: "finding cause", "data-cause": cause.letter }, h("h3", {}, button), body);
  causeCards.set(cause, { card, button, counts, body });
  return card;
}

// The cases of each cause that the other filters leave.
function countCauses() {
  for (const cause of causes) {
    cause.left = cause.cases.filter((one) => one.entries.some((entry) => entry.matched && causeOf(entry, one))).length;
  }
}

function showCauses() {
  for (const [cause, { card, button, counts, body }] of causeCards) {
    const open = state.cause === cause.letter;
    const some = cause.left < cause.cases.length ? `${number(cause.left)} of ` : "";
    counts.textContent = some + plural(cause.cases.length, "case");
    card.classList.toggle("none", !cause.left);
    card.classList.toggle("open", open);
    button.setAttribute("aria-pressed", String(open));
    button.setAttribute("aria-expanded", String(open));
    body.hidden = !open;
    if (open && !body.firstChild) requestAnimationFrame(() => body.replaceChildren(...causeDetails(cause, widthOf(body))));
  }
}

const EXAMPLES = 3;

function causeDetails(cause, width) {
  const { report } = document.body.dataset;
  const [told] = cause.shown;
  const every = cause.shown.map((entry) => [entry, entry.evidence.examples]);
  const examples = [...every.map(([entry, some]) => [entry, some[0]]),
    ...every.flatMap(([entry, some]) => some.slice(1).map((one) => [entry, one]))].slice(0, EXAMPLES);
  return [
    cause.letter !== cause.label && h("p", {}, h("b", {}, `${cause.label}: `), cause.whole),
    h("div", { class: "scope" }, h("ul", {}, cause.where.map((one) => h("li", {}, one)))),
    cause.others.length > 0 && h("div", { class: "others" }, h("p", {}, "No input asked tells it from:"),
      h("ul", {}, cause.others.map((one) => h("li", {}, one)))),
    told.by && ruleOf({ rules: [told.by], places: told.by.place }, told.by),
    examples.map(([entry, one]) => causeExample(entry, one, width)),
    h("p", {}, report ? "A script of the first:" : "A script of the first, if the run has -o run.jsonl:"),
    commands([`convcheck repro --report ${shell(report || "run.json")} --cause ${cause.letter}`]),
  ].flat(Infinity).filter(Boolean);
}

function causeExample(entry, example, width) {
  return [exampleOf(example, entry.case.id, width, entry.verdict),
    commands([explainCommand(example)])];
}

// Buttons that choose a cause. `where` identifies them after a redraw.
function causeButtons(some, where) {
  return some.map((cause) => {
    const key = `${where} ${cause.letter}`;
    const choose = () => {
      chooseCause(cause);
      document.querySelector(`[data-choose="${CSS.escape(key)}"]`)?.focus();
    };
    return h("button", { type: "button", class: "cause-button", "aria-pressed": String(state.cause === cause.letter),
      "data-choose": key, title: cause.whole, onclick: choose },
      letterOf(cause.letter), h("span", { class: "kind" }, cause.whole));
  });
}
