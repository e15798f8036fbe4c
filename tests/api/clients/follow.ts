// Follows a run, answers what its agent asks, sends a message and stops it, through types generated from openapi.json.
import createClient from "openapi-fetch";
import type { components, paths } from "./ralph.js";

type Schemas = components["schemas"];

const ralph = createClient<paths>({
  baseUrl: process.env.RALPH ?? "",
  headers: { authorization: `Bearer ${process.env.TOKEN}` },
});

// Every record of the run, and at last its exit code.
async function* records(): AsyncGenerator<Schemas["Record"], number | null> {
  const { data } = await ralph.GET("/events", { params: { query: { from: 0 } }, parseAs: "stream" });
  if (!data) throw new Error("no stream");
  let rest = "";
  for await (const text of data.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + text).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1];
      const value: unknown = JSON.parse(field("data") ?? "{}");
      if (field("event") === "over") return (value as { exitCode: number | null }).exitCode;
      if (field("id")) yield value as Schemas["Record"];
    }
  }
  throw new Error("the stream was cut off");
}

function done({ data, error }: { data?: Schemas["Done"]; error?: Schemas["Refusal"] }): string {
  if (!data) throw new Error(error?.detail);
  return data.text;
}

async function answerAll(): Promise<void> {
  const { data: asks = [] } = await ralph.GET("/asks");
  for (const ask of asks) {
    if (ask.type !== "waits") continue;
    const answer: Schemas["Answer"] = ask.request.title.startsWith("git ")
      ? { type: "allow", remember: null }
      : { type: "deny", message: "Only git, please." };
    console.log(done(await ralph.POST("/asks/{n}", { params: { path: { n: ask.number } }, body: answer })));
  }
}

const stream = records();
for (;;) {
  const next = await stream.next();
  if (next.done) {
    console.log(`exit code ${next.value}`);
    break;
  }
  const event = next.value.event;
  if (event.type === "asked") {
    await answerAll();
  } else if (event.type === "answered" && event.answered.verdict.type === "allowed" && event.answered.ask !== null) {
    const second = await ralph.POST("/asks/{n}", { params: { path: { n: event.answered.ask } }, body: { type: "allow" } });
    console.log(`refused: ${second.error?.detail}`);
    console.log(done(await ralph.POST("/commands", { body: { type: "steer", kind: "next", text: "Mind the tests." } })));
    console.log(done(await ralph.POST("/commands", { body: { type: "stop", stop: "after-iteration" } })));
    const { data: run } = await ralph.GET("/run");
    console.log(`${run?.view?.plan.tasks.length} tasks, ${run?.phase}`);
  }
}
