// How a run ended, why, and what is left for a person: the report in a card.

import { read, readText } from "./api.js";
import { fill, h, sentence, whenChanged } from "./dom.js";
import { mood } from "./mood.js";
import { changes } from "./words.js";

export function endCard(run) {
  const element = h("section", { class: "card end", "aria-labelledby": "end-title", hidden: true });
  const report = h("div", {});
  const draw = whenChanged((end) => {
    element.hidden = !end;
    if (!end) return;
    const { kind, phase, totals } = end;
    // Tasks, iterations, time and usage are in the header.
    const { changes: changed } = totals;
    element.className = `card end ${kind}`;
    fill(element,
      h("h2", { id: "end-title" }, h("span", { class: `seal ${kind}`, "aria-hidden": "true" }), phase.charAt(0).toUpperCase() + phase.slice(1)),
      changed && h("p", { class: "figures" }, h("span", {}, changes(changed))),
      report, whole(run));
    tell();
  });

  const tell = async () => {
    fill(report);
    try {
      show(await read(run.path("report?format=json")));
    } catch {
      // A run's own server is gone a moment after its end, and has said what there is to say before.
    }
  };
  const show = ({ end, first = [], needsPerson = [], unverified = [], evidence = [] }) => fill(report,
    list("Read first", first.filter(({ subject }) => subject !== "needs-you").map(({ subject, text }) => labels[subject] ? `${labels[subject]}: ${text}` : text), "first"),
    list("Needs you", needsPerson, "warn"),
    list("Not verified", unverified, "warn"),
    list("Evidence", evidence, "evidence"),
    // A question has its own card here, and the hint is a terminal's.
    end?.reason.type !== "blocked" && end?.hints?.map((hint) => h("p", { class: "hint" }, sentence(hint))));

  return {
    element,
    show,
    update() {
      const { status } = run;
      const end = run.view.phase.end;
      draw(end && { ...mood(status, true), phase: status.phase, totals: end.totals, at: end.atMs });
    },
  };
}

const labels = { review: "review first", refused: "refused", ended: "ended", cost: "cost" };

function list(title, texts, kind) {
  return texts.length > 0 && h("div", { class: kind }, h("h3", {}, title), h("ul", {}, texts.map((text) => h("li", {}, sentence(text)))));
}

// The whole report, read when somebody wants to see it.
function whole(run) {
  const text = h("pre", {});
  const details = h("details", { ontoggle: async () => {
    if (!details.open || text.firstChild) return;
    try {
      fill(text, await readText(run.path("report?format=text")));
    } catch (refusal) {
      fill(text, refusal.sentence?.() ?? "ralph is gone: `ralph report` shows it in a terminal.");
    }
  } }, h("summary", {}, "Report"),
    h("a", { class: "download", href: run.path("report?format=markdown"), download: `ralph-${run.id}.md` }, "Download"), text);
  return details;
}
