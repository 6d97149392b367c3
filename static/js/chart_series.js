// What is known of the series of a board: columns asked for in batches, then by cursor only what is
// new. A zoomed window is asked for again, finer, and laid over the whole.

const FEW_RUNS = 8;
const KEYS_AT_ONCE = 6;

function recordOf(row) {
  return {
    step: [...row.step], x: [...(row.x ?? row.step)], y: [...row.value], odd: [...row.odd],
    resumes: row.resumes ?? [], attempt: row.attempt, cursor: row.cursor, isSampled: Boolean(row.sampled),
    /** Points that a newer attempt hides, where they are asked for. */
    older: [],
  };
}

function append(record, added, limit = Infinity) {
  const last = record.step.at(-1) ?? -Infinity;
  const end = record.x.at(-1) ?? -Infinity;
  for (let i = 0; i < added.step.length; i += 1) {
    if (added.step[i] <= last || added.x[i] > limit) continue;
    record.step.push(added.step[i]);
    record.x.push(added.x[i]);
    record.y.push(added.y[i]);
  }
  record.odd.push(...added.odd.filter(([x]) => x > end && x <= limit));
}

/** The finer points of a window between what lies before and after it. */
function joined(whole, part, { from, to }) {
  const before = whole.x.findIndex((x) => x >= from);
  const after = whole.x.findIndex((x) => x > to);
  const outside = (odd) => odd.filter(([x]) => x < from || x > to);
  const cut = (name) => [
    ...whole[name].slice(0, before < 0 ? undefined : before),
    ...part[name].filter((_, i) => part.x[i] >= from && part.x[i] <= to),
    ...(after < 0 ? [] : whole[name].slice(after)),
  ];
  return { ...whole, step: cut("step"), x: cut("x"), y: cut("y"), odd: [...outside(whole.odd), ...part.odd], older: part.older };
}

/** Puts a row among the records of its key; what a newer attempt hides follows its series. */
function keep(records, row) {
  const record = recordOf(row);
  if (row.is_hidden) records.get(row.run)?.older.push(record);
  else records.set(row.run, record);
}

export class SeriesStore {
  /** `runs` are ids; `maxPoints` a series; for `axis` and `hasOlder` see `ask`. */
  constructor({ url, runs, maxPoints, axis, hasOlder }) {
    Object.assign(this, { url, runs, maxPoints });
    this.ask({ axis, hasOlder });
  }

  /** From now on: `axis` step, time, relative or metric:KEY, with the points of older attempts or
   * without. All that is known is forgotten. */
  ask({ axis, hasOlder }) {
    Object.assign(this, { axis, hasOlder });
    /** Answers to what was asked before come too late. */
    this.age = (this.age ?? 0) + 1;
    /** Key → run → record. */
    this.known = new Map();
    this.questions = [];
    this.window = null;
    /** Key → run → record of the window. */
    this.parts = new Map();
  }

  has(key) { return this.known.has(key); }

  cursorOf(key, run) { return this.known.get(key)?.get(run)?.cursor; }

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
    this.#add(row.key, row.run ?? this.runs[0], recordOf(row));
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
      for (const row of series) keep(this.parts.get(row.key), row);
    }
  }

  *#batches(keys) {
    const size = this.runs.length > FEW_RUNS ? 1 : KEYS_AT_ONCE;
    for (let start = 0; start < keys.length; start += size) yield keys.slice(start, start + size);
  }

  async #ask(keys) {
    const { age } = this;
    let answer;
    try {
      answer = await this.#fetch(keys);
    } catch (error) {
      // Long series are too many points together, and may be few enough alone.
      if (keys.length === 1 || error.status !== 422) throw error;
      for (const key of keys) await this.#ask([key]);
      return;
    }
    if (this.age !== age) return;
    for (const key of keys) this.known.set(key, new Map());
    for (const row of answer.series) keep(this.known.get(row.key), row);
    this.questions.push({ keys, cursor: answer.cursor });
  }

  async #askAgain(question) {
    const { age } = this;
    const answer = await this.#fetch(question.keys, {}, question.cursor ? [question.cursor] : []);
    if (this.age !== age) return [];
    question.cursor = answer.cursor ?? question.cursor;
    for (const row of answer.series) {
      if (row.is_new && this.known.get(row.key).has(row.run)) this.#add(row.key, row.run, recordOf(row));
      else {
        keep(this.known.get(row.key), row);
        // Its past changed: the window is asked for again.
        this.parts.delete(row.key);
      }
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

  async #fetch(keys, more = {}, since = []) {
    const query = new URLSearchParams([
      ...this.runs.map((run) => ["run", run]), ...keys.map((key) => ["key", key]),
      ["x", this.axis], ["max_points", this.maxPoints], ["digits", 6],
      ...(this.hasOlder ? [["attempts", "all"]] : []),
      ...Object.entries(more), ...since.map((cursor) => ["since", cursor]),
    ]);
    const answer = await fetch(`${this.url}?${query}`, { headers: { accept: "application/json" } });
    if (!answer.ok) throw await refused(answer);
    return answer.json();
  }
}

async function refused(answer) {
  const said = await answer.json().catch(() => ({}));
  return Object.assign(new Error(said.detail || `The points were not sent (${answer.status}).`), { status: answer.status });
}
