// The current view, kept in the address after '#', so that it can be linked.

const state = {
  status: new Set(), level: new Set(), attributes: new Map(),
  spec: "", cause: "", from: "", to: "", q: "", cell: "", finding: "",
};
const WORDS = ["spec", "cause", "from", "to", "q", "cell", "finding"];

function readHash() {
  const found = new URLSearchParams(location.hash.slice(1));
  for (const name of ["status", "level"]) {
    state[name] = new Set((found.get(name) || "").split(",").filter(Boolean));
  }
  for (const name of WORDS) state[name] = found.get(name) || "";
  if (!specs.some((one) => one.id === state.spec)) state.spec = "";
  if (!causes.some((one) => one.letter === state.cause)) state.cause = "";
  state.attributes = new Map(
    found.getAll("where").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
}

function writeHash() {
  const made = new URLSearchParams();
  for (const name of ["status", "level"]) {
    if (state[name].size) made.set(name, [...state[name]].join(","));
  }
  for (const name of WORDS) if (state[name]) made.set(name, state[name]);
  for (const [name, value] of state.attributes) made.append("where", `${name}=${value}`);
  const hash = `#${made}`;
  if (hash === (location.hash || "#")) return;
  try {
    history.replaceState(null, "", hash);
  } catch {
    location.hash = hash; // a browser that gives pages from disk no history
  }
}

const filtered = () =>
  state.status.size + state.level.size + state.attributes.size > 0 ||
  Boolean(state.from || state.to || state.q || state.spec || state.cause);

function clearFilters() {
  for (const name of ["status", "level", "attributes"]) state[name].clear();
  for (const name of ["spec", "cause", "from", "to", "q"]) state[name] = "";
}

// Colours -----------------------------------------------------------------------------------

const THEMES = { "": "as the system has them", light: "light", dark: "dark" };
const KEY = "convcheck-colours";

function startTheme() {
  const button = byId("theme");
  let chosen = "";
  try {
    chosen = localStorage.getItem(KEY) || "";
  } catch {
    // pages from disk can lack storage
  }
  const show = (name) => {
    if (name) document.documentElement.dataset.theme = name;
    else delete document.documentElement.dataset.theme;
    button.textContent = name === "dark" ? "☾ Dark" : name === "light" ? "☀ Light" : "◐ Auto";
    button.setAttribute("aria-label", `Colours: ${THEMES[name]}`);
  };
  show(chosen in THEMES ? chosen : "");
  button.hidden = false;
  button.addEventListener("click", () => {
    const names = Object.keys(THEMES);
    const now = document.documentElement.dataset.theme || "";
    const next = names[(names.indexOf(now) + 1) % names.length];
    show(next);
    drawThumbnails();
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // the choice is not kept
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawThumbnails);
}
