// A client on the protocol's own library: starts the command of its arguments, sends each of PROMPTS, chooses the options
// of CHOICES in their order, and prints what it is told, a line for each. It cancels, or leaves, at an update with a text.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { PROMPTS, CHOICES = "[]", CANCEL_AT, LEAVE_AT } = process.env;
const choices = JSON.parse(CHOICES);
const [program, ...args] = process.argv.slice(2);
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const print = (kind, value) => console.log(`${kind} ${JSON.stringify(value)}`);
let connection;

const client = {
  requestPermission({ toolCall, options }) {
    print("asked", [toolCall.title, options.map(({ optionId }) => optionId)]);
    const optionId = choices.shift();
    return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
  },
  async sessionUpdate({ sessionId, update }) {
    print(update.sessionUpdate, update.content?.text ?? update.entries ?? update);
    const text = JSON.stringify(update);
    if (CANCEL_AT && text.includes(CANCEL_AT)) await connection.cancel({ sessionId });
    if (LEAVE_AT && text.includes(LEAVE_AT)) agent.stdin.end();
  },
};

connection = new acp.ClientSideConnection(() => client, acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
agent.on("exit", (code) => {
  print("exit", code);
  process.exit(0);
});
const { agentInfo } = await connection.initialize({ protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
print("agent", agentInfo.name);
for (const cwd of ["relative", "/does/not/exist"]) await connection.newSession({ cwd, mcpServers: [] }).catch((error) => print("refused", error.message));
const { sessionId } = await connection.newSession({ cwd: process.cwd(), mcpServers: [{ name: "x", command: "/bin/false", args: [], env: [] }] });
for (const prompt of JSON.parse(PROMPTS)) {
  const content = prompt.startsWith("file://") ? { type: "resource_link", uri: prompt, name: "plan" } : { type: "text", text: prompt };
  await connection.prompt({ sessionId, prompt: [content] }).then(
    ({ stopReason, _meta }) => print("stopped", [stopReason, _meta?.ralph.words ?? null]),
    (error) => print("refused", error.message),
  );
}
agent.stdin.end();
