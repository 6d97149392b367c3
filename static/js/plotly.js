// The chart library, loaded once, and what all its charts share.

export const FRAME = { l: 46, r: 14, t: 10, b: 30 };
export const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false, showTips: false };
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
const painted = new Map();

export function colour(name, alpha = 1) {
  if (!painted.has(name)) {
    const probe = document.createElement("i");
    probe.hidden = true;
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    painted.set(name, getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3));
    probe.remove();
  }
  return `rgba(${painted.get(name).join(",")},${alpha})`;
}

/** Calls `redraw` when the theme changed and colours must be read again. */
export function onTheme(redraw) {
  const change = () => { painted.clear(); redraw(); };
  document.addEventListener("skydeck-theme", change, true);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", change);
}

export function baseLayout() {
  const font = getComputedStyle(document.body).fontFamily;
  const text = colour("muted");
  const axis = {
    gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, fixedrange: false,
    tickfont: { size: 12, color: text }, ticks: "", automargin: false,
  };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    margin: FRAME, font: { family: font, size: 12, color: text }, dragmode: "zoom",
    hoverlabel: { bgcolor: colour("surface"), bordercolor: colour("line-strong"), font: { family: font, size: 12, color: colour("text") } },
    xaxis: { ...axis, showgrid: false, nticks: 7 },
    yaxis: { ...axis, nticks: 5 },
  };
}

/** A text as the library shows it letter for letter: it reads tags and entities in its labels. */
export function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
