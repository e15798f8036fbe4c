// One run: follows its events, and shows what the server makes of them.
//
// Records only tell that something has changed and fill the log. What the run *is* comes from the server whenever one has
// come, so that the page folds nothing and cannot disagree with the screen.

import { follow, isReadOnly, now, read, send, throttled } from "./api.js";
import { agentPane } from "./agent.js";
import { asksArea } from "./asks.js";
import { changesPane } from "./changes.js";
import { composer } from "./composer.js";
import { announce, complain, h, sentence, toast } from "./dom.js";
import { endCard } from "./end.js";
import { head } from "./head.js";
import { historyPane } from "./history.js";
import { logPane } from "./log.js";
import { mood } from "./mood.js";
import { planPane } from "./plan.js";
import { tabs } from "./tabs.js";
import { tasksArea } from "./tasks.js";
import { clock } from "./words.js";

// Records of before that the log begins with.
const EARLIER = 500;
const REFRESH_MS = 400;
// What an agent does changes its figures only.
const REFRESH_OF_DETAILS_MS = 4_000;
// Between two looks whether a run that nobody serves has been resumed.
const RESUMED_MS = 10_000;

export function runPage(id, askForToken) {
  const run = {
    id,
    status: undefined,
    view: undefined,
    // `connecting`, `live`, `lost`, `over`.
    connection: "connecting",
    path: (rest) => `runs/${encodeURIComponent(id)}${rest ? `/${rest}` : ""}`,
    link: (rest) => `#/runs/${encodeURIComponent(id)}${rest ? `/${rest}` : ""}`,
    // Whether there is somebody who takes commands.
    takesCommands: () => run.connection === "live" && run.status !== undefined && !isReadOnly(),
    // Whether it is known who serves the run after its end.
    isSettled: () => run.connection !== "over" || isKept !== undefined,
    // Whether somebody takes an answer: the run, or who serves it after its end, for the command that resumes it.
    takesAnswers: () => run.takesCommands() || (run.connection === "over" && isKept === true && !isReadOnly()),
    // Whether whoever serves it after its end can continue it, as the last run of its project.
    isContinuable: () => run.takesAnswers() && run.connection === "over" && isLast && run.view.phase.end?.reason.type !== "done",
    continueRun,
    command,
    act,
  };

  const banner = h("p", { class: "banner", role: "status", hidden: true });
  const shape = {
    head: head(run),
    asks: asksArea(run),
    tasks: tasksArea(run),
    end: endCard(run),
    plan: planPane(run),
    agent: agentPane(run),
    log: logPane(run),
    changes: changesPane(run),
    history: historyPane(run),
    composer: composer(run),
  };
  const { plan, agent, log, changes, history } = shape;
  const panes = tabs(run, { plan, agent, log, changes, history });
  // Shown once it is filled: what moves while it is tapped is missed.
  const main = h("main", { hidden: true }, shape.asks.element, shape.end.element, shape.tasks.element, panes.element);
  const element = h("div", { class: "run" },
    shape.head.element, banner,
    isReadOnly() && h("p", { class: "banner" }, sentence("Read-only: this browser cannot send commands. `ralph token --web --code` prints an address that can.")),
    main, shape.composer.element);
  const parts = [...Object.values(shape), panes];

  let nextSeq;
  let lastHeardMs;
  let events;
  let isClosed = false;
  let sought;
  let resumption;
  // What is left of the run is served, though the run is not.
  let isKept;
  let isLast = false;

  // Has every part show what there is now.
  const update = () => {
    if (isClosed || !run.status) return;
    main.hidden = false;
    parts.forEach((part) => part.update?.());
    // Buttons that change something work while there is somebody to take what they say.
    element.querySelectorAll("[data-acts]").forEach((button) => {
      button.disabled = !(button.dataset.acts === "answers" ? run.takesAnswers() : run.takesCommands());
    });
    const { word } = mood(run.status, run.connection !== "over");
    document.title = `${word === "Needs you" ? "(!) " : ""}${word} · ${shape.head.name()} · ralph`;
    tick();
  };
  const tick = () => parts.forEach((part) => part.tick?.());

  const take = (status) => {
    // An answer may be older than what was streamed meanwhile.
    if (status.view.records < run.view?.records) return;
    const before = run.status && mood(run.status, true).word;
    run.status = status;
    run.view = status.view;
    update();
    const word = mood(status, true).word;
    if (before !== undefined && word !== before) announce(`${word}: ${status.phase}`);
  };

  const refresher = throttled(async () => {
    try {
      take(await read(run.path("run")));
    } catch (refusal) {
      refused(refusal);
    }
  });

  const event = (name, data) => {
    lastHeardMs = now();
    if (name === "heartbeat" || name === "over") return;
    if (name === "snapshot") return take(data);
    if (name === "report") return shape.end.show(data);
    if (name === "detail") return agent.detail(data);
    // A connection that was made anew may tell some of it again.
    if (!(data?.seq >= nextSeq)) return;
    nextSeq = data.seq + 1;
    log.record(data);
    agent.record(data);
    refresher.soon(data.event.type === "agent-reported" ? REFRESH_OF_DETAILS_MS : REFRESH_MS);
  };

  const state = (next, refusal) => {
    if (next === "refused") return refused(refusal);
    const was = run.connection;
    run.connection = next;
    showConnection(was);
    if (next === "live" && was === "lost") refresher.soon(0);
    if (next === "over") awaitResumption(0);
    update();
  };

  // A run that was stopped or killed goes on under its name when `ralph` is called again.
  const awaitResumption = (afterMs) => {
    resumption = setTimeout(async () => {
      try {
        if (document.visibilityState === "visible") {
          const { live, standing } = await read(run.path());
          if (live && standing === "running") return begin();
          if (!live && !isKept) isLast = await isLastOfProject();
          isKept = !live;
        }
      } catch (refusal) {
        if (refusal.status === 401) return refused(refusal);
        isKept = false;
      }
      if (isClosed) return;
      update();
      awaitResumption(RESUMED_MS);
    }, afterMs);
  };

  // The server of a single run has no such list, and continues none.
  const isLastOfProject = async () => {
    const runs = await read(`runs?project=${encodeURIComponent(run.view.project)}`);
    return runs.every(({ run: other, startedMs }) => other === id || startedMs < run.view.clock.begunMs);
  };

  const showConnection = (was) => {
    banner.hidden = run.connection !== "lost";
    element.classList.toggle("stale", run.connection === "lost");
    if (run.connection === "lost") {
      const since = lastHeardMs ? ` This is how it was at ${clock(lastHeardMs)}.` : "";
      banner.textContent = `Connection lost. Trying again…${since}`;
    }
    if (run.connection === "live" && was === "lost") announce("Connected again.");
  };

  const refused = (refusal) => {
    if (isClosed) return;
    if (refusal.status === 401) return askForToken(refusal);
    // The stream tells of a lost connection.
    if (refusal.status === undefined || refusal.status >= 500) return;
    banner.hidden = false;
    // Nothing has been read of a run that is not there.
    if (!run.status) parts.forEach((part) => { part.element.hidden = true; });
    banner.replaceChildren(...[sentence(refusal.sentence?.() ?? refusal.message)].flat(),
      h("a", { href: "#/" }, "All runs"));
    run.connection = "over";
    update();
  };

  const begin = async () => {
    try {
      run.status = await read(run.path("run"));
    } catch (refusal) {
      refused(refusal);
      // A server that is gone or fails for now may answer later.
      if (!isClosed && (refusal.status === undefined || refusal.status >= 500)) {
        state("lost");
        setTimeout(begin, 2_000);
      }
      return;
    }
    if (isClosed) return;
    run.view = run.status.view;
    lastHeardMs = now();
    nextSeq ??= Math.max(0, run.view.records - EARLIER);
    update();
    if (sought) sought = void panes.go(...sought);
    events = follow(() => `${run.path("events")}?from=${nextSeq}&details=true&words=true&last=true`, { event, state });
  };

  // Sends a command, says what it did, and whether it did.
  async function command(what, path = "commands") {
    try {
      const done = await send(run.path(path), what);
      if (done.text) toast(done.text, "good");
      refresher.soon(0);
      return true;
    } catch (refusal) {
      if (refusal.status === 401) askForToken(refusal);
      else complain(refusal, "nothing was sent");
      refresher.soon(0);
      return false;
    }
  }

  async function continueRun(settings) {
    try {
      await send("runs", { project: run.view.project, continues: id, settings });
      clearTimeout(resumption);
      await begin();
    } catch (refusal) {
      if (refusal.status === 401) askForToken(refusal);
      else complain(refusal, "nothing was started");
    }
  }

  // A button that sends something.
  function act(label, properties, onclick) {
    const button = h("button", { type: "button", "data-acts": true, disabled: !run.takesCommands(), ...properties }, label);
    button.addEventListener("click", async () => {
      button.classList.add("busy");
      await onclick();
      button.classList.remove("busy");
    });
    return button;
  }

  const ticks = setInterval(tick, 1_000);
  begin();

  return {
    id,
    element,
    go(tab, what) {
      if (run.status) panes.go(tab, what);
      else sought = [tab, what];
    },
    close() {
      isClosed = true;
      clearInterval(ticks);
      clearTimeout(resumption);
      refresher.close();
      events?.close();
      parts.forEach((part) => part.close?.());
    },
  };
}
