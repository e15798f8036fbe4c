// The panes of a run, one of them shown; where there is room, the plan is beside it at all times, and the agent, too.

import { h } from "./dom.js";

const NAMES = { plan: "Plan", agent: "Agent", log: "Log", changes: "Changes", history: "History" };
const WIDE = matchMedia("(min-width: 900px)");
const WIDEST = matchMedia("(min-width: 1600px)");

// Whether a pane has a place of its own, beside the one that is chosen.
const isBeside = (name) => (WIDE.matches && name === "plan") || (WIDEST.matches && name === "agent");
// What is shown in the place of a pane that is beside it already.
const instead = () => (WIDEST.matches ? "changes" : "agent");

export function tabs(run, panes) {
  const names = Object.keys(panes);
  let shown;

  const tab = (name) => h("a", {
    role: "tab", id: `tab-${name}`, class: "tab", href: run.link(name), "aria-controls": `pane-${name}`,
  }, NAMES[name]);
  const all = Object.fromEntries(names.map((name) => [name, tab(name)]));
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "What to show" }, Object.values(all));
  const shells = Object.fromEntries(names.map((name) => [
    name,
    // The log and the messages scroll in themselves; other panes do as a whole, and by keys only if they take the focus.
    h("section", { class: "pane", tabIndex: ["agent", "log"].includes(name) ? -1 : 0, id: `pane-${name}`, role: "tabpanel", "aria-labelledby": `tab-${name}` }, panes[name].element),
  ]));

  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const offered = names.filter((name) => !isBeside(name));
    const next = offered[(offered.indexOf(shown) + step + offered.length) % offered.length];
    location.replace(run.link(next));
    show(next);
    all[next].focus();
  });

  function show(sought, what) {
    shown = isBeside(sought) ? instead() : sought;
    for (const each of names) {
      const isShown = each === shown;
      all[each].setAttribute("aria-selected", String(isShown));
      all[each].tabIndex = isShown ? 0 : -1;
      shells[each].hidden = !isShown && !isBeside(each);
      panes[each].show?.(isShown || isBeside(each), isShown || each === sought ? what : undefined);
    }
  }

  const fit = () => show(shown);
  WIDE.addEventListener("change", fit);
  WIDEST.addEventListener("change", fit);

  return {
    element: h("div", { class: "panes" }, list, Object.values(shells)),
    go(tab, what) {
      // `asks/3` is no pane: what is asked stands above all of them.
      if (tab === "asks") {
        if (!shown) show("plan");
        return void document.getElementById(`ask-${what}`)?.scrollIntoView({ block: "start" });
      }
      const known = names.includes(tab) ? tab : "agent";
      show(known, what);
    },
    close: () => {
      WIDE.removeEventListener("change", fit);
      WIDEST.removeEventListener("change", fit);
    },
  };
}
