// The few marks of Markdown that agents use most, as elements; everything else stays the text that it is.

import { h } from "./dom.js";

const MARKS = /(`[^`\n]+`|\*\*[^*\n]+\*\*|^#{1,6} .+$)/m;

export function markdown(text) {
  return text.split(/^ *```.*$/m).map((part, index) => (index % 2 === 1 ? h("pre", {}, part.replace(/^\n|\n$/g, "")) : inline(part)));
}

function inline(text) {
  return text.split(MARKS).map((piece, index) => {
    if (index % 2 === 0) return piece;
    if (piece.startsWith("`")) return h("code", {}, piece.slice(1, -1));
    return h("strong", {}, piece.startsWith("**") ? piece.slice(2, -2) : piece.replace(/^#+ /, ""));
  });
}
