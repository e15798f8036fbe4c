// What the agent does: its terminal, or its messages and tools one by one.

import { follow } from "./api.js";
import { fill, h, whenChanged } from "./dom.js";
import { conversation } from "./conversation.js";
import { assignment, counted } from "./words.js";

const WIDE = matchMedia("(min-width: 900px)");

export function agentPane(run) {
  const chooser = h("select", { id: "iteration-of-agent", "aria-label": "Iteration", onchange: () => {
    const latest = run.view.iterations.number;
    location.hash = run.link(Number(chooser.value) === latest ? "agent" : `agent/${chooser.value}`);
  } });
  const file = h("a", { class: "download", hidden: true }, "Recording");
  const screen = h("div", { class: "screen" });
  // On a phone words are read more easily than a terminal, where there are any.
  const talk = conversation(
    () => hasChosen || WIDE.matches || choose("messages"),
    (id) => run.view?.messages.find((message) => message.id === id)?.text,
  );
  const find = h("input", { type: "search", "aria-label": "Find in the messages", placeholder: "Find", oninput: () => {
    const count = talk.find(find.value);
    found.textContent = find.value.trim() ? counted(count, "message") : "";
  } });
  const found = h("span", { class: "dim", role: "status" });
  const ways = [["terminal", "Terminal"], ["messages", "Messages"]].map(([value, label]) => h("label", {},
    h("input", { type: "radio", name: "way", value, onchange: () => {
      hasChosen = true;
      choose(value);
    } }), h("span", {}, label)));
  const element = h("div", { class: "agent" },
    h("div", { class: "bar" }, h("label", { for: "iteration-of-agent" }, "Iteration"), chooser,
      file,
      h("div", { class: "kinds", role: "radiogroup", "aria-label": "How the agent is shown" }, ways), find, found),
    screen, talk.element);

  let hasChosen = false;
  let way = "terminal";
  let isShown = false;
  // The one that somebody has chosen; else the latest.
  let wanted;
  let drawn;
  let stream;
  let following;
  let offset = 0;

  const choose = (next) => {
    way = next;
    element.querySelector(`input[value=${way}]`).checked = true;
    screen.hidden = way !== "terminal";
    talk.element.hidden = way !== "messages";
    find.hidden = found.hidden = way !== "messages";
    look();
  };

  // The iteration whose output is to be seen.
  const number = () => wanted ?? run.view?.iterations.number ?? 0;

  // Opens the stream of the iteration that is to be seen, and closes that of any other.
  const look = async () => {
    const visible = isShown && way === "terminal" && document.visibilityState === "visible" && run.view;
    const target = visible ? number() : 0;
    if (!visible || target === 0 || (following !== undefined && following !== target)) stop();
    if (!visible || target === 0 || following === target) return;
    following = target;
    if (!drawn) {
      const { terminal } = await import("./terminal.js");
      if (following !== target) return;
      drawn ??= terminal(screen);
    }
    if (drawn.iteration !== target) {
      drawn.clear();
      drawn.iteration = target;
      drawn.isWhole = false;
      offset = 0;
    }
    if (drawn.isWhole) return;
    stream = follow(() => `${run.path("terminal")}?iteration=${target}&from=${offset}`, { event: show, state: ended });
  };
  const stop = () => {
    stream?.close();
    stream = undefined;
    following = undefined;
  };
  const show = (name, data, id) => {
    // So many bytes of it are here.
    if (name === "output" || name === "skipped") offset = Number(id);
    if (name === "output") drawn.write(Uint8Array.from(atob(data.data), (letter) => letter.charCodeAt(0)));
    else if (name === "resized") drawn.resized(data);
    else if (name === "skipped") drawn.note(`${data.bytes} bytes skipped`);
  };
  const ended = (state, refusal) => {
    if (state === "over") drawn.isWhole = true;
    if (state === "refused" && refusal.status === 404) drawn.note(refusal.message);
  };

  const drawChooser = whenChanged(({ rows, chosen }) => {
    fill(chooser, rows.map(({ number: each, text }) => h("option", { value: String(each) }, `${each}: ${text}`)));
    chooser.value = String(chosen);
  });
  const seen = () => look();
  document.addEventListener("visibilitychange", seen);
  choose(way);

  return {
    element,
    record: (record) => talk.record(record),
    detail: (detail) => talk.detail(detail),
    show(now, what) {
      isShown = now;
      if (now) wanted = what ? Number(what) : undefined;
      if (run.view) this.update();
    },
    update() {
      const rows = run.view.iterations.rows.kept.slice(-200).reverse().map((row) => ({ number: row.number, text: assignment(row) }));
      if (isShown) drawChooser({ rows, chosen: number() });
      file.hidden = number() === 0;
      file.href = run.path(`recording/${number()}`);
      file.download = `ralph-${run.id}-${number()}.cast`;
      talk.iteration(number());
      look();
    },
    close() {
      document.removeEventListener("visibilitychange", seen);
      stop();
      drawn?.close();
    },
  };
}
