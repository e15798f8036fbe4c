// Changes the file of the plan: boxes, order, new tasks.
//
// The server is told a task by its line and text, and refuses a change of a plan that looks different by now.

import { read, send } from "./api.js";
import { complain, fill, h, sentence } from "./dom.js";

export function planEditor(run, close) {
  const list = h("ol", { class: "tasks" });
  const task = h("input", { type: "text", "aria-label": "New task", placeholder: "New task", autocomplete: "off" });
  const add = h("form", { class: "row", onsubmit: async (event) => {
    event.preventDefault();
    if (task.value.trim() && await change({ type: "add", task: task.value.trim() })) task.value = "";
  } }, task, h("button", { type: "submit", "data-acts": "answers" }, "Add"));
  const element = h("div", { class: "editor" }, list, add,
    h("button", { type: "button", class: "small", onclick: close }, "Close the editor"));

  const draw = ({ tasks }) => fill(list, tasks.map(row));
  const load = async () => {
    try {
      draw(await read(run.path("plan/file")));
    } catch (refusal) {
      fill(list, h("li", { class: "warn" }, sentence(refusal.sentence?.() ?? "The connection is lost.")));
    }
  };
  const change = async (edit) => {
    try {
      draw(await send(run.path("plan/file"), edit));
      return true;
    } catch (refusal) {
      complain(refusal, "nothing was changed");
      await load();
      return false;
    }
  };
  const row = ({ text, done, depth, line, heading }, at, all) => {
    const act = (type) => change({ type, line, task: text });
    const next = all.slice(at + 1).find((other) => other.depth <= depth);
    const isFirst = at === 0 || Boolean(heading) || all[at - 1].depth < depth;
    const isLast = !next || next.depth < depth || Boolean(next.heading);
    const move = (type, sign, name, isOff) => h("button", {
      type: "button", class: "small", "aria-label": `${name}: ${text}`, "data-key": `${type} ${text}`, "data-acts": !isOff && "answers", disabled: isOff || !run.takesAnswers(), onclick: () => act(type),
    }, sign);
    const item = h("li", { class: `task ${done ? "done" : "open"}` },
      h("label", {}, h("input", { type: "checkbox", checked: done, "data-key": `box ${text}`, onchange: () => act(done ? "untick" : "tick") }), h("span", { class: "text" }, text)),
      move("move-up", "↑", "Move up", isFirst), move("move-down", "↓", "Move down", isLast));
    item.style.setProperty("--depth", Math.min(depth, 6));
    return [heading && h("li", { class: "dim" }, heading), item];
  };
  load();
  return element;
}
