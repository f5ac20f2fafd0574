// A model that does as it is told in the user's text, over the Responses API as Codex speaks it. It keeps every
// request, so that a test can ask what the model really saw.
//
//   [[say:TEXT]]          answers TEXT
//   [[tool:NAME {json}]]  calls a tool first; several run one a round
//   [[status:CODE]]       fails once
//   [[wait:NAME]]         answers when the test releases NAME

import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Directive, directivesOf } from "./mock_model.ts";

/** An item that the model was sent. */
export interface Item {
  type?: string;
  role?: string;
  content?: string | { text?: string }[];
  call_id?: string;
  name?: string;
  output?: unknown;
}

/** One request for an answer. */
export interface ResponsesRequest {
  input: Item[];
  tools: { name?: string }[];
}

/** The server. */
export class MockResponses {
  readonly requests: ResponsesRequest[] = [];
  /** What the next answers say that they cost; absent: a quarter of the request's length. */
  inputTokens: number | undefined;
  private readonly spent = new Set<string>();
  private readonly gates = new Map<string, { arrived: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }>();
  private readonly server = createServer((request, response) => void this.serve(request, response));

  async listen(): Promise<number> {
    // Codex asks for a WebSocket first, where it is told of one.
    this.server.on("upgrade", (_request, socket) => socket.end("HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return (this.server.address() as AddressInfo).port;
  }

  close(): void {
    for (const gate of this.gates.values()) gate.released.resolve();
    this.server.closeAllConnections();
    this.server.close();
  }

  /** Resolves when a request waits at the gate. */
  async arrived(name: string): Promise<void> {
    return this.gate(name).arrived.promise;
  }

  release(name: string): void {
    this.gate(name).released.resolve();
  }

  /** The last request. */
  get last(): ResponsesRequest {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error("the model was never asked");
    return last;
  }

  private gate(name: string) {
    let gate = this.gates.get(name);
    if (gate === undefined) {
      gate = { arrived: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };
      this.gates.set(name, gate);
    }
    return gate;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks).toString("utf8");
    const path = request.url?.split("?")[0] ?? "";
    if (request.method === "GET" && path.endsWith("/models")) return json(response, 200, { object: "list", data: [], models: [] });
    if (request.method !== "POST" || !path.endsWith("/responses")) return json(response, path.endsWith("/responses") ? 426 : 404, {});
    const body = JSON.parse(raw) as { input: Item[]; tools?: { name?: string }[] };
    this.requests.push({ input: body.input, tools: body.tools ?? [] });
    const n = this.requests.length;
    const { directives, results } = sinceLastAnswer(body.input);
    const failure = directives.find(({ name, raw: text }) => name === "status" && !this.spent.has(text));
    if (failure !== undefined) {
      this.spent.add(failure.raw);
      return json(response, Number(failure.argument), { error: { message: "scripted failure" } });
    }
    for (const { argument } of directives.filter(({ name }) => name === "wait")) {
      this.gate(argument).arrived.resolve();
      await this.gate(argument).released.promise;
    }
    const tool = directives.filter(({ name }) => name === "tool")[results];
    const text = directives.find(({ name }) => name === "say")?.argument ?? `mock-answer ${n}`;
    const tokens = this.inputTokens ?? Math.ceil(raw.length / 4);
    stream(response, n, tokens, tool === undefined ? message(n, text) : call(n, tool.argument));
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

function message(n: number, text: string): object {
  return { type: "message", id: `msg_${n}`, role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] };
}

function call(n: number, argument: string): object {
  const space = argument.indexOf(" ");
  const [name, input] = space < 0 ? [argument, "{}"] : [argument.slice(0, space), argument.slice(space + 1)];
  return { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name, arguments: input, status: "completed" };
}

function stream(response: ServerResponse, n: number, inputTokens: number, item: object): void {
  const base = { id: `resp_${n}`, object: "response", created_at: 1_700_000_000 + n, model: "mock-1" };
  const usage = {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + 8,
  };
  response.writeHead(200, { "content-type": "text/event-stream" });
  let sequence = 0;
  const send = (type: string, fields: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`);
  };
  send("response.created", { response: { ...base, status: "in_progress", output: [] } });
  send("response.output_item.added", { output_index: 0, item });
  send("response.output_item.done", { output_index: 0, item });
  send("response.completed", { response: { ...base, status: "completed", output: [item], usage } });
  response.end();
}

/** What the user told since the model's last word, and how many tools answered since. */
function sinceLastAnswer(input: Item[]): { directives: Directive[]; results: number } {
  const from = input.findLastIndex((item) => item.type === "message" && item.role === "assistant") + 1;
  const since = input.slice(from);
  const text = since.filter((item) => item.role === "user").map(textOf).join("\n");
  return { directives: directivesOf(text), results: since.filter((item) => item.type?.endsWith("_output")).length };
}

/** The text of an item. */
export function textOf({ content }: Item): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}
