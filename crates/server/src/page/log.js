// What happened, line by line, in the server's words: with what was before on request, a search, and all of it as a file.

import { readRecords } from "./api.js";
import { announce, complain, h, offer } from "./dom.js";
import { clock, counted } from "./words.js";

const MOST_LINES = 2_000;
// Records that are read at a time from before.
const EARLIER = 2_000;

export function logPane(run) {
  const list = h("ol", { class: "log", tabIndex: 0, "aria-label": "Log" });
  const earlier = h("button", { type: "button", class: "small", hidden: true, onclick: () => readEarlier() }, "Earlier");
  const sought = h("input", { type: "search", "aria-label": "Find in the log", placeholder: "Find", oninput: () => find() });
  const found = h("span", { class: "dim", role: "status" });
  const file = h("button", { type: "button", class: "small", onclick: () => save() }, "Download");
  // Somebody who has scrolled up reads: nothing moves under them.
  let isAtEnd = true;
  let first;
  let isAll = false;
  let wanted;
  let due = false;
  list.addEventListener("scroll", () => {
    isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 24;
  });
  const toEnd = () => {
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  };

  const matches = (line) => line.textContent.toLowerCase().includes(sought.value.trim().toLowerCase());
  const find = () => {
    let count = 0;
    for (const line of list.children) {
      line.hidden = !matches(line);
      if (!line.hidden) count += 1;
    }
    found.textContent = sought.value.trim() ? counted(count, "line") : "";
    toEnd();
  };

  const lineOf = ({ seq, atMs, words }) => {
    const line = h("li", { class: words.tone, "data-seq": seq },
      h("a", { class: "at", href: run.link(`log/${seq}`), "aria-label": `Link to ${clock(atMs)}` }, h("time", { datetime: new Date(atMs).toISOString() }, clock(atMs))),
      h("span", {}, local(words.text)));
    line.hidden = sought.value.trim() !== "" && !matches(line);
    return line;
  };

  const readEarlier = async () => {
    if (!(first > 0)) return;
    earlier.disabled = true;
    try {
      const from = Math.max(0, first - EARLIER);
      const lines = await readRecords(run.path(`events?from=${from}&words=true`), first);
      const before = list.scrollHeight - list.scrollTop;
      list.prepend(...lines.filter((record) => record.words).map(lineOf));
      list.scrollTop = list.scrollHeight - before;
      first = from;
      isAll = true;
      find();
    } catch (refusal) {
      complain(refusal, "the log before this was not read");
    }
    earlier.disabled = false;
    earlier.hidden = !(first > 0);
  };

  const save = async () => {
    file.disabled = true;
    try {
      const records = await readRecords(run.path("events?from=0&words=true"), run.view.records);
      const lines = records.filter(({ words }) => words).map(({ atMs, words }) => `${new Date(atMs).toISOString()} ${words.text}\n`);
      offer(`ralph-${run.id}.log`, lines);
    } catch (refusal) {
      complain(refusal, "the log was not read");
    }
    file.disabled = false;
  };

  // A link to a line that is further back reads up to it.
  const showWanted = async () => {
    while (wanted !== undefined && first > wanted) await readEarlier();
    const line = wanted === undefined ? undefined : [...list.children].findLast((each) => Number(each.dataset.seq) <= wanted);
    wanted = undefined;
    if (!line) return;
    isAtEnd = false;
    list.querySelector(".sought")?.classList.remove("sought");
    line.classList.add("sought");
    line.scrollIntoView({ block: "center" });
    announce(line.textContent);
  };

  return {
    element: h("div", { class: "filled" }, h("div", { class: "bar" }, earlier, sought, found, file), list),
    record(record) {
      first ??= record.seq;
      earlier.hidden = first === 0;
      if (!record.words) return;
      list.append(lineOf(record));
      // What somebody has asked for stays.
      if (!isAll && list.children.length > MOST_LINES) list.firstChild.remove();
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        if (wanted === undefined) toEnd();
        else showWanted();
      });
    },
    show(isShown, what) {
      if (!isShown) return;
      if (what) {
        wanted = Number(what);
        if (first !== undefined) showWanted();
      } else toEnd();
    },
  };
}

// The server tells moments in UTC, since it does not know where this is.
function local(text) {
  return text.replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z\b/g, (moment) => clock(Date.parse(moment)));
}
