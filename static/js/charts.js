// Draws charts with Plotly: the solve rate with its interval, and one line for each other metric.
// The server sends columns; traces are built here. A zoom survives new data (stable uirevision).

const FRAME = { l: 46, r: 14, t: 10, b: 30 };
const CONFIG = { displayModeBar: false, responsive: true, doubleClick: "reset", showTips: false };
/** A chart of this height has room for the title of its axis. */
const TALL_PX = 240;
const MARKS = ["plotly.js-style-global", "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53"];

let loading;

// The library puts its rules into style elements, which the page's policy refuses. These two marks
// tell it that they are there already: they are, in charts.css.
export function loadPlotly(url) {
  loading ??= new Promise((resolve, reject) => {
    for (const id of MARKS) {
      const mark = document.createElement("template");
      mark.id = id;
      mark.className = "no-inline-styles";
      document.head.append(mark);
    }
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => reject(new Error("The chart library did not load."));
    document.head.append(script);
  });
  return loading;
}

// Properties made by light-dark() read as written; a painted element gives the colour itself.
function colour(name, alpha = 1) {
  const probe = document.createElement("i");
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const rgb = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3);
  probe.remove();
  return `rgba(${rgb.join(",")},${alpha})`;
}

function baseLayout() {
  const font = getComputedStyle(document.body).fontFamily;
  const text = colour("muted");
  const axis = {
    gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, fixedrange: false,
    tickfont: { size: 12, color: text }, ticks: "", automargin: false,
  };
  return {
    uirevision: "keep", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    margin: FRAME, font: { family: font, size: 12, color: text }, dragmode: "zoom", hovermode: "x",
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line-strong"), font: { family: font, size: 12, color: colour("text") } },
    xaxis: { ...axis, showgrid: false, nticks: 7, rangemode: "tozero", showspikes: true, spikemode: "across", spikethickness: 1, spikedash: "solid", spikecolor: colour("line-strong"), spikesnap: "cursor" },
    yaxis: { ...axis, nticks: 5 },
  };
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
  const layout = baseLayout();
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
  const layout = baseLayout();
  const last = series.step.at(-1) ?? 0;
  if (total && last <= total) layout.xaxis.range = [-total * 0.015, total * 1.015];
  layout.yaxis.tickformat = element.dataset.unit === "share" ? ".0%" : ".4~g";
  if (element.clientHeight > TALL_PX) {
    layout.xaxis.title = { text: "step", standoff: 4, font: { size: 12 } };
    layout.margin = { ...FRAME, b: 40 };
  }
  return plotly.react(element, lineTraces(series, hue), layout, CONFIG);
}

// Answers false where the chart must be drawn anew: odd values, or steps beyond its axis.
export function extendLine(plotly, element, added, total) {
  const isBeyond = total && added.step.at(-1) > total;
  if (added.odd.length || isBeyond) return Promise.resolve(false);
  return plotly.extendTraces(element, { x: [added.step], y: [added.value] }, [0]).then(() => true);
}
