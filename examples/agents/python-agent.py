#!/usr/bin/env python3
"""A coding agent that speaks ralph-jsonl. `think` stands for its model: put a request to a real one there."""
import json, os, pathlib, re, signal, subprocess, sys, uuid

def tell(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)

def fail(kind, text):
    tell("problem", problem={"kind": {"kind": kind}, "text": text})
    tell("turn-ended", ok=False, message=None)
    sys.exit(1)

def think(prompt):
    if os.environ.get("RALPH_CONFORMANCE") == "refused":
        fail("auth", "401: the key was refused")
    if write := re.search(r"Write the text `(.+?)` into the file `(.+?)`", prompt):
        return "write", write[2], write[1]
    if run := re.search(r"Run the command `(.+?)`", prompt):
        return "shell", run[1], ""

def use(tool, target, text):
    if tool == "write":
        pathlib.Path(target).write_text(text)
        tell("file-changed", path=target, change="updated")
        return text
    done = subprocess.run(target, shell=True, capture_output=True, text=True)
    return done.stdout if done.returncode >= 0 else sys.exit(143)  # ended by a signal: this turn is being stopped

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
args = sys.argv[1:]
if args == ["--version"]:
    sys.exit(print("python-agent 1.0.0"))
resumed = args[1] if "--resume" in args else None
session = resumed or uuid.uuid4().hex
home = pathlib.Path.home() / ".ralph-example-agent"
memory = home / f"{session}.json"
if resumed and not memory.exists():
    fail("session-lost", f"there is no session {resumed}")
known = json.loads(memory.read_text()) if resumed else []
prompt = sys.stdin.read()
tell("opened", session=session, model="words")
if step := think(prompt):
    tell("tool-started", call="1", tool=step[0], input=step[1])
    known.append(use(*step))
    tell("tool-ended", call="1", tool=step[0], ok=True, output=known[-1])
named = re.search(r"[Rr]eply with `(.+?)`", prompt)
words = known[-1].split() if known else []
answer = named[1] if named else words[-1] if words else "There is nothing more to say."
tell("usage", usage={"inputTokens": len(prompt) // 4, "cachedTokens": 0, "outputTokens": 9, "costUsd": None})
home.mkdir(exist_ok=True)
memory.write_text(json.dumps(known))
tell("turn-ended", ok=True, message=answer)
