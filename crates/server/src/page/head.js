// What a run is like at a glance, and what ends, holds or hurries it.

import { now } from "./api.js";
import { ICON, h, sentence, toast, whenChanged, fill } from "./dom.js";
import { mood } from "./mood.js";
import { basename, clock, counted, plain, ticking, usage } from "./words.js";

// What holds the run's agents.
const SANDBOX = { on: "sandbox", strict: "sandbox: strict", unconfined: "UNCONFINED" };

export function head(run) {
  const name = h("h1", {});
  const chip = h("span", { class: "chip" });
  const phase = h("p", { class: "phase" });
  const elapsed = h("span", { class: "elapsed", title: "time the run has taken" });
  const countdown = h("span", { class: "countdown" });
  const trouble = h("p", { class: "trouble", hidden: true });
  const figures = h("p", { class: "figures" });
  const bar = h("progress", { max: 1, value: 0 });
  const controls = h("div", { class: "controls", role: "group", "aria-label": "Control the run" });

  const drawFigures = whenChanged(({ done, tasks, iteration, used, agent, sandbox }) => {
    bar.max = Math.max(tasks, 1);
    bar.value = done;
    bar.hidden = tasks === 0;
    bar.setAttribute("aria-label", `${done} of ${counted(tasks, "task")} done`);
    fill(figures,
      tasks > 0 && h("span", { class: "tasks" }, `${done} of ${counted(tasks, "task")}`),
      iteration > 0 && h("span", {}, `iteration ${iteration}`),
      h("span", {}, agent),
      used && h("span", {}, used),
      sandbox && h("span", { class: sandbox === "unconfined" && "unconfined" }, SANDBOX[sandbox]),
      elapsed);
  });

  // What keeps the run from its end stands here whatever else is shown.
  const drawTrouble = whenChanged((texts) => {
    trouble.hidden = texts.length === 0;
    bar.classList.toggle("failed", texts.length > 0);
    fill(trouble, sentence(texts.join(" · ")));
  });

  const drawControls = whenChanged(({ isOver, isContinuable, isPaused, isBusy, isWaiting, isOpen }) => {
    fill(controls, isContinuable && run.act("Continue the run", { class: "primary", "data-key": "continue", "data-acts": "answers", disabled: false }, () => continueRun(run)), !isOver && [
      isPaused
        ? run.act("Resume", { class: "primary", "data-key": "pause" }, () => run.command({ type: "resume" }))
        : run.act("Pause", { "data-key": "pause" }, () => run.command({ type: "pause" })),
      isWaiting && run.act("Retry now", { "data-key": "retry" }, () => run.command({ type: "retry-now" })),
      isOpen && run.act("Reset detector", { "data-key": "reset" }, () => run.command({ type: "reset-circuit" })),
      run.act("Change…", { "data-key": "change" }, () => change(run)),
      isBusy && run.act("Skip…", { "data-key": "skip" }, () => skip(run)),
      run.act("Stop…", { class: "danger", "data-key": "stop" }, () => stop(run)),
    ]);
  });

  const element = h("header", { class: "top" },
    h("div", { class: "line" }, h("a", { class: "back", href: "#/", "aria-label": "All runs" }, h("img", { src: ICON, alt: "", width: 28, height: 28 })),
      name, chip),
    h("div", { class: "line" }, phase, countdown),
    trouble, bar, figures, controls);

  return {
    element,
    name: () => name.textContent,
    update() {
      const { status, view } = run;
      const { word, kind } = mood(status, run.connection !== "over");
      name.textContent = basename(view.project) || run.id;
      name.title = String(view.project);
      chip.textContent = word;
      chip.className = `chip ${kind}`;
      // The card of the end says it, and why.
      phase.hidden = status.over;
      fill(phase, sentence(phaseInWords(run)), status.pid > 0 && view.tool && [" · ", h("code", {}, toolInWords(view.tool))]);
      const { tasksDone, tasksOpen, usage: used } = status.totals;
      drawFigures({
        done: tasksDone,
        tasks: tasksDone + tasksOpen,
        iteration: view.iterations.number,
        used: usage(used),
        agent: agents(run),
        sandbox: view.sandbox,
      });
      drawTrouble(troubles(view, status.over));
      const type = view.phase.type;
      drawControls({
        isOver: status.over || run.connection === "over",
        isContinuable: run.isContinuable(),
        isPaused: status.paused,
        isBusy: type === "running",
        isWaiting: type === "waiting",
        isOpen: view.breaker.state !== "closed",
      });
      this.tick();
    },
    tick() {
      const { view } = run;
      if (!view) return;
      const end = view.phase.end;
      const isLive = run.connection !== "over";
      const until = end ? end.atMs : isLive ? now() : view.clock.nowMs;
      elapsed.textContent = `${ticking(until - view.clock.startedMs)} total`;
      const since = view.phase.startedMs;
      if (end || !isLive) countdown.textContent = "";
      else if (view.phase.untilMs && view.phase.wait !== "disk") countdown.textContent = `${ticking(view.phase.untilMs - now())} left, until ${clock(view.phase.untilMs)}`;
      else countdown.textContent = since ? ticking(now() - since) : "";
    },
  };
}

