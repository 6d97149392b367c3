// Follows a log: lines come by server-sent events and are shown as text, never as HTML.

import { listen } from "./live.js";

const MOST_LINES = 5000;
const NEAR_END_PX = 24;

export function followLog(box, button, url) {
  const list = box.querySelector("ol");
  const total = document.querySelector("[data-log-total]");
  let following = true;

  let lastTop = 0;
  const toEnd = () => { box.scrollTop = box.scrollHeight; lastTop = box.scrollTop; };
  const isAtEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  const setFollowing = (on) => {
    following = on;
    button?.setAttribute("aria-pressed", String(on));
    if (on) toEnd();
  };

  if (!location.hash && !("found" in box.dataset)) toEnd();
  if (!url) return;
  button.hidden = false;
  button.addEventListener("click", () => setFollowing(!following));
  document.body.addEventListener("skydeck-follow", () => setFollowing(!following));
  // Only a reader scrolls back; lines that are added or laid out anew do not.
  box.addEventListener("scroll", () => {
    const isBack = box.scrollTop < lastTop;
    lastTop = box.scrollTop;
    if (isAtEnd()) setFollowing(true);
    else if (isBack) setFollowing(false);
  }, { passive: true });
  new ResizeObserver(() => { if (following) toEnd(); }).observe(list);

  let next = url;
  const lines = (data) => {
    for (const line of data.lines) put(list, line);
    while (list.childElementCount > MOST_LINES) list.firstElementChild.remove();
    if (total) total.textContent = data.total.toLocaleString("en-US");
    document.querySelector("[data-log-empty]")?.remove();
    if (following) toEnd();
    // The stream ends by itself after a while: go on where it stood.
    next = withStart(url, data.lines.at(-1).number);
  };
  listen(() => next, { lines });
}

function withStart(url, number) {
  const address = new URL(url, location.origin);
  address.searchParams.set("from", number);
  return address;
}

function put(list, { number, pieces, is_step: isStep }) {
  const item = document.createElement("li");
  item.className = isStep ? "log-line step" : "log-line";
  item.id = `L${number}`;
  const anchor = document.createElement("a");
  anchor.href = `#L${number}`;
  anchor.tabIndex = -1;
  anchor.textContent = number;
  const code = document.createElement("code");
  for (const [style, text] of pieces) {
    if (!style) { code.append(text); continue; }
    const span = document.createElement("span");
    span.className = style;
    span.textContent = text;
    code.append(span);
  }
  item.append(anchor, code);
  const shown = document.getElementById(item.id);
  if (shown) shown.replaceWith(item);
  else list.append(item);
}
