// The page: a list of runs, or one of them, as the part of the address behind `#` says.
//
// `#code=…` is how a browser gets in: the code works once, since the history of the browser keeps its address.

import { login, recall } from "./api.js";
import { batchPage } from "./batch.js";
import { fill } from "./dom.js";
import { loginPage } from "./login.js";
import { install } from "./notices.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";

const page = document.getElementById("page");
let shown;
// Whoever has just come wants to see a run, not a list of one.
let hasJustCome = true;

// `#/runs/ID/TAB/WHAT`, `#/batches/ID` or `#/projects/PATH`.
function place() {
  const [room, id, tab, what] = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (room === "batches" && id) return { batch: id };
  if (room === "projects" && id) return { project: id };
  return room === "runs" && id ? { id, tab, what } : {};
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function show(next) {
  shown?.close?.();
  shown = next;
  fill(page, next.element);
}

function route() {
  if (location.hash.startsWith("#code=")) return begin();
  const { id, batch, project, tab, what } = place();
  if (shown?.id !== undefined && shown.id === id) return shown.go(tab, what);
  if (id) {
    show(runPage(id, askForToken));
    shown.go(tab, what);
  } else if (batch) {
    show(batchPage(batch, askForToken));
  } else {
    show(runsPage(askForToken, { project, openTheOnlyOne: hasJustCome && !project }));
  }
  hasJustCome = false;
}

function askForToken(refusal, wasTried) {
  hasJustCome = true;
  // Somebody who has shown no token has not done anything wrong yet.
  show(loginPage(refusal.status === 401 && !wasTried ? undefined : refusal, (token) => enter(token).then(route)));
}

async function enter(token) {
  await login(token.trim());
}

async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(null, "", location.pathname + location.search);
  try {
    if (code) await enter(code);
    else await recall();
  } catch (refusal) {
    // A lost connection is told by what is shown.
    if (refusal.status !== undefined) return askForToken(refusal, Boolean(code));
  }
  route();
}

addEventListener("hashchange", route);
begin();
install();
