// The crosshair over all panels of a board, and the label that names the runs at the pointer.

import { nearest, shortNumber } from "./chart_math.js";

const LABEL_ROWS = 8;
/** A run whose nearest point is farther off than this has no value at the pointer. */
const FAR_PX = 24;

function part(className, parent) {
  const made = document.createElement("div");
  made.className = className;
  made.hidden = true;
  parent.append(made);
  return made;
}

function axesOf(element) {
  return element._fullLayout ? { x: element._fullLayout.xaxis, y: element._fullLayout.yaxis } : null;
}

function xText(at, { axis, step }) {
  if (axis === "time") return new Date(at * 1000).toLocaleString();
  if (axis === "relative") return `${duration(at)} after the start, step ${shortNumber(step)}`;
  return axis === "step" ? `step ${shortNumber(at)}` : `${axis.slice("metric:".length)} ${shortNumber(at)}, step ${shortNumber(step)}`;
}

function duration(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours ? `${hours} h ${minutes} min` : minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}

export function valueText(value, unit) {
  if (value === null || value === undefined) return "not a finite number";
  return unit === "share" ? `${(value * 100).toFixed(1)} %` : shortNumber(value);
}

export class Crosshair {
  /** `panels()` gives those that are drawn; `settings` the board's. */
  constructor(root, { panels, settings }) {
    Object.assign(this, { panels, settings });
    this.label = part("chart-label", root);
    this.label.setAttribute("aria-hidden", "true");
    this.frame = 0;
  }

  watch(panel) {
    const { element } = panel;
    element.addEventListener("pointermove", (event) => this.#later(() => this.#move(panel, event)));
    element.addEventListener("pointerleave", () => this.#later(() => this.hide()));
  }

  hide() {
    this.label.hidden = true;
    for (const { line, mark } of this.panels()) { if (line) line.hidden = true; if (mark) mark.hidden = true; }
  }

  /** Draws the line at a place of the x axis, on all panels. */
  cross(at) {
    for (const panel of this.panels()) {
      const axes = axesOf(panel.element);
      if (!axes || !panel.figure) continue;
      panel.line ??= part("crosshair", panel.element);
      if (!panel.line.isConnected) panel.element.append(panel.line);
      const x = axes.x.l2p(panel.figure.scale.to(at));
      panel.line.hidden = !(x >= 0 && x <= axes.x._length);
      panel.line.style.transform = `translateX(${axes.x._offset + x}px)`;
      panel.line.style.top = `${axes.y._offset}px`;
      panel.line.style.height = `${axes.y._length}px`;
    }
  }

  #later(work) {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(work);
  }

  #move(panel, event) {
    const axes = axesOf(panel.element);
    if (!axes || !panel.figure) return;
    const box = panel.element.getBoundingClientRect();
    const px = event.clientX - box.left - axes.x._offset;
    if (px < 0 || px > axes.x._length) { this.hide(); return; }
    const rows = this.#rows(panel, axes, px, event.clientY - box.top - axes.y._offset);
    const at = rows.length ? rows[0].at : panel.figure.scale.from(axes.x.p2l(px));
    this.cross(at);
    this.#name(panel, rows, event);
    this.#point(panel, rows[0], axes);
  }

  /** The runs at the pointer, the one whose line is nearest to it first. */
  #rows(panel, axes, px, py) {
    const plotX = axes.x.p2l(px);
    const isLog = axes.y.type === "log";
    const rows = [];
    for (const line of panel.figure.lines) {
      const i = nearest(line.x, plotX);
      if (i < 0) continue;
      const x = axes.x.l2p(line.x[i]);
      const value = line.y[i];
      if (line.x.length > 1 ? outside(line.x, plotX, axes.x) : Math.abs(x - px) > FAR_PX) continue;
      const shown = line.smooth?.[i] ?? value;
      const y = shown === null || (isLog && shown <= 0) ? null : axes.y.l2p(isLog ? Math.log10(shown) : shown);
      rows.push({ run: line.run, hue: line.hue, value, smooth: line.smooth?.[i], x, y, at: line.record.x[i], step: line.record.step[i], far: y === null ? Infinity : Math.abs(y - py) });
    }
    return rows.sort((a, b) => a.far - b.far);
  }

  #point(panel, row, axes) {
    for (const { mark } of this.panels()) if (mark) mark.hidden = true;
    if (!row || row.y === null || row.y < 0 || row.y > axes.y._length || row.x < 0 || row.x > axes.x._length) return;
    panel.mark ??= part("chart-mark", panel.element);
    if (!panel.mark.isConnected) panel.element.append(panel.mark);
    panel.mark.hidden = false;
    panel.mark.className = `chart-mark c${row.hue}`;
    panel.mark.style.transform = `translate(${axes.x._offset + row.x}px, ${axes.y._offset + row.y}px)`;
  }

  #name(panel, rows, event) {
    this.label.hidden = rows.length === 0;
    if (!rows.length) return;
    const title = document.createElement("strong");
    title.textContent = xText(rows[0].at, { axis: this.settings.axis, step: rows[0].step });
    const lines = rows.slice(0, LABEL_ROWS).map((row) => this.#line(row, panel));
    if (rows.length > LABEL_ROWS) {
      const more = document.createElement("span");
      more.className = "muted";
      more.textContent = `and ${rows.length - LABEL_ROWS} more`;
      lines.push(more);
    }
    this.label.replaceChildren(title, ...lines);
    const { offsetWidth: width, offsetHeight: height } = this.label;
    const left = event.clientX + 16 + width > innerWidth ? event.clientX - 16 - width : event.clientX + 16;
    const top = Math.min(event.clientY + 12, innerHeight - height - 8);
    this.label.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
  }

  #line(row, { unit }) {
    const line = document.createElement("span");
    const dot = document.createElement("i");
    dot.className = `dot c${row.hue}`;
    const name = document.createElement("span");
    name.className = "clip";
    name.textContent = row.run.name;
    const value = document.createElement("b");
    const raw = valueText(row.value, unit);
    value.textContent = typeof row.smooth === "number" ? `${valueText(row.smooth, unit)} (${raw})` : raw;
    line.append(dot, name, value);
    return line;
  }
}

/** Whether the pointer is beyond the ends of a line. */
function outside(x, at, axis) {
  const [first, last] = [axis.l2p(x[0]), axis.l2p(x.at(-1))];
  const place = axis.l2p(at);
  return place < first - FAR_PX || place > last + FAR_PX;
}
