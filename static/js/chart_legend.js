// The legend of a board: a button a run that shows and hides it, one that shows it alone, one for
// its colour. A double click on the name isolates, too.

import { chooseColour, dashesOf, hueOf } from "./chart_settings.js";

const COLOUR_NAMES = ["blue", "orange", "green", "pink", "ochre", "indigo", "red", "teal", "grey", "olive"];

function button(className, label, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = className;
  made.title = label;
  made.addEventListener("click", press);
  return made;
}

function paint(element, hue) {
  element.className = element.className.replace(/\bc\d\b/, "").trim() + ` c${hue}`;
}

export class Legend {
  /** `changed(what)` is called with "shown" or "colours" after the settings were changed. */
  constructor(host, { runs, settings, changed }) {
    Object.assign(this, { host, runs, settings, changed, rows: new Map() });
    this.list = host.querySelector("[data-legend-runs]");
    host.querySelector("[data-legend-all]")?.addEventListener("click", () => this.#show(runs.map((run) => run.id)));
    for (const run of runs) this.list.append(this.#row(run));
    this.palette = this.#palette();
    host.append(this.palette);
    host.hidden = runs.length < 2;
    this.refresh();
  }

  refresh() {
    const dashes = dashesOf(this.runs, this.settings);
    for (const run of this.runs) {
      const { toggle, swatch, only } = this.rows.get(run.id);
      const isShown = !this.settings.hidden.has(run.id);
      toggle.setAttribute("aria-pressed", String(isShown));
      only.setAttribute("aria-pressed", String(isShown && this.settings.hidden.size === this.runs.length - 1));
      paint(swatch, hueOf(run, this.settings));
      swatch.dataset.dash = dashes.get(run.id);
    }
    const all = this.host.querySelector("[data-legend-all]");
    if (all) all.hidden = this.settings.hidden.size === 0;
  }

  #row(run) {
    const item = document.createElement("li");
    const swatch = button("swatch c0", `Colour of ${run.name}`, () => this.#openPalette(run, swatch));
    swatch.setAttribute("aria-label", `Colour of ${run.name}`);
    swatch.setAttribute("aria-haspopup", "true");
    const toggle = button("legend-name", run.name, () => this.#toggle(run));
    toggle.textContent = run.name;
    toggle.addEventListener("dblclick", () => this.#isolate(run));
    const only = button("legend-only", `Show ${run.name} alone`, () => this.#isolate(run));
    only.setAttribute("aria-label", `Show ${run.name} alone`);
    only.textContent = "only";
    item.append(swatch, toggle, only);
    this.rows.set(run.id, { toggle, swatch, only });
    return item;
  }

  #toggle(run) {
    const { hidden } = this.settings;
    if (!hidden.delete(run.id)) hidden.add(run.id);
    this.#tell("shown");
  }

  // Again on the one that is alone: all come back.
  #isolate(run) {
    const others = this.runs.filter((each) => each.id !== run.id).map((each) => each.id);
    const isAlone = !this.settings.hidden.has(run.id) && others.every((id) => this.settings.hidden.has(id));
    this.#show(isAlone ? this.runs.map((each) => each.id) : [run.id]);
  }

  #show(ids) {
    this.settings.hidden.clear();
    for (const { id } of this.runs) if (!ids.includes(id)) this.settings.hidden.add(id);
    this.#tell("shown");
  }

  #tell(what) {
    this.refresh();
    this.changed(what);
  }

  #palette() {
    const box = document.createElement("div");
    box.className = "palette";
    box.setAttribute("popover", "auto");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Colours");
    COLOUR_NAMES.forEach((name, hue) => {
      const choice = button(`swatch c${hue}`, name, () => this.#choose(hue));
      choice.setAttribute("aria-label", name);
      box.append(choice);
    });
    return box;
  }

  #openPalette(run, swatch) {
    this.paletteRun = run;
    const place = swatch.getBoundingClientRect();
    this.palette.style.left = `${Math.min(place.left, innerWidth - 180)}px`;
    this.palette.style.top = `${place.bottom + 4}px`;
    this.palette.showPopover();
    this.palette.children[hueOf(run, this.settings)].focus();
  }

  #choose(hue) {
    chooseColour(this.paletteRun, hue, this.settings);
    this.palette.hidePopover();
    this.rows.get(this.paletteRun.id).swatch.focus();
    this.#tell("colours");
  }
}
