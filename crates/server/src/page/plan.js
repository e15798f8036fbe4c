// The plan, the goals, what is left of the limits, and the messages that are on their way.

import { now } from "./api.js";
import { fill, h, whenChanged } from "./dom.js";
import { planEditor } from "./editor.js";
import { duration, mark, money, short } from "./words.js";

export function planPane(run) {
  const tasks = h("div", { class: "sections" });
  const goals = h("div", {});
  const messages = h("div", {});
  const limits = h("div", { class: "limits" });

  // The sections that somebody has folded or opened, by their place.
  const folds = new Map();
  let isShown = false;
  let viewed;

  const drawTasks = whenChanged((all) => {
    fill(tasks, all.length === 0 ? h("p", { class: "empty" }, "The plan has no tasks.")
      : sections(all).map((section, place) => sectionOf(run, section, folds.get(place) ?? isOpen(section, all), (open) => folds.set(place, open))));
    showCurrent();
  });
  // The task that is worked on comes into view once, and not again under somebody who reads elsewhere.
  const showCurrent = () => {
    const current = tasks.querySelector(".task.current");
    if (!isShown || !current || viewed === current.dataset.line) return;
    viewed = current.dataset.line;
    current.closest("details")?.setAttribute("open", "");
    current.scrollIntoView({ block: "nearest" });
  };
  const drawGoals = whenChanged((all) => fill(goals, all.length > 0 && [h("h2", {}, "Goals"), h("ul", { class: "goals" }, all.map(goalRow))]));
  const drawMessages = whenChanged((all) => fill(messages,
    all.length > 0 && [h("h2", {}, "Messages"), h("ul", { class: "messages" }, all.map((message) => messageRow(run, message)))]));

  // The view has the plan as the loop last read it; the editor has the file.
  const editor = h("div", { hidden: true });
  const toEdit = h("button", { type: "button", class: "small", "data-acts": "answers", onclick: () => edit(true) }, "Edit");
  const edit = (isOn) => {
    tasks.hidden = isOn;
    editor.hidden = !isOn;
    toEdit.hidden = isOn;
    fill(editor, isOn && planEditor(run, () => edit(false)));
    (isOn ? editor.querySelector("input") : toEdit).focus();
  };

  return {
    element: h("div", {}, h("div", { class: "heading" }, h("h2", {}, "Plan"), toEdit), tasks, editor, goals, messages, h("h2", {}, "Limits and cost"), limits),
    show(now) {
      isShown = now;
      showCurrent();
    },
    update() {
      const { status, view } = run;
      drawTasks(rows(view, status));
      drawGoals(view.goals);
      drawMessages(view.messages.filter(isDue));
      this.tick();
    },
    tick() {
      if (run.view) fill(limits, limitRows(run));
    },
  };
}

function rows(view, status) {
  const question = (text) => view.blocks.findLast((block) => block.task === text)?.question;
  const work = (text) => view.iterations.work[text];
  const aside = new Set(view.setAsideByUser ?? []);
  const isOver = view.phase.end != null;
  const planned = view.plan.tasks.map(({ text, done, depth, line, heading }) => ({
    text, done, depth, line, heading, isOver, isAside: !done && aside.has(text), question: done ? undefined : question(text), work: work(text),
  }));
  // The first of several with the same words, as the agent is told.
  const current = planned.find((task) => !task.done && task.text === status.task);
  if (current) current.isCurrent = true;
  return [...planned, ...view.missing.map((text) => ({ text, isMissing: true, depth: 0, work: work(text) }))];
}

// The tasks below each heading of the plan; those before the first one are a section without a name.
function sections(all) {
  const found = [];
  for (const task of all) {
    if (found.length === 0 || task.heading) found.push({ name: task.heading, tasks: [] });
    found.at(-1).tasks.push(task);
  }
  return found;
}

// Tasks of a plan that is shown whole.
const SHORT_PLAN = 24;

// What is done folds; of a long plan, only the section that is worked on is open.
function isOpen({ tasks }, all) {
  if (all.length <= SHORT_PLAN) return true;
  if (tasks.some((task) => task.isCurrent || task.question || task.isMissing)) return true;
  return !all.some((task) => task.isCurrent) && tasks.some((task) => !task.done);
}

