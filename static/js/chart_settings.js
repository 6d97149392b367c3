// How the charts of a page are looked at. It stands in the address, so that a link shows the same,
// and colours that a person chose are kept in the browser.

const COLOURS_KEY = "skydeck-colours";
const COLOURS = 10;
const NAMES = ["x", "smooth", "log", "attempts", "from", "to", "hide", "colour"];

function numberOf(text) {
  const value = text === null || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

export function readSettings(search = location.search) {
  const query = new URLSearchParams(search);
  const [from, to] = [numberOf(query.get("from")), numberOf(query.get("to"))];
  return {
    axis: /^(step|relative|time|metric:.+)$/.test(query.get("x") ?? "") ? query.get("x") : "step",
    smooth: Math.min(0.999, Math.max(0, numberOf(query.get("smooth")) ?? 0)),
    isLog: query.get("log") === "1",
    hasOlder: query.get("attempts") === "all",
    window: from !== null && to !== null && from < to ? { from, to } : null,
    hidden: new Set(query.getAll("hide")),
    colours: new Map(query.getAll("colour").map((each) => each.split(/:(?=\d$)/)).filter(([, hue]) => hue).map(([run, hue]) => [run, Number(hue)])),
  };
}

/** The address with these settings; those that are as usual are left out. */
export function addressWith(settings, address = location.href) {
  const url = new URL(address, location.href);
  for (const name of NAMES) url.searchParams.delete(name);
  const { axis, smooth, isLog, hasOlder, window, hidden, colours } = settings;
  if (axis !== "step") url.searchParams.set("x", axis);
  if (smooth) url.searchParams.set("smooth", smooth);
  if (isLog) url.searchParams.set("log", "1");
  if (hasOlder) url.searchParams.set("attempts", "all");
  if (window) { url.searchParams.set("from", window.from); url.searchParams.set("to", window.to); }
  for (const run of hidden) url.searchParams.append("hide", run);
  for (const [run, hue] of colours) url.searchParams.append("colour", `${run}:${hue}`);
  return url.pathname + url.search + url.hash;
}

export function keepSettings(settings) {
  history.replaceState(history.state, "", addressWith(settings));
}

function chosenColours() {
  try {
    return JSON.parse(localStorage.getItem(COLOURS_KEY)) ?? {};
  } catch {
    return {};
  }
}

/** A run's colour, 0 to 9: as the link says, as this reader chose, or as the run's id gives it. */
export function hueOf(run, settings) {
  const hue = settings.colours.get(run.id) ?? chosenColours()[run.id] ?? run.colour;
  return hue >= 0 && hue < COLOURS ? hue : run.colour;
}

const DASHES = ["solid", "dash", "dot", "dashdot"];
/** With more runs lines are told apart by the label at the pointer alone, and are drawn together. */
const DASHED_RUNS = 20;

/** How the line of each run is broken, by its id: runs that share a colour differ in that. */
export function dashesOf(runs, settings) {
  const seen = new Map();
  return new Map(runs.map((run) => {
    const hue = hueOf(run, settings);
    const before = seen.get(hue) ?? 0;
    seen.set(hue, before + 1);
    return [run.id, runs.length > DASHED_RUNS ? DASHES[0] : DASHES[before % DASHES.length]];
  }));
}

export function chooseColour(run, hue, settings) {
  const kept = chosenColours();
  if (hue === run.colour) { delete kept[run.id]; settings.colours.delete(run.id); }
  else { kept[run.id] = hue; settings.colours.set(run.id, hue); }
  try {
    localStorage.setItem(COLOURS_KEY, JSON.stringify(kept));
  } catch {
    // Without storage the link alone holds it.
  }
}
