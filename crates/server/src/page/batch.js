// The board of a batch: what every agent asks, then a row for each plan, with its run behind it.

import { isReadOnly, now, read, send } from "./api.js";
import { askCard } from "./asks.js";
import { ICON, announce, complain, fill, h, sentence, toast, whenChanged } from "./dom.js";
import { clock, counted, mark, ticking } from "./words.js";

const EVERY_MS = 2_000;

// What kind of chip a tone is.
const CHIPS = { start: "work", good: "done", bad: "bad", warning: "bad", wait: "wait", user: "needs", note: "" };

export function batchPage(id, askForToken) {
  document.title = "ralph · batch";
  const asks = h("section", { class: "asks", "aria-label": "Questions of the agents", hidden: true });
  const cards = new Map();
  const list = h("div", {});
  const banner = h("p", { class: "banner", role: "status", hidden: true });
  let board;
  let timer;
  let isClosed = false;

  const draw = whenChanged((entry) => {
    board = entry.board;
    const waiting = board.asks.length;
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}ralph · ${entry.project} · ${board.counts.merged}/${board.plans.length}`;
    fill(list, head(entry), resumption(board), h("ul", { class: "cards" }, board.plans.map(plan)), over(board));
    showAsks();
    tick();
  });

  // A batch that is over without all merges goes on as `ralph many resume` has it.
  const resumption = ({ running, end }) => !running && end?.type !== "merged" && !isReadOnly() && h("div", { class: "answers" },
    h("button", { type: "button", class: "primary", "data-key": "resume", onclick: async ({ currentTarget: button }) => {
      button.disabled = true;
      try {
        await send(`batches/${encodeURIComponent(id)}/resume`, {});
      } catch (refusal) {
        if (refusal.status === 401) return askForToken(refusal);
        complain(refusal, "nothing was started");
      }
      button.disabled = false;
      again(0);
    } }, "Resume the batch"));

  const showAsks = () => {
    const open = new Map(board.asks.map((asked) => [`${asked.plan} ${asked.ask.number}`, asked]));
    for (const [key, card] of cards) {
      if (open.has(key)) continue;
      card.element.remove();
      cards.delete(key);
    }
    for (const [key, asked] of open) {
      if (cards.has(key)) continue;
      const card = askCard(runOf(asked.plan), asked.ask);
      card.element.prepend(h("p", { class: "of" }, h("strong", {}, asked.plan)));
      cards.set(key, card);
      asks.append(card.element);
      announce(`${asked.plan} asks: ${asked.ask.request.title}`);
    }
    asks.hidden = cards.size === 0;
  };

  // As much of a run as its cards need: they answer over its own route.
  const runOf = (name) => {
    const takesCommands = () => board.running && !isReadOnly();
    const command = async (what, path) => {
      const row = board.plans.find((plan) => plan.plan === name);
      try {
        const done = await send(`runs/${encodeURIComponent(row.run)}/${path}`, what);
        if (done.text) toast(`${name}: ${done.text}`, "good");
        return true;
      } catch (refusal) {
        if (refusal.status === 401) askForToken(refusal);
        else toast(`${name}: ${refusal.sentence?.() ?? refusal.message}`, "bad");
        return false;
      } finally {
        again(0);
      }
    };
    const act = (label, properties, onclick) =>
      h("button", { type: "button", "data-acts": true, disabled: !takesCommands(), ...properties, onclick: () => takesCommands() && onclick() }, label);
    return { view: { settings: {} }, takesCommands, takesAnswers: takesCommands, isSettled: () => true, command, act };
  };

  const again = (afterMs) => {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(refresh, afterMs);
  };
  const refresh = async () => {
    try {
      const entry = await read(`batches/${encodeURIComponent(id)}`);
      banner.hidden = true;
      if (!isClosed) draw(entry);
    } catch (refusal) {
      if (refusal.status === 401) return isClosed || askForToken(refusal);
      banner.hidden = false;
      fill(banner, sentence(refusal.sentence?.() ?? "Connection lost. Trying again…"), h("a", { href: "#/" }, "All runs"));
    }
    again(document.visibilityState === "visible" ? EVERY_MS : 5 * EVERY_MS);
  };
  const tick = () => {
    cards.forEach((card) => card.tick());
    list.querySelectorAll("[data-since]").forEach((shown) => {
      shown.textContent = ticking(now() - Number(shown.dataset.since));
    });
    list.querySelectorAll("[data-until]").forEach((shown) => {
      const left = Number(shown.dataset.until) - now();
      shown.textContent = left > 0 ? `${ticking(left)} left, until ${clock(Number(shown.dataset.until))}` : "";
    });
  };
  const ticks = setInterval(tick, 1_000);
  refresh();

  return {
    element: h("main", { class: "list batch" },
      h("header", { class: "top" },
        h("a", { class: "back", href: "#/", "aria-label": "All runs" }, h("img", { src: ICON, alt: "", width: 32, height: 32 })),
        h("h1", {}, "batch")),
      banner, asks, list),
    close() {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(ticks);
    },
  };
}

// How a batch stands: also its card in the list of runs.
export function standing({ running, stopping, end }) {
  if (stopping) return { kind: "wait", word: "stopping" };
  if (running) return { kind: "work", word: "running" };
  if (end?.type === "merged") return { kind: "done", word: "merged" };
  return { kind: "bad", word: end ? "not merged" : "interrupted" };
}

export function figures(board) {
  const { counts, usage, plans } = board;
  return [
    h("span", {}, `${counts.merged} of ${counted(plans.length, "plan")} merged`),
    counts.running > 0 && h("span", {}, `${counts.running} running`),
    counts.merging > 0 && h("span", {}, `${counts.merging} merging`),
    counts.waiting > 0 && h("span", {}, `${counts.waiting} waiting`),
    counts.kept > 0 && h("span", { class: "warn" }, `${counts.kept} left`),
    usage.costUsd != null && h("span", {}, `${mark(usage)}$${usage.costUsd.toFixed(2)}`),
    board.running ? h("span", {}, "for ", h("span", { "data-since": board.startedMs })) : h("span", {}, `took ${ticking(board.changedMs - board.startedMs)}`),
  ];
}

function head({ project, board }) {
  const { kind, word } = standing(board);
  return h("section", { class: "card entry" },
    h("span", { class: "first" }, h("strong", {}, project), h("span", { class: `chip ${kind}` }, word)),
    h("span", { class: "second" }, "into ", h("code", {}, board.target), board.queue && ` · ${board.queue}`),
    h("progress", { max: board.plans.length, value: board.counts.merged, "aria-label": `${board.counts.merged} of ${counted(board.plans.length, "plan")} merged` }),
    h("span", { class: "third" }, figures(board), h("span", {}, `${board.jobs} at a time${board.engine === "local" ? "" : ` by ${board.engine}`}`)));
}

function plan(row) {
  const inside = [
    h("span", { class: "first" }, h("strong", {}, row.plan), h("span", { class: `chip ${CHIPS[row.tone]}` }, row.state)),
    row.task && h("span", { class: "second" }, row.task),
    h("span", { class: "dim" }, sentence(row.doing), row.untilMs && row.asks === 0 && [" · ", h("span", { "data-until": row.untilMs })]),
    row.tasks && h("progress", { max: row.tasks.all, value: row.tasks.done, "aria-label": `${row.tasks.done} of ${counted(row.tasks.all, "task")} done` }),
    h("span", { class: "third" },
      row.tasks && h("span", {}, `${row.tasks.done} of ${counted(row.tasks.all, "task")}`),
      row.iterations > 0 && h("span", {}, counted(row.iterations, "iteration")),
      row.usage?.costUsd != null && h("span", {}, `${mark(row.usage)}$${row.usage.costUsd.toFixed(2)}`),
      row.live && h("span", {}, "for ", h("span", { "data-since": row.sinceMs }))),
  ];
  const href = row.run && `#/runs/${encodeURIComponent(row.run)}`;
  return h("li", {}, h(href ? "a" : "div", { class: "card entry", href, "data-key": row.plan }, inside));
}

// What can be typed once it is over.
function over(board) {
  if (board.hints.length === 0) return null;
  return h("section", { class: "card next" }, h("h2", {}, "What to do next"),
    h("ul", {}, board.hints.map((hint) => h("li", {}, sentence(hint)))));
}
