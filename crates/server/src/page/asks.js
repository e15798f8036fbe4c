// What the agent asks, above everything else: one card at a time, with its answers and the time that is left for one.

import { now } from "./api.js";
import { announce, fill, h, sentence, whenChanged } from "./dom.js";
import { diffLines } from "./diff.js";
import { ticking } from "./words.js";

// A tap on a card that has just come was meant for what was there before.
const FIRST_MOMENTS_MS = 600;

const AFTER = { deny: "then it is denied", allow: "then it is allowed", pause: "then the run is held", block: "then the task is set aside" };
// Nobody is denied what they want to know.
const AFTER_QUESTION = { ...AFTER, deny: "then the agent decides alone", allow: "then the agent decides alone" };

export function asksArea(run) {
  const count = h("p", { class: "dim", hidden: true });
  const element = h("section", { class: "asks", "aria-label": "Questions of the agent", hidden: true }, count);
  const cards = new Map();

  // The one that somebody is at, then what the agent waits for, then what it no longer waits for.
  const showOne = () => {
    const all = [...cards.values()];
    const shown = all.find((card) => card.element.contains(document.activeElement)) ?? all.find((card) => !card.isLate) ?? all[0];
    all.forEach((card) => { card.element.hidden = card !== shown; });
    count.textContent = `1 of ${all.length}`;
    count.hidden = all.length < 2;
    return shown;
  };

  return {
    element,
    update() {
      const asks = open(run);
      const numbers = new Set(asks.map(keyOf));
      let hadFocus = false;
      for (const [key, card] of cards) {
        if (!numbers.has(key)) {
          hadFocus ||= card.element.contains(document.activeElement);
          card.element.remove();
          cards.delete(key);
        }
      }
      for (const ask of asks) {
        if (cards.has(keyOf(ask))) continue;
        const card = askCard(run, ask);
        cards.set(keyOf(ask), card);
        element.append(card.element);
        announce(`The agent asks: ${titleOf(ask)}`);
      }
      element.hidden = cards.size === 0;
      const next = showOne()?.element ?? document.querySelector(".tab[aria-selected=true]");
      if (hadFocus) next?.focus({ preventScroll: true });
      this.tick();
    },
    tick: () => cards.forEach((card) => card.tick()),
  };
}

// An ask that is not waited for any more is another card.
function open({ view, connection }) {
  const { pending, unanswered = [] } = view.permissions;
  const blocks = view.blocks.map(({ number, question }) => ({ number, request: { title: question } }));
  const late = [...unanswered, ...blocks].map((ask) => ({ ...ask, isLate: true }));
  if (connection === "over" && late.length === 0) return [];
  return [...pending, ...late].sort((one, other) => one.number - other.number);
}

const keyOf = ({ number, isLate }) => `${number}${isLate ? " late" : ""}`;

// `ask` is one of the view's, and `isLate` if the agent no longer waits for the answer.
export function askCard(run, ask) {
  const countdown = h("span", { class: "countdown" });
  const answer = (body) => run.command(body, `asks/${ask.number}`);
  const whereto = h("p", { class: "dim" });
  const wait = h("div", { class: "answers" },
    run.act("Wait for me", answers(run), () => run.command({ type: "wait-for-answer", ask: ask.number })));
  const drawWhereto = whenChanged((text) => fill(whereto, sentence(text)));
  const controls = hasQuestions(ask) ? questionForm(run, ask, answer) : isPermission(ask) ? permissionForm(run, ask, answer) : wordsForm(run, answer);
  const element = h("article", { class: `card ask ${ask.isLate ? "late" : ""}`, id: `ask-${ask.number}`, tabIndex: -1 },
    h("header", {}, h("strong", {}, heading(ask)), countdown),
    hasQuestions(ask) ? null : request(ask),
    ask.isLate && whereto,
    controls,
    wait);
  element.inert = true;
  setTimeout(() => { element.inert = false; }, FIRST_MOMENTS_MS);
  const { unanswered } = run.view.settings.waiting ?? {};
  const after = (hasQuestions(ask) ? AFTER_QUESTION : AFTER)[unanswered];
  return {
    element,
    isLate: Boolean(ask.isLate),
    tick() {
      drawWhereto(wheretoInWords(run, ask));
      const waiting = run.view.permissions.pending.find(({ number }) => number === ask.number);
      countdown.hidden = ask.isLate || !waiting?.untilMs;
      wait.hidden = countdown.hidden;
      if (countdown.hidden) return;
      const left = waiting.untilMs - now();
      countdown.textContent = left > 0 ? `${ticking(left)} left${after ? `, ${after}` : ""}` : "time is up";
      countdown.classList.toggle("soon", left < 60_000);
    },
  };
}

function isAboutTests(ask) {
  return ask.kind === "tests";
}

// Whether it asks to accept what the agent did, for which no agent waits.
function isDecision(ask) {
  return isAboutTests(ask) || ask.kind === "scope";
}

function hasQuestions(ask) {
  return ask.request.questions?.length > 0;
}

// Whether a yes or a no answers it.
function isPermission(ask) {
  return !ask.isLate || isDecision(ask);
}

// Which tool it was about is in the heading, unless it is late.
function titleOf(ask) {
  const { tool, title } = ask.request;
  return isPermission(ask) || hasQuestions(ask) || !tool ? title : `${tool}: ${title}`;
}

function heading(ask) {
  if (isAboutTests(ask)) return "The agent changed tests: accept the changes?";
  if (isDecision(ask)) return "A task changed files outside of its scope";
  return hasQuestions(ask) || !isPermission(ask) ? "The agent has a question" : `The agent wants to use ${ask.request.tool}`;
}

