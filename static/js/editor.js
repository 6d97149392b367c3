// The editor: what the panel found out is said beside the fields, too; keys complete; rows grow.

const form = document.querySelector("[data-editor]");
const panel = document.getElementById("check");
const keyList = document.getElementById("key-list");
const COMPLETE_MS = 150;
let completing;

// The panel's findings by control id; errors before warnings.
function findings() {
  const said = new Map();
  for (const item of panel.querySelectorAll("[data-level=error], [data-level=warning]")) {
    const words = [item.querySelector("[data-message]").textContent, item.querySelector(".fix .muted")?.textContent];
    for (const id of item.dataset.fields.split(" ").filter(Boolean)) {
      const known = said.get(id);
      if (known && known.level !== item.dataset.level) continue;
      said.set(id, { level: item.dataset.level, text: [known?.text, ...words].filter(Boolean).join(" ") });
    }
  }
  return said;
}

function sayBeside(said) {
  for (const problem of form.querySelectorAll(".problem[id$=-problem]")) {
    const id = problem.id.slice(0, -"-problem".length);
    const control = document.getElementById(id);
    const found = said.get(id);
    problem.hidden = !found;
    problem.classList.toggle("caution", found?.level === "warning");
    const words = problem.querySelector("[data-words]");
    if (words && words.textContent !== (found?.text ?? "")) words.textContent = found?.text ?? "";
    if (found?.level === "error") control?.setAttribute("aria-invalid", "true");
    else control?.removeAttribute("aria-invalid");
  }
}

function markChanges() {
  const changed = new Set((panel.querySelector("[data-changed]")?.dataset.changed ?? "").split(" "));
  for (const field of form.querySelectorAll("[data-field]")) field.classList.toggle("changed", changed.has(field.dataset.field));
  for (const group of form.querySelectorAll("[data-group]")) {
    const label = group.querySelector("[data-group-count]");
    if (!label) continue;
    const fields = group.querySelectorAll("[data-field]").length;
    const parts = [
      [group.querySelectorAll("[aria-invalid=true]").length, "to correct"],
      [group.querySelectorAll(".field.changed").length, "changed"],
    ].filter(([count]) => count).map(([count, words]) => `${count} ${words}`);
    label.textContent = [...parts, `${fields} field${fields === 1 ? "" : "s"}`].join(" · ");
  }
}

function tellHints() {
  const hints = new Map([...panel.querySelectorAll("[data-row]")].map((row) => [row.dataset.row, row.dataset.hint]));
  for (const [number, row] of rows().entries()) row.querySelector(".help").textContent = hints.get(String(number + 1)) ?? "";
}

function rows() {
  return [...form.querySelectorAll("[data-other-row]")];
}

// The last row stays empty: whoever types into it gets another one.
function growRows(target) {
  const all = rows();
  const last = all.at(-1);
  if (!last?.contains(target) || !target.value) return;
  const next = last.cloneNode(true);
  const number = all.length + 1;
  for (const element of next.querySelectorAll("[id], [for], [aria-describedby]")) {
    for (const name of ["id", "for", "aria-describedby"]) {
      const value = element.getAttribute(name);
      if (value) element.setAttribute(name, value.replaceAll(/other-\d+-/g, `other-${number}-`));
    }
  }
  for (const input of next.querySelectorAll("input")) { input.value = ""; input.removeAttribute("aria-invalid"); }
  for (const label of next.querySelectorAll("label")) label.textContent = label.textContent.replace(/\d+$/, number);
  next.querySelector(".help").textContent = "";
  next.querySelector(".problem").hidden = true;
  last.after(next);
}

async function complete(input) {
  const answer = await fetch(`${input.dataset.complete}&q=${encodeURIComponent(input.value.slice(0, 300))}`);
  if (!answer.ok || document.activeElement !== input) return;
  const page = new DOMParser().parseFromString(`<datalist>${await answer.text()}</datalist>`, "text/html");
  keyList.replaceChildren(...page.querySelectorAll("option"));
}

// A folded group opens when something leads into it.
function reveal(id) {
  const control = document.getElementById(id);
  const group = control?.closest("details");
  if (group) group.open = true;
  control?.focus();
  return Boolean(control);
}

async function copy(button) {
  try {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select and copy it";
  }
}

form.addEventListener("input", ({ target }) => {
  growRows(target);
  if (!target.matches("[data-complete]")) return;
  clearTimeout(completing);
  completing = setTimeout(() => complete(target).catch((error) => console.warn("No completions:", error)), COMPLETE_MS);
});
form.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (link && reveal(link.getAttribute("href").slice(1))) event.preventDefault();
  const adding = event.target.closest("[data-add-row]");
  if (adding) {
    event.preventDefault();
    rows().at(-1).querySelector("input").focus();
  }
  const copying = event.target.closest("[data-copy]");
  if (copying) copy(copying);
});
for (const button of form.querySelectorAll("[data-copy]")) button.hidden = false;
// What it does happens by itself while one types.
form.querySelector("[data-check]").hidden = true;
document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail?.ctx?.target !== panel) return;
  sayBeside(findings());
  markChanges();
  tellHints();
});
