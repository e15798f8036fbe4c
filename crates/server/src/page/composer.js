// Says something to the agent: in its next prompt, now, or in every prompt.

import { isReadOnly } from "./api.js";
import { h } from "./dom.js";

const KINDS = [["next", "Next prompt"], ["now", "Now"], ["standing", "Every prompt"]];
const FINE = matchMedia("(pointer: fine)");

export function composer(run) {
  const text = h("textarea", {
    rows: 1, id: "message", "aria-label": "Message to the agent", placeholder: "Message to the agent…", enterkeyhint: "send",
  });
  const send = h("button", { type: "submit", class: "primary", "data-acts": true, disabled: true }, "Send");
  const kinds = KINDS.map(([value, label], index) => h("label", {}, h("input", { type: "radio", name: "kind", value, checked: index === 0 }), h("span", {}, label)));
  const hint = h("p", { class: "hint" });
  const form = h("form", { class: "composer", "aria-label": "Message to the agent" },
    h("div", { class: "row" }, text, send),
    h("div", { class: "kinds", role: "radiogroup", "aria-label": "When it reaches the agent" }, kinds), hint);
  const kind = () => form.querySelector("input[name=kind]:checked").value;

  const grow = () => {
    // The height is that of the text, up to what the style allows.
    text.style.height = "auto";
    text.style.height = `${text.scrollHeight + 2}px`;
    form.classList.toggle("used", text.value !== "");
  };
  const explain = () => {
    const isOver = run.status?.over;
    const live = run.view?.phase?.liveSteering;
    hint.textContent = isOver ? "The run is over: a message resumes it." : {
      next: "Waits for the next iteration.",
      now: live ? "Reaches the running turn." : "Ends the running iteration; the next one begins with it.",
      standing: "In every prompt until you withdraw it.",
    }[kind()];
  };

  text.addEventListener("input", grow);
  text.addEventListener("keydown", (event) => {
    const sends = event.key === "Enter" && !event.isComposing && (event.ctrlKey || event.metaKey || (FINE.matches && !event.shiftKey));
    if (!sends) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("change", explain);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = text.value.trim();
    if (!said || !run.takesCommands() || send.classList.contains("busy")) return;
    send.classList.add("busy");
    // The words stay until they have arrived.
    if (await run.command({ type: "steer", kind: kind(), text: said })) {
      text.value = "";
      grow();
    }
    send.classList.remove("busy");
  });

  return {
    element: form,
    update() {
      form.hidden = run.connection === "over" || isReadOnly();
      explain();
    },
  };
}
