// An episode: looked through at once in the browser, played a turn a request. The server draws each
// stage; this script moves along what is there, asks for the next turn, and puts what came in place.

import { followAnswers, forgetAnswer, showAnswer, watchOthers } from "./answers.js";

const PARTIAL = { "HX-Request": "true", "HX-Request-Type": "partial" };
const ARROWS = { ArrowLeft: "left", ArrowUp: "up", ArrowDown: "down", ArrowRight: "right" };
const SETTLE_MS = 140;
const MOST_WAITING_MOVES = 20;
const LOOK_AGAIN_MS = 1500;
/** Answers that are there at once are not shown while they come: it would flicker. */
const SHOW_WORDS_MS = 400;
const ALL = 0;
const TOO_MANY = "429";
const WAIT = "These were too many turns in a minute. What was played is kept; wait a moment and play on.";
const LOST = "Skydeck did not answer. What was played is kept; look at the page anew or try again.";

const news = document.getElementById("turn-news");
const trouble = document.getElementById("turn-trouble");
const stage = () => document.getElementById("stage");
const lanes = () => [...stage().querySelectorAll("[data-lane]")];
const number = (element, name) => Number(element.dataset[name]);
const turn = () => number(stage(), "turn");
const last = () => number(stage(), "last");
/** Lanes that wait for an answer, by number, with what ends the wait. */
const asking = new Map();
const moves = [];
let playing = false;
let moving = false;
let timer;
let settling;
let looking;

// ---- Looking through what was played

function show(wanted) {
  const at = Math.max(0, Math.min(wanted, last()));
  if (at === turn()) return;
  stage().dataset.turn = at;
  for (const lane of lanes()) showLane(lane, at);
  showPlayer(at);
  remember(at);
  clearTimeout(settling);
  settling = setTimeout(() => refresh(), SETTLE_MS);
}

function showLane(lane, wanted) {
  const board = lane.querySelector(".board");
  const cells = board.dataset.cells.split(" ");
  const at = Math.min(wanted, cells.length - 1);
  const [x, y] = cells[at].split(",");
  board.querySelector(".agent").style.transform = `translate(${x}px, ${y}px)`;
  board.querySelector(".way-on").setAttribute("d", "");
  for (const stroke of board.querySelectorAll("[data-turn]")) stroke.classList.toggle("later", number(stroke, "turn") > at);
  board.classList.toggle("later", at < cells.length - 1);
  for (const link of lane.querySelectorAll(".turn")) {
    const isShown = number(link, "turn") === at;
    link.toggleAttribute("aria-current", isShown);
    if (isShown) link.setAttribute("aria-current", "true");
  }
  scrollToShown(lane);
  showWords(lane);
}

function scrollToShown(lane) {
  const strip = lane.querySelector(".strip");
  const shown = strip?.querySelector("[aria-current]");
  if (!shown) return;
  const box = shown.getBoundingClientRect();
  const frame = strip.getBoundingClientRect();
  if (box.left < frame.left) strip.scrollLeft -= frame.left - box.left + 8;
  if (box.right > frame.right) strip.scrollLeft += box.right - frame.right + 8;
}

function showPlayer(at) {
  const range = document.getElementById("scrub");
  range.value = at;
  range.setAttribute("aria-valuetext", `Turn ${at} of ${last()}`);
  document.querySelector("[data-turn-words]").firstChild.textContent = at;
}

function remember(at) {
  const address = new URL(location.href);
  if (at === last()) address.searchParams.delete("turn");
  else address.searchParams.set("turn", at);
  history.replaceState(history.state, "", address);
}

// ---- Putting the server's stage in place

async function refresh(isNewest = false) {
  const at = turn();
  const query = isNewest && at === last() ? "" : `?turn=${at}`;
  try {
    const answer = await fetch(stage().dataset.url + query, { headers: PARTIAL });
    if (answer.ok && at === turn() && !asking.size) put(await answer.text());
  } catch {
    // What is shown stays; the next look asks again.
  }
}

