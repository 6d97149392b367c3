// Server-sent events, only while the page can be seen: a browser grants a site six connections,
// and a tab in the background must not keep one.

const AGAIN_MS = 1000;

/** Listens to `address()`, asked anew at each connection, until an event named `end`. */
export function listen(address, handlers, onOpen = () => {}) {
  let source;
  let timer;
  let over = false;

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };
  const open = () => {
    if (over || source || document.hidden) return;
    source = new EventSource(address());
    source.addEventListener("open", onOpen);
    for (const [name, handle] of Object.entries(handlers)) {
      source.addEventListener(name, (event) => handle(JSON.parse(event.data)));
    }
    source.addEventListener("end", () => { over = true; close(); });
    source.addEventListener("error", () => { close(); timer = setTimeout(open, AGAIN_MS); });
  };

  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
}
