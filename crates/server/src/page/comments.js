// Comments on lines of the work: drafts, what was sent, and what became of it.

import { isReadOnly } from "./api.js";
import { fill, h, whenChanged } from "./dom.js";
import { counted } from "./words.js";

// The list of comments, above the changes.
export function commentsArea(run) {
  const send = action(run, "Send", "primary", () => run.command({ type: "send-comments", kind: "next" }));
  const list = h("ul", {});
  const element = h("section", { class: "card comments", "aria-label": "Comments", hidden: true }, list, send);
  let rows = {};
  const draw = whenChanged((comments) => {
    element.hidden = !comments.length;
    const drafts = comments.filter(isDraft).length;
    send.hidden = !drafts;
    send.textContent = `Send ${counted(drafts, "draft")}`;
    // What is typed in one comment stays there while others change.
    const old = rows;
    rows = {};
    for (const comment of comments) {
      const key = JSON.stringify(comment);
      rows[key] = old[key] ?? row(run, comment);
    }
    fill(list, Object.values(rows));
  });
  return { element, update: () => draw(run.view.comments?.list ?? []) };
}

function row(run, comment) {
  const { number, file, line, lines, text, place, answer } = comment;
  const words = h("p", {}, text);
  const tell = (label, does) => action(run, label, "small", does, `${label} comment ${number}`);
  const change = (label, type) => tell(label, () => run.command({ type, comment: number }));
  return h("li", {},
    h("code", {}, `${file}:${line}`), " ", h("span", { class: "chip" }, stateOf(comment)),
    lines === "gone" && !comment.changedIn && h("span", { class: "chip bad" }, "outdated: its lines are gone"),
    h("pre", {}, (place.quote ?? []).join("\n")), words,
    answer && h("p", { class: "dim" }, `The agent: ${answer.reason}`),
    !comment.resolved && (isDraft(comment)
      ? [tell("Edit", async () => words.replaceWith(editor(run, comment))), change("Withdraw", "withdraw-comment")]
      : change("Resolve", "resolve-comment")));
}

const isDraft = ({ by, message }) => by.type === "user" && !message;

function stateOf(comment) {
  if (comment.resolved) return "resolved";
  if (comment.changedIn) return `changed in iteration ${comment.changedIn}`;
  if (comment.answer) return "answered, not resolved";
  return isDraft(comment) ? "draft" : "open";
}

function editor(run, { number, text }) {
  const area = h("textarea", { value: text, "aria-label": `Text of comment ${number}`, "data-key": number });
  return h("div", { class: "comment-form" }, area,
    action(run, "Save", "primary", () => run.command({ type: "edit-comment", comment: number, text: area.value })));
}

// A button for whoever takes comments: the run, or who serves it after its end.
function action(run, label, name, does, spoken) {
  return run.act(label, { class: name, "data-acts": "answers", disabled: !run.takesAnswers(), "aria-label": spoken }, does);
}

// Lets whoever may comment tap each line of a file's new side: below it appears a form. The button does the same for
// whoever has no pointer.
export function commentable(run, file, iteration, lines) {
  let form;
  const open = (line, below) => {
    form?.remove();
    form = draft(run, { file, line, iteration });
    below.after(form);
    form.querySelector("textarea")?.focus();
  };
  lines.addEventListener("click", ({ target }) => {
    const row = target.closest("[data-line]");
    if (row && !isReadOnly() && document.getSelection().isCollapsed) open(row.dataset.line, row.closest(".sides") ?? row);
  });
  const button = action(run, "Comment on a line", "small", async () => open(1, button), `Comment on a line of ${file}`);
  return !isReadOnly() && button;
}

function draft(run, { file, line, iteration }) {
  const number = h("input", { type: "number", min: 1, value: line });
  const area = h("textarea", { "aria-label": "Comment" });
  const cancel = h("button", { type: "button", onclick: () => form.remove() }, "Cancel");
  const form = h("div", { class: "comment-form" }, h("label", {}, "Line ", number), area,
    action(run, "Save draft", "primary", async () => {
      const place = { file, line: Number(number.value), iteration };
      if (await run.command({ type: "write-comment", place, text: area.value })) form.remove();
    }), cancel);
  return form;
}