/** Takes the stage that came, or only one of its lanes while others still wait. */
function put(html, only) {
  const parsed = new DOMParser().parseFromString(html, "text/html").getElementById("stage");
  if (!parsed) throw new Error("no stage");
  const focused = document.activeElement?.id;
  const details = [...stage().querySelectorAll("details[id]")].map((each) => [each.id, each.open]);
  const scrolled = [...stage().querySelectorAll(".strip")].map((each) => [each.id, each.scrollLeft]);
  const arrows = stage().querySelector("[data-arrows]")?.checked;
  const mover = stage().querySelector("#mover")?.value;
  const speed = stage().querySelector("[data-speed]")?.value;
  if (only === undefined) {
    stage().replaceWith(parsed);
  } else {
    document.getElementById(`lane-${only}`).replaceWith(parsed.querySelector(`#lane-${only}`));
    for (const id of ["player", "after-turn"]) document.getElementById(id).replaceWith(parsed.querySelector(`#${id}`));
    Object.assign(stage().dataset, { turn: parsed.dataset.turn, last: parsed.dataset.last });
    for (const lane of lanes()) if (number(lane, "lane") !== only) showLane(lane, turn());
  }
  for (const [id, isOpen] of details) document.getElementById(id)?.toggleAttribute("open", isOpen);
  for (const [id, left] of scrolled) {
    const strip = document.getElementById(id);
    if (strip) strip.scrollLeft = left;
  }
  keep("[data-arrows]", (field) => { if (arrows !== undefined) field.checked = arrows; });
  keep("#mover", (field) => { if (mover && field.querySelector(`option[value="${mover}"]`)) field.value = mover; });
  keep("[data-speed]", (field) => { if (speed) field.value = speed; });
  dress();
  if (focused && document.activeElement?.id !== focused) focusAgain(focused);
  if (parsed.dataset.news) say(parsed.dataset.news);
}

function keep(selector, change) {
  const field = stage().querySelector(selector);
  if (field) change(field);
}

function focusAgain(id) {
  const place = document.getElementById(id) ?? document.getElementById("play");
  place?.focus({ preventScroll: true });
}

/** What only a script can do is shown, on each stage that came. */
function dress() {
  const root = stage();
  root.dataset.scripted = "";
  for (const part of root.querySelectorAll("[data-with-script]")) part.hidden = false;
  const play = root.querySelector("[data-play]");
  play.hidden = !(last() > 0 || askable().length);
  play.setAttribute("aria-pressed", String(playing));
  for (const lane of lanes()) {
    markAsking(lane);
    scrollToShown(lane);
  }
  lookAgain();
}

/** An answer that another page waits for, or this one before it was loaded anew. */
function lookAgain() {
  clearTimeout(looking);
  if (!stage().querySelector("[data-answering]")) return;
  watchOthers();
  follow();
  looking = setTimeout(() => (asking.size ? lookAgain() : refresh(true)), LOOK_AGAIN_MS);
}

function say(text) {
  if (news.textContent !== text) news.textContent = text;
}

function complain(text) {
  trouble.textContent = text;
  trouble.hidden = !text;
}

// ---- Playing

/** Models that a step asks: those with the fewest turns, and not before the people who play. */
function askable() {
  if (!("canPlay" in stage().dataset)) return [];
  const waiting = lanes().filter((lane) => lane.dataset.status === "asking" && !asking.has(number(lane, "lane")));
  const models = waiting.filter((lane) => !("person" in lane.dataset));
  const fewest = Math.min(...models.map((lane) => number(lane, "turns")));
  return models.filter((lane) => number(lane, "turns") === fewest);
}

function mayGoOn(lane) {
  const people = lanes().filter((each) => "person" in each.dataset && each.dataset.status !== "over");
  return people.every((each) => number(each, "turns") > number(lane, "turns"));
}

async function step() {
  await Promise.all(askable().map((lane) => ask(lane)));
}

async function ask(lane) {
  const id = number(lane, "lane");
  const form = new FormData();
  form.set("do", "step");
  form.set("lane", id);
  form.set("turn", number(lane, "turns") + 1);
  await send(form, id);
}

/** Posts one turn of a lane, or the end of all (no `id`), and puts what came of it in place. */
async function send(form, id = ALL) {
  const control = new AbortController();
  const wait = { control, since: Date.now() };
  const wasAtEnd = turn() === last();
  asking.set(id, wait);
  forgetAnswer(id);
  if (form.get("do") === "step") follow();
  showWaiting(id);
  try {
    const answer = await fetch(`${stage().dataset.url}/turns`, { method: "POST", body: form, headers: PARTIAL, signal: control.signal });
    const html = await answer.text();
    asking.delete(id);
    forgetAnswer(id);
    if (!answer.ok) throw new Error(String(answer.status));
    complain("");
    put(html, id !== ALL && (asking.size || !wasAtEnd) ? id : undefined);
    remember(turn());
  } catch (error) {
    asking.delete(id);
    forgetAnswer(id);
    if (error.name !== "AbortError") {
      pause();
      complain(error.message === TOO_MANY ? WAIT : LOST);
    }
    showWaiting(id);
  }
}

function showWaiting(id) {
  const lane = document.getElementById(`lane-${id}`);
  if (lane) markAsking(lane);
}

