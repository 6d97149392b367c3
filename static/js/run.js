// A run's pages: charts drawn when scrolled to, live points appended, the log followed.

import { drawHero, drawLine, extendLine, loadPlotly, updateHero } from "./charts.js";
import { listen } from "./live.js";
import { followLog } from "./log.js";

const AT_ONCE = 6;
const KEYS_AT_ONCE = 40;
const host = document.querySelector("[data-plotly]");
const head = document.getElementById("run-head");
const hue = Number(host?.dataset.colour ?? 0);
/** Chart element by metric key, and what is known of each series. */
const elements = new Map();
const known = new Map();
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
  await drawLine(plotly, element, series, hue);
  element.drawn = true;
}

async function onPoints(rows) {
  const missing = rows.some((row) => !elements.has(row.key) && row.key !== host.dataset.heroKey);
  if (missing) document.body.dispatchEvent(new CustomEvent("skydeck-charts"));
  for (const row of rows) {
    const last = row.value.at(-1);
    for (const label of document.querySelectorAll(`[data-last="${CSS.escape(row.key)}"]`)) {
      if (last !== null && last !== undefined) label.textContent = shortNumber(last);
    }
    const element = elements.get(row.key);
    const series = known.get(row.key);
    if (!element || !series || series.cursor === row.cursor) continue;
    const follows = row.is_new && row.after === series.cursor;
    if (!follows) {
      await load([row.key], [series.cursor]);
      if (element.drawn) await draw(element);
      continue;
    }
    take(row);
    if (element.drawn && !(await extendLine(plotly, element, row))) await draw(element);
  }
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
  const announce = (name) => document.body.dispatchEvent(new CustomEvent(name));
  let queue = Promise.resolve();
  const later = (work) => { queue = queue.then(work).catch((error) => console.warn("Live update failed:", error)); };
  const seen = () => announce("skydeck-run");
  listen(() => url, {
    points: ({ series }) => { if (host) later(() => onPoints(series)); },
    evaluation: (data) => {
      if (!hero) return;
      later(async () => { if (await updateHero(plotly, hero, data)) announce("skydeck-evaluation"); });
    },
    run: seen,
    end: seen,
  }, () => { if (plotly) later(catchUp); });
}

// What came between drawing and listening, or while the page was hidden.
async function catchUp() {
  const rows = [...known.values()].filter((row) => row.cursor);
  if (!host?.dataset.points) return;
  for (let start = 0; start < rows.length; start += KEYS_AT_ONCE) {
    const some = rows.slice(start, start + KEYS_AT_ONCE);
    for (const { key } of await load(some.map((row) => row.key), some.map((row) => row.cursor))) {
      const element = elements.get(key);
      if (element?.drawn) await draw(element);
    }
  }
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
