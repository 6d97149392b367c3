// A run's pages: charts drawn when scrolled to, live points appended, the log followed.

import { drawHero, drawLine, extendLine, loadPlotly, updateHero } from "./charts.js";
import { listen } from "./live.js";
import { followLog } from "./log.js";

const AT_ONCE = 6;
const KEYS_AT_ONCE = 40;
const host = document.querySelector("[data-plotly]");
const head = document.getElementById("run-head");
const hue = Number(host?.dataset.colour ?? 0);
const total = Number(host?.dataset.total ?? 0);
/** Chart element by metric key, and what is known of each series. */
const elements = new Map();
const known = new Map();
/** Where each series stands on the server, as far as it was told. */
const newest = new Map();
const waiting = new Set();
let plotly;
let draining = false;

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) waiting.add(target);
    else {
      waiting.delete(target);
      // Far out of sight: give its memory back. Its data stay, so it is drawn again at once.
      if (target.drawn) { plotly.purge(target); target.drawn = false; }
    }
  }
  drain();
}, { rootMargin: "600px 0px" });

async function drain() {
  if (draining || !plotly) return;
  draining = true;
  while (waiting.size) {
    const batch = [...waiting].slice(0, AT_ONCE);
    batch.forEach((element) => waiting.delete(element));
    try {
      await load(batch.map((element) => element.dataset.key).filter((key) => !known.has(key)));
      for (const element of batch) await draw(element);
      await refresh(batch.map((element) => element.dataset.key));
    } catch (error) {
      console.warn("Charts were not loaded:", error);
      break;
    }
  }
  draining = false;
}

async function load(keys, since = []) {
  if (!keys.length) return [];
  const query = new URLSearchParams([...keys.map((key) => ["key", key]), ...since.map((cursor) => ["since", cursor])]);
  const answer = await fetch(`${host.dataset.points}?${query}`);
  if (!answer.ok) throw new Error(`points: ${answer.status}`);
  const { series } = await answer.json();
  for (const row of series) take(row);
  return series;
}

function take(row) {
  const before = known.get(row.key);
  if (row.is_new && before) {
    before.step.push(...row.step);
    before.value.push(...row.value);
    before.odd.push(...row.odd);
    before.cursor = row.cursor;
  } else {
    known.set(row.key, row);
  }
}

async function draw(element) {
  const series = known.get(element.dataset.key);
  if (!series || !element.isConnected) return;
  await drawLine(plotly, element, series, { hue, total });
  element.drawn = true;
}

// Draws again what the server is ahead of; its new points alone are asked for.
async function refresh(keys) {
  const behind = keys.filter((key) => known.has(key) && newest.has(key) && newest.get(key) !== known.get(key).cursor);
  for (let start = 0; start < behind.length; start += KEYS_AT_ONCE) {
    const some = behind.slice(start, start + KEYS_AT_ONCE);
    for (const row of await load(some, some.map((key) => known.get(key).cursor))) {
      showLast(row);
      const element = elements.get(row.key);
      if (element?.drawn) await draw(element);
    }
  }
}

function announceNew(keys) {
  const isOnPage = (key) => elements.has(key) || key === host.dataset.heroKey;
  if (!keys.every(isOnPage)) announce("skydeck-charts");
}

// At each connection: what came while nobody listened.
async function onSeries(cursors) {
  for (const [key, cursor] of Object.entries(cursors)) newest.set(key, cursor);
  if (host.dataset.points) announceNew(Object.keys(cursors));
  await refresh([...known.keys()]);
}

function showLast(row) {
  const last = row.value.at(-1);
  if (last === null || last === undefined) return;
  for (const label of document.querySelectorAll(`[data-last="${CSS.escape(row.key)}"]`)) label.textContent = shortNumber(last);
}

async function onPoints(rows) {
  if (host.dataset.points) announceNew(rows.map((row) => row.key));
  for (const row of rows) {
    newest.set(row.key, row.cursor);
    showLast(row);
    const element = elements.get(row.key);
    const series = known.get(row.key);
    if (!element || !series || series.cursor === row.cursor) continue;
    if (!(row.is_new && row.after === series.cursor)) {
      await refresh([row.key]);
      continue;
    }
    take(row);
    if (element.drawn && !(await extendLine(plotly, element, row, total))) await draw(element);
  }
}

function announce(name) {
  document.body.dispatchEvent(new CustomEvent(name));
}

function shortNumber(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replace("-", "−");
  const size = Math.abs(value);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  const text = size >= 1e-4 && size < 1e6 ? value.toFixed(Math.min(8, digits)) : value.toExponential(2);
  return text.replace("-", "−");
}

function collect() {
  elements.clear();
  for (const element of document.querySelectorAll("[data-chart=line]")) {
    const { key, inline } = element.dataset;
    if (inline) known.set(key, JSON.parse(document.getElementById(inline).textContent));
    elements.set(key, element);
    observer.observe(element);
  }
}

function follow(url) {
  const hero = document.getElementById("hero-chart");
  let queue = Promise.resolve();
  const later = (work) => { queue = queue.then(work).catch((error) => console.warn("Live update failed:", error)); };
  const seen = () => announce("skydeck-run");
  listen(() => url, {
    series: ({ cursors }) => { if (host) later(() => onSeries(cursors)); },
    points: ({ series }) => { if (host) later(() => onPoints(series)); },
    evaluation: (data) => {
      if (hero) later(async () => { if (await updateHero(plotly, hero, data)) announce("skydeck-evaluation"); });
      // The page was made before there was a solve rate to draw.
      else if (document.getElementById("hero-line") && data.step.length) location.reload();
    },
    run: seen,
    end: seen,
  });
}

// The library watches the window alone; a card also grows with its neighbour.
const resizer = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.data) plotly.Plots.resize(target);
});

async function start() {
  plotly = await loadPlotly(host.dataset.plotly);
  const hero = document.getElementById("hero-chart");
  if (hero) {
    await drawHero(plotly, hero, JSON.parse(document.getElementById("hero-data").textContent));
    resizer.observe(hero);
  }
  collect();
}

function recolour() {
  const hero = document.getElementById("hero-chart");
  if (hero?.hero) drawHero(plotly, hero, hero.hero);
  for (const element of elements.values()) if (element.drawn) draw(element);
}

document.addEventListener("skydeck-theme", recolour, true);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail?.ctx?.target?.id === "charts") collect();
});
const log = document.querySelector("[data-lines]");
if (log) followLog(log, document.querySelector("[data-follow]"), document.querySelector("[data-log]").dataset.log);
if (host) await start();
if (head?.dataset.stream) follow(head.dataset.stream);
