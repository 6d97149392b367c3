// Server-sent events, only while the page can be seen: a browser grants a site six connections,
// and a tab in the background must not keep one. A stream that ends or breaks is opened again,
// ever later while nobody answers, and the page says that it waits.

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;
const PAUSED = "Live updates paused, reconnecting";
/** Streams that wait for an answer. */
const broken = new Set();

/** Says at the top of the page that a source of news, any object, does not answer, or does again. */
export function sayPaused(stream, isBroken) {
  if (isBroken) broken.add(stream);
  else broken.delete(stream);
  const place = document.getElementById("live-state");
  const text = broken.size ? PAUSED : "";
  if (place && place.textContent !== text) place.textContent = text;
}

/** Listens to `address()`, asked anew at each connection, until an event named `end`. */
export function listen(address, handlers) {
  const stream = {};
  let source;
  let timer;
  let failures = 0;
  let over = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(address());
    source.addEventListener("open", () => { failures = 0; sayPaused(stream, false); });
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    source.addEventListener("end", () => { over = true; close(); });
    source.addEventListener("error", () => {
      close();
      // The first end is as planned: a stream lives some minutes. One that is not opened is news.
      failures += 1;
      if (failures > 1) sayPaused(stream, true);
      timer = setTimeout(open, Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - 1)));
    });
  };

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  window.addEventListener("online", () => { close(); open(); });
  open();
}
