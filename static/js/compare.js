// The page of a comparison: which runs lie between two values of an axis, and which maze a square is.

const card = document.querySelector("[data-parallel]");
const FULL = 100;

function rangeOf(fieldset) {
  const [low, high] = [...fieldset.querySelectorAll("input")].map((input) => Number(input.value));
  return [Math.min(low, high), Math.max(low, high)];
}

// A run without a value on an axis is out as soon as that axis is narrowed.
function isWithin(run, axes) {
  return axes.every(({ places, low, high }) => {
    if (low === 0 && high === FULL) return true;
    const place = places[run];
    return place !== null && place * FULL >= low && place * FULL <= high;
  });
}

function drawBrush({ index, low, high }) {
  const group = card.querySelector(`svg [data-axis="${index}"]`);
  const brush = group.querySelector(".brush");
  const { top, bottom } = group.dataset;
  const height = bottom - top;
  brush.setAttribute("y", bottom - (high / FULL) * height);
  brush.setAttribute("height", ((high - low) / FULL) * height);
  brush.classList.toggle("narrow", low > 0 || high < FULL);
}

function addressOf(ids) {
  const query = new URLSearchParams(location.search);
  query.delete("run");
  ids.forEach((id) => query.append("run", id));
  return `/compare?${query}`;
}

function brush() {
  const axes = [...card.querySelectorAll("fieldset")].map((fieldset) => {
    const [low, high] = rangeOf(fieldset);
    return { index: fieldset.dataset.axis, places: JSON.parse(fieldset.dataset.places), low, high };
  });
  const rows = [...document.querySelectorAll("[data-run-row]")];
  const kept = rows.filter((_, run) => isWithin(run, axes));
  axes.forEach(drawBrush);
  rows.forEach((row, run) => {
    row.classList.toggle("dim", !kept.includes(row));
    card.querySelector(`[data-run-line="${run}"]`)?.classList.toggle("dim", !kept.includes(row));
  });
  const isAll = kept.length === rows.length;
  card.querySelector("[data-brushed]").textContent = isAll ? "" : `${kept.length} of ${rows.length} runs lie between`;
  const only = card.querySelector("[data-only]");
  only.hidden = isAll || kept.length < 2;
  only.href = addressOf(kept.map((row) => row.querySelector("[data-run-colour]").dataset.runColour));
}

// Along an axis: a drag narrows it, a click takes it back.
function dragAlong(group) {
  const svg = group.ownerSVGElement;
  const [low, high] = card.querySelectorAll(`fieldset[data-axis="${group.dataset.axis}"] input`);
  let start = null;
  const at = ({ clientX, clientY }) => {
    const { y } = new DOMPoint(clientX, clientY).matrixTransform(svg.getScreenCTM().inverse());
    const share = (group.dataset.bottom - y) / (group.dataset.bottom - group.dataset.top);
    return Math.round(Math.min(1, Math.max(0, share)) * FULL);
  };
  const hit = group.querySelector(".hit");
  hit.addEventListener("pointerdown", (event) => {
    start = at(event);
    hit.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  hit.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const now = at(event);
    low.value = Math.min(start, now);
    high.value = Math.max(start, now);
    brush();
  });
  hit.addEventListener("pointerup", (event) => {
    if (Math.abs(at(event) - start) < 2) [low.value, high.value] = [0, FULL];
    start = null;
    brush();
  });
}

function nameMazes(table) {
  const seeds = JSON.parse(table.dataset.mazes);
  const words = table.closest(".card").querySelector("[data-maze-words]");
  const lines = [...table.closest(".card").querySelectorAll(".maze-lines tr")];
  const note = words.textContent;
  table.addEventListener("pointermove", (event) => {
    const square = event.target.closest("svg");
    if (!square) { words.textContent = note; return; }
    const { left, width } = square.getBoundingClientRect();
    const place = Math.min(seeds.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * seeds.length)));
    words.textContent = `Maze ${seeds[place]}: solved by ${lines[place].dataset.words}.`;
  });
  table.addEventListener("pointerleave", () => { words.textContent = note; });
}

// What comes later has the colours that its reader chose, as the runs at the top have them.
function paintLike(part) {
  for (const mark of part.querySelectorAll("[data-run-colour]")) {
    const chip = document.querySelector(`.run-chips [data-run-colour="${CSS.escape(mark.dataset.runColour)}"]`);
    const hue = [...(chip?.classList ?? [])].find((name) => /^c\d$/.test(name));
    if (!hue) continue;
    mark.classList.forEach((name) => { if (/^c\d$/.test(name)) mark.classList.remove(name); });
    mark.classList.add(hue);
  }
}

if (card) {
  const form = card.querySelector("[data-brushes]");
  form.hidden = false;
  form.addEventListener("input", brush);
  form.addEventListener("reset", () => setTimeout(brush));
  form.addEventListener("submit", (event) => event.preventDefault());
  card.querySelectorAll("svg [data-axis]").forEach(dragAlong);
}
document.querySelectorAll("table.matrix").forEach(nameMazes);
const statistics = document.getElementById("statistics");
if (statistics) document.addEventListener("htmx:after:swap", () => paintLike(statistics));
