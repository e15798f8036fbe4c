// What the agent says and which tools it uses, one below the other.
//
// An agent that only shows a terminal says nothing here but how its turn ended.

import { fill, h } from "./dom.js";
import { markdown } from "./markdown.js";
import { duration, plain } from "./words.js";

const MOST = 800;
// What is kept of the output of a tool that runs: its end.
const OUTPUT_CHARACTERS = 64 * 1024;

const written = (kind, text) => (kind === "said" ? markdown(text) : text);

// `begun` is called with the first thing that is said or done; `textOf` has the texts of messages from before the records.
export function conversation(begun, textOf) {
  const list = h("ol", { class: "talk", tabIndex: 0, "aria-label": "Messages of the agent" });
  const empty = h("p", { class: "empty" }, "No messages of the agent yet.");
  const element = h("div", { class: "conversation" }, empty, list);
  let shown = 0;
  // With words that are sought, the rows of all iterations in which they are.
  let sought = "";
  let isAtEnd = true;
  // By iteration: rows; and what is being written, or runs.
  const rows = [];
  let live;
  const tools = new Map();
  // What has got more text since it was last drawn: a flood of pieces is drawn once a frame.
  const grown = new Map();
  let isFrameDue = false;

  // Looking at the height of the list has the browser lay it out: once a frame, however many rows have come.
  const awaitFrame = () => {
    if (!isFrameDue) requestAnimationFrame(drawGrown);
    isFrameDue = true;
  };
  const drawSoon = (what, draw) => {
    awaitFrame();
    grown.set(what, draw);
  };
  const drawGrown = () => {
    isFrameDue = false;
    grown.forEach((draw) => draw());
    grown.clear();
    empty.hidden = rows.some((row) => !row.hidden);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  };

  list.addEventListener("scroll", () => {
    isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 24;
  });

  const isShown = (row) => (sought ? row.textContent.toLowerCase().includes(sought) : row.dataset.iteration === String(shown));
  const showRows = () => {
    rows.forEach((row) => { row.hidden = !isShown(row); });
    const count = rows.filter((row) => !row.hidden).length;
    empty.hidden = count > 0;
    return count;
  };
  const add = (iteration, row) => {
    row.dataset.iteration = iteration;
    row.hidden = !isShown(row);
    rows.push(row);
    list.append(row);
    if (rows.length > MOST) forget(rows.shift());
    awaitFrame();
    return row;
  };
  const forget = (row) => {
    row.remove();
    tools.forEach((tool, call) => tool.row === row && tools.delete(call));
  };
  const output = (tool, text) => {
    tool.text = (tool.text + text).slice(-OUTPUT_CHARACTERS);
    drawSoon(tool, () => fill(tool.output, tool.text));
  };
  const dropLive = () => {
    live?.row.remove();
    grown.delete(live);
    live = undefined;
  };
  // The whole of a text takes the place of its pieces.
  const whole = (iteration, kind, text) => {
    dropLive();
    if (text?.trim()) add(iteration, h("li", { class: kind }, written(kind, text.trim())));
  };
  const piece = (iteration, kind, text) => {
    if (live?.kind !== kind) {
      dropLive();
      live = { kind, text: "", row: add(iteration, h("li", { class: `${kind} live` })) };
    }
    live.text += text;
    const growing = live;
    drawSoon(growing, () => fill(growing.row, written(kind, growing.text)));
  };

  let hasBegun = false;
  // A message is in the conversation from where it was delivered on.
  const messages = new Map();
  const delivered = ({ id, iteration }) => {
    const text = messages.get(id) ?? textOf(id);
    if (!text) return;
    dropLive();
    add(iteration, h("li", { class: "yours" }, text));
  };

  const show = (iteration, signal) => {
    if (!hasBegun && ["said", "text-delta", "tool-started"].includes(signal.type)) {
      hasBegun = true;
      begun();
    }
    switch (signal.type) {
      case "said": return whole(iteration, "said", signal.text);
      case "thought": return whole(iteration, "thought", signal.text);
      case "text-delta": return piece(iteration, "said", signal.text);
      case "thought-delta": return piece(iteration, "thought", signal.text);
      case "tool-started": {
        whole(iteration, "said", "");
        const printed = h("pre", {});
        const state = h("small", {}, "running");
        const row = add(iteration, h("li", { class: "tool" }, h("details", {}, h("summary", {}, h("strong", {}, signal.tool), " ", h("code", {}, signal.input), state), printed)));
        return void tools.set(signal.call, { row, output: printed, state, text: "" });
      }
      case "tool-output": {
        const tool = tools.get(signal.call);
        return tool && output(tool, signal.text);
      }
      case "tool-ended": {
        const tool = tools.get(signal.call);
        if (!tool) return;
        tools.delete(signal.call);
        grown.delete(tool);
        fill(tool.output, signal.output);
        fill(tool.state, signal.ok ? "done" : "failed", signal.durationMs >= 1000 ? ` in ${duration(signal.durationMs)}` : "");
        return void tool.row.classList.add(signal.ok ? "ok" : "failed");
      }
      case "file-changed": return void add(iteration, h("li", { class: "file" }, `${signal.change} `, h("code", {}, signal.path)));
      case "problem": {
        const { finding, text } = signal.problem;
        if (finding?.type !== "ended-by-ralph") return whole(iteration, "problem", text);
        return void add(iteration, h("li", { class: "file" }, `ended by ralph: ${plain(finding.reason.limit ?? finding.reason)}`));
      }
      case "turn-ended": {
        const said = rows.findLast((row) => row.dataset.iteration === String(iteration) && row.classList.contains("said"));
        // The last message once more, or all that a terminal has shown.
        return whole(iteration, "said", said ? "" : signal.message);
      }
      default:
    }
  };

  return {
    element,
    record({ event }) {
      if (event.type === "agent-reported") show(event.iteration, event.signal);
      else if (event.type === "steering-queued") messages.set(event.id, event.text);
      else if (event.type === "steering-delivered") delivered(event);
    },
    detail: ({ iteration, signal }) => show(iteration, signal),
    iteration(number) {
      if (number === shown) return;
      shown = number;
      showRows();
    },
    // Returns how many rows have these words.
    find(words) {
      sought = words.trim().toLowerCase();
      return showRows();
    },
  };
}
