// The page of a shared run: charts drawn when scrolled to. While the run goes on, the page is asked
// for again now and then, and what changed is put in place. It calls its own address only.

import { drawHero, drawLine, updateHero } from "./charts.js";
import { loadPlotly, onTheme } from "./plotly.js";

const AT_ONCE = 6;
const LOOK_MS = 15000;
const host = document.querySelector("[data-plotly]");
const hue = Number(host.dataset.colour);
const waiting = new Set();
/** Charts that are drawn now: those near the window. */
const drawn = new Set();
let plotly;
let isDraining = false;

const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) waiting.add(target);
    else {
      waiting.delete(target);
      if (drawn.delete(target)) plotly.purge(target);
    }
  }
  drain();
}, { rootMargin: "600px 0px" });

const resizer = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.data) plotly.Plots.resize(target);
});

async function drain() {
  if (isDraining) return;
  isDraining = true;
  try {
    while (waiting.size) {
      const batch = [...waiting].slice(0, AT_ONCE);
      batch.forEach((element) => waiting.delete(element));
      await draw(batch);
    }
  } catch (error) {
    console.warn("Charts were not loaded:", error);
  }
  isDraining = false;
}

async function draw(elements) {
  const query = new URLSearchParams(elements.map((element) => ["key", element.dataset.key]));
  const answer = await fetch(`${host.dataset.points}?${query}`);
  if (!answer.ok) throw new Error(`points: ${answer.status}`);
  const { series } = await answer.json();
  for (const row of series) {
    const element = elements.find(({ dataset }) => dataset.key === row.key);
    if (!element?.isConnected) continue;
    element.series = row;
    await paint(element);
    drawn.add(element);
  }
}

function paint(element) {
  return drawLine(plotly, element, element.series, { hue, total: Number(host.dataset.total) });
}

function observeCharts() {
  for (const element of document.querySelectorAll("[data-chart=line]")) observer.observe(element);
}

// The same parts of the page as it is now, in place of those that are shown.
function replace(page, ...ids) {
  for (const id of ids) {
    const [shown, newer] = [document.getElementById(id), page.getElementById(id)];
    if (shown && newer && shown.innerHTML !== newer.innerHTML) shown.replaceChildren(...newer.childNodes);
  }
}

function keysOf(page) {
  return [...page.querySelectorAll("[data-chart=line]")].map(({ dataset }) => dataset.key).join("\n");
}

function takeCharts(page) {
  if (keysOf(page) !== keysOf(document)) {
    // A new metric: the cards are laid out anew, and drawn again as they come into sight.
    drawn.forEach((element) => { if (element.closest("#charts")) { drawn.delete(element); plotly.purge(element); } });
    replace(page, "charts");
    observeCharts();
    return;
  }
  for (const label of page.querySelectorAll("[data-last]")) {
    const shown = document.querySelector(`[data-last="${CSS.escape(label.dataset.last)}"]`);
    if (shown) shown.textContent = label.textContent;
  }
}

async function look() {
  const answer = await fetch(location.href);
  // A link that ended meanwhile says so itself.
  if (answer.status === 404) { location.reload(); return false; }
  if (!answer.ok) return true;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const data = page.getElementById("hero-data");
  const hero = document.getElementById("hero-chart");
  // It got its first evaluation: the page has another form now.
  if (Boolean(data) !== Boolean(hero)) { location.reload(); return false; }
  host.dataset.total = page.querySelector("[data-plotly]").dataset.total;
  replace(page, "run-head", "mazes", "hero-numbers");
  if (hero) await updateHero(plotly, hero, JSON.parse(data.textContent));
  takeCharts(page);
  drawn.forEach((element) => waiting.add(element));
  await drain();
  return "live" in page.getElementById("run-head").dataset;
}

async function follow() {
  let isLive = true;
  try {
    if (!document.hidden) isLive = await look();
  } catch (error) {
    console.warn("The page was not refreshed:", error);
  }
  if (isLive) setTimeout(follow, LOOK_MS);
}

function recolour() {
  const hero = document.getElementById("hero-chart");
  if (hero?.hero) drawHero(plotly, hero, hero.hero);
  drawn.forEach(paint);
}

plotly = await loadPlotly(host.dataset.plotly);
const hero = document.getElementById("hero-chart");
if (hero) {
  await drawHero(plotly, hero, JSON.parse(document.getElementById("hero-data").textContent));
  resizer.observe(hero);
}
observeCharts();
onTheme(recolour);
if ("live" in document.getElementById("run-head").dataset) setTimeout(follow, LOOK_MS);