function markAsking(lane) {
  const wait = asking.get(number(lane, "lane"));
  const place = lane.querySelector("[data-asking]");
  lane.classList.toggle("is-asking", Boolean(wait));
  if (place?.querySelector("[data-seconds]")) {
    place.hidden = !wait;
    lane.querySelector("[data-left]").hidden = Boolean(wait);
    if (wait) place.querySelector("[data-seconds]").textContent = Math.floor((Date.now() - wait.since) / 1000);
  }
  showWords(lane);
}

/** Not while an earlier turn is looked at. */
function showWords(lane) {
  const wait = asking.get(number(lane, "lane"));
  const isSlow = !wait || Date.now() - wait.since >= SHOW_WORDS_MS;
  showAnswer(lane, number(lane, "lane"), isSlow && turn() === last());
}

function follow() {
  followAnswers(stage().dataset.stream, {
    isOurs: (id) => asking.has(id),
    onWords: (id) => {
      const lane = document.getElementById(`lane-${id}`);
      if (lane) showWords(lane);
    },
    onOthersTurn: () => { if (!asking.size) refresh(true); },
  });
}

function play() {
  if (playing) return pause();
  if (turn() === last() && !askable().length && last() > 0) show(0);
  playing = true;
  stage().querySelector("[data-play]").setAttribute("aria-pressed", "true");
  goOn();
}

function pause() {
  playing = false;
  clearTimeout(timer);
  stage().querySelector("[data-play]").setAttribute("aria-pressed", "false");
}

async function goOn() {
  const started = Date.now();
  if (turn() < last()) show(turn() + 1);
  else {
    const next = askable().filter(mayGoOn);
    if (next.length) await Promise.all(next.map((lane) => ask(lane)));
    else if (!askable().length && !asking.size) return pause();
  }
  if (!playing) return;
  const pace = Number(stage().querySelector("[data-speed]").value);
  const floor = turn() < last() ? 120 : 0;
  timer = setTimeout(goOn, Math.max(floor, pace - (Date.now() - started), askable().some(mayGoOn) || turn() < last() ? 0 : 200));
}

async function stop() {
  pause();
  for (const [id, wait] of asking) {
    wait.control.abort();
    forgetAnswer(id);
  }
  asking.clear();
  const form = new FormData();
  form.set("do", "stop");
  await send(form);
}

/** A person's moves are carried out one after the other, however fast the keys are. */
async function move(word) {
  const steer = stage().querySelector("[data-steer]");
  if (!steer || moves.length >= MOST_WAITING_MOVES) return;
  moves.push(word);
  if (moving) return;
  moving = true;
  while (moves.length) {
    const form = new FormData(stage().querySelector("[data-steer]") ?? undefined);
    const lane = document.getElementById(`lane-${form.get("lane")}`);
    if (!lane || lane.dataset.status === "over" || asking.has(number(lane, "lane"))) break;
    form.set("move", moves.shift());
    form.set("turn", number(lane, "turns") + 1);
    await send(form, number(lane, "lane"));
  }
  moves.length = 0;
  moving = false;
}

// ---- Hands and keys

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const place = event.target instanceof Element ? event.target : document.body;
  if (place.closest("input:not([type=checkbox]), select, textarea")) return;
  const { key } = event;
  if (key === " " && !place.closest("button, a, summary, input")) play();
  else if (key === "[") { pause(); show(turn() - 1); }
  else if (key === "]") { pause(); show(turn() + 1); }
  else if (stage().querySelector("[data-arrows]")?.checked && ARROWS[key] && !place.closest("pre")) move(ARROWS[key]);
  else if (key === "s" && stage().querySelector("[data-arrows]")?.checked) move("stop");
  else return;
  event.preventDefault();
}

const GO = { first: () => 0, previous: () => turn() - 1, next: () => turn() + 1, last };

function onClick(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const link = event.target.closest("#stage .turn, #stage [data-go]");
  if (!link) {
    if (event.target.closest("#stage [data-play]")) play();
    return;
  }
  event.preventDefault();
  pause();
  show(link.dataset.go ? GO[link.dataset.go]() : number(link, "turn"));
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches("#stage .scrub")) event.preventDefault();
  if (!form.matches("#stage [data-turn-form]")) return;
  event.preventDefault();
  const pressed = event.submitter;
  if (pressed?.name === "move") { move(pressed.value); return; }
  if (pressed?.value === "stop") { stop(); return; }
  const lane = form.elements.namedItem("lane");
  if (lane) ask(document.getElementById(`lane-${lane.value}`));
  else step();
}

if (stage()) {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("input", (event) => {
    if (event.target.id === "scrub") { pause(); show(Number(event.target.value)); }
  });
  setInterval(() => { if (asking.size) lanes().forEach(markAsking); }, 500);
  dress();
}
