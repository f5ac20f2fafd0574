// An honest guess of what a message costs, for answers that the engine did not give.

const CHARS_PER_TOKEN = 4;
/** Providers charge an image by its size in pixels, not by its bytes. */
const IMAGE_TOKENS = 2000;
const MESSAGE_TOKENS = 4;

/** Tokens of a message of the host. */
export function estimate(message: unknown): number {
  const content = (message as { content?: unknown } | null)?.content;
  if (typeof content === "string") return MESSAGE_TOKENS + Math.ceil(content.length / CHARS_PER_TOKEN);
  if (!Array.isArray(content)) return MESSAGE_TOKENS;
  return content.reduce<number>((sum, block) => sum + blockTokens(block), MESSAGE_TOKENS);
}

/** Tokens of a list. */
export function estimateAll(messages: readonly unknown[]): number {
  return messages.reduce<number>((sum, message) => sum + estimate(message), 0);
}

function blockTokens(block: unknown): number {
  if (typeof block !== "object" || block === null) return 0;
  const { type, text, thinking, arguments: input } = block as Record<string, unknown>;
  if (type === "image") return IMAGE_TOKENS;
  const said = typeof text === "string" ? text : typeof thinking === "string" ? thinking : JSON.stringify(input ?? "");
  return Math.ceil(said.length / CHARS_PER_TOKEN);
}
