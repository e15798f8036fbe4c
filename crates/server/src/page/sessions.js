// The browsers that are logged in, each with a way to end its session; an address for another one.

import { isReadOnly, logout, read, send } from "./api.js";
import { complain, fill, h } from "./dom.js";
import { day } from "./words.js";

export function sessionsArea(askForToken) {
  const list = h("ul", {});
  const code = h("p", { role: "status" });
  const refresh = async () => {
    try {
      fill(list, (await read("sessions")).map(row));
    } catch (refusal) {
      if (refusal.status === 401) return askForToken(refusal);
      fill(list, h("li", { class: "dim" }, refusal.sentence?.() ?? "The connection is lost."));
    }
  };
  const tried = async (work) => {
    try {
      await work();
    } catch (refusal) {
      complain(refusal, "nothing was sent");
    }
    await refresh();
  };
  const row = ({ number, readOnly, browser, lastMs }) => h("li", {},
    h("span", { class: "text" }, browser || "unknown browser", h("small", {}, `last used ${day(lastMs)}${readOnly ? ", read-only" : ""}`)),
    h("button", { type: "button", class: "small", "aria-label": `End session ${number}`, onclick: () => tried(() => send(`sessions/${number}/end`, {})) }, "End"));
  const another = () => tried(async () => {
    const { pages } = await send("codes", {});
    fill(code, "Works once, within two minutes: ", pages.map((page) => [h("code", {}, page), " "]));
  });
  const details = h("details", { class: "card sessions", hidden: isReadOnly(), ontoggle: () => details.open && refresh() },
    h("summary", {}, "Browsers that are logged in"), list, code,
    h("div", { class: "answers" },
      h("button", { type: "button", onclick: another }, "Add a browser"),
      h("button", { type: "button", onclick: () => tried(logout) }, "Log out here")));
  return details;
}
