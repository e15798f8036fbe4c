#!/usr/bin/env node
// Runs the binary in place of this process as far as node can: with the same arguments, terminal, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { binary, download } = require("./download.js");

async function main() {
  // Where npm runs no scripts on installation, the first start downloads.
  await download();
  const ralph = spawn(binary, process.argv.slice(2), { stdio: "inherit" });
  // The terminal sends Ctrl-C to both. ralph decides what it means.
  for (const signal of ["SIGINT", "SIGQUIT"]) process.on(signal, () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => ralph.kill(signal));
  ralph.on("exit", (code, signal) => {
    if (signal) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else {
      process.exitCode = code;
    }
  });
  ralph.on("error", (error) => {
    console.error(`error: ${binary}: ${error.message}`);
    process.exitCode = 1;
  });
}

main().catch((error) => {
  console.error(`error: ${error.message}\nhint: npm rebuild ralph-loop, once the address can be reached`);
  process.exitCode = 1;
});
