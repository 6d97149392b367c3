// The table of runs: what is selected stays so over pages, orders and filters, until it is cleared.

const STORE = "skydeck-selected-runs";
const MOST = 500;
const MOST_COMPARED = 100;
const form = document.querySelector("[data-selection]");
let lastKey = "";
const selected = new Set(JSON.parse(sessionStorage.getItem(STORE) ?? "[]"));

function boxes() {
  return [...document.querySelectorAll('#runs input[type="checkbox"][name="run"]')];
}

function keep() {
  sessionStorage.setItem(STORE, JSON.stringify([...selected]));
}

// Those of other pages travel as hidden fields.
function carry(shown) {
  for (const field of form.querySelectorAll("input[data-carried]")) field.remove();
  const here = new Set(shown.map((box) => box.value));
  for (const slug of selected) {
    if (here.has(slug)) continue;
    const field = Object.assign(document.createElement("input"), { type: "hidden", name: "run", value: slug });
    field.dataset.carried = "";
    form.append(field);
  }
}

function words(here) {
  if (!selected.size) return "Choose runs in the table";
  if (selected.size > MOST) return `${selected.size} selected: at most ${MOST} at a time`;
  const elsewhere = selected.size - here;
  return `${selected.size} selected${elsewhere ? `, ${elsewhere} of them not on this page` : ""}`;
}

function show() {
  const shown = boxes();
  for (const box of shown) box.checked = selected.has(box.value);
  const here = shown.filter((box) => box.checked).length;
  const all = document.querySelector("[data-select-all]");
  if (all) {
    all.hidden = false;
    all.checked = here > 0 && here === shown.length;
    all.indeterminate = here > 0 && here < shown.length;
  }
  const count = form.querySelector("[data-selection-count]");
  if (count.textContent !== words(here)) count.textContent = words(here);
  for (const button of form.querySelectorAll("button[type=submit]")) {
    const tooFew = "selectionCompare" in button.dataset && selected.size < 2;
    const most = "selectionCompare" in button.dataset ? MOST_COMPARED : MOST;
    button.disabled = !selected.size || selected.size > most || tooFew;
  }
  form.querySelector("[data-selection-clear]").hidden = !selected.size;
  // Below the table, so that nothing moves when the first is selected.
  form.hidden = !selected.size;
  carry(shown);
}

function choose(box, isChosen) {
  if (isChosen) selected.add(box.value);
  else selected.delete(box.value);
}

function onChange(event) {
  if (event.target.matches("[data-select-all]")) boxes().forEach((box) => choose(box, event.target.checked));
  else if (event.target.matches('input[name="run"]')) choose(event.target, event.target.checked);
  else return;
  keep();
  show();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]), textarea, select")) return;
  // "g c" goes to the page of comparisons.
  const isSecond = lastKey === "g";
  lastKey = event.key;
  if (event.key === "c" && !isSecond) form.querySelector("[data-selection-compare]:enabled")?.click();
  if (event.key !== "x") return;
  const row = document.activeElement?.closest("#runs tbody tr") ?? document.querySelector("#runs tbody tr:hover");
  row?.querySelector('input[name="run"]')?.click();
}

function clear() {
  selected.clear();
  keep();
  show();
}

if (form) {
  document.getElementById("runs").addEventListener("change", onChange);
  document.addEventListener("keydown", onKey);
  document.addEventListener("htmx:after:swap", show);
  form.querySelector("[data-selection-clear]").addEventListener("click", clear);
  // What was done to them is done; the next selection starts anew.
  form.addEventListener("submit", (event) => {
    if (event.submitter?.name === "action") sessionStorage.removeItem(STORE);
  });
  window.addEventListener("pageshow", show);
  show();
}
