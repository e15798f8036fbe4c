// Downloads the binary of this version, and keeps it only if its sum is the one that SHA256SUMS has.
"use strict";

const { execFileSync } = require("node:child_process");
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const { version } = require("../package.json");

// To be filled in with OWNER/REPOSITORY before the first release.
const repository = "";
const targets = {
  "linux x64": "x86_64-unknown-linux-musl",
  "linux arm64": "aarch64-unknown-linux-musl",
  "darwin x64": "x86_64-apple-darwin",
  "darwin arm64": "aarch64-apple-darwin",
};
const binary = path.join(__dirname, "..", "vendor", version, "ralph");

function address() {
  const given = process.env.RALPH_DOWNLOAD_URL;
  if (given) return given.replace(/\/$/, "");
  if (!repository) throw new Error("this package does not know where the releases are; set RALPH_DOWNLOAD_URL");
  return `https://github.com/${repository}/releases/download/v${version}`;
}

async function bytes(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return Buffer.from(await response.arrayBuffer());
}

async function download() {
  if (fs.existsSync(binary)) return;
  const target = targets[`${process.platform} ${process.arch}`];
  if (!target) throw new Error(`there is no binary for ${process.platform} on ${process.arch}`);
  const archive = `ralph-${target}.tar.gz`;
  const from = address();
  const [sums, packed] = await Promise.all([bytes(`${from}/SHA256SUMS`), bytes(`${from}/${archive}`)]);
  const named = sums.toString().split("\n").map((line) => line.split(/\s+\*?/));
  const expected = named.find(([, name]) => name === archive)?.[0];
  const actual = createHash("sha256").update(packed).digest("hex");
  if (expected !== actual) throw new Error(`${archive} is not what SHA256SUMS says: expected ${expected}, got ${actual}`);
  const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "ralph-"));
  try {
    const file = path.join(scratch, archive);
    fs.writeFileSync(file, packed);
    execFileSync("tar", ["-xzf", file, "-C", scratch]);
    fs.mkdirSync(path.dirname(binary), { recursive: true });
    const unpacked = path.join(scratch, `ralph-${target}`, "ralph");
    fs.copyFileSync(unpacked, `${binary}.new`);
    fs.chmodSync(`${binary}.new`, 0o755);
    fs.renameSync(`${binary}.new`, binary);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
  }
}

module.exports = { binary, download };

if (require.main === module) {
  // Not an error of the installation: the first start tries again, and says why it cannot.
  download().catch((error) => console.error(`ralph is downloaded when it is first started: ${error.message}`));
}
