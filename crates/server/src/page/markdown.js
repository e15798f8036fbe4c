// The few marks of Markdown that agents use most, as elements; everything else stays the text that it is.

import { h } from "./dom.js";

const MARKS = /(\x60[^\x60\n]+\x60|\*\*[^*\n]+\*\*|^#{1,6} .+$)/m;
const ITEM = /^( *)([-*+]|\d{1,3}[.)]) +(?=\S)/;
const ROW = /^ *\|.*\| *$/;
// The line below the head of a table.
const RULE = /^ *\|( *:?-+:? *\|)+ *$/;

export function markdown(text) {
  return text.split(/^ *\x60{3}.*$/m).map((part, index) => (index % 2 === 1 ? h("pre", {}, part.replace(/^\n|\n$/g, "")) : blocks(part)));
}

function blocks(text) {
  const lines = text.split("\n");
  const found = [];
  let plain = [];
  const endPlain = (isAtBlock) => {
    const words = plain.join("\n");
    if (words.trim()) found.push(inline(isAtBlock ? words.trimEnd() : words));
    plain = [];
  };
  for (let at = 0; at < lines.length;) {
    const end = endOfTable(lines, at) ?? endOfList(lines, at);
    if (end === undefined) {
      if (plain.length > 0 || found.length === 0 || lines[at] !== "") plain.push(lines[at]);
      at += 1;
      continue;
    }
    endPlain(true);
    found.push(ITEM.test(lines[at]) ? list(lines.slice(at, end)) : table(lines.slice(at, end)));
    at = end;
  }
  endPlain(false);
  return found;
}

function endOfTable(lines, start) {
  if (!ROW.test(lines[start]) || !RULE.test(lines[start + 1] ?? "")) return undefined;
  let end = start + 2;
  while (ROW.test(lines[end] ?? "")) end += 1;
  return end;
}

function endOfList(lines, start) {
  if (!ITEM.test(lines[start])) return undefined;
  let end = start + 1;
  while (end < lines.length && (ITEM.test(lines[end]) || /^ {2,}\S/.test(lines[end]))) end += 1;
  return end;
}

// The signs of the items stay as they were written, since agents refer to their numbers.
function list(lines) {
  const items = [];
  for (const line of lines) {
    const [start, indent, sign] = ITEM.exec(line) ?? [];
    if (start) items.push({ depth: indent.length, sign: /\d/.test(sign) ? sign : "•", text: line.slice(start.length) });
    else items.at(-1).text += `\n${line.trim()}`;
  }
  return h("ul", { class: "points" }, items.map(({ depth, sign, text }) => {
    const item = h("li", {}, h("span", { class: "sign" }, sign), h("span", {}, inline(text)));
    item.style.setProperty("--depth", Math.min(depth, 12));
    return item;
  }));
}

function table([head, , ...rows]) {
  const cells = (row) => row.trim().slice(1, -1).split(/(?<!\\)\|/).map((cell) => inline(cell.trim().replaceAll("\\|", "|")));
  return h("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Table" },
    h("table", {}, h("thead", {}, h("tr", {}, cells(head).map((cell) => h("th", {}, cell)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, cells(row).map((cell) => h("td", {}, cell)))))));
}

function inline(text) {
  return text.split(MARKS).map((piece, index) => {
    if (index % 2 === 0) return piece;
    if (piece.startsWith("`")) return h("code", {}, piece.slice(1, -1));
    return h("strong", {}, piece.startsWith("**") ? piece.slice(2, -2) : piece.replace(/^#+ /, ""));
  });
}
