// The list of this user's runs: those that live first, and among them those that need somebody; or all of one project.

import { now, read } from "./api.js";
import { figures, standing } from "./batch.js";
import { ICON, announce, fill, h, sentence, whenChanged } from "./dom.js";
import { moodOfEntry } from "./mood.js";
import { noticesButton } from "./notices.js";
import { sessionsArea } from "./sessions.js";
import { startArea } from "./start.js";
import { basename, counted, day, duration, ticking } from "./words.js";

const EVERY_MS = 3_000;

export function runsPage(askForToken, { project, openTheOnlyOne }) {
  const name = project ? basename(project) : "runs";
  document.title = `ralph · ${name}`;
  const list = h("div", { class: "runs" });
  const stale = h("p", { class: "banner", role: "status", hidden: true });
  let timer;
  let isClosed = false;

  const draw = whenChanged(({ runs, batches }) => {
    // The runs of a batch are behind its card.
    const ofBatch = new Set(batches.flatMap(({ board }) => board.plans.map((plan) => plan.run)));
    const alone = runs.filter((run) => !ofBatch.has(run.id));
    const live = alone.filter((run) => run.live);
    const past = alone.filter((run) => !run.live);
    const waiting = live.filter((run) => run.needsYou).length;
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}ralph · ${name}`;
    if (waiting > 0) announce(`${counted(waiting, "run")} ${waiting === 1 ? "needs" : "need"} you`);
    fill(list,
      batches.length > 0 && h("h2", {}, "Batches"),
      batches.length > 0 && h("ul", { class: "cards" }, batches.map(batchCard)),
      h("h2", {}, "Running"),
      live.length > 0 ? h("ul", { class: "cards" }, live.map((run) => card(run, project)))
        : h("p", { class: "empty" }, past.length > 0 || batches.length > 0 ? "No active runs. New runs appear here."
          : sentence("No runs yet. Start one with `ralph` in a project: it appears here, and later ones can be started here.")),
      past.length > 0 && h("h2", {}, "Earlier"),
      past.length > 0 && h("ul", { class: "cards earlier" }, past.map((run) => card(run, project))));
    tick();
  });

  const refresh = async () => {
    try {
      const runs = entries(await read(project ? `runs?project=${encodeURIComponent(project)}` : "runs"));
      stale.hidden = true;
      const live = runs.filter((run) => run.live);
      if (openTheOnlyOne && live.length === 1) return location.replace(`#/runs/${encodeURIComponent(live[0].id)}`);
      openTheOnlyOne = false;
      draw({ runs, batches: project ? [] : await batchesThere() });
    } catch (refusal) {
      if (refusal.status === 401) return isClosed || askForToken(refusal);
      stale.hidden = false;
      stale.textContent = refusal.sentence?.() ?? "Connection lost. Trying again…";
    }
    if (!isClosed) timer = setTimeout(refresh, document.visibilityState === "visible" ? EVERY_MS : 5 * EVERY_MS);
  };
  const tick = () => list.querySelectorAll("[data-since]").forEach((shown) => {
    shown.textContent = ticking(now() - Number(shown.dataset.since));
  });
  const ticks = setInterval(tick, 1_000);
  refresh();

  return {
    element: h("main", { class: "list" },
      h("header", { class: "top" },
        project ? h("a", { class: "back", href: "#/", "aria-label": "All runs" }, icon()) : icon(),
        h("h1", {}, project ? name : "ralph"), noticesButton()),
      project && h("p", { class: "dim" }, project),
      stale, project && startArea(project, askForToken), list, !project && sessionsArea(askForToken)),
    close() {
      isClosed = true;
      clearTimeout(timer);
      clearInterval(ticks);
    },
  };
}

function icon() {
  return h("img", { src: ICON, alt: "", width: 32, height: 32 });
}

// The server of one run knows of no batch.
async function batchesThere() {
  try {
    return await read("batches");
  } catch (refusal) {
    if (refusal.status === 404) return [];
    throw refusal;
  }
}

function batchCard({ project, board }) {
  const { kind, word } = board.asks.length > 0 ? { kind: "needs", word: counted(board.asks.length, "question") } : standing(board);
  return h("li", {},
    h("a", { class: "card entry", href: `#/batches/${encodeURIComponent(board.batch)}`, "data-key": board.batch },
      h("span", { class: "first" }, h("strong", {}, project), h("span", { class: `chip ${kind}` }, word)),
      board.queue && h("span", { class: "second" }, board.queue),
      h("progress", { max: board.plans.length, value: board.counts.merged, "aria-label": `${board.counts.merged} of ${counted(board.plans.length, "plan")} merged` }),
      h("span", { class: "third" }, figures(board), h("span", {}, day(board.startedMs)))));
}

function entries(runs) {
  const all = runs.map((run) => ({ ...run, id: run.run, mood: moodOfEntry(run) }));
  const rank = (run) => (run.needsYou ? 0 : 1);
  return all.sort((one, other) => rank(one) - rank(other) || other.startedMs - one.startedMs);
}

function card(run, project) {
  const tasks = run.tasksDone + run.tasksOpen;
  const works = run.live && run.standing === "running";
  return h("li", {},
    h("a", { class: "card entry", href: `#/runs/${encodeURIComponent(run.id)}`, "data-key": run.id },
      h("span", { class: "first" },
        h("strong", {}, project && run.number > 0 ? `Run ${run.number}` : basename(run.project) || run.id),
        h("span", { class: `chip ${run.mood.kind}` }, run.mood.word)),
      // The command for a terminal is of no use here.
      h("span", { class: "second" }, sentence(run.needsYou ? run.state.replace(/: `ralph asks`$/, "") : run.state)),
      tasks > 0 && h("progress", { max: tasks, value: run.tasksDone, "aria-label": `${run.tasksDone} of ${counted(tasks, "task")} done` }),
      h("span", { class: "third" },
        tasks > 0 && h("span", {}, `${run.tasksDone} of ${counted(tasks, "task")}`),
        works ? h("span", {}, "for ", h("span", { "data-since": run.lastMs - run.elapsedMs })) : h("span", {}, `took ${duration(run.elapsedMs)}`),
        h("span", {}, run.adapter),
        h("span", {}, works ? `since ${day(run.startedMs)}` : day(run.lastMs)))),
    !project && h("a", { class: "more", href: `#/projects/${encodeURIComponent(run.project)}` }, `All runs of ${basename(run.project)}, and new ones`));
}
