// Asks the server, and follows what it streams.

// A stream that says nothing for so long is taken for lost: the server says something every ten seconds.
const SILENCE_MS = 15_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 15_000;

// An answer that is not the wanted one, as a sentence.
export class Refusal extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the server answers ${status}`);
    this.status = status;
    this.hint = problem.hint;
  }

  sentence() {
    return this.hint ? `${this.message} (${this.hint})` : this.message;
  }
}

// How far the server's clock is ahead of this one.
let skewMs = 0;

export function now() {
  return Date.now() + skewMs;
}

function compareClocks(response) {
  const told = Date.parse(response.headers.get("date") ?? "");
  // It is told in seconds, and was told a moment ago.
  if (!Number.isNaN(told)) skewMs = Math.abs(told - Date.now()) > 3_000 ? told - Date.now() : 0;
}

async function refusal(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // Whatever stands between has no problem+json.
  }
  return new Refusal(response.status, problem);
}

async function ask(path, options = {}) {
  const response = await fetch(path, { credentials: "same-origin", cache: "no-cache", ...options });
  compareClocks(response);
  if (!response.ok && response.status !== 304) throw await refusal(response);
  return response;
}

export async function read(path, signal) {
  return (await ask(path, { headers: { accept: "application/json" }, signal })).json();
}

export async function readText(path, signal) {
  return (await ask(path, { signal })).text();
}

// A difference, and the command that shows all of it if it is cut off.
export async function readDiff(path, signal) {
  const response = await ask(path, { signal });
  return { text: await response.text(), whole: response.headers.get("ralph-truncated") };
}

export async function send(path, body) {
  const response = await ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return text ? JSON.parse(text) : {};
}

// Digits of a code; a token has more.
const CODE_DIGITS = 32;

// Exchanges a token or a code for a cookie.
export async function login(secret) {
  const scheme = secret.length > CODE_DIGITS ? "Bearer" : "Code";
  const response = await ask("login", { method: "POST", headers: { authorization: `${scheme} ${secret}` } });
  ({ readOnly } = await response.json());
}

// Asks what this browser may do. A run's socket has no sessions, and takes its client for the user.
export async function recall() {
  try {
    ({ readOnly } = await read("login"));
  } catch (refusal) {
    if (refusal.status !== 404) throw refusal;
  }
}

export async function logout() {
  await ask("logout", { method: "POST" });
}

let readOnly = false;

// Whether the session of this browser lets its owner look and not command; the server refuses in any case.
export function isReadOnly() {
  return readOnly;
}

// Follows a stream of server-sent events until it is over, is refused, or `close` is called. A lost connection is made
// anew: `path()` says each time from where on.
//
// `on.event(name, data, id)` gets each event, `on.state(state, refusal)` what becomes of the connection: `live`, `lost`,
// `over` or `refused`.
export function follow(path, on) {
  let closed = false;
  let attempt = 0;
  let abort = new AbortController();
  let wake = () => {};

  const retryNow = () => wake();
  const seen = () => document.visibilityState === "visible" && retryNow();
  addEventListener("online", retryNow);
  document.addEventListener("visibilitychange", seen);

  const close = () => {
    closed = true;
    abort.abort();
    wake();
    removeEventListener("online", retryNow);
    document.removeEventListener("visibilitychange", seen);
  };

  const once = async () => {
    abort = new AbortController();
    const silence = watch(SILENCE_MS, () => abort.abort());
    try {
      const response = await ask(path(), { headers: { accept: "text/event-stream" }, signal: abort.signal });
      attempt = 0;
      if (!closed) on.state("live");
      let isOver = false;
      await parse(response.body, silence.heard, (name, data, id) => {
        if (closed) return;
        if (name === "over") isOver = true;
        on.event(name, data, id);
      });
      return isOver ? "over" : "lost";
    } catch (error) {
      // What the server does not want now, it will not want in a minute; what is between it and here may.
      if (error instanceof Refusal && error.status < 500 && ![408, 429].includes(error.status)) {
        if (!closed) on.state("refused", error);
        return "refused";
      }
      return "lost";
    } finally {
      silence.end();
    }
  };

  const run = async () => {
    while (!closed) {
      const end = await once();
      if (closed || end === "refused") break;
      on.state(end);
      if (end === "over") break;
      const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** attempt++) * (0.75 + Math.random() / 2);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, delay);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    close();
  };
  run();
  return { close };
}

// The records of a stream of events before number `end`: that of a run that goes on never ends by itself.
export async function readRecords(path, end) {
  const abort = new AbortController();
  const records = [];
  const silence = watch(SILENCE_MS, () => abort.abort());
  let isWhole = false;
  try {
    const response = await ask(path, { headers: { accept: "text/event-stream" }, signal: abort.signal });
    await parse(response.body, silence.heard, (name, data) => {
      if (isWhole) return;
      if (data.seq !== undefined && data.seq < end) records.push(data);
      isWhole = name === "over" || data.seq + 1 >= end;
      if (isWhole) abort.abort();
    });
  } catch (error) {
    if (!isWhole) throw error;
  } finally {
    silence.end();
  }
  return records;
}

function watch(afterMs, act) {
  let timer = setTimeout(act, afterMs);
  return {
    heard() {
      clearTimeout(timer);
      timer = setTimeout(act, afterMs);
    },
    end: () => clearTimeout(timer),
  };
}

// Work on events between two looks of the browser at everything else, such as a frame or a tap.
const SLICE_MS = 8;
// A window that is covered may get no frames.
const FRAMELESS_MS = 50;

// Lets the browser do what is due: the next frame, where there is one. Messages alone would hold a frame back for a tenth
// of a second, and a hidden page's timers wait a second.
function breath() {
  return new Promise((resolve) => {
    if (document.visibilityState === "visible") {
      requestAnimationFrame(resolve);
      return void setTimeout(resolve, FRAMELESS_MS);
    }
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(0);
  });
}

// Reads server-sent events: lines of `id:`, `event:` and `data:` up to an empty one.
async function parse(body, heard, event) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let name = "";
  let id;
  let data = [];
  let began = performance.now();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const text = line.endsWith("\r") ? line.slice(0, -1) : line;
      if (text === "") {
        if (data.length > 0) event(name || "message", JSON.parse(data.join("\n")), id);
        name = "";
        data = [];
        if (performance.now() - began > SLICE_MS) {
          await breath();
          began = performance.now();
        }
      } else if (text.startsWith("event:")) {
        name = text.slice(6).trim();
      } else if (text.startsWith("id:")) {
        id = text.slice(3).trim();
      } else if (text.startsWith("data:")) {
        data.push(text.slice(5).replace(/^ /, ""));
      }
    }
  }
}

// Calls `refresh` soon, never twice at once, and with pauses in proportion to how long it takes.
export function throttled(refresh) {
  let timer;
  let dueMs = Infinity;
  let restMs = 0;
  let isRunning = false;
  let isClosed = false;
  const arm = () => {
    clearTimeout(timer);
    if (isRunning || isClosed || dueMs === Infinity) return;
    timer = setTimeout(async () => {
      dueMs = Infinity;
      isRunning = true;
      const began = performance.now();
      await refresh();
      const took = performance.now() - began;
      restMs = performance.now() + 2 * took;
      isRunning = false;
      arm();
    }, Math.max(0, dueMs - performance.now(), restMs - performance.now()));
  };
  return {
    soon(ms) {
      const at = performance.now() + ms;
      if (at < dueMs) {
        dueMs = at;
        arm();
      }
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
