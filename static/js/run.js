// A run's pages: its charts fed by the run's stream, the solve rate drawn, the log followed.

import { drawHero, updateHero } from "./charts.js";
import { listen } from "./live.js";
import { followLog } from "./log.js";
import { Board } from "./panels.js";
import { loadPlotly, onTheme } from "./plotly.js";

const root = document.querySelector("[data-board]");
const head = document.getElementById("run-head");
const hero = document.getElementById("hero-chart");
const heroKey = document.querySelector("[data-hero-key]")?.dataset.heroKey;
let board;
let plotly;

function announce(name) {
  document.body.dispatchEvent(new CustomEvent(name));
}

/** Cards for metrics that were logged first while the page was open. */
function announceNew(keys) {
  const shown = board.keys;
  if (heroKey && !keys.every((key) => shown.has(key) || key === heroKey)) announce("skydeck-charts");
}

// At each connection: what came while nobody listened.
async function onSeries(cursors) {
  announceNew(Object.keys(cursors));
  await board.catchUp(cursors);
}

async function onPoints(rows) {
  announceNew(rows.map((row) => row.key));
  await board.take(rows);
}

function follow(url) {
  let queue = Promise.resolve();
  const later = (work) => { queue = queue.then(work).catch((error) => console.warn("Live update failed:", error)); };
  const seen = () => announce("skydeck-run");
  listen(() => url, {
    series: ({ cursors }) => { if (board) later(() => onSeries(cursors)); },
    points: ({ series }) => { if (board) later(() => onPoints(series)); },
    evaluation: (data) => {
      if (hero) later(async () => { if (await updateHero(plotly, hero, data)) announce("skydeck-evaluation"); });
      // The page was made before there was a solve rate to draw.
      else if (document.getElementById("hero-line") && data.step.length) location.reload();
    },
    run: seen,
    end: seen,
  });
}

async function startHero() {
  plotly = await loadPlotly(board.config.plotly);
  await drawHero(plotly, hero, JSON.parse(document.getElementById("hero-data").textContent));
  // The library watches the window alone; a card also grows with its neighbour.
  new ResizeObserver(() => plotly.Plots.resize(hero)).observe(hero);
  onTheme(() => drawHero(plotly, hero, hero.hero));
  board.crossAlso(hero);
}

async function startBoard() {
  board = new Board(root);
  if (hero) await startHero();
  await board.start();
  document.addEventListener("htmx:after:swap", (event) => {
    if (event.detail?.ctx?.target?.id === "charts") board.collect();
  });
}

const log = document.querySelector("[data-lines]");
if (log) followLog(log, document.querySelector("[data-follow]"), document.querySelector("[data-log]").dataset.log);
if (root) await startBoard();
if (head?.dataset.stream) follow(head.dataset.stream);
