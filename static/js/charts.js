// Draws the charts that a run's page and a shared run's page have in common: the solve rate with its
// interval, and one line of one run. The server sends columns; traces are built here.

import { baseLayout, colour, CONFIG as COMMON, FRAME } from "./plotly.js";

const CONFIG = { ...COMMON, doubleClick: "reset" };
/** A chart of this height has room for the title of its axis. */
const TALL_PX = 240;

// A zoom survives new data, by the stable uirevision; the label at the pointer is the library's.
function hoveredLayout() {
  const layout = { ...baseLayout(), uirevision: "keep", hovermode: "x" };
  Object.assign(layout.xaxis, { rangemode: "tozero", showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "solid", spikecolor: colour("line-strong"), spikesnap: "cursor" });
  return layout;
}

function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}

function describe(data, i) {
  const interval = `[${Math.round(data.low[i] * 100)}–${Math.round(data.high[i] * 100)}]`;
  return `step ${data.step[i]}: ${data.solved[i]}/${data.n[i]} · ${percent(data.solved[i] / data.n[i])} ${interval}`;
}

function rates(data) {
  return data.solved.map((solved, i) => (data.n[i] ? solved / data.n[i] : null));
}

function bestIndex(values) {
  return values.reduce((best, value, i) => (best < 0 || value > values[best] ? i : best), -1);
}

function heroTraces(data) {
  const line = colour(`run-${data.colour}`);
  const y = rates(data);
  const words = data.step.map((_, i) => describe(data, i));
  const best = bestIndex(y);
  return [
    { x: data.step, y: data.low, mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    { x: data.step, y: data.high, mode: "lines", line: { width: 0 }, fill: "tonexty", fillcolor: colour(`run-${data.colour}`, 0.18), hoverinfo: "skip" },
    { x: data.step, y, text: words, mode: "lines+markers", line: { color: line, width: 2 }, marker: { color: line, size: 5 }, hovertemplate: "%{text}<extra></extra>" },
    { x: best < 0 ? [] : [data.step[best]], y: best < 0 ? [] : [y[best]], mode: "markers", marker: { symbol: "circle", size: 11, color: colour("surface"), line: { color: line, width: 2.5 } }, hoverinfo: "skip" },
  ];
}

function heroLayout(data) {
  const y = rates(data);
  const best = bestIndex(y);
  const layout = hoveredLayout();
  const last = Math.max(data.total_steps ?? 0, data.step.at(-1) ?? 0, 10);
  layout.xaxis.range = [-last * 0.015, last * 1.015];
  layout.xaxis.title = { text: "step", standoff: 4, font: { size: 12 } };
  layout.margin = { ...FRAME, b: 40 };
  layout.yaxis.range = [0, 1.1];
  layout.yaxis.tickvals = [0, 0.25, 0.5, 0.75, 1];
  layout.yaxis.ticktext = ["0", "25 %", "50 %", "75 %", "100 %"];
  layout.shapes = y.length ? [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: y[0], y1: y[0], line: { color: colour("line-strong"), width: 1, dash: "dash" } }] : [];
  for (const step of data.resumed ?? []) {
    layout.shapes.push({ type: "line", yref: "paper", x0: step, x1: step, y0: 0, y1: 1, line: { color: colour("amber"), width: 1, dash: "dot" } });
  }
  layout.annotations = [];
  if (best > 0) {
    const place = data.step[best] / last;
    const xanchor = place > 0.85 ? "right" : place < 0.1 ? "left" : "center";
    layout.annotations.push({ x: data.step[best], y: y[best], text: `best ${data.solved[best]}/${data.n[best]}`, showarrow: false, yshift: 16, xanchor, font: { size: 12, color: colour("text") } });
  }
  for (const step of data.resumed ?? []) {
    layout.annotations.push({ x: step, y: 0.02, yanchor: "bottom", xanchor: "left", text: "resumed", showarrow: false, font: { size: 12, color: colour("amber") } });
  }
  return layout;
}

export function drawHero(plotly, element, data) {
  element.hero = data;
  return plotly.react(element, heroTraces(data), heroLayout(data), CONFIG);
}

// New evaluations are appended to what is drawn; only a changed past draws the chart anew.
// Answers whether there was anything new.
export async function updateHero(plotly, element, data) {
  const drawn = element.hero;
  const kept = drawn?.step.length ?? 0;
  if (drawn && JSON.stringify(drawn) === JSON.stringify(data)) return false;
  const isKept = (step, i) => step === data.step[i] && drawn.solved[i] === data.solved[i] && drawn.attempt[i] === data.attempt[i];
  const grows = kept > 0 && data.step.length > kept && drawn.step.every(isKept);
  if (!grows) {
    await drawHero(plotly, element, data);
    return true;
  }
  const traces = heroTraces(data);
  const tail = (trace, name) => trace[name].slice(kept);
  await plotly.extendTraces(element, { x: [0, 1, 2].map((i) => tail(traces[i], "x")), y: [0, 1, 2].map((i) => tail(traces[i], "y")) }, [0, 1, 2]);
  await plotly.restyle(element, { text: [traces[2].text] }, [2]);
  await plotly.restyle(element, { x: [traces[3].x], y: [traces[3].y] }, [3]);
  const { shapes, annotations } = heroLayout(data);
  element.hero = data;
  await plotly.relayout(element, { shapes, annotations });
  return true;
}

function lineTraces(series, hue) {
  const line = colour(`run-${hue}`);
  // Copies: what is drawn grows by extendTraces, what is known by itself.
  const traces = [{
    x: [...series.step], y: [...series.value], mode: series.step.length < 3 ? "lines+markers" : "lines", connectgaps: false,
    line: { color: line, width: 1.5 }, marker: { color: line, size: 5 }, hovertemplate: "step %{x}: %{y:.5~g}<extra></extra>",
  }];
  // Values that are no numbers leave a gap; a cross at the last number before says so.
  const y = series.odd.map(([step]) => {
    const before = series.step.findLastIndex((at, i) => at < step && series.value[i] !== null);
    return before < 0 ? 0 : series.value[before];
  });
  traces.push({
    x: series.odd.map(([step]) => step), y, text: series.odd.map(([, what]) => what), mode: "markers",
    marker: { symbol: "x-thin", size: 8, line: { width: 2, color: colour("red") } }, hovertemplate: "step %{x}: %{text}<extra></extra>",
  });
  return traces;
}

// All charts of a run that knows its length share one axis, which does not move while it grows.
export function drawLine(plotly, element, series, { hue, total }) {
  const layout = hoveredLayout();
  const last = series.step.at(-1) ?? 0;
  if (total && last <= total) layout.xaxis.range = [-total * 0.015, total * 1.015];
  layout.yaxis.tickformat = element.dataset.unit === "share" ? ".0%" : ".4~g";
  if (element.clientHeight > TALL_PX) {
    layout.xaxis.title = { text: "step", standoff: 4, font: { size: 12 } };
    layout.margin = { ...FRAME, b: 40 };
  }
  return plotly.react(element, lineTraces(series, hue), layout, CONFIG);
}
