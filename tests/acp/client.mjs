// A client on the protocol's own library: starts the command of its arguments, sends each of PROMPTS, chooses the options
// of CHOICES in their order, and prints what it is told, a line for each, and each message in both directions. It cancels,
// or leaves, at an update with a text.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { PROMPTS, CHOICES = "[]", CANCEL_AT, LEAVE_AT } = process.env;
const choices = JSON.parse(CHOICES);
const [program, ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const print = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);
const { initialize, session } = acp.methods.agent;

// Passes messages on, and prints them.
const printed = (kind) => new TransformStream({
  transform(message, next) {
    print(kind, message);
    next.enqueue(message);
  },
});
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const written = printed("written");
written.readable.pipeTo(stream.writable).catch(() => {}); // the agent has ended
const readable = stream.readable.pipeThrough(printed("read"));

const { agent } = acp
  .client()
  .onRequest(acp.methods.client.session.requestPermission, ({ params: { toolCall, options } }) => {
    print("asked", [toolCall.title, options.map(({ optionId }) => optionId)]);
    const optionId = choices.shift();
    return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
  })
  .onNotification(acp.methods.client.session.update, async ({ params: { sessionId, update } }) => {
    print(update.sessionUpdate, update.content?.text ?? update.entries ?? update);
    const text = JSON.stringify(update);
    if (CANCEL_AT && text.includes(CANCEL_AT)) await agent.notify(session.cancel, { sessionId });
    if (LEAVE_AT && text.includes(LEAVE_AT)) child.stdin.end();
  })
  .connect({ readable, writable: written.writable });
child.on("exit", (code) => {
  print("exit", code);
  process.exit(0);
});
const { agentInfo } = await agent.request(initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
print("agent", agentInfo.name);
for (const cwd of ["relative", "/does/not/exist"]) await agent.request(session.new, { cwd, mcpServers: [] }).catch((error) => print("refused", error.message));
const { sessionId } = await agent.request(session.new, { cwd: process.cwd(), mcpServers: [{ name: "x", command: "/bin/false", args: [], env: [] }] });
for (const prompt of JSON.parse(PROMPTS)) {
  const content = prompt.startsWith("file://") ? { type: "resource_link", uri: prompt, name: "plan" } : { type: "text", text: prompt };
  await agent.request(session.prompt, { sessionId, prompt: [content] }).then(
    ({ stopReason, _meta }) => print("stopped", [stopReason, _meta?.ralph.words ?? null]),
    (error) => print("refused", error.message),
  );
}
child.stdin.end();
