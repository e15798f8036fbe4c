// Carries messages of MCP between stdin and stdout, which ralph speaks, and HTTP, which the suite speaks.
//
//     bridge.mjs PROGRAM ARG...    serves the program over HTTP, a process for each session, and prints the address
//     bridge.mjs                   is the program that serves what is at the address in MCP_URL
//
// TOOLS renames tools that are called: the suite calls some by names of its own.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

const { MCP_URL, TOOLS = "{}" } = process.env;
const tools = JSON.parse(TOOLS);
const [command, ...args] = process.argv.slice(2);

async function join(http, stdio) {
  http.onmessage = (message) => {
    if (message.method === "tools/call") message.params.name = tools[message.params.name] ?? message.params.name;
    stdio.send(message);
  };
  stdio.onmessage = (message) => http.send(message);
  stdio.onclose = () => http.close();
  http.onclose = () => stdio.close();
  stdio.onerror = (error) => console.error(error);
  await stdio.start();
  await http.start();
}

if (command) {
  const sessions = new Map();
  const begin = async () => {
    const http = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => void sessions.set(id, http) });
    await join(http, new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
    return http;
  };
  const server = createServer(async (request, response) => {
    const session = sessions.get(request.headers["mcp-session-id"]) ?? (await begin());
    await session.handleRequest(request, response);
  });
  server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
} else {
  await join(new StreamableHTTPClientTransport(new URL(MCP_URL)), new StdioServerTransport());
}
