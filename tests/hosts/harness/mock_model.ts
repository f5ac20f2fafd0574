// A model that does as it is told in the user's text, over the chat completions and the responses interface. It keeps
// every request, so that a test can ask what the model really saw.
//
//   [[say:TEXT]]          answers TEXT
//   [[tool:NAME {json}]]  calls a tool first; several run one a round
//   [[overflow:X]]        refuses once, as too long
//   [[wait:NAME]]         answers when the test releases NAME
//
// A request without tools is none of an agent's turn: the host summarises then, and gets a summary.

import { type IncomingMessage, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { messagesOf, streamResponse } from "./responses.ts";

/** A message as the chat completions interface has it. */
export interface ChatMessage {
  role: string;
  content?: string | { text?: string }[] | null;
  tool_calls?: { id: string; function: { name: string } }[];
}

/** One request for an answer. */
export interface ModelRequest {
  messages: ChatMessage[];
  /** Everything that the model was sent, as text. */
  raw: string;
}

/** Something that the model is told to do. */
export interface Directive {
  name: string;
  argument: string;
  raw: string;
}

/** The server. */
export class MockModel {
  readonly requests: ModelRequest[] = [];
  private readonly spent = new Set<string>();
  private readonly gates = new Map<string, { arrived: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }>();
  private readonly server = createServer((request, response) => void this.serve(request, response));

  async listen(): Promise<number> {
    // Codex tries a WebSocket first, and goes on at once where it is refused so.
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

  /** The last request whose newest user text holds `text`. */
  lastWith(text: string): ModelRequest {
    const found = this.requests.findLast((request) => newestUser(request.messages).includes(text));
    if (found === undefined) throw new Error(`the model never saw "${text}"`);
    return found;
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
    if (request.url?.endsWith("/models") === true) return json(response, 200, { object: "list", data: [{ id: "mock-1", object: "model" }], models: [] });
    const isResponses = request.url?.endsWith("/responses") === true;
    if (isResponses && request.method === "GET") return json(response, 426, { error: { message: "use POST" } });
    if (!isResponses && request.url?.endsWith("/chat/completions") !== true) return json(response, 404, { error: { message: "not here" } });
    const body = JSON.parse(raw) as { messages?: ChatMessage[]; input?: unknown; tools?: object[]; model: string };
    const messages = isResponses ? messagesOf(body.input) : (body.messages ?? []);
    this.requests.push({ messages, raw });
    const n = this.requests.length;
    const say = isResponses ? streamResponse : stream;
    if ((body.tools ?? []).length === 0) return say(response, body.model, n, raw, { text: `summary ${n}: what was said before` });
    const { directives, results } = sinceLastAnswer(messages);
    const overflow = directives.find(({ name, raw: text }) => name === "overflow" && !this.spent.has(text));
    if (overflow !== undefined) {
      this.spent.add(overflow.raw);
      const message = "This model's maximum context length is 32000 tokens. However, your messages resulted in 999999 tokens.";
      return json(response, 400, { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } });
    }
    for (const { argument } of directives.filter(({ name }) => name === "wait")) {
      this.gate(argument).arrived.resolve();
      await this.gate(argument).released.promise;
    }
    const tool = directives.filter(({ name }) => name === "tool")[results];
    const text = directives.find(({ name }) => name === "say")?.argument ?? `mock-answer ${n}`;
    const said = tool === undefined ? { text } : { tool: tool.argument };
    say(response, body.model, n, raw, said);
  }
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** What the model says: a text, or a tool's name and its input. */
export interface Said {
  text?: string;
  tool?: string;
}

/** Splits a tool's name from its input. */
export function toolOf(tool: string): { name: string; input: string } {
  const space = tool.indexOf(" ");
  return space < 0 ? { name: tool, input: "{}" } : { name: tool.slice(0, space), input: tool.slice(space + 1) };
}

function stream(response: ServerResponse, model: string, n: number, raw: string, said: Said): void {
  const base = { id: `chatcmpl-${n}`, object: "chat.completion.chunk", created: 1_700_000_000 + n, model };
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (fields: object): void => void response.write(`data: ${JSON.stringify({ ...base, ...fields })}\n\n`);
  const delta = (fields: object): void => send({ choices: [{ index: 0, delta: fields, finish_reason: null }] });
  delta({ role: "assistant", content: "" });
  if (said.tool === undefined) delta({ content: said.text });
  else {
    const { name, input } = toolOf(said.tool);
    delta({ tool_calls: [{ index: 0, id: `call_${n}`, type: "function", function: { name, arguments: input } }] });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: said.tool === undefined ? "stop" : "tool_calls" }] });
  const prompt = Math.ceil(raw.length / 4);
  send({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: 8, total_tokens: prompt + 8 } });
  response.end("data: [DONE]\n\n");
}

/** What the user told since the model's last word, and how many tools answered since. */
function sinceLastAnswer(messages: ChatMessage[]): { directives: Directive[]; results: number } {
  let from = messages.length;
  let results = 0;
  while (from > 0) {
    const message = messages[from - 1];
    if (message?.role === "assistant" && (message.tool_calls?.length ?? 0) === 0) break;
    if (message?.role === "tool") results += 1;
    from -= 1;
  }
  const said = messages.slice(from).filter((message) => message.role === "user").map(textOf).join("\n");
  // On Codex the host quotes what was said before in front of what is asked.
  const text = said.slice(Math.max(0, said.lastIndexOf("Current user request:")));
  return { directives: directivesOf(text), results };
}

/** What a text tells the model to do. */
export function directivesOf(text: string): Directive[] {
  return [...text.matchAll(/\[\[(\w+)(?::(.*?))?\]\]/gs)].map(([raw, name = "", argument = ""]) => ({ name, argument, raw }));
}

function newestUser(messages: ChatMessage[]): string {
  return messages.filter((message) => message.role === "user").slice(-3).map(textOf).join("\n");
}

/** The text of a message. */
export function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? "").join("\n");
}
