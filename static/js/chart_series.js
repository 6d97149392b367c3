// What is known of the series of a board: columns asked for in batches, then by cursor only what is
// new. A zoomed window is asked for again, finer, and laid over the whole.

const CURSORS_AT_ONCE = 150;
const FEW_RUNS = 8;
const KEYS_AT_ONCE = 6;

function columnsOf(row, axis) {
  // The server's own column where it sends one, else its times.
  if (axis === "step") return row.x ?? row.step;
  if (row.x) return row.x;
  return axis === "time" ? row.time.map((at) => Date.parse(at) / 1000) : row.time;
}

function recordOf(row, axis) {
  return {
    step: [...row.step], x: [...columnsOf(row, axis)], y: [...row.value], odd: [...(row.odd ?? oddOf(row))],
    attempt: row.attempt, cursor: row.cursor, isSampled: Boolean(row.sampled), resumes: row.resumes ?? [],
  };
}

/** Steps whose value is no number; a reader of columns alone does not know which kind. */
function oddOf({ step, value }) {
  return value.flatMap((each, i) => (each === null ? [[step[i], "not a finite number"]] : []));
}

function append(record, added, limit = Infinity) {
  const last = record.step.at(-1) ?? -Infinity;
  for (let i = 0; i < added.step.length; i += 1) {
    if (added.step[i] <= last || added.x[i] > limit) continue;
    record.step.push(added.step[i]);
    record.x.push(added.x[i]);
    record.y.push(added.y[i]);
  }
  record.odd.push(...added.odd.filter(([step]) => step > last));
}

/** The finer points of a window between what lies before and after it. */
function joined(whole, part, { from, to }) {
  const before = whole.x.findIndex((x) => x >= from);
  const after = whole.x.findIndex((x) => x > to);
  const cut = (name) => [
    ...whole[name].slice(0, before < 0 ? undefined : before),
    ...part[name].filter((_, i) => part.x[i] >= from && part.x[i] <= to),
    ...(after < 0 ? [] : whole[name].slice(after)),
  ];
  return { ...whole, step: cut("step"), x: cut("x"), y: cut("y") };
}

export class SeriesStore {
  /** `runs` are ids; `maxPoints` a series. `axis` is step, time, relative or metric:KEY. */
  constructor({ url, runs, maxPoints, axis = "step" }) {
    Object.assign(this, { url, runs, maxPoints, axis });
    this.clear();
  }

  clear() {
    /** Key → run → record. */
    this.known = new Map();
    this.questions = [];
    this.window = null;
    /** Key → run → record of the window. */
    this.parts = new Map();
  }

  has(key) { return this.known.has(key); }

  /** Run → record of the points to draw. */
  of(key) {
    const whole = this.known.get(key) ?? new Map();
    const parts = this.window ? this.parts.get(key) : undefined;
    if (!parts) return whole;
    return new Map([...whole].map(([run, record]) => [run, parts.has(run) ? joined(record, parts.get(run), this.window) : record]));
  }

  /** Asks for keys that are not known yet; one request for few runs, one a key for many. */
  async load(keys) {
    const missing = keys.filter((key) => !this.known.has(key));
    for (const some of this.#batches(missing)) await this.#ask(some);
  }

  /** Asks what is new of the keys. Returns those keys that have news. */
  async refresh(keys) {
    const found = new Set();
    for (const question of this.questions) {
      if (question.keys.some((key) => keys.includes(key))) for (const key of await this.#askAgain(question)) found.add(key);
    }
    return found;
  }

  /** Points that came by another way. Answers false where they do not follow what is known. */
  take(row) {
    const record = this.known.get(row.key)?.get(row.run ?? this.runs[0]);
    if (!record || this.axis !== "step") return false;
    if (record.cursor === row.cursor) return true;
    if (!row.is_new || row.after !== record.cursor) return false;
    this.#add(row.key, row.run ?? this.runs[0], recordOf(row, "step"));
    return true;
  }

  /** Asks for the window's own points, for those series that lack some. */
  async zoom(keys, window) {
    const isSame = window && this.window && window.from === this.window.from && window.to === this.window.to;
    if (!isSame) { this.window = window; this.parts.clear(); }
    if (!window) return;
    const wanted = keys.filter((key) => !this.parts.has(key) && [...(this.known.get(key)?.values() ?? [])].some((each) => each.isSampled));
    for (const some of this.#batches(wanted)) {
      const { series } = await this.#fetch(some, { from: window.from, to: window.to });
      if (this.window !== window) return;
      for (const key of some) this.parts.set(key, new Map());
      for (const row of series) this.parts.get(row.key).set(row.run, recordOf(row, this.axis));
    }
  }

  *#batches(keys) {
    const size = this.runs.length > FEW_RUNS ? 1 : KEYS_AT_ONCE;
    for (let start = 0; start < keys.length; start += size) yield keys.slice(start, start + size);
  }

  async #ask(keys) {
    const axis = this.axis;
    const answer = await this.#fetch(keys);
    if (this.axis !== axis) return;
    for (const key of keys) this.known.set(key, new Map());
    for (const row of answer.series) this.known.get(row.key).set(row.run, recordOf(row, axis));
    this.questions.push({ keys, cursor: answer.cursor ?? null });
  }

  async #askAgain(question) {
    const { axis } = this;
    const records = question.keys.flatMap((key) => [...this.known.get(key).values()]);
    const cursors = question.cursor ? [question.cursor] : records.map((each) => each.cursor);
    // A request line has its limit; the server leaves out what has no news.
    if (cursors.length > CURSORS_AT_ONCE && question.keys.length > 1) {
      this.questions.splice(this.questions.indexOf(question), 1, ...question.keys.map((key) => ({ keys: [key], cursor: null })));
      return [];
    }
    const answer = await this.#fetch(question.keys, {}, cursors);
    if (this.axis !== axis) return [];
    question.cursor = answer.cursor ?? question.cursor;
    for (const row of answer.series) {
      const record = recordOf(row, axis);
      if (row.is_new && this.known.get(row.key).has(row.run)) this.#add(row.key, row.run, record);
      else this.#replace(row.key, row.run, record);
    }
    return answer.series.map((row) => row.key);
  }

  #add(key, run, added) {
    const record = this.known.get(key).get(run);
    append(record, added);
    record.cursor = added.cursor;
    const part = this.parts.get(key)?.get(run);
    if (part) append(part, added, this.window.to);
  }

  #replace(key, run, record) {
    this.known.get(key).set(run, record);
    // Its past changed: the window is asked for again.
    this.parts.delete(key);
  }

  async #fetch(keys, more = {}, since = []) {
    const query = new URLSearchParams([
      ...this.runs.map((run) => ["run", run]), ...keys.map((key) => ["key", key]),
      ["x", this.axis], ["max_points", this.maxPoints], ["digits", 6],
      ...Object.entries(more), ...since.map((cursor) => ["since", cursor]),
    ]);
    const answer = await fetch(`${this.url}?${query}`, { headers: { accept: "application/json" } });
    if (!answer.ok) throw new Error((await reason(answer)) || `The points were not sent (${answer.status}).`);
    return answer.json();
  }
}

async function reason(answer) {
  try {
    return (await answer.json()).detail;
  } catch {
    return "";
  }
}
