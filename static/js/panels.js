// A board: panels of one or many runs that share settings, legend, crosshair and zoom.
//
// Markup by `templates/macros/charts.html`. Panels are drawn when scrolled to, six at a time, and
// given up far out of sight; what is known of their series stays.

import { Bar } from "./chart_bar.js";
import { fillTable, savePicture } from "./chart_export.js";
import { figureOf } from "./chart_figure.js";
import { Crosshair } from "./chart_hover.js";
import { Legend } from "./chart_legend.js";
import { shortNumber } from "./chart_math.js";
import { SeriesStore } from "./chart_series.js";
import { addressWith, dashesOf, hueOf, keepSettings, readSettings } from "./chart_settings.js";
import { sayPaused } from "./live.js";
import { CONFIG, loadPlotly, onTheme } from "./plotly.js";

const AT_ONCE = 6;
const LOOK_MS = 3000;
const LONGEST_LOOK_MS = 30_000;
const POINTS_A_PANEL = 15_000;
const FEWEST_POINTS = 200;
const MOST_POINTS = 1000;
const NO_POINTS = "No run here has logged a point of this metric.";
const NO_PLACES = "No point of this metric has a place on this x axis.";

/** Lets the page answer its reader between two pieces of work. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

export class Board {
  constructor(root) {
    this.root = root;
    this.config = JSON.parse(root.querySelector("[data-board-config]").textContent);
    this.runs = this.config.runs;
    this.settings = readSettings();
    this.#forgetHidden();
    /** Panel by chart element, in the order of the page. */
    this.panels = new Map();
    this.dirty = new Set();
    this.others = [];
    this.store = new SeriesStore({ url: this.config.series_url, runs: this.runs.map((run) => run.id), maxPoints: this.#maxPoints(), ...this.settings });
    this.crosshair = new Crosshair(root, { panels: () => [...this.panels.values(), ...(this.settings.axis === "step" ? this.others : [])].filter((panel) => panel.figure), settings: this.settings });
    this.observer = new IntersectionObserver((entries) => this.#onSight(entries), { rootMargin: "600px 0px" });
    this.resizer = new ResizeObserver((entries) => { for (const { target } of entries) if (target.data) this.plotly.Plots.resize(target); });
  }

  async start() {
    this.#bar();
    const legend = this.root.querySelector("[data-legend]");
    if (legend) this.legend = new Legend(legend, { runs: this.runs, settings: this.settings, changed: () => this.changed() });
    this.root.addEventListener("click", (event) => this.#onClick(event));
    for (const kind of ["pointerdown", "focusin"]) this.root.addEventListener(kind, (event) => this.#relink(event.target.closest("a[data-with-settings], a[data-csv]")));
    this.#paintRuns();
    this.root.dataset.ready = "";
    try {
      this.plotly = await loadPlotly(this.config.plotly);
    } catch (error) {
      this.#alert(`${error.message} Reload the page to try again; the numbers are on each chart's own page.`);
      return this;
    }
    onTheme(() => this.redraw());
    this.collect();
    if (this.config.live === "poll" && this.runs.some((run) => run.live)) this.#follow();
    return this;
  }

  /** Takes up the panels that are on the page now; called again after some were swapped in. */
  collect() {
    for (const element of this.panels.keys()) if (!element.isConnected) this.#forget(element);
    for (const element of this.root.querySelectorAll("[data-panel]")) {
      if (this.panels.has(element)) continue;
      const { key, unit = "", title = key } = element.dataset;
      const panel = { element, key, unit, title, card: element.closest("[data-panel-card]") ?? element, isNear: false, figure: null, isListening: false, yZoom: null };
      this.panels.set(element, panel);
      this.crosshair.watch(panel);
      this.#watchZoom(panel);
      this.observer.observe(element);
      this.resizer.observe(element);
    }
    this.bar?.offer(this.keys);
  }

  get keys() { return new Set([...this.panels.values()].map((panel) => panel.key)); }

  /** Settings changed: the address, the links and what is drawn follow. */
  changed() {
    keepSettings(this.settings);
    this.#paintRuns();
    this.legend?.refresh();
    this.#showBar();
    this.root.dispatchEvent(new CustomEvent("skydeck-shown", { bubbles: true, detail: { hidden: [...this.settings.hidden] } }));
    this.redraw();
  }

  redraw(keys) {
    for (const panel of this.panels.values()) if (panel.isNear && (!keys || keys.has(panel.key))) this.dirty.add(panel);
    return this.#drain();
  }

  /** Points that came by a stream; what does not follow what is known is asked for. */
  async take(rows) {
    for (const row of rows) this.#showLast(row.key, row.value.at(-1));
    const behind = rows.filter((row) => this.store.has(row.key) && !this.store.take(row)).map((row) => row.key);
    await this.refresh(behind);
    await this.redraw(new Set(rows.map((row) => row.key)));
  }

  /** Asks for what the server is ahead of; `cursors` by key, of a board of one run. */
  catchUp(cursors) {
    const [run] = this.runs;
    return this.refresh(Object.keys(cursors).filter((key) => this.store.has(key) && this.store.cursorOf(key, run.id) !== cursors[key]));
  }

  /** Another chart by step that shows the crosshair of this board, and sets it. */
  crossAlso(element) {
    const scale = { to: (x) => x, from: (x) => x };
    this.others.push({ element, figure: { scale, lines: [] } });
    element.on("plotly_hover", ({ points }) => { if (this.settings.axis === "step") this.crosshair.cross(points[0].x); });
    element.on("plotly_unhover", () => this.crosshair.hide());
  }

  /** Asks for what is new of `keys`, of those near the window unless others are named. */
  async refresh(keys = this.#nearKeys()) {
    const known = keys.filter((key) => this.store.has(key));
    if (!known.length) return;
    const news = await this.store.refresh(known);
    if (!news.size) return;
    if (this.settings.window) await this.store.zoom([...news], this.settings.window);
    for (const key of news) this.#showLast(key, this.store.of(key).get(this.runs[0].id)?.y.at(-1));
    await this.redraw(news);
  }

  // An address may name runs that are not here; and one run has no legend to show it again.
  #forgetHidden() {
    const { hidden } = this.settings;
    const here = this.runs.filter((run) => hidden.has(run.id)).map((run) => run.id);
    hidden.clear();
    if (this.runs.length > 1) for (const id of here) hidden.add(id);
  }

  #maxPoints() {
    return Math.round(Math.min(MOST_POINTS, Math.max(FEWEST_POINTS, POINTS_A_PANEL / this.runs.length)));
  }

  #nearKeys() {
    return [...this.panels.values()].filter((panel) => panel.isNear).map((panel) => panel.key);
  }

  #forget(element) {
    this.observer.unobserve(element);
    this.resizer.unobserve(element);
    this.dirty.delete(this.panels.get(element));
    if (element.data) this.plotly.purge(element);
    this.panels.delete(element);
  }

  #onSight(entries) {
    for (const { target, isIntersecting } of entries) {
      const panel = this.panels.get(target);
      if (!panel) continue;
      panel.isNear = isIntersecting;
      if (isIntersecting) { this.#addMenu(panel); this.dirty.add(panel); }
      else {
        this.dirty.delete(panel);
        if (panel.figure) { this.plotly.purge(target); Object.assign(panel, { figure: null, isListening: false }); }
      }
    }
    this.#drain();
  }

  // One at a time, whoever asks; each panel in a task of its own.
  async #drain() {
    if (this.draining) return this.draining;
    this.draining = this.#work().finally(() => { this.draining = null; });
    return this.draining;
  }

  async #work() {
    while (this.dirty.size) {
      const batch = [...this.dirty].slice(0, AT_ONCE);
      for (const panel of batch) this.dirty.delete(panel);
      const keys = [...new Set(batch.map((panel) => panel.key))];
      try {
        await this.#prepare(batch, keys);
      } catch (error) {
        for (const panel of batch) this.#say(panel, `${error.message} What is drawn stays; it is asked for again when you scroll back here.`);
      }
    }
  }

  async #prepare(batch, keys) {
    if (this.runs.length > AT_ONCE) {
      // Many runs: each panel is drawn as soon as its own points are there, and meanwhile the
      // next ones are asked for.
      let next = this.#ready([batch[0].key]);
      for (const [place, panel] of batch.entries()) {
        await next;
        next = place + 1 < batch.length ? this.#ready([batch[place + 1].key]) : null;
        next?.catch(() => {});
        await this.#draw(panel);
      }
      return;
    }
    await this.#ready(keys);
    for (const panel of batch) await this.#draw(panel);
  }

  async #ready(keys) {
    await this.store.load(keys);
    await this.store.zoom(keys, this.settings.window);
  }

  async #draw(panel) {
    await pause();
    await this.held;
    // Without points: another axis was asked for meanwhile, and the panel waits to be drawn by it.
    if (!panel.isNear || !panel.element.isConnected || !this.store.has(panel.key)) return;
    const records = this.store.of(panel.key);
    const dashes = dashesOf(this.runs, this.settings);
    const shown = this.runs
      .filter((run) => records.has(run.id) && !this.settings.hidden.has(run.id))
      .map((run) => ({ run, record: records.get(run.id), hue: hueOf(run, this.settings), dash: dashes.get(run.id) }));
    const hasPlaces = [...records.values()].some(({ x }) => x.length);
    this.#say(panel, hasPlaces ? "" : this.settings.axis === "step" ? NO_POINTS : NO_PLACES);
    const { settings, config: { total } } = this;
    const figure = figureOf(shown, { settings, total, unit: panel.unit, height: panel.element.clientHeight, yZoom: panel.yZoom });
    await this.plotly.react(panel.element, figure.data, figure.layout, CONFIG);
    panel.figure = figure;
    panel.element.dataset.drawn = "";
    if (!panel.isListening) {
      panel.isListening = true;
      panel.element.on("plotly_relayout", (change) => this.#onZoom(panel, change));
      panel.element.on("plotly_doubleclick", () => this.#resetZoom());
    }
  }

  #say(panel, words) {
    let note = panel.card.querySelector("[data-panel-note]");
    if (!note && words) {
      note = document.createElement("p");
      note.dataset.panelNote = "";
      note.className = "panel-note muted";
      panel.element.after(note);
    }
    if (note) { note.textContent = words; note.hidden = !words; }
  }

  // Nothing is drawn anew under a pointer that is drawing a rectangle.
  #watchZoom({ element }) {
    element.addEventListener("pointerdown", () => {
      let release;
      this.held = new Promise((resolve) => { release = resolve; });
      const done = () => { setTimeout(release); };
      addEventListener("pointerup", done, { once: true });
      addEventListener("pointercancel", done, { once: true });
      addEventListener("blur", done, { once: true });
    });
  }

  #onZoom(panel, change) {
    const ends = ["xaxis.range[0]", "xaxis.range[1]"].map((name) => change[name]);
    const heights = ["yaxis.range[0]", "yaxis.range[1]"].map((name) => change[name]);
    if (heights[0] !== undefined) panel.yZoom = heights;
    if (ends[0] === undefined) { this.#showBar(); return; }
    const axis = panel.element._fullLayout.xaxis;
    const [from, to] = ends.map((end) => panel.figure.scale.from(axis.type === "date" ? axis.d2l(end) : end));
    this.#setWindow({ from: rounded(from, to - from), to: rounded(to, to - from) });
  }

  #resetZoom() {
    this.#setWindow(null);
    return false;
  }

  #setWindow(window) {
    this.settings.window = window;
    if (!window) this.#forgetHeights();
    this.changed();
  }

  #bar() {
    const form = this.root.querySelector("[data-board-bar]");
    if (!form) return;
    this.bar = new Bar(form, {
      settings: this.settings,
      changed: () => this.changed(),
      asked: () => { this.store.ask(this.settings); this.changed(); },
      rescaled: () => { this.#forgetHeights(); this.changed(); },
      unzoom: () => this.#setWindow(null),
    });
    this.#showBar();
  }

  #showBar() {
    this.bar?.show({ isZoomed: this.settings.window !== null || [...this.panels.values()].some((panel) => panel.yZoom) });
  }

  #forgetHeights() {
    for (const panel of this.panels.values()) panel.yZoom = null;
  }

  #onClick(event) {
    event.target.closest(".panel-menu .menu a, .panel-menu .menu button")?.closest("details").removeAttribute("open");
    const action = event.target.closest("[data-picture], [data-table]");
    if (!action) return;
    const panel = this.panels.get(action.closest("[data-panel-card]").querySelector("[data-panel]"));
    if (!panel?.figure) return;
    if (action.dataset.picture) {
      savePicture(this.plotly, panel, action.dataset.picture).catch((error) => this.#say(panel, `The picture was not made: ${error.message}`));
      return;
    }
    const dialog = this.root.querySelector("[data-table-dialog]");
    fillTable(dialog, panel, this.settings);
    dialog.showModal();
  }

  // What else on the page stands for a run has its colour, too.
  #paintRuns() {
    const hues = new Map(this.runs.map((run) => [run.id, hueOf(run, this.settings)]));
    for (const mark of document.querySelectorAll("[data-run-colour]")) {
      const hue = hues.get(mark.dataset.runColour);
      if (hue === undefined) continue;
      mark.classList.remove(...[...mark.classList].filter((name) => /^c\d$/.test(name)));
      mark.classList.add(`c${hue}`);
    }
  }

  // Only where somebody is about to follow it: a run may have thousands of panels.
  #relink(link) {
    if (!link) return;
    const { axis, hasOlder } = this.settings;
    // The file has every point, so no window, and is neither smoothed nor scaled.
    const settings = "csv" in link.dataset ? { ...readSettings(""), axis, hasOlder } : this.settings;
    link.href = addressWith(settings, link.href);
  }

  #alert(words) {
    const note = document.createElement("p");
    note.className = "notice bad";
    note.setAttribute("role", "alert");
    note.textContent = words;
    this.root.prepend(note);
  }

  #addMenu({ key, title, card }) {
    const template = this.root.querySelector("[data-panel-menu]");
    const head = card.querySelector(".card-head");
    if (!template || !head || head.querySelector(".panel-menu")) return;
    const menu = template.content.cloneNode(true);
    const words = `Table, pictures and CSV of ${title}`;
    menu.querySelector("summary").title = words;
    menu.querySelector("summary .sr").textContent = words;
    const query = new URLSearchParams([...this.runs.map((run) => ["run", run.id]), ["key", key]]);
    menu.querySelector("[data-csv]").href = `${this.config.csv_url}?${query}`;
    const alone = head.querySelector("a[data-with-settings]")?.getAttribute("href");
    if (alone) menu.querySelector("[data-alone]").href = alone;
    else menu.querySelector("[data-alone]").closest("li").remove();
    head.append(menu);
  }

  #showLast(key, last) {
    if (this.runs.length > 1 || last === null || last === undefined) return;
    for (const label of this.root.querySelectorAll(`[data-last="${CSS.escape(key)}"]`)) label.textContent = shortNumber(last);
  }

  #follow() {
    let failures = 0;
    const look = async () => {
      try {
        if (!document.hidden) await this.refresh();
        failures = 0;
      } catch {
        failures += 1;
      }
      // One failure may be a restart; two are news.
      sayPaused(this, failures > 1);
      setTimeout(look, Math.min(LONGEST_LOOK_MS, LOOK_MS * 2 ** failures));
    };
    setTimeout(look, LOOK_MS);
  }
}

/** As many digits as tell the window apart: an address is read by people. */
function rounded(value, width) {
  const digits = Math.max(0, Math.min(12, 3 - Math.floor(Math.log10(width || 1))));
  return Number(value.toFixed(digits));
}

/** Starts all boards of the page but those that another script starts. */
export function startBoards() {
  return Promise.all([...document.querySelectorAll("[data-board]:not([data-own-script])")].map((root) => new Board(root).start()));
}
