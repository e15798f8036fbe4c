// What a run is like at a glance: a word and a kind, which has a colour. The sentence beside it is the server's.

const WORDS = {
  idle: ["Starting", "work"],
  preparing: ["Preparing", "work"],
  running: ["Working", "work"],
  cancelling: ["Ending", "wait"],
  settling: ["Checking", "work"],
  verifying: ["Checking", "work"],
  waiting: ["Waiting", "wait"],
  paused: ["Paused", "wait"],
};

export function mood(status, isLive) {
  const [word, kind] = found(status, isLive);
  return { word, kind };
}

function found(status, isLive) {
  const { phase, permissions } = status.view;
  if (phase.end) return ended(phase.end.reason);
  if (!isLive) return ["Not running", "stopped"];
  if (permissions.pending.length > 0) return ["Needs you", "needs"];
  return WORDS[phase.type] ?? WORDS.running;
}

function ended(reason) {
  switch (reason.type) {
    case "done": return proven(reason.proof);
    case "blocked": case "task-limit-reached": return ["Needs you", "needs"];
    case "agent-failed": case "broken": case "plan-invalid": return ["Failed", "bad"];
    default: return ["Stopped", "stopped"];
  }
}

// Green is for what tests have shown. Exit codes alone are amber, as the word of an agent is.
function proven(proof) {
  switch (proof) {
    case "tests": return ["Verified", "done"];
    case "exit-codes": return ["Passed", "wait"];
    case "unconfirmed": return ["Needs you", "needs"];
    default: return ["Not verified", "wait"];
  }
}

// The same of an entry in the list of runs, which has no view.
export function moodOfEntry({ standing, needsYou, state, exitCode, proof }) {
  const [word, kind] = entry(standing, needsYou, state, exitCode, proof);
  return { word, kind };
}

function entry(standing, needsYou, state, exitCode, proof) {
  if (needsYou) return ["Needs you", "needs"];
  switch (standing) {
    case "running": return /^(waiting|paused)/.test(state) ? [state.startsWith("w") ? "Waiting" : "Paused", "wait"] : WORDS.running;
    case "over": return proof ? proven(proof) : exitCode !== 0 && /^failed/.test(state) ? ["Failed", "bad"] : ["Stopped", "stopped"];
    case "unreadable": return ["Unreadable", "bad"];
    default: return ["Not running", "stopped"];
  }
}
