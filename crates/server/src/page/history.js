// The iterations so far, the newest first.

import { now } from "./api.js";
import { fill, h, whenChanged } from "./dom.js";
import { assignment, changes, clock, counted, duration, outcome, review, ticking, usage } from "./words.js";

const MOST = 300;

export function historyPane(run) {
  const list = h("ol", { class: "history" });
  const draw = whenChanged(({ rows, before }) => fill(list,
    rows.length === 0 && h("li", { class: "empty" }, "No iteration has begun yet."),
    rows.map((row) => rowOf(run, row)),
    before > 0 && h("li", { class: "dim" }, `and ${counted(before, "iteration")} before these`)));
  return {
    element: list,
    update() {
      const { kept, dropped } = run.view.iterations.rows;
      const rows = kept.slice(-MOST).reverse().map(({ number, role, review, task, outcome: ended, startedMs, durationMs, changes: changed, usage: used, subagents, progress, look, question, adapter }) => (
        { number, role, review, task, ended, startedMs, durationMs, changed, used, subagents, progress, refused: look.refused.length > 0, confidence: look.confidence, question, adapter }));
      draw({ rows, before: dropped + Math.max(0, kept.length - MOST) });
    },
    tick: () => list.querySelectorAll("[data-since]").forEach((one) => {
      one.textContent = ticking(now() - Number(one.dataset.since));
    }),
  };
}

// Whether the subagents of the iteration that started then are shown.
const open = {};

// The subagents that `parent` started, each with its own below it.
function tree(list, parent) {
  const known = new Set(list.map(({ id }) => id));
  return list.filter((one) => (parent ? one.parent === parent : !known.has(one.parent))).map((one) => h("li", {},
    h("span", {}, one.title || "subagent"), " ",
    h("span", { class: "dim" }, [one.running ? "running" : "ended", usage(one.usage)].filter(Boolean).join(", ")),
    h("ul", {}, tree(list, one.id))));
}

const KINDS = { completed: "done", failed: "bad", cancelled: "wait", interrupted: "wait" };

function rowOf(run, { number, role, review: reviewed, task, ended, startedMs, durationMs, changed, used, subagents, progress, refused, confidence, question, adapter }) {
  const kind = ended ? (refused ? "wait" : KINDS[ended.type]) : "work";
  return h("li", { class: "card" },
    h("div", { class: "line" },
      h("span", { class: "number" }, `#${number}`),
      h("strong", {}, assignment({ role, task })),
      h("span", { class: `chip ${kind}` }, reviewed ? review(reviewed) : outcome(ended))),
    h("p", { class: "figures" },
      h("span", {}, clock(startedMs)),
      ended ? h("span", {}, duration(durationMs)) : h("span", { "data-since": startedMs }),
      h("span", {}, adapter),
      changed && h("span", {}, changes(changed)),
      usage(used) && h("span", {}, usage(used)),
      progress === false && h("span", { class: "warn" }, "no progress"),
      confidence != null && h("span", {}, `confidence ${confidence}`),
      refused && h("span", { class: "warn" }, "claim refused")),
    subagents && h("details", { class: "subagents", open: open[startedMs], ontoggle: ({ target }) => { open[startedMs] = target.open; } },
      h("summary", {}, counted(subagents.started, "subagent")),
      h("ul", {}, tree(subagents.list, null))),
    question && h("p", { class: "warn" }, question),
    h("p", { class: "links" },
      h("a", { href: run.link(`changes/${number}`) }, "Changes"),
      h("a", { href: run.link(`agent/${number}`) }, "Terminal")));
}
