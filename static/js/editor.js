// The editor: what the panel found out is said beside the fields, too; keys complete; rows grow.

const form = document.querySelector("[data-editor]");
const panel = document.getElementById("check");
const keyList = document.getElementById("key-list");
const failure = form.querySelector("[data-check-failed]");
const yaml = form.querySelector("[data-longest]");
const COMPLETE_MS = 150;
const UNCHECKED = "What you typed stands here as it was; the panel below is about an earlier state of it.";
const WHY = new Map([
  [400, "The form has more fields than are read. Give only the keys that differ from the defaults."],
  [401, "You are not signed in any more. Sign in in another tab, then type on here."],
  [403, "You may not make runs here any more."],
  [413, "What is typed here is larger than this page takes. Make it shorter."],
]);
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

// The check that did not come: said once, aloud, until one comes.
function sayFailure(words) {
  const text = words && `Not checked. ${words} ${UNCHECKED}`;
  if (failure.textContent !== text) failure.textContent = text;
  failure.hidden = !text;
}

// A text that no check reads is not sent: its size is said at once, and no button loses it.
function tellSize() {
  if (!yaml) return;
  const [size, most] = [yaml.value.length, Number(yaml.dataset.longest)];
  const isLong = size > most;
  const count = (number) => number.toLocaleString("en");
  const words = isLong ? `The text has ${count(size)} characters, at most ${count(most)} are read: make it shorter.` : "";
  if (isLong || yaml.validationMessage) {
    yaml.setCustomValidity(words);
    sayFailure(words);
  }
  if (isLong) sayBeside(new Map([["yaml", { level: "error", text: words }]]));
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

form.addEventListener("input", ({ target }) => {
  growRows(target);
  if (target === yaml) tellSize();
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
});
// What it does happens by itself while one types.
form.querySelector("[data-check]").hidden = true;
document.addEventListener("htmx:before:request", (event) => {
  if (event.detail?.ctx?.target === panel && yaml?.validationMessage) event.preventDefault();
});
document.addEventListener("htmx:response:error", (event) => {
  const { ctx } = event.detail;
  if (ctx?.target === panel) sayFailure(WHY.get(ctx.response.status) ?? "Skydeck did not answer as it should. It is asked again in a moment.");
});
document.addEventListener("htmx:error", (event) => {
  if (event.detail?.ctx?.target === panel) sayFailure("Skydeck did not answer. It is asked again in a moment.");
});
document.addEventListener("htmx:after:swap", (event) => {
  if (event.detail?.ctx?.target !== panel) return;
  if (event.detail.ctx.response.status < 400) sayFailure("");
  sayBeside(findings());
  markChanges();
  tellHints();
});
tellSize();
