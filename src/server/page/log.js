// What happened, line by line, in the server's words.

import { h } from "./dom.js";
import { clock } from "./words.js";

const MOST_LINES = 2_000;

export function logPane() {
  const list = h("ol", { class: "log", tabIndex: 0, "aria-label": "Log" });
  // Somebody who has scrolled up reads: nothing moves under them.
  let isAtEnd = true;
  let last = 0;
  list.addEventListener("scroll", () => {
    isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 24;
  });
  const toEnd = () => {
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  };
  let due = false;

  return {
    element: list,
    record({ seq, atMs, words }) {
      if (!words) return;
      list.append(h("li", { class: words.tone, "data-seq": seq }, h("time", { datetime: new Date(atMs).toISOString() }, clock(atMs)), h("span", {}, local(words.text))));
      last += 1;
      if (last > MOST_LINES) list.firstChild.remove();
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        toEnd();
      });
    },
    show: (isShown) => isShown && toEnd(),
  };
}

// The server tells moments in UTC, since it does not know where this is.
function local(text) {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, (moment) => clock(Date.parse(moment)));
}