// What becomes of an answer that is late.
function wheretoInWords(run, ask) {
  if (isAboutTests(ask)) return "Until you accept them, the original tests count. A no goes to the agent.";
  if (isDecision(ask)) return "Until you accept the changes or the agent puts them back, the tick does not count. A no goes to the agent.";
  if (run.connection !== "over") return "It no longer waits: your answer goes into its next prompt.";
  if (!run.isSettled()) return "The run is over.";
  if (run.takesAnswers()) return "The run is over. `ralph continue` in its project delivers your answer.";
  return `The run is over, and takes no answer here: \`ralph answer ${ask.number} "…"\` in its project does.`;
}

// What makes a button one that answers.
function answers(run) {
  return { "data-acts": "answers", disabled: !run.takesAnswers() };
}

// What it wants to do, all of it.
function request(ask) {
  const { request: asked, cut } = ask;
  const paths = asked.paths?.filter((path) => path !== asked.title && path !== asked.command) ?? [];
  const askedBy = ask.offer?.askedBy ?? [];
  return h("div", { class: "request" },
    asked.reason && h("p", {}, asked.reason),
    h("pre", {}, asked.command ?? asked.url ?? titleOf(ask)),
    paths.length > 0 && h("p", { class: "dim" }, paths.join(" · ")),
    asked.diff && h("div", { class: "diff", tabIndex: 0, role: "region", "aria-label": "Changes" }, diffLines(asked.diff)),
    cut && h("p", { class: "warn" }, isAboutTests(ask)
      ? ["Truncated: ", h("code", {}, "ralph diff --since 1"), " shows everything that the run has changed."]
      : "The request is too long to show in full."),
    askedBy.length > 0 && h("p", { class: "dim" }, "matches your rule ", askedBy.map((rule, index) => [index > 0 && ", ", h("code", {}, rule)])));
}

function permissionForm(run, ask, answer) {
  const why = h("input", { type: "text", "aria-label": "Why not, for the agent", placeholder: "why not, or what instead (optional)", maxlength: 4000 });
  const denial = h("form", {
    class: "row denial", hidden: true,
    onsubmit: (event) => {
      event.preventDefault();
      if (run.takesAnswers()) answer({ type: "deny", message: why.value.trim() || null });
    },
  }, why, h("button", { class: "danger", type: "submit", "data-acts": "answers" }, "Deny"));
  // The missing part of a request could be what the rules would allow.
  const rules = ask.cut ? [] : ask.offer?.rules ?? [];
  const always = (scope, label) => run.act(label, { class: "always" }, () => answer({ type: "allow", remember: { scope, rules: [] } }));
  return h("div", {},
    h("div", { class: "answers" },
      run.act(isDecision(ask) ? "Accept them" : "Allow once", { class: "primary", ...answers(run) }, () => answer({ type: "allow", remember: null })),
      h("button", { type: "button", class: "danger", "data-acts": "answers", onclick: () => {
        denial.hidden = false;
        why.focus();
      } }, ask.isLate ? "No…" : "Deny…")),
    rules.length > 0 && h("details", {},
      h("summary", {}, "Always allow…"),
      h("p", {}, "Now allowed: ", rules.map((rule, index) => [index > 0 && ", ", h("code", {}, rule)])),
      h("div", { class: "answers" }, always("run", "In this run"), always("project", "In this project"))),
    denial);
}

function questionForm(run, ask, answer) {
  const fields = ask.request.questions.map((question, index) => questionField(ask, question, index));
  const problem = h("p", { class: "warn", role: "alert" });
  const submit = (event) => {
    event.preventDefault();
    const words = fields.map((field) => field.value());
    const missing = words.findIndex((word) => word === "");
    problem.textContent = missing >= 0 ? "Choose an answer first." : "";
    if (missing < 0 && run.takesAnswers()) answer({ type: "words", words });
  };
  return h("form", { onsubmit: submit }, fields.map((field) => field.element), problem,
    h("div", { class: "answers" },
      h("button", { type: "submit", class: "primary", "data-acts": "answers" }, "Answer"),
      run.act("Let it decide", answers(run), () => answer({ type: "deny", message: null }))));
}

function questionField(ask, question, index) {
  const name = `ask-${ask.number}-${index}`;
  const choices = question.choices.map(({ label, description }, place) => {
    const input = h("input", { type: question.multiple ? "checkbox" : "radio", name, value: String(place + 1) });
    return { input, label, element: h("label", { class: "choice" }, input, h("span", {}, label, description && h("small", {}, description))) };
  });
  const own = question.freeText || choices.length === 0
    ? h("input", { type: "text", "aria-label": "Your own words", placeholder: choices.length > 0 ? "or in your own words" : "your answer", maxlength: 4000 })
    : null;
  return {
    element: h("fieldset", {}, h("legend", {}, question.header && h("small", {}, question.header), question.text), choices.map((choice) => choice.element), own),
    value() {
      if (own?.value.trim()) return own.value.trim();
      const chosen = choices.filter((choice) => choice.input.checked);
      // A label may have commas in it, which separate several.
      return chosen.length === 1 ? chosen[0].label : chosen.map((choice) => choice.input.value).join(",");
    },
  };
}

// An answer to what keeps a task from being done.
function wordsForm(run, answer) {
  const words = h("textarea", { rows: 2, "aria-label": "Your answer", placeholder: "your answer" });
  return h("form", {
    onsubmit: (event) => {
      event.preventDefault();
      if (words.value.trim() && run.takesAnswers()) answer({ type: "words", words: [words.value.trim()] });
    },
  }, words, h("div", { class: "answers" }, h("button", { type: "submit", class: "primary", "data-acts": "answers" }, "Answer")));
}
