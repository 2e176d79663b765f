/** Questions to the daemon and the stream of its answers. Nothing here knows what is shown. */

const api = () => new URL("../v1/", document.baseURI);
const STALE_MS = 15_000;
const POLL_MS = 10_000;
const HIDDEN_MS = 60_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;

/** An answer that is not what was asked for; `status` is 0 if there was none. */
export class AnswerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Asks with a token, which is only ever in memory unless its owner wants it kept for this tab. */
export class Wire {
  constructor() {
    this.token = "";
  }

  headers(more = {}) {
    return this.token ? { Authorization: `Bearer ${this.token}`, ...more } : more;
  }

  async ask(path, query = {}, signal = undefined) {
    const url = new URL(path, api());
    for (const [name, value] of Object.entries(query)) if (value) url.searchParams.set(name, value);
    let answer;
    try {
      answer = await fetch(url, { headers: this.headers(), cache: "no-store", credentials: "omit", signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new AnswerError(0, "nothing answers at this address");
    }
    const body = await answer.json().catch(() => null);
    if (!answer.ok) throw new AnswerError(answer.status, body?.error ?? `the daemon answered ${answer.status}`);
    if (body === null) throw new AnswerError(answer.status, "what answers is not a turnstile daemon");
    return body;
  }
}

/** Split a stream of server-sent events: returns [events, the rest that is not complete yet]. Pure. */
export function parseEvents(text) {
  const blocks = text.split("\n\n");
  const rest = blocks.pop();
  const events = [];
  for (const block of blocks) {
    const event = { name: "message", id: "", data: "" };
    for (const line of block.split("\n")) {
      const colon = line.indexOf(": ");
      const [field, value] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)];
      if (field === "event") event.name = value;
      if (field === "id") event.id = value;
      if (field === "data") event.data += value;
    }
    events.push({ ...event, data: JSON.parse(event.data) });
  }
  return [events, rest];
}

/** How long to wait before the next try, with chance so that not all viewers come back at once. Pure. */
export function retryDelay(failures, random) {
  return Math.min(LONGEST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.5 + random / 2);
}

/** Follows the stream for as long as the page is seen, and asks instead where it cannot. */
export class Live {
  constructor(wire, listener) {
    this.wire = wire;
    this.listener = listener;
    this.query = () => ({});
    this.lastId = () => "";
    this.failures = 0;
    this.isStopped = true;
    this.timer = 0;
    this.heard = 0;
    document.addEventListener("visibilitychange", () => this.onVisibility());
    setInterval(() => this.check(), 1000);
  }

  start() {
    this.isStopped = false;
    this.connect();
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.abort?.abort();
  }

  /** Connect again at once, such as for another Workload. */
  restart() {
    if (this.isStopped) return;
    this.failures = 0;
    this.connect();
  }

  onVisibility() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => {
        this.isResting = true;
        this.abort?.abort();
      }, HIDDEN_MS);
    } else if (this.isResting) {
      this.isResting = false;
      this.restart();
    }
  }

  check() {
    if (this.isStopped || this.isResting || !this.heard) return;
    if (performance.now() - this.heard > STALE_MS) {
      this.heard = 0;
      this.listener.onLost("the daemon has not been heard for 15 s", 0);
      this.abort?.abort();
      this.polls = true; // a proxy on the way may hold the stream back
      this.later(FIRST_RETRY_MS);
    }
  }

  later(ms) {
    clearTimeout(this.timer);
    if (!this.isStopped && !this.isResting) this.timer = setTimeout(() => this.connect(), ms);
  }

  async connect() {
    clearTimeout(this.timer);
    this.abort?.abort();
    const abort = (this.abort = new AbortController());
    try {
      if (this.polls) await this.poll(abort.signal);
      else await this.follow(abort.signal);
    } catch (error) {
      if (abort !== this.abort || error.name === "AbortError") return;
      const status = error.status ?? 0;
      if (status === 401 || status === 403) {
        this.heard = 0;
        this.listener.onRefused(status, error.message);
        return;
      }
      this.heard = 0;
      this.listener.onLost(error.message, status);
      this.later(retryDelay(this.failures++, Math.random()));
    }
  }

  async follow(signal) {
    const url = new URL("events", api());
    for (const [name, value] of Object.entries(this.query())) if (value) url.searchParams.set(name, value);
    const last = this.lastId();
    const headers = this.wire.headers(last ? { "Last-Event-ID": last } : {});
    let answer;
    try {
      answer = await fetch(url, { headers, cache: "no-store", credentials: "omit", signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new AnswerError(0, "nothing answers at this address");
    }
    if (!answer.ok) {
      const body = await answer.json().catch(() => null);
      if (answer.status === 503 && answer.headers.get("Retry-After")) {
        this.polls = true;
        this.listener.onCrowded(body?.error ?? "too many viewers");
        return this.poll(signal);
      }
      throw new AnswerError(answer.status, body?.error ?? `the daemon answered ${answer.status}`);
    }
    this.heard = performance.now();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let bye = null;
    for (;;) {
      const { value, done } = await reader.read().catch((error) => {
        if (signal.aborted) throw new DOMException("aborted", "AbortError");
        throw new AnswerError(0, `the connection broke: ${error.message}`);
      });
      if (done) break;
      let events;
      [events, rest] = parseEvents(rest + value);
      if (events.length) {
        this.heard = performance.now();
        this.failures = 0;
        this.listener.onEvents(events);
        bye = events.find((event) => event.name === "bye") ?? bye;
      }
    }
    if (signal.aborted) throw new DOMException("aborted", "AbortError");
    this.heard = 0;
    if (bye?.data.why === "revoked") throw new AnswerError(401, "the daemon says that this token may not read any more");
    if (bye?.data.why === "lifetime") return this.later(0);
    this.listener.onLost(bye?.data.why === "shutdown" ? "the daemon stopped" : "the connection ended", 0);
    return this.later(retryDelay(this.failures++, Math.random()));
  }

  async poll(signal) {
    const body = await this.wire.ask("top", { limit: "200" }, signal);
    this.heard = performance.now();
    await this.listener.onTop(body);
    this.polls = this.failures > 0 || !((this.asked = (this.asked ?? 0) + 1) % 6 === 0); // try the stream once a minute
    this.failures = 0;
    this.later(POLL_MS);
  }
}
