#!/usr/bin/env node
// A coding agent that speaks ralph-jsonl. `think` stands for its model: put a request to a real one there.
const fs = require("node:fs"), os = require("node:os"), path = require("node:path");
const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const { once } = require("node:events");
let child;

const tell = (type, fields) => fs.writeSync(1, JSON.stringify({ type, ...fields }) + "\n");

function fail(kind, text) {
  tell("problem", { problem: { kind: { kind }, text } });
  tell("turn-ended", { ok: false, message: null });
  process.exit(1);
}

function think(prompt) {
  if (process.env.RALPH_CONFORMANCE === "refused") fail("auth", "401: the key was refused");
  const write = /Write the text `(.+?)` into the file `(.+?)`/.exec(prompt);
  if (write) return { tool: "write", target: write[2], text: write[1] };
  const run = /Run the command `(.+?)`/.exec(prompt);
  return run && { tool: "shell", target: run[1] };
}

async function use({ tool, target, text }) {
  if (tool === "write") return fs.writeFileSync(target, text), text;
  child = spawn(target, { shell: true, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (piece) => (output += piece));
  const [, signal] = await once(child, "close");
  return signal ? process.exit(143) : output; // Ended by a signal: this turn is being stopped
}

async function turn(args, promptFile) {
  if (args[0] === "--version") return console.log("javascript-agent 1.0.0");
  const home = path.join(os.homedir(), ".ralph-example-agent");
  const session = args[0] === "--resume" ? args[1] : randomUUID();
  const file = path.join(home, session + ".js.json");
  if (args[0] === "--resume" && !fs.existsSync(file)) fail("session-lost", `there is no session ${session}`);
  const memory = args[0] === "--resume" ? JSON.parse(fs.readFileSync(file)) : { known: "", used: 0 };
  const prompt = fs.readFileSync(promptFile, "utf8");
  tell("opened", { session, model: "words" });
  const step = think(prompt);
  if (step) {
    tell("tool-started", { call: "1", tool: step.tool, input: step.target });
    memory.known = await use(step);
    tell("tool-ended", { call: "1", tool: step.tool, ok: true, output: memory.known });
  }
  memory.used += 9; // The sum of the session, as `usage.counts` says
  tell("usage", { usage: { inputTokens: memory.used * 10, cachedTokens: 0, outputTokens: memory.used, costUsd: null } });
  fs.mkdirSync(home, { recursive: true });
  fs.writeFileSync(file, JSON.stringify(memory));
  const named = /[Rr]eply with `(.+?)`/.exec(prompt);
  tell("turn-ended", { ok: true, message: named ? named[1] : memory.known.trim().split("\n").at(-1) });
}

process.on("SIGTERM", () => {
  child?.kill();
  process.exit(143);
});
turn(process.argv.slice(3), process.argv[2]);
