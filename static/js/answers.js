// Answers while models give them: followed by server-sent events for as long as something is asked.
// They are shown as text, never as HTML; what would hide or reorder it comes named as a mark. No
// live region holds them, so that screen readers are told of whole turns and not of each token.

import { listen } from "./live.js";

const NEAR_END_PX = 48;
/** The text of each lane that is answering, by its number. */
const texts = new Map();
let following = false;
/** Whether turns that another page asked for were seen. */
let watching = false;

/** Follows until nothing is asked any more. `isOurs` says whether this page waits for a lane. */
export function followAnswers(address, { isOurs, onWords, onOthersTurn }) {
  if (following || !address) return;
  following = true;
  listen(() => address, {
    words: ({ lanes }) => {
      for (const words of lanes) {
        watching ||= !isOurs(words.lane);
        hear(words);
        onWords(words.lane);
      }
    },
    done: () => {
      for (const lane of [...texts.keys()]) {
        if (isOurs(lane)) continue;
        texts.delete(lane);
        onWords(lane);
      }
      if (watching) onOthersTurn();
    },
    end: () => { following = false; },
  });
}

/** Another page waits for a turn: what comes of it is wanted here, too. */
export function watchOthers() {
  watching = true;
}

export function forgetAnswer(lane) {
  texts.delete(lane);
}

/** Puts the text in place of the lane's last turn; beside it while somebody reads in there. */
export function showAnswer(element, lane, isWanted) {
  const place = element.querySelector("[data-saying]");
  if (!place) return;
  const text = isWanted ? texts.get(lane) : undefined;
  const card = element.querySelector(".turn-card");
  const takesPlace = Boolean(text) && !card?.contains(document.activeElement);
  if (takesPlace && card && place.hidden) place.style.minHeight = `${card.offsetHeight}px`;
  element.classList.toggle("is-saying", takesPlace);
  place.hidden = !text;
  if (!text) return;
  const box = place.querySelector("pre");
  const isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  if (box.firstChild !== text) box.replaceChildren(text);
  if (isAtEnd) box.scrollTop = box.scrollHeight;
}

function hear({ lane, start, pieces, more }) {
  if (!texts.has(lane) || !start) texts.set(lane, document.createElement("code"));
  const text = texts.get(lane);
  text.querySelector("[data-more]")?.remove();
  for (const [piece, name] of pieces) text.append(name ? mark(piece, name) : piece);
  if (!more) return;
  const rest = mark(`${more.toLocaleString("en-US")} more characters`, "Shown once the turn is done");
  rest.dataset.more = "";
  text.append(rest);
}

function mark(text, title) {
  const place = document.createElement("span");
  place.className = "mark";
  place.textContent = text;
  place.title = title;
  return place;
}
