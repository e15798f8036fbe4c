// Background tasks: those that run, each with a way to end it, and what became of the others.

import { now } from "./api.js";
import { fill, h, whenChanged } from "./dom.js";
import { counted, duration, plain, ticking } from "./words.js";

// Of those that are over.
const MOST = 10;

export function tasksArea(run) {
  const summary = h("summary", {});
  const list = h("ul", {});
  const element = h("details", { class: "card tasks", hidden: true }, summary, list);
  const draw = whenChanged(({ started, running, tasks }) => {
    element.hidden = started === 0;
    summary.textContent = `${counted(started, "background task")}, ${running} running`;
    fill(list, tasks.map((task) => row(run, task)));
  });
  return {
    element,
    update() {
      const { started, tasks } = run.view.background;
      const alive = tasks.filter((task) => !task.result);
      const over = tasks.filter((task) => task.result).slice(-MOST);
      draw({ started, running: alive.length, tasks: [...alive.reverse(), ...over.reverse()] });
    },
    tick: () => list.querySelectorAll("[data-since]").forEach((shown) => {
      shown.textContent = ticking(now() - Number(shown.dataset.since));
    }),
  };
}

function row(run, { number, by, command, startedMs, cancelledBy, endsWithRun, result }) {
  const isRunning = !result && !cancelledBy && !endsWithRun;
  const state = result ? ended(result.end) : isRunning ? "running" : "ending";
  return h("li", {},
    h("span", { class: "number" }, `${number}`),
    h("code", {}, command.split("\n")[0]),
    h("span", { class: `chip ${result ? (went(result.end) ? "" : "bad") : "work"}` }, state),
    result ? h("span", { class: "dim" }, duration(result.durationMs)) : h("span", { class: "dim", "data-since": startedMs }),
    h("span", { class: "dim" }, by === "user" ? "by you" : "by the agent"),
    isRunning && run.act("Cancel", { class: "danger", "aria-label": `Cancel task ${number}` }, () => run.command({}, `tasks/${number}/cancel`)),
    result?.tail && h("pre", {}, result.tail));
}

function ended({ type, exit }) {
  if (type !== "exited") return plain(type);
  return exit.type === "code" ? `exit code ${exit.code}` : `signal ${exit.signal}`;
}

function went({ type, exit }) {
  return type === "exited" ? exit.code === 0 : ["cancelled", "run-over"].includes(type);
}
