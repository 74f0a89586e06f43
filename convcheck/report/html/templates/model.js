// The data taken apart, and what of it a filter leaves. `data.py` says what stands where.

const data = JSON.parse(byId("data").textContent);
const text = (index) => (index < 0 ? "" : data.texts[index]);

const statuses = data.statuses.map(([word, symbol, failing], rank) => ({
  word, symbol, failing, rank, key: word.split(" ")[0],
}));
const statusOf = Object.fromEntries(statuses.map((one) => [one.word, one]));
const IN_PART = statusOf.tolerated.rank; // shown also of cases that as a whole stand otherwise

const decisions = data.decisions.map(([rule, row, level, sentences, inWords, place]) => ({
  rule: text(rule), row: text(row), level, sentences: sentences.map((at) => data.sentences[at].map(text)),
  inWords: text(inWords), place: text(place), name: `${text(rule)} / ${text(row)}`,
}));

const specs = data.specs.map(([id, family, noun], index) => ({
  id, family, noun, index, cases: [], version: id.slice(data.families[family][0].length - 1),
}));
const families = data.families.map(([name, rows, columns], index) => ({
  name, rows, columns, index, specs: specs.filter((one) => one.family === index),
}));

const names = data.names.map(([signature, setting], index) => {
  const [types, row, column, inputs, outputs] = data.signatures[signature];
  const [rest, attributes, layout] = data.settings[setting];
  return {
    row, column, inputs, outputs, layout, index, rest,
    name: rest ? `${types}/${rest}` : types,
    attributes: layout ? [["layout", layout], ...attributes] : attributes,
  };
});

const cases = data.cases.map(([spec, name, status, judged, coverage, message, profile], index) => {
  const one = {
    index, spec: specs[spec], name: names[name], status: statuses[status], judged,
    coverage: text(coverage), message: text(message), shown: null, wrong: 0, cause: null,
    id: `${specs[spec].id}/${names[name].name}`,
  };
  one.entries = data.profiles[profile].map(([rank, level, by, what, count]) => ({
    status: statuses[rank], level, by: decisions[by], kind: text(what), count, finding: null,
  }));
  specs[spec].cases.push(one);
  return one;
});

const MEMBER = 6;

const findings = data.findings.map(([rank, kind, ids, rows, places, reading, placement, where, message, verdict, excuse, id, members], index) => {
  const finding = {
    index, id, ids, status: statuses[rank], kind: text(kind), rows: rows.map((row) => decisions[row]),
    places: text(places), reading: text(reading), placement: text(placement), where: text(where), message: text(message), verdict: text(verdict),
    excuse: excuse < 0 ? null : data.excuses[excuse], members: [], visible: [],
  };
  for (let i = 0; i < members.length; i += MEMBER) {
    const [at, count, of, by, other, evidence] = members.slice(i, i + MEMBER);
    const entry = {
      case: cases[at], status: finding.status, count, of, by: decisions[by], finding,
      level: by < 0 ? -1 : decisions[by].level, evidence, matched: false,
      kind: other < 0 ? finding.kind : text(other),
    };
    cases[at].entries.push(entry);
    finding.members.push(entry);
  }
  if (!ids) finding.ids = [finding.members[0].case.id];
  return finding;
});

const causes = data.causes.map(([letter, label, says, whole, names, scope, where, answers, others, gated, wrong, shown, explained]) => {
  const cause = {
    letter, label, says, whole, scope, where, answers, others, gated, wrong,
    mark: letter.split("+")[0], text: `${whole} ${names}`.toLowerCase(), left: 0,
    cases: explained.map((at) => cases[at]),
    shown: shown.map(([at, evidence]) => cases[at].entries.find((entry) => entry.evidence === evidence)),
  };
  for (const one of cause.cases) one.cause = cause;
  return cause;
});

// A cause explains what fails of its cases, but for what a list excuses.
const excused = (entry) => entry.status === statusOf.known || entry.status === statusOf.waived;
const causeOf = (entry, one) => (entry.finding && !excused(entry) ? one.cause : null);

const failsNow = (one) => one.shown.failing && !excused({ status: one.shown });

// What explains the failures of some cases.
function causesOf(some) {
  const found = new Set(some.filter(failsNow).map((one) => one.cause));
  return causes.filter((cause) => found.has(cause));
}

// The letter of some cases: the first of those that explain what fails; '' if not all is explained.
function markOf(some) {
  return some.some((one) => failsNow(one) && !one.cause) ? "" : (causesOf(some)[0] || { mark: "" }).mark;
}

// Ranges as they are said: 'c0e005 c0a000-1f' is 0xc0e005, and 0xc0a000 … 0xc0a01f.
function rangesIn(packed) {
  if (Array.isArray(packed)) return packed;
  return packed.split(" ").filter(Boolean).map((range) => {
    const [low, end] = range.split("-");
    return end === undefined ? `0x${low}` : `0x${low}\u00a0…\u00a00x${low.slice(0, low.length - end.length)}${end}`;
  });
}

// An example: an array of one that is values, a map of one that is a call.
function exampleIn(packed) {
  if (!Array.isArray(packed)) return packed;
  const [given, due, got, line, said, words] = packed;
  return { in: given, due, got, line, said, words: words || `@ ${given.map(([code]) => code).join(" ")}` };
}

// [a, b, c, d] as [[a, b], [c, d]]
const pairs = (flat) => flat.reduce((made, one, i) => (i % 2 ? made.at(-1).push(one) : made.push([one]), made), []);

for (const one of cases) {
  if (!one.entries.length) {
    const kind = one.message;
    one.entries.push({ status: one.status, level: -1, by: undefined, kind, count: 0, finding: null });
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

// Filters: `state` has sets of words `status` and `level`, words `spec`, `cause`, `from`, `to` and `q`, and
// a map `attributes`; empty where everything is let through.

function caseFits(one, state) {
  const { inputs, outputs, row, column, attributes } = one.name;
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
  if (entry.level < 0) return entry.status.failing; // a case that fails as a whole: at every level
  return state.level.has(data.levels[entry.level]);
}

// A case passes, or is undefined or unsupported, as a whole only.
function statusFits(entry, one, state) {
  if (!state.status.size) return true;
  if (!state.status.has(entry.status.word)) return false;
  return entry.status.rank <= IN_PART || entry.status === one.status;
}

function textFits(entry, one, terms) {
  return terms.every((term) => caseText(one).includes(term) || kindText(entry).includes(term) ||
    causeOf(entry, one)?.text.includes(term));
}

// Says of every case what is shown of it (`shown`, its worst status, or null), how many of its
// values are wrong, and of every finding which members are left. Returns the counts.
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

// A case counts under its own status, and apart from that under each that some of its values have.
function countFacets(one, counts) {
  const ranks = new Set();
  const levels = new Set();
  for (const entry of one.entries) {
    const { rank } = entry.status;
    if (entry.counted && (rank <= IN_PART || entry.status === one.status)) ranks.add(rank);
    if (entry.leveled && entry.level >= 0) levels.add(entry.level);
  }
  for (const rank of ranks) (rank === one.status.rank ? counts.byStatus : counts.inPart)[rank] += 1;
  for (const level of levels) counts.byLevel[level] += 1;
}

// A value asked in several places counts once.
function wrongOf(entries) {
  const places = {};
  for (const entry of entries) {
    if (!entry.finding) continue;
    const place = entry.finding.placement;
    places[place] = (places[place] || 0) + entry.count;
  }
  return Math.max(0, ...Object.values(places));
}
