// Starts a run or a batch in a project, as the command line does there: its words say why one is refused.

import { isReadOnly, read, send } from "./api.js";
import { fill, h, sentence } from "./dom.js";
import { counted } from "./words.js";

export function startArea(project, askForToken) {
  const body = h("div", {});
  const element = h("details", { class: "card start", hidden: true }, h("summary", {}, "Start a run"), body);
  const load = async () => {
    try {
      fill(body, startForm(project, await read(`start?project=${encodeURIComponent(project)}`), askForToken));
    } catch (refusal) {
      if (refusal.status === 401) return askForToken(refusal);
      // The server of a single run starts none.
      if (refusal.status === 404) return;
      fill(body, h("p", { class: "warn" }, sentence(refusal.sentence?.() ?? "The connection is lost.")));
    }
    element.hidden = false;
  };
  if (!isReadOnly()) load();
  return element;
}

function startForm(project, { plans, limits, agents }, askForToken) {
  const boxes = plans.map(({ path, done, open, default: isDefault }) => {
    const input = h("input", { type: "checkbox", name: "plan", value: path, checked: isDefault });
    return { input, path, element: h("label", { class: "choice" }, input, h("span", {}, path, h("small", {}, `${done} of ${counted(done + open, "task")} done`))) };
  });
  const own = agents.adapters.find(({ id }) => id === agents.adapter);
  const adapter = h("select", { id: "start-adapter" },
    h("option", { value: "" }, agents.adapter ? `As the settings say: ${own?.title ?? agents.adapter}` : "As ralph chooses"),
    agents.adapters.map(({ id, title, loggedIn }) => h("option", { value: id }, loggedIn ? title : `${title} (not logged in)`)));
  const input = (id, properties) => h("input", { id: `start-${id}`, autocomplete: "off", autocapitalize: "off", spellcheck: "false", ...properties });
  const model = input("model", { type: "text", placeholder: "the agent's own" });
  const limited = limits.map(({ setting, name, unit }) => {
    const isCost = unit === "dollars";
    const control = input(setting, unit === "milliseconds" ? { type: "text", placeholder: "as set, such as 2h" }
      : { type: "number", min: isCost ? 0 : 1, step: isCost ? "any" : 1, placeholder: "as set" });
    return { setting, control, label: `Most ${name}${isCost ? " in USD" : ""}` };
  });
  const task = h("textarea", { id: "start-task", rows: 2, placeholder: "or one task in your own words" });
  const goal = input("goal", { type: "text", placeholder: "a command that has to pass, such as cargo test" });
  const jobs = input("jobs", { type: "number", min: 1, max: 256, placeholder: "half of the cores" });
  const field = (label, control) => h("div", { class: "field" }, h("label", { for: control.id }, label), control);
  const together = field("Plans at a time", jobs);
  const problem = h("p", { class: "warn", role: "alert" });
  const button = h("button", { type: "submit", class: "primary" });
  const chosen = () => boxes.filter((box) => box.input.checked).map((box) => box.path);

  const explain = () => {
    const count = task.value.trim() ? 1 : chosen().length;
    together.hidden = count < 2;
    button.textContent = count > 1 ? `Start a batch of ${count} plans` : task.value.trim() ? "Start the task" : "Start the run";
  };
  const submit = async (event) => {
    event.preventDefault();
    const settings = {
      adapter: adapter.value || undefined, model: model.value.trim() || undefined,
      goal: goal.value.trim() ? `goal=${goal.value.trim()}` : undefined,
      limits: Object.fromEntries(limited.map(({ setting, control }) => [setting, control.value.trim()]).filter(([, value]) => value)),
    };
    const words = task.value.trim();
    const named = words ? [] : chosen();
    problem.textContent = "";
    if (!words && named.length === 0) return void (problem.textContent = "Choose a plan or write a task first.");
    button.disabled = true;
    try {
      if (named.length > 1) {
        const { batch } = await send("batches", { project, plans: named, jobs: Number(jobs.value) || undefined, settings });
        location.hash = `#/batches/${encodeURIComponent(batch)}`;
      } else {
        const { run } = await send("runs", { project, plan: named[0], task: words || undefined, settings });
        location.hash = `#/runs/${encodeURIComponent(run)}`;
      }
    } catch (refusal) {
      if (refusal.status === 401) return askForToken(refusal);
      fill(problem, sentence(refusal.sentence?.() ?? "The connection is lost: nothing was started."));
    }
    button.disabled = false;
  };

  explain();
  return h("form", { onsubmit: submit, onchange: explain, oninput: explain },
    agents.untrusted && h("p", { class: "warn" }, sentence(`${agents.untrusted}: \`ralph trust\` in the project shows and trusts them, and until then no run starts.`)),
    h("fieldset", {}, h("legend", {}, "Plan", h("small", {}, "Several plans run side by side as a batch.")),
      boxes.length > 0 ? boxes.map((box) => box.element) : h("p", { class: "dim" }, sentence("This project has no plan with tasks. `ralph init` in it writes one."))),
    field("Task", task),
    h("div", { class: "fields" }, field("Goal", goal), field("Agent", adapter), field("Model", model),
      limited.map(({ label, control }) => field(label, control)), together),
    problem, h("div", { class: "answers" }, button));
}
