// A change as git prints it, with colours: by files, which fold.

import { h } from "./dom.js";

const MOST_LINES = 4_000;

export function diffLines(text) {
  const lines = text.replace(/\n$/, "").split("\n");
  return h("pre", {}, lines.slice(0, MOST_LINES).map((line) => h("span", { class: kind(line) }, `${line}\n`)),
    lines.length > MOST_LINES && h("span", { class: "dim" }, `… ${lines.length - MOST_LINES} more lines\n`));
}

function kind(line) {
  if (line.startsWith("@@")) return "hunk";
  if (line.startsWith("+")) return "added";
  if (line.startsWith("-")) return "removed";
  return line.startsWith("\\") ? "dim" : "same";
}

// The files of a diff: names, counts, and the lines behind git's own head.
export function files(text) {
  const found = [];
  for (const part of text.split(/^(?=diff --git )/m)) {
    if (!part.startsWith("diff --git ")) continue;
    const lines = part.replace(/\n$/, "").split("\n");
    const body = lines.findIndex((line) => line.startsWith("@@") || line.startsWith("Binary"));
    const shown = body < 0 ? [] : lines.slice(body);
    const named = (mark) => lines.find((line) => line.startsWith(mark))?.slice(mark.length);
    const to = named("+++ b/") ?? named("rename to ") ?? named("--- a/") ?? lines[0].split(" b/").pop();
    found.push({
      name: to,
      what: named("new file") ? "new" : named("deleted file") ? "deleted" : named("rename from ") ? `from ${named("rename from ")}` : "",
      added: shown.filter((line) => line.startsWith("+")).length,
      removed: shown.filter((line) => line.startsWith("-")).length,
      text: shown.join("\n"),
    });
  }
  return found;
}
