// Tells by notifications of the system when a run needs its user, while the page is open or installed.

import { isReadOnly, read } from "./api.js";
import { h, toast, visible } from "./dom.js";
import { basename } from "./words.js";

const EVERY_MS = 10_000;
// A request that a notification shows whole can be answered in it.
const WHOLE = 120;

const isOffered = "serviceWorker" in navigator && "Notification" in window;
let registered;
// What each run needs that its user was told of, or saw.
const told = new Map();

// Installs the service worker. Only a secure page has one: that of this machine, or of a proxy with TLS.
export function install() {
  if (!("serviceWorker" in navigator)) return;
  const policy = window.trustedTypes?.createPolicy("ralph-worker", { createScriptURL: (address) => address });
  registered = navigator.serviceWorker.register(policy?.createScriptURL("worker.js") ?? "worker.js").catch(() => undefined);
  navigator.serviceWorker.addEventListener("message", ({ data }) => {
    if (data?.address) location.hash = new URL(data.address).hash;
  });
  look();
}

async function look() {
  if (isOffered && Notification.permission === "granted") {
    try {
      await compare(await read("runs"));
    } catch {
      // The page says that the connection is lost.
    }
  }
  setTimeout(look, EVERY_MS);
}

async function compare(runs) {
  for (const run of runs) {
    const needs = `${run.asks} ${run.state}`;
    if (!run.needsYou) told.delete(run.run);
    else if (told.get(run.run) !== needs && (isInSight(run) || await notify(run))) told.set(run.run, needs);
  }
}

function isInSight(run) {
  return document.hasFocus() && location.hash.includes(encodeURIComponent(run.run));
}

// Whether the user was told. What cannot be told now is told at a later look.
async function notify(run) {
  try {
    await show(run);
    return true;
  } catch {
    return false;
  }
}

async function show(run) {
  const worker = await registered;
  if (!worker) return;
  const id = encodeURIComponent(run.run);
  const open = await read(`runs/${id}/asks`);
  if (run.asks > 0 && open.length === 0) throw new Error("the run's process has not read its questions yet");
  const asks = open.filter(({ type }) => type !== "missed");
  const name = basename(run.project) || run.run;
  const [ask] = asks;
  const address = new URL(ask ? `#/runs/${id}/asks/${ask.number}` : `#/runs/${id}`, document.baseURI).href;
  if (!ask) return worker.showNotification(`${name} needs you`, { body: visible(run.state), tag: run.run, data: { address } });
  const { tool, title, command, questions } = ask.request ?? { title: ask.question };
  const asked = visible(command ?? title ?? "");
  const isWhole = asks.length === 1 && ask.type === "waits" && !ask.cut && !(questions?.length > 0) && asked.length <= WHOLE && !asked.includes("\n");
  const actions = isWhole && !isReadOnly() ? [{ action: "allow", title: "Allow once" }, { action: "deny", title: "Deny" }] : [];
  return worker.showNotification(tool ? `${name}: ${visible(tool)}?` : `${name} asks`, {
    body: asked, tag: run.run, renotify: true, requireInteraction: true, actions,
    data: { address, route: `runs/${id}/asks/${ask.number}`, title: asked },
  });
}

// A button that asks for the permission, where the browser has not been asked yet.
export function noticesButton() {
  const button = h("button", { type: "button", class: "small", hidden: !isOffered || Notification.permission !== "default", onclick: async () => {
    const answered = await Notification.requestPermission();
    button.hidden = answered !== "default";
    toast(answered === "granted" ? "You are told when a run needs you, while this page is open." : "The browser does not allow notifications of this page.");
  } }, "Notify me");
  return button;
}
