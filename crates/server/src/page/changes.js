// What an iteration changed, file by file.

import { readDiff, throttled } from "./api.js";
import { commentable, commentsArea } from "./comments.js";
import { diffLines, diffSides, files } from "./diff.js";
import { fill, h, sentence, whenChanged } from "./dom.js";
import { assignment, changes, counted } from "./words.js";

// More files than these begin folded.
const UNFOLDED = 8;
// Between two looks at what the iteration that runs has changed so far.
const LIVE_MS = 3_000;

// Where a line fits twice.
const WIDE = matchMedia("(min-width: 1200px)");

export function changesPane(run) {
  const chooser = h("select", { id: "iteration-of-changes", "aria-label": "Iteration", onchange: () => { location.hash = run.link(`changes/${chooser.value}`); } });
  const file = h("a", { class: "download", hidden: true }, "Download");
  const body = h("div", { class: "files", tabIndex: -1 });
  const comments = commentsArea(run);
  let isShown = false;
  let wanted;
  let reading;
  let read;
  let drawn;
  // The files that somebody has folded or opened, by name.
  const folds = new Map();

  const drawChooser = whenChanged(({ rows, chosen }) => {
    fill(chooser, rows.map(({ number, work, text }) => h("option", { value: String(number) }, `${number}: ${work}${text ? ` (${text})` : ""}`)));
    chooser.value = String(chosen);
  });

  const rows = () => run.view.iterations.rows.kept.slice(-200).reverse()
    .map((row) => ({ number: row.number, work: assignment(row), text: changes(row.changes) }));
  const chosen = () => {
    const all = run.view.iterations.rows.kept;
    const asked = all.find((row) => row.number === wanted);
    return asked ?? all.findLast((row) => row.changes?.files > 0) ?? all.at(-1);
  };

  const reader = throttled(async () => {
    const row = chosen();
    if (!isShown || !row) return;
    // What a finished iteration changed stays as it is.
    const version = `${row.number} ${row.after?.tree ?? run.view.records}`;
    if (version === read) return;
    reading = new AbortController();
    try {
      draw(row, await readDiff(run.path(`diff/${row.number}`), reading.signal));
      read = version;
    } catch (refusal) {
      drawn = undefined;
      if (refusal.name !== "AbortError") fill(body, h("p", { class: "empty" }, sentence(refusal.sentence?.() ?? "The connection is lost.")));
    } finally {
      reading = undefined;
    }
  });

  const draw = (row, { text, whole }) => {
    const isSame = drawn?.number === row.number;
    if (isSame && drawn.text === text && drawn.isOver === Boolean(row.after)) return;
    if (!isSame) folds.clear();
    drawn = { number: row.number, text, isOver: Boolean(row.after), row, whole };
    file.hidden = text === "";
    file.href = run.path(`diff/${row.number}`);
    file.download = `ralph-${run.id}-${row.number}.diff`;
    const all = files(text);
    const soFar = row.after ? "" : " so far";
    const fold = (name, isOpen) => folds.set(name, isOpen);
    fill(body, all.length === 0
      ? h("p", { class: "empty" }, `No changes${soFar}.`)
      : [h("p", { class: "dim" }, `${counted(all.length, "file")}${soFar}`), all.map((file) => fileOf(run, row.number, file, folds.get(file.name) ?? all.length <= UNFOLDED, fold)),
        whole && h("p", { class: "warn" }, "This is cut off: ", h("code", {}, whole), " shows all of it.")]);
  };

  const widened = () => {
    if (!drawn) return;
    const { row, text, whole } = drawn;
    drawn = { number: row.number };
    draw(row, { text, whole });
  };
  WIDE.addEventListener("change", widened);

  return {
    element: h("div", {},
      h("div", { class: "bar" }, h("label", { for: "iteration-of-changes" }, "Iteration"), chooser, file),
      comments.element,
      body),
    show(now, what) {
      isShown = now;
      if (now && what) {
        wanted = Number(what);
        read = undefined;
      }
      if (run.view) this.update();
    },
    update() {
      comments.update();
      const row = chosen();
      if (!row) return void fill(body, h("p", { class: "empty" }, "No iteration has begun yet."));
      if (!isShown) return;
      drawChooser({ rows: rows(), chosen: row.number });
      reader.soon(drawn?.number === row.number && !row.after ? LIVE_MS : 0);
    },
    close: () => {
      WIDE.removeEventListener("change", widened);
      reader.close();
      reading?.abort();
    },
  };
}

// A file that is new or gone has one side.
const shown = (text) => (WIDE.matches && /^\+/m.test(text) && /^-/m.test(text) ? diffSides(text) : diffLines(text));

function fileOf(run, iteration, { name, what, added, removed, text }, isOpen, fold) {
  // Lines are made when they are looked at.
  const lines = h("div", { class: "diff" });
  const details = h("details", { open: isOpen, ontoggle: () => {
    fold(name, details.open);
    if (details.open && !lines.firstChild && text) lines.append(shown(text));
  } },
  h("summary", {}, h("span", { class: "name" }, name), what && h("small", {}, what), h("span", { class: "plus" }, `+${added}`), h("span", { class: "minus" }, `−${removed}`)), lines);
  const comment = what !== "deleted" && text && commentable(run, name, iteration, lines);
  if (comment) lines.before(comment);
  if (isOpen && text) lines.append(shown(text));
  return details;
}
