// Builds what the library draws: traces and layout of one panel, from columns and settings.

import { extent, padded, smoothed, spacing } from "./chart_math.js";
import { baseLayout, colour, FRAME, plain } from "./plotly.js";

/** A panel of this height has room for the title of its axis. */
const TALL_PX = 240;
const FAINT = 0.28;
const OLDER = 0.6;
const FEW_RUNS = 4;

/** How x is put on the library's axis and back: hours for long stretches, local time for times. */
export function scaleOf(axis, records) {
  const same = (x) => x;
  if (axis === "step") return { title: "step", type: "linear", to: same, from: same };
  if (axis === "time") {
    // The library shows times as UTC.
    const last = Math.max(0, ...records.map(({ x }) => x.at(-1) ?? 0));
    const offset = new Date(last * 1000).getTimezoneOffset() * 60;
    return { title: "time", type: "date", to: (x) => (x - offset) * 1000, from: (x) => x / 1000 + offset };
  }
  if (axis === "relative") {
    const longest = Math.max(0, ...records.map(({ x }) => x.at(-1) ?? 0));
    const [unit, seconds] = longest > 10_800 ? ["hours", 3600] : longest > 300 ? ["minutes", 60] : ["seconds", 1];
    return { title: `${unit} since the start`, type: "linear", to: (x) => x / seconds, from: (x) => x * seconds };
  }
  return { title: axis.slice("metric:".length), type: "linear", to: same, from: same };
}

// Runs of one look are one trace with gaps between: ten traces draw several times as fast as fifty.
function traceOf(lines, line) {
  const x = [];
  const y = [];
  for (const each of lines) {
    if (x.length) { x.push(null); y.push(null); }
    for (let i = 0; i < each.x.length; i += 1) { x.push(each.x[i]); y.push(each.y[i]); }
  }
  const isShort = lines.every((each) => each.x.length < 3);
  return { x, y, mode: isShort ? "lines+markers" : "lines", connectgaps: false, line, marker: { color: line.color, size: 5 }, hoverinfo: "skip" };
}

// Values that are no numbers leave a gap; a cross at the last number before says so.
function oddTrace(lines) {
  const [x, y] = [[], []];
  for (const { record, scale } of lines) {
    for (const [at] of record.odd) {
      const before = record.x.findLastIndex((each, i) => each <= at && record.y[i] !== null);
      x.push(scale.to(at));
      y.push(record.y[before < 0 ? record.y.findIndex((each) => each !== null) : before] ?? 0);
    }
  }
  return { x, y, mode: "markers", marker: { symbol: "x-thin", size: 8, line: { width: 2, color: colour("red") } }, hoverinfo: "skip" };
}

/** What a newer attempt hides, faint and dotted. */
function olderTraces(lines) {
  const older = lines.flatMap(({ record, hue, scale }) => record.older.map((each) => ({ hue, x: each.x.map(scale.to), y: each.y })));
  return byLook(older).map(([{ hue }, group]) => traceOf(group, { color: colour(`run-${hue}`, OLDER), width: 1.5, dash: "dot" }));
}

function byLook(lines) {
  const groups = new Map();
  for (const line of lines) {
    const look = `${line.hue} ${line.dash}`;
    groups.set(look, [...(groups.get(look) ?? []), line]);
  }
  return [...groups.values()].map((group) => [group[0], group]).sort(([a], [b]) => a.hue - b.hue);
}

/** Adds to each of `shown` the columns as drawn: scaled x, y, and the smoothed y. */
function prepare(shown, { scale, smooth }) {
  return shown.map(({ record, hue, dash, run }) => ({
    run, hue, dash, record, scale, x: record.x.map(scale.to), y: record.y,
    smooth: smooth ? smoothed(record, smooth, spacing(record)) : null,
  }));
}

function traces(lines) {
  const isSmooth = lines.some((line) => line.smooth);
  const raw = byLook(lines).map(([{ hue, dash }, group]) => traceOf(group, { color: colour(`run-${hue}`, isSmooth ? FAINT : 1), width: isSmooth ? 1 : 1.5, dash }));
  const over = isSmooth ? byLook(lines).map(([{ hue, dash }, group]) => traceOf(group.map((line) => ({ ...line, y: line.smooth })), { color: colour(`run-${hue}`), width: 2, dash })) : [];
  const odd = oddTrace(lines);
  return [...raw, ...over, ...olderTraces(lines), ...(odd.x.length ? [odd] : [])];
}

function resumeMarks(shown, scale, layout) {
  for (const { record, hue } of shown) {
    for (const [at] of record.resumes) {
      const x = scale.to(at);
      const line = { color: shown.length > 1 ? colour(`run-${hue}`) : colour("amber"), width: 1, dash: "dot" };
      layout.shapes.push({ type: "line", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line });
      if (shown.length <= FEW_RUNS) layout.annotations.push({ x, y: 0.02, yref: "paper", yanchor: "bottom", xanchor: "left", text: "resumed", showarrow: false, font: { size: 12, color: line.color } });
    }
  }
}

function xRange(lines, { window, scale, total, axis }) {
  if (window) return [scale.to(window.from), scale.to(window.to)];
  let [low, high] = [Infinity, -Infinity];
  for (const { x } of lines) {
    if (!x.length) continue;
    low = Math.min(low, x[0]);
    high = Math.max(high, x.at(-1));
  }
  if (low > high) return [0, 1];
  if (axis === "step" && low >= 0) low = 0;
  // All charts of a run that knows its length share one axis, which does not move while it grows.
  if (axis === "step" && total && high <= total) high = total;
  const air = (high - low) * 0.015 || 0.5;
  return [low - air, high + air];
}

/**
 * `shown` are `{run, record, hue, dash}` of the visible runs. Answers `{data, layout, scale, lines}`;
 * `lines` are the columns as drawn, for the label at the pointer.
 */
export function figureOf(shown, { settings, unit, total, height, yZoom }) {
  const { axis, smooth, isLog, window } = settings;
  const scale = scaleOf(axis, shown.map(({ record }) => record));
  const lines = prepare(shown, { scale, smooth });
  const layout = baseLayout();
  Object.assign(layout, { shapes: [], annotations: [], hovermode: false });
  Object.assign(layout.xaxis, { type: scale.type, range: xRange(lines, { window, scale, total, axis }), autorange: false });
  const [from, to] = window ? [scale.to(window.from), scale.to(window.to)] : [];
  const range = yZoom ?? padded(extent(lines, { from, to, isLog }), isLog);
  Object.assign(layout.yaxis, { type: isLog ? "log" : "linear", range, autorange: false, tickformat: unit === "share" ? ".0%" : ".4~g" });
  if (isLog) layout.yaxis.tickformat = ".3~g";
  // One, two and five of each decade, where there is more than one of them and few decades.
  if (isLog && range[1] - range[0] > 0.4 && range[1] - range[0] < 2) layout.yaxis.dtick = "D2";
  if (height > TALL_PX || axis !== "step") {
    layout.xaxis.title = { text: plain(scale.title), standoff: 4, font: { size: 12 } };
    layout.margin = { ...FRAME, b: 40 };
  }
  resumeMarks(shown, scale, layout);
  return { data: traces(lines), layout, scale, lines };
}
