// Figures as a person reads them. Sentences about a run come from the server, which has them for every screen.

// 3.4s, 2m40s, 1h05m.
export function duration(ms) {
  if (ms < 10_000) return `${Math.floor(Math.max(0, ms) / 100) / 10}s`;
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return minutes > 0 ? `${hours}h${two(minutes)}m` : `${hours}h`;
  if (minutes > 0) return seconds % 60 > 0 ? `${minutes}m${two(seconds % 60)}s` : `${minutes}m`;
  return `${seconds}s`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

// 1:05, 1:02:03.
export function ticking(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

export function short(count) {
  if (count < 1_000) return String(count);
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export function money(usd) {
  return `$${usd.toFixed(usd < 0.1 ? 3 : 2)}`;
}

// Marks the cost of a usage that is estimated from prices.
export function mark(used) {
  return used?.estimated ? "≈" : "";
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function day(ms) {
  const date = new Date(ms);
  const today = new Date().toDateString() === date.toDateString();
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return today ? time : `${date.toLocaleDateString([], { day: "numeric", month: "short" })}, ${time}`;
}

export function changes(changed) {
  if (!changed) return "";
  if (changed.files === 0 && changed.commits === 0) return "no changes";
  return `${counted(changed.commits, "commit")}, ${counted(changed.files, "file")}, +${changed.added} −${changed.removed}`;
}

// Tokens and cost, as far as the agent tells them.
export function usage(used) {
  const tokens = (used?.inputTokens ?? 0) + (used?.outputTokens ?? 0);
  const parts = [];
  if (used?.inputTokens != null || used?.outputTokens != null) parts.push(`${short(tokens)} tokens`);
  if (used?.costUsd != null) parts.push(`${mark(used)}${money(used.costUsd)}`);
  return parts.join(" · ");
}

// kebab-case as words.
export function plain(name) {
  return String(name ?? "").replaceAll("-", " ");
}

export function outcome(ended) {
  switch (ended?.type) {
    case undefined: return "running";
    case "failed": return `failed: ${plain(ended.problem?.kind?.type ?? ended.problem?.kind)}`;
    case "cancelled": return `ended: ${plain(ended.reason.limit ?? ended.reason)}`;
    default: return plain(ended.type);
  }
}

// What an iteration is for.
export function assignment({ role, task }) {
  if (role) return `review: ${task ?? "all work"}`;
  return task ?? "verify the finished plan";
}

// What came of a review.
export function review(result) {
  if (result.type !== "findings") return plain(result.type);
  const { found, more } = result.findings;
  return counted(found.length + (more ?? 0), "finding");
}

export function basename(path) {
  return String(path ?? "").replace(/\/+$/, "").split("/").pop();
}
