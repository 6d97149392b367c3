// A panel taken along: as a picture, or as the table of what it shows.

import { colour, plain } from "./plotly.js";
import { valueText } from "./chart_hover.js";

const PICTURE = { width: 1200, height: 640 };
const TABLE_ROWS = 500;
const TABLE_RUNS = 20;

function download(url, name) {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
}

function fileName(key, kind) {
  return `${key.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^[-.]+|[-.]+$/g, "") || "chart"}.${kind}`;
}

/** Saves what is drawn as `png` or `svg`, with a title and the runs' names. */
export async function savePicture(plotly, panel, kind) {
  const { data, layout, lines } = panel.figure;
  const named = lines.map(({ run, hue }) => ({ x: [null], y: [null], mode: "lines", name: plain(run.name), showlegend: true, line: { color: colour(`run-${hue}`), width: 2 } }));
  const figure = {
    data: [...data.map((trace) => ({ ...trace, showlegend: false })), ...named],
    layout: {
      ...layout, ...PICTURE, showlegend: lines.length > 1, paper_bgcolor: colour("surface"), plot_bgcolor: colour("surface"),
      margin: { l: 64, r: 24, t: 56, b: 56 }, title: { text: plain(panel.title), font: { size: 16, color: colour("text") } },
    },
  };
  const url = await plotly.toImage(figure, { ...PICTURE, format: kind, scale: kind === "png" ? 2 : 1 });
  download(url, fileName(panel.key, kind));
}

/** Fills the dialog's table: a row a step, newest first, a column a run. */
export function fillTable(dialog, panel, { axis }) {
  const shown = panel.figure.lines.slice(0, TABLE_RUNS);
  const rows = new Map();
  shown.forEach(({ record }, column) => record.step.forEach((step, i) => {
    const row = rows.get(step) ?? { x: record.x[i], values: [] };
    row.values[column] = { value: record.y[i] };
    rows.set(step, row);
  }));
  const steps = [...rows.keys()].sort((a, b) => b - a);
  dialog.querySelector("h2").textContent = panel.title;
  const head = ["Step", ...shown.map(({ run }) => run.name)];
  const table = dialog.querySelector("table");
  table.tHead.replaceChildren(line(head, "th"));
  table.tBodies[0].replaceChildren(...steps.slice(0, TABLE_ROWS).map((step) => line([step.toLocaleString("en-US"), ...shown.map((_, column) => text(rows.get(step).values[column], panel.unit))], "td")));
  dialog.querySelector("[data-table-note]").textContent = note(panel, { steps, shown, axis });
}

function text(cell, unit) {
  return cell ? valueText(cell.value, unit) : "";
}

function note(panel, { steps, shown }) {
  const parts = [];
  if (steps.length > TABLE_ROWS) parts.push(`The newest ${TABLE_ROWS} of ${steps.length.toLocaleString("en-US")} steps.`);
  if (panel.figure.lines.length > shown.length) parts.push(`The first ${shown.length} of ${panel.figure.lines.length} runs.`);
  if (shown.some(({ record }) => record.isSampled)) parts.push("Thinned to what the picture can show; first, last, extremes and gaps are kept.");
  if (parts.length) parts.push("The CSV has every point.");
  return parts.join(" ");
}

function line(cells, kind) {
  const row = document.createElement("tr");
  cells.forEach((content) => {
    const cell = document.createElement(kind);
    cell.className = "num";
    if (kind === "th") cell.scope = "col";
    cell.textContent = content;
    row.append(cell);
  });
  return row;
}