function sectionOf(run, { name, tasks }, open, fold) {
  const list = h("ol", { class: "tasks" }, tasks.map((task) => taskRow(run, task)));
  if (!name && tasks.length <= SHORT_PLAN) return list;
  const done = tasks.filter((task) => task.done).length;
  const details = h("details", { class: "section", open, ontoggle: () => fold(details.open) },
    h("summary", {}, h("strong", {}, name ?? "Tasks"), h("small", {}, `${done} of ${tasks.length}`)), list);
  return details;
}

function taskRow(run, { text, done, depth, line, question, isAside, isCurrent, isMissing, isOver, work }) {
  const state = done ? "done" : isMissing ? "vanished" : isAside ? "aside" : question ? "blocked" : isCurrent ? "current" : "open";
  const times = work?.iterations?.length ?? 0;
  const row = h("li", { class: `task ${state}`, "aria-current": isCurrent ? "step" : undefined, "data-line": line },
    h("span", { class: "box", role: "img", "aria-label": state }),
    h("span", { class: "text" }, text,
      (times > 0 || isMissing || isAside) && h("small", {}, [
        isMissing && "no longer in the plan",
        isAside && "set aside by you",
        times > 0 && `${times === 1 ? "iteration" : "iterations"} ${work.iterations.slice(-6).join(", ")}`,
        work?.durationMs > 0 && duration(work.durationMs),
      ].filter(Boolean).join(" · ")),
      question && h("small", { class: "question" }, question)),
    !done && !isMissing && !isOver && (isAside
      ? run.act("Take back", { class: "small", "aria-label": `Take back: ${text}` }, () => run.command({ type: "take-task-back", task: text }))
      : run.act("Set aside", { class: "small", "aria-label": `Set aside: ${text}` }, () => run.command({ type: "set-task-aside", task: text }))));
  row.style.setProperty("--depth", Math.min(depth, 6));
  return row;
}

function goalRow({ name, state }) {
  const result = state.type === "checked" ? state.result : undefined;
  const [kind, word] = result ? (result.passed ? ["done", "passed"] : ["blocked", "failed"]) : state.type === "running" ? ["current", "running"] : ["open", "not checked yet"];
  const tail = result && !result.passed && result.tail;
  return h("li", { class: `task ${kind}` },
    h("span", { class: "box", role: "img", "aria-label": word }),
    h("span", { class: "text" }, name, h("small", {}, word, result?.durationMs > 0 && ` in ${duration(result.durationMs)}`),
      tail && h("details", {}, h("summary", {}, "Output"), h("pre", {}, tail))));
}

// Whether it belongs in the next prompt.
function isDue({ kind, withdrawn, delivered }) {
  return !withdrawn && (kind === "standing" || delivered.kept.length === 0);
}

const KINDS = { next: "in the next prompt", now: "now", standing: "in every prompt" };

function messageRow(run, { id, kind, text }) {
  return h("li", {}, h("span", { class: "text" }, text, h("small", {}, KINDS[kind])),
    run.act("Withdraw", { class: "small", "data-key": `withdraw-${id}`, "aria-label": `Withdraw message ${id}` }, () => run.command({ type: "withdraw", id })));
}

const FIGURES = { count: String, milliseconds: duration, dollars: money, tokens: short };

// The figures are of the last record; only the time of a run that goes on is counted here.
function limitRows({ status, view, connection }) {
  const until = view.phase.end?.atMs ?? (connection === "over" ? view.clock.nowMs : now());
  const since = Math.max(0, until - view.clock.nowMs);
  const limited = Object.entries(view.limited).filter(([, untilMs]) => untilMs > now());
  return [
    status.limits.map(({ name, unit, used, estimated, max }) => {
      const figure = unit === "count" ? used ?? 0 : unit === "milliseconds" ? (used ?? 0) + since : used;
      return row(name.charAt(0).toUpperCase() + name.slice(1), figure, max, FIGURES[unit], mark({ estimated }));
    }),
    limited.map(([adapter, untilMs]) => h("p", { class: "warn" }, `${adapter} is limited for another ${duration(untilMs - now())}`)),
  ];
}

function row(label, used, most, words, mark = "") {
  if (used === undefined && most == null) return h("p", {}, h("span", {}, label), h("span", { class: "dim" }, "not reported by the agent"));
  const bar = most != null && h("progress", { max: most, value: Math.min(used ?? 0, most), "aria-label": label, class: (used ?? 0) > 0.8 * most ? "near" : "" });
  return h("p", {}, h("span", {}, label), h("span", {}, used === undefined ? "not reported" : `${mark}${words(used)}`, most != null && h("span", { class: "dim" }, ` of ${words(most)}`)), bar);
}
