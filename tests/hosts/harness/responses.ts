// The responses interface of the scripted model: what Codex speaks.

import type { ServerResponse } from "node:http";
import { type ChatMessage, type Said, toolOf } from "./mock_model.ts";

interface InputItem {
  type?: string;
  role?: string;
  content?: ChatMessage["content"];
  name?: string;
  call_id?: string;
  output?: ChatMessage["content"];
}

/** The items of a request as chat messages. */
export function messagesOf(input: unknown): ChatMessage[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return ((input ?? []) as InputItem[]).map(({ type = "message", role = "system", content, name = "", call_id: id = "", output }) => {
    if (type.endsWith("_output")) return { role: "tool", content: output ?? "" };
    if (type.endsWith("_call")) return { role: "assistant", tool_calls: [{ id, function: { name } }] };
    return { role: type === "message" ? role : "system", content: content ?? "" };
  });
}

/** Sends an answer as a stream of events. */
export function streamResponse(response: ServerResponse, model: string, n: number, raw: string, said: Said): void {
  const item = itemOf(n, said);
  const input = Math.ceil(raw.length / 4);
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 8,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + 8,
  };
  const base = { id: `resp_${n}`, object: "response", created_at: 1_700_000_000 + n, model };
  const begun = { ...base, status: "in_progress", output: [] };
  response.writeHead(200, { "content-type": "text/event-stream" });
  let sequence = 0;
  const send = (type: string, fields: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...fields })}\n\n`);
    sequence += 1;
  };
  send("response.created", { response: begun });
  send("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress" } });
  if (said.tool === undefined) {
    send("response.output_text.delta", { item_id: item.id, output_index: 0, content_index: 0, delta: said.text ?? "" });
  }
  send("response.output_item.done", { output_index: 0, item });
  send("response.completed", { response: { ...base, status: "completed", output: [item], usage } });
  response.end();
}

function itemOf(n: number, { text = "", tool }: Said): { id: string } & Record<string, unknown> {
  if (tool === undefined) {
    const content = [{ type: "output_text", text, annotations: [] }];
    return { type: "message", id: `msg_${n}`, role: "assistant", status: "completed", content };
  }
  const { name, input } = toolOf(tool);
  return { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name, arguments: input, status: "completed" };
}
