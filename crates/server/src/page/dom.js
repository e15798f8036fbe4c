// Builds elements out of names, properties and text.
//
// What agents write is hostile until shown otherwise. Nothing on this page reads markup out of a text, and characters
// that are not seen but change how others are read are made visible.

export const ICON = new URL("icon.svg", import.meta.url).href;

const PROPERTIES = new Set(["value", "checked", "disabled", "hidden", "open", "tabIndex"]);

// C0 and C1 but tab and newline, what has no width or only fills, marks and overrides of the direction, separators of
// lines, variation selectors, tags.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
// Joins emoji, and asks for their coloured form: both are seen where they follow one.
const OF_EMOJI = /(?<!\p{Extended_Pictographic}\ufe0f?|[#*0-9]|\p{Emoji_Modifier})[\u200d\ufe0f]/gu;

export function visible(text) {
  const named = (unseen) => {
    const code = unseen.codePointAt(0);
    return code < 0x20 ? String.fromCodePoint(0x2400 + code) : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  };
  return String(text).replace(/\r\n/g, "\n").replace(UNSEEN, named).replace(OF_EMOJI, named);
}

export function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (PROPERTIES.has(key)) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))));
}

// Replaces what is in an element. Whatever had the focus there gets it back if its `data-key` is there again.
export function fill(element, ...children) {
  const focused = element.contains(document.activeElement) && document.activeElement.dataset.key;
  element.replaceChildren(...nodes(children));
  if (focused) element.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
}

// Calls `update` with a value unless it is as it was at the last call.
export function whenChanged(update) {
  let last;
  return (value) => {
    const now = JSON.stringify(value);
    if (now === last) return;
    last = now;
    update(value);
  };
}

// A sentence in which `quoted` words are code, and *stressed* ones stand out.
export function sentence(text) {
  const stressed = (part) => part.split(/\*([^*\s]+)\*/).map((word, index) => (index % 2 === 1 ? h("em", {}, word) : word));
  return String(text ?? "").split("`").flatMap((part, index) => (index % 2 === 1 ? h("code", {}, part) : stressed(part)));
}

// Gives the browser a file to keep.
export function offer(name, pieces) {
  const address = URL.createObjectURL(new Blob(pieces, { type: "text/plain" }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

// A word about what an action did, or why it did nothing.
export function toast(text, tone = "note") {
  const shown = h("p", { class: `toast ${tone}` }, sentence(text));
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), tone === "bad" ? 12_000 : 6_000);
}

// Says why an action failed; what `failed` is said of a request without an answer.
export function complain(refusal, failed) {
  toast(refusal.sentence?.() ?? `The connection is lost: ${failed}.`, "bad");
}

// Tells those who do not see the page.
export function announce(text) {
  document.getElementById("news").textContent = visible(text);
}
