// The typed header of a message, derived from its payload. A program in this language holds the payload as an
// object already, so it is read from there; the rules are those of `engines/api/src/header.rs`.

/** What a payload says of itself. */
export interface Header {
  role: string;
  timestampMs?: bigint;
  toolCallIds: string[];
  toolResultFor?: string;
}

const RESULT_KEYS = ["toolCallId", "toolUseId", "tool_call_id", "tool_use_id"];
const CALL_TYPES = new Set(["toolCall", "toolUse", "functionCall", "tool_use"]);
const ROLES_WITHOUT_RESULT = new Set(["user", "assistant", "system", "developer"]);
const LARGEST = 2 ** 63;

/** Reads the header off a payload's object; what is not there, or is of another kind, is left out. */
export function headerOf(payload: unknown): Header {
  if (!isObject(payload)) return { role: "", toolCallIds: [] };
  const role = text(payload["role"]) ?? "";
  const header: Header = { role, toolCallIds: role === "assistant" ? callIds(payload) : [] };
  const time = timestamp(payload["timestamp"]);
  if (time !== undefined) header.timestampMs = time;
  if (!ROLES_WITHOUT_RESULT.has(role)) {
    const answered = RESULT_KEYS.map((key) => text(payload[key])).find((id) => id !== undefined && id !== "");
    if (answered !== undefined) header.toolResultFor = answered;
  }
  return header;
}

function callIds(payload: Record<string, unknown>): string[] {
  const blocks = ids(payload["content"], (block) => CALL_TYPES.has(text(block["type"]) ?? ""));
  const known = new Set(blocks);
  const legacy = ids(payload["tool_calls"], () => true).filter((id) => !known.has(id));
  return [...blocks, ...legacy];
}

function ids(value: unknown, counts: (block: Record<string, unknown>) => boolean): string[] {
  if (!Array.isArray(value)) return [];
  const found = value.filter(isObject).filter(counts).map((block) => text(block["id"]));
  return found.filter((id): id is string => id !== undefined && id !== "");
}

function timestamp(value: unknown): bigint | undefined {
  if (typeof value === "number") {
    return Math.abs(value) < LARGEST ? BigInt(Math.trunc(value)) : undefined;
  }
  return typeof value === "string" ? isoTime(value.trim()) : undefined;
}

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?(?:([Zz])|([+-])(\d{2}):?(\d{2}))?)?$/;

/** UTC where no offset is named; none where no such day or time exists. */
function isoTime(value: string): bigint | undefined {
  const parts = ISO.exec(value);
  if (parts === null) return undefined;
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map((at) => Number(parts[at] ?? 0));
  const millis = Math.trunc(Number(`0.${parts[7] ?? 0}`) * 1000);
  const date = new Date(0);
  date.setUTCFullYear(year ?? 0, (month ?? 1) - 1, day ?? 1);
  date.setUTCHours(hour ?? 0, minute ?? 0, second ?? 0, millis);
  const exists = date.getUTCDate() === day && date.getUTCMonth() + 1 === month;
  const inDay = (hour ?? 0) < 24 && (minute ?? 0) < 60 && (second ?? 0) < 60;
  if (!exists || !inDay) return undefined;
  const offset = (Number(parts[10] ?? 0) * 60 + Number(parts[11] ?? 0)) * 60_000;
  return BigInt(date.getTime() - (parts[9] === "-" ? -offset : offset));
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value.toWellFormed() : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
