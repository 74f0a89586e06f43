// Unpack the data, which `data.py` makes, and filter it.

async function unpacked() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (char) => char.charCodeAt(0));
  const text = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(text).json();
}

const data = await unpacked();

const statuses = data.statuses.map((one, rank) => ({ ...one, rank, key: one.word.split(" ")[0] }));
const statusOf = Object.fromEntries(statuses.map((one) => [one.word, one]));
const IN_PART = statusOf.tolerated.rank; // shown also of cases that as a whole stand otherwise

const rules = data.rules;
const families = data.families.map((one, index) => ({ ...one, index, specs: [] }));
const specs = data.specs.map((one, index) => {
  const family = families.find(({ name }) => name === one.family);
  const spec = { ...one, family, index, cases: [], version: one.id.slice(family.name.length - 1) };
  family.specs.push(spec);
  return spec;
});

const entryOf = (one, more) =>
  ({ ...one, by: rules[one.rule], level: one.level || rules[one.rule]?.level || "", matched: false, ...more });

const specOf = new Map(specs.map((one) => [one.id, one]));
const cases = data.cases.map((one, index) => {
  const made = { ...one, index, spec: specOf.get(one.spec), status: statusOf[one.status], shown: null, wrong: 0, cause: null };
  made.entries = one.entries.map((entry) => entryOf(entry, { status: statusOf[entry.status], finding: null }));
  made.spec.cases.push(made);
  return made;
});

const findings = data.findings.map((one, index) => {
  const finding = { ...one, index, status: statusOf[one.status], rules: one.rules.map((at) => rules[at]), visible: [] };
  finding.members = one.members.map((member) => {
    const entry = entryOf(member, { case: cases[member.case], status: finding.status, finding, kind: member.kind || one.kind });
    entry.case.entries.push(entry);
    return entry;
  });
  return finding;
});

const causes = data.causes.map((one) => {
  const cause = {
    ...one, mark: one.letter.split("+")[0], text: `${one.whole} ${one.names.join(" ")}`.toLowerCase(), left: 0,
    cases: one.cases.map((at) => cases[at]),
    shown: one.shown.map((entry) => entryOf(entry, { case: cases[entry.case] })),
  };
  for (const explained of cause.cases) explained.cause = cause;
  return cause;
});

// A cause explains the unexcused failures of its cases.
const excused = (entry) => entry.status === statusOf.known || entry.status === statusOf.waived;
const causeOf = (entry, one) => (entry.finding && !excused(entry) ? one.cause : null);

const failsNow = (one) => one.shown.failing && !excused({ status: one.shown });

// The causes of the failures of some cases.
function causesOf(some) {
  const found = new Set(some.filter(failsNow).map((one) => one.cause));
  return causes.filter((cause) => found.has(cause));
}

// The first letter of the causes of some cases; '' unless all failures are explained.
function markOf(some) {
  return some.some((one) => failsNow(one) && !one.cause) ? "" : (causesOf(some)[0] || { mark: "" }).mark;
}

for (const one of cases) {
  if (!one.entries.length) {
    const kind = one.message;
    one.entries.push({ status: one.status, level: "", by: undefined, kind, count: 0, finding: null });
  }
}

function worst(entries) {
  return entries.reduce((rank, entry) => Math.min(rank, entry.status.rank), statuses.length);
}

const haystacks = new Map();
function haystack(key, make) {
  if (!haystacks.has(key)) haystacks.set(key, make().toLowerCase());
  return haystacks.get(key);
}
const caseText = (one) => haystack(one, () => one.id);
const kindText = (entry) =>
  haystack(entry, () => `${entry.by ? entry.by.name : ""} ${entry.kind}`);

// Filters: `state` has sets of words `status` and `level`, words `spec`, `cause`, `from`, `to` and
// `q`, and a map `attributes`. Empty ones let everything through.

function caseFits(one, state) {
  const { inputs, outputs, row, column, attributes } = one;
  if (state.spec && one.spec.id !== state.spec) return false;
  if (state.cause && one.cause?.letter !== state.cause) return false;
  if (state.from && !inputs.includes(state.from) && row !== state.from) return false;
  if (state.to && column !== state.to && !outputs.includes(state.to)) return false;
  for (const [name, value] of state.attributes) {
    if (!attributes.some(([key, word]) => key === name && word === value)) return false;
  }
  return true;
}

function levelFits(entry, state) {
  if (!state.level.size) return true;
  if (!entry.level) return entry.status.failing; // a case that fails as a whole: at every level
  return state.level.has(entry.level);
}

// Only whole cases pass, or are undefined or unsupported.
function statusFits(entry, one, state) {
  if (!state.status.size) return true;
  if (!state.status.has(entry.status.word)) return false;
  return entry.status.rank <= IN_PART || entry.status === one.status;
}

function textFits(entry, one, terms) {
  return terms.every((term) => caseText(one).includes(term) || kindText(entry).includes(term) ||
    causeOf(entry, one)?.text.includes(term));
}

// Set the shown status of every case (`shown`, the worst, or null), its number of wrong values, and
// the remaining members of every finding. Return the counts.
function applyFilters(state) {
  const terms = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  const counts = { cases: 0, findings: 0, byStatus: statuses.map(() => 0), inPart: statuses.map(() => 0), byLevel: data.levels.map(() => 0) };
  for (const one of cases) {
    one.shown = null;
    const fits = caseFits(one, state);
    const left = [];
    for (const entry of one.entries) {
      const found = fits && textFits(entry, one, terms);
      entry.counted = found && levelFits(entry, state);
      entry.matched = entry.counted && statusFits(entry, one, state);
      entry.leveled = found && statusFits(entry, one, state);
      if (entry.matched) left.push(entry);
    }
    countFacets(one, counts);
    if (!left.length) continue;
    one.shown = left.length < one.entries.length ? statuses[worst(left)] : one.status;
    one.wrong = wrongOf(left);
    counts.cases += 1;
  }
  for (const finding of findings) {
    finding.visible = finding.members.filter((entry) => entry.matched);
    counts.findings += finding.visible.length > 0;
  }
  return counts;
}

// A case counts under its status, and under each status of its values.
function countFacets(one, counts) {
  const ranks = new Set();
  const levels = new Set();
  for (const entry of one.entries) {
    const { rank } = entry.status;
    if (entry.counted && (rank <= IN_PART || entry.status === one.status)) ranks.add(rank);
    if (entry.leveled && entry.level) levels.add(data.levels.indexOf(entry.level));
  }
  for (const rank of ranks) (rank === one.status.rank ? counts.byStatus : counts.inPart)[rank] += 1;
  for (const level of levels) counts.byLevel[level] += 1;
}

// A value tested in several placements counts once.
function wrongOf(entries) {
  const places = {};
  for (const entry of entries) {
    if (!entry.finding) continue;
    const place = entry.finding.placement;
    places[place] = (places[place] || 0) + entry.count;
  }
  return Math.max(0, ...Object.values(places));
}