// The goals that failed when they were last checked, and what the stuck detector has found.
function troubles({ goals, breaker }, isOver) {
  const failed = goals.filter(({ state }) => state.type === "checked" && !state.result.passed).map(({ name }) => `\`${name}\``);
  const texts = [];
  if (failed.length > 0) texts.push(`${failed.length === 1 ? "Goal" : "Goals"} ${failed.join(", ")} failed`);
  if (!isOver && breaker.state !== "closed" && breaker.why) texts.push(`Stuck: ${stuck(breaker.why)}`);
  return texts;
}

function stuck({ type, iterations, goal }) {
  const times = counted(iterations ?? 0, "iteration");
  switch (type) {
    case "no-progress": return `no progress in ${times}`;
    case "same-error": return `${times} failed in the same way`;
    case "same-goal-failure": return `\`${goal}\` failed in the same way in ${times}`;
    default: return plain(type);
  }
}

// What the agent does: the tool, and the first line of what it is asked for.
function toolInWords({ name, input }) {
  const [first] = input.trim().split("\n");
  return `${name} ${first.length > 80 ? `${first.slice(0, 79)}…` : first}`.trim();
}

// Who works, with the model that was named; while somebody reviews, the model is the reviewer's.
function agents({ status: { adapter }, view: { role, phase, settings, model } }) {
  const reviews = role && phase.startedMs !== undefined;
  if (settings.review && reviews) return `${adapter} · review by ${named(settings.review.by.adapter, settings.review.by.model)}`;
  return named(adapter, model);
}

function named(adapter, model) {
  return model ? `${adapter} · ${model}` : adapter;
}

// The server's words name the command for a terminal; here the question is in sight.
function phaseInWords({ status: { phase, over }, view, connection }) {
  if (connection === "over") return "`ralph continue` in its project resumes it";
  return !over && view.permissions.pending.length > 0 ? `iteration ${view.iterations.number} waits for your answer` : phase;
}

