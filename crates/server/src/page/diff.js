// A change as git prints it, with colours: by files, which fold.

import { h } from "./dom.js";

const MOST_LINES = 4_000;

// In one column, as git prints it.
export function diffLines(text) {
  const lines = linesOf(text);
  let number = 0;
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const name = kind(line);
    const hunk = name === "hunk" && /\+(\d+)/.exec(line);
    if (hunk) number = Number(hunk[1]);
    // Only lines of the new side can be commented on.
    const own = !hunk && number > 0 && (name === "added" || name === "same") ? number++ : undefined;
    return h("span", { class: name, "data-line": own }, `${line}\n`);
  });
  return h("pre", {}, shown, rest(lines));
}

// Side by side: what was on the left, what is on the right, with their numbers.
export function diffSides(text) {
  const lines = linesOf(text);
  const rows = [];
  let removed = [];
  let added = [];
  let [from, to] = [0, 0];
  const pair = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) rows.push(side(removed[at], "removed"), side(added[at], "added", true));
    [removed, added] = [[], []];
  };
  for (const line of lines.slice(0, MOST_LINES)) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    const rest = line.slice(1);
    if (line.startsWith("-")) removed.push([from++, rest]);
    else if (line.startsWith("+")) added.push([to++, rest]);
    else {
      pair();
      if (hunk) [from, to] = [Number(hunk[1]), Number(hunk[2])];
      if (line.startsWith(" ") || line === "") rows.push(side([from++, rest], "same"), side([to++, rest], "same", true));
      else rows.push(h("span", { class: `whole ${kind(line)}` }, line));
    }
  }
  pair();
  return h("div", { class: "sides" }, rows, rest(lines));
}

function side(line, name, isNew) {
  if (!line) return h("span", { class: "gap" });
  return h("span", { class: name, "data-line": isNew && line[0] }, h("small", {}, String(line[0])), h("code", {}, line[1]));
}

function linesOf(text) {
  return text.replace(/\n$/, "").split("\n");
}

function rest(lines) {
  return lines.length > MOST_LINES && h("span", { class: "dim whole" }, `… ${lines.length - MOST_LINES} more lines\n`);
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
