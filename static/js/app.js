// What every page does: times in the reader's zone, theme, keys, dialogs, the live tick.

const TICK_MS = 3000;
const IDLE_TICK_MS = 15000;
const IDLE_AFTER_MS = 5 * 60 * 1000;
const GO = { r: "/runs", e: "/experiments", c: "/compare", p: "/playground", a: "/adapters", v: "/clusters" };
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

let lastInput = Date.now();
let goPressedAt = 0;

function relative(seconds) {
  const size = Math.abs(seconds);
  if (size < 10) return "just now";
  const [unit, length] = UNITS.find(([, length]) => size >= length);
  const words = `${Math.floor(size / length)} ${unit}`;
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

export function refreshTimes(root = document) {
  for (const time of root.querySelectorAll("time[data-relative]")) {
    const text = relative((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== text) time.textContent = text;
  }
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  for (const time of root.querySelectorAll("time[data-clock]")) {
    const text = clock.format(new Date(time.dateTime));
    if (time.textContent !== text) time.textContent = text;
  }
}

function announce(name) {
  document.body.dispatchEvent(new CustomEvent(name));
}

function tick() {
  const idle = Date.now() - lastInput > IDLE_AFTER_MS;
  if (!document.hidden) {
    announce("skydeck-tick");
    refreshTimes();
  }
  setTimeout(tick, idle ? IDLE_TICK_MS : TICK_MS);
}

// A row must not move under the pointer: while it is over a table, only values may change.
function holdMovingRows(event) {
  const { ctx } = event.detail;
  const target = ctx?.target;
  if (!(target instanceof Element) || !target.matches(":hover") || typeof ctx.text !== "string") return;
  const shown = [...target.querySelectorAll("tbody tr[id]")].map((row) => row.id);
  const coming = [...ctx.text.matchAll(/<tr id="([^"]+)"/g)].map((match) => match[1]);
  if (shown.length && shown.join() !== coming.join()) event.preventDefault();
}

// A live part that fails once must not put an error page into the middle of this one.
function keepOnError(event) {
  const { ctx } = event.detail;
  const status = ctx?.response?.raw?.status ?? ctx?.response?.status ?? 200;
  if (status >= 400 && ctx?.sourceElement?.matches?.("[hx-get], [data-live]")) event.preventDefault();
}

function setTheme(form) {
  const order = ["auto", "light", "dark"];
  const field = form.elements.namedItem("value");
  const theme = field.value;
  document.documentElement.dataset.theme = theme;
  document.cookie = `skydeck_theme=${theme}; path=/; max-age=31536000; samesite=lax`;
  field.value = order[(order.indexOf(theme) + 1) % order.length];
  const button = form.querySelector("button");
  button.title = `Theme: ${theme}. Change to ${field.value}.`;
  button.querySelector(".sr").textContent = `Change theme to ${field.value}`;
  announce("skydeck-theme");
}

function openDialog(id) {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
  return Boolean(dialog);
}

function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=radio]):not([type=checkbox]), textarea, select, [contenteditable]");
}

function moveRow(step) {
  const links = [...document.querySelectorAll("table.runs tbody a")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[Math.min(links.length - 1, Math.max(0, at + step))].focus();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const { key } = event;
  if (Date.now() - goPressedAt < 1200 && GO[key]) {
    // The rail knows which project is chosen.
    location.assign(document.querySelector(`.rail-link[href^="${GO[key]}"]`)?.href ?? GO[key]);
  } else if (key === "g") {
    goPressedAt = Date.now();
    return;
  } else if (key === "/") {
    const fields = [...document.querySelectorAll("[data-key-target=search]")];
    fields.filter((field) => field.offsetParent).at(-1)?.focus();
    event.preventDefault();
  } else if (key === "n") {
    location.assign(document.querySelector("a[data-key-target=new]")?.href ?? "/runs/new");
  } else if (key === "f") {
    announce("skydeck-follow");
  } else if (key === "j" || key === "k") {
    moveRow(key === "j" ? 1 : -1);
  } else if (key === "?") {
    openDialog("keys");
  }
  goPressedAt = 0;
}

function onClick(event) {
  const opener = event.target.closest("[data-open-dialog]");
  if (opener && !event.ctrlKey && !event.metaKey && openDialog(opener.dataset.openDialog)) event.preventDefault();
}

// A menu closes when something else is clicked, or by escape.
function closeMenus(event) {
  for (const menu of document.querySelectorAll("details[data-menu][open]")) {
    if (event.key === "Escape") menu.querySelector("summary").focus();
    else if (event.key || menu.contains(event.target)) continue;
    menu.open = false;
  }
}

document.addEventListener("click", closeMenus);
document.addEventListener("keydown", closeMenus);
document.addEventListener("keydown", onKey);
document.addEventListener("click", onClick);
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-theme-form]")) {
    event.preventDefault();
    setTheme(event.target);
  }
});
for (const kind of ["pointermove", "keydown", "scroll"]) {
  document.addEventListener(kind, () => { lastInput = Date.now(); }, { passive: true });
}
document.addEventListener("htmx:before:swap", (event) => { keepOnError(event); holdMovingRows(event); });
document.addEventListener("htmx:after:swap", () => refreshTimes());
refreshTimes();
setTimeout(tick, TICK_MS);