// Asks for one of several ways, or none. Escape is none.
export function choose(title, text, ways) {
  return new Promise((resolve) => {
    const dialog = h("dialog", { "aria-labelledby": "dialog-title" },
      h("h2", { id: "dialog-title" }, title), h("p", {}, sentence(text)),
      h("div", { class: "ways" }, ways.map(({ label, hint, value, kind }) => h("button", {
        type: "button", class: kind, onclick: () => dialog.close(value),
      }, h("strong", {}, label), hint && h("small", {}, hint))),
      h("button", { type: "button", class: "quiet", autofocus: true, onclick: () => dialog.close("") }, "Cancel")));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

async function skip(run) {
  const { number } = run.view.iterations;
  const chosen = await choose(`Skip iteration ${number}?`, "The agent is stopped. Its changes are kept; the next iteration begins.", [
    { label: "Skip it", value: "skip", kind: "danger" },
  ]);
  if (chosen !== "skip") return;
  if (run.view.iterations.number !== number) return void toast(`Iteration ${number} is over: nothing was skipped.`);
  await run.command({ type: "skip" });
}

async function stop(run) {
  const isBusy = run.view.phase.type === "running";
  const chosen = await choose("Stop the run?", "The same command, or a message, resumes it later.", [
    isBusy && { label: "After this iteration", hint: "The agent finishes its work.", value: "after-iteration", kind: "primary" },
    { label: "Now", hint: isBusy ? "The agent is asked to end; its result is checked." : "", value: "graceful", kind: "danger" },
    isBusy && { label: "Kill it", hint: "The agent and all its processes end at once.", value: "immediate", kind: "danger" },
  ].filter(Boolean));
  if (chosen) await run.command({ type: "stop", stop: chosen });
}

const MODES = {
  auto: "Requests without a rule are allowed.",
  ask: "You are asked.",
  restricted: "Requests without a rule are denied.",
  readonly: "Only tools that read are allowed.",
};

// Changes what counts until the run is resumed.
async function change(run) {
  const { adapter, model, permissionMode } = run.view.settings;
  const mode = run.view.permissions.mode ?? permissionMode;
  const changes = { limits: raiseLimit, worker: chooseWorker, mode: () => chooseMode(run, mode) };
  const chosen = await choose("What do you want to change?", "The change counts until the run is resumed.", [
    { label: "Limits", hint: raises(run).map(({ name }) => name).join(", "), value: "limits" },
    { label: "Agent or model", hint: named(adapter, run.view.model ?? model), value: "worker" },
    // In the mode `auto`, agents are started so that they ask for nothing.
    mode && mode !== "auto" && { label: "Permission mode", hint: mode, value: "mode" },
  ].filter(Boolean));
  if (chosen) await changes[chosen](run);
}

async function chooseMode(run, mode) {
  const ways = Object.entries(MODES).filter(([name]) => name !== mode);
  const chosen = await choose("Another permission mode?", `It is \`${mode}\` now, and decides requests without a matching rule.`,
    ways.map(([name, hint]) => ({ label: name, hint, value: name })));
  if (chosen) await run.command({ type: "set-permission-mode", mode: chosen });
}

// The higher limits that the server proposes.
function raises(run) {
  return run.status.limits.filter(({ raise }) => raise);
}

// Returns the higher limit that is chosen.
async function chooseLimit(run) {
  const ways = raises(run).map(({ raise }) => raise);
  const chosen = await choose("Raise a limit?", "The new limit counts from the beginning of the run.", ways.map(({ words }, at) => ({ label: words, value: String(at) })));
  return chosen && ways[chosen];
}

async function raiseLimit(run) {
  const raise = await chooseLimit(run);
  if (raise) await run.command({ type: "set-limits", limits: raise.limits });
}

// A run that has reached a limit would end at once with the same.
async function continueRun(run) {
  if (run.view.phase.end?.reason.type !== "limit-reached") return run.continueRun({});
  const raise = await chooseLimit(run);
  if (raise) await run.continueRun({ limits: raise.settings });
}

// Gives the next iterations to another of the agents and models that the settings name.
async function chooseWorker(run) {
  const { adapter, model, fallback, escalation, review } = run.view.settings;
  const known = [{ adapter, model }, ...fallback.map((id) => ({ adapter: id })), ...(escalation?.steps ?? []), ...(review ? [review.by] : [])];
  const ways = known.filter((worker, at) => known.findIndex((other) => other.adapter === worker.adapter && (other.model ?? null) === (worker.model ?? null)) === at).slice(1);
  const chosen = await choose("Another agent or model?", `The next iterations go to ${named(adapter, model)}. \`ralph continue --model NAME\` names any other model.`,
    ways.map((worker, at) => ({ label: named(worker.adapter, worker.model), value: String(at) })));
  if (chosen) await run.command({ type: "set-worker", worker: { adapter: ways[chosen].adapter, ...(ways[chosen].model && { model: ways[chosen].model }) } });
}
