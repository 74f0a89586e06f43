// Handle the start, changes of filters, and the keys of the page.

function change(what, all = true) {
  if (what === null) clearFilters();
  else Object.assign(state, what);
  writeHash();
  if (all) {
    upto = PAGE;
    show();
  }
}

function show() {
  // the specs' pictures and counts cover every spec
  applyFilters({ ...state, spec: "" });
  for (const one of cases) one.unscoped = one.shown;
  let counts = applyFilters({ ...state, cause: "" });
  countCauses();
  if (state.cause) counts = applyFilters(state);
  showCauses();
  showFilters(counts);
  showSpecs();
  showMatrices();
  showFindings();
  showRecorded();
  showCell();
}

function showBar() {
  const counts = statuses.map((one) => cases.filter((c) => c.status === one).length);
  byId("bar").append(...statuses.filter((one) => counts[one.rank]).map((one) => {
    const part = h("span", { class: `st-${one.key}`, title: `${one.word}: ${plural(counts[one.rank], "case")}` });
    part.style.flexGrow = counts[one.rank];
    return part;
  }));
}

function startKeys() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "Escape" && state.cell) {
      closeCell();
    } else if (event.key === "Escape" && event.target === byId("search")) {
      byId("search").value = "";
      change({ q: "" });
    }
  });
}

function startCopies() {
  for (const block of document.querySelectorAll("pre.copy")) {
    const button = h("button", { type: "button", class: "small" }, "Copy");
    button.addEventListener("click", () => copy(block.textContent, button));
    block.after(button);
  }
}

function start() {
  startTheme();
  startCauses();
  startFilters();
  startSpecs();
  startKeys();
  startCopies();
  showBar();
  readHash();
  byId("app").hidden = cases.length === 0;
  show();
  addEventListener("hashchange", () => {
    readHash();
    show();
  });
  if (state.finding) document.querySelector(`[data-finding="${CSS.escape(state.finding)}"]`)?.scrollIntoView();
  performance.mark("convcheck-ready");
  document.documentElement.dataset.ready = "";
}

start();
