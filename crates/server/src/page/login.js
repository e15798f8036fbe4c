// What is shown to somebody who has no cookie, or one that does not count any more.

import { ICON, h, sentence } from "./dom.js";

export function loginPage(refusal, enter) {
  document.title = "ralph";
  const why = h("p", { class: "why", role: "alert" });
  const token = h("input", {
    type: "password", id: "token", autocomplete: "off", autocapitalize: "off", spellcheck: "false", required: true,
  });
  const button = h("button", { class: "primary", type: "submit" }, "Open");
  const say = (error) => {
    why.replaceChildren(...[sentence(error?.sentence?.() ?? error?.message ?? "")].flat());
  };
  const submit = async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await enter(token.value);
    } catch (error) {
      say(error);
    } finally {
      button.disabled = false;
    }
  };
  if (refusal) say(refusal);
  return {
    element: h("main", { class: "login card" },
      h("img", { src: ICON, alt: "", width: 56, height: 56 }),
      h("h1", {}, "ralph"),
      h("p", {}, sentence("Open the address that `ralph web` or `ralph token --web --code` printed, or paste its code or a token.")),
      h("form", { onsubmit: submit },
        h("label", { for: "token" }, "Code or token"),
        h("div", { class: "row" }, token, button)),
      why),
  };
}
