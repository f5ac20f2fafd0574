// `assemble`: what the model is to see. It never throws: when the engine gives no answer, this process does.

import { AssembleSite, CurrentTurn, PromptAuthority, ProjectionMode } from "contextwire-proto/v1/assemble";
import type { AssembleResult, AssembledMessages } from "contextwire-proto/v1/assemble";
import { estimateAll } from "../answer/estimate.ts";
import { judge, judgeSize } from "../answer/gate.ts";
import { join, lastGood } from "../answer/last_good.ts";
import { type AnswerRun, materialise, readSegments } from "../answer/segments.ts";
import { fit } from "../answer/window.ts";
import type { AssembleAnswer, AssembleParams } from "../host/types.ts";
import type { Session } from "../session/session.ts";
import type { List } from "../sync/list.ts";
import { Upload } from "../sync/upload.ts";
import { digestView } from "../sync/view.ts";
import { HookFailure, asFailure } from "../wire/failure.ts";
import { runtimeContext } from "../wire/runtime_context.ts";
import { runtimeSettings } from "../wire/runtime_settings.ts";
import { given } from "./host_calls.ts";
import { type Turn, callFacts } from "./turn.ts";

const IDLE_MS = 2000;
/** For a list that did not fit into its deadline (R3.4). */
const SYNC_MS = 120_000;

/** Answers the host. */
export async function assemble(turn: Turn, params: AssembleParams): Promise<AssembleAnswer> {
  const { runtime } = turn;
  const session = turn.session(params);
  const began = performance.now();
  await turn.pump(session);
  const before = session.view;
  const view = await digestView(params.messages, before);
  session.view = view;
  const memory = await runtime.memoryPrompt(params);
  const same = view.items.reduce((count, item, at) => count + (item.source === before.items[at]?.source ? 1 : 0), 0);
  runtime.own.record(performance.now() - began, params.messages.length, same);
  let failure: HookFailure;
  if (turn.isDegraded) {
    failure = new HookFailure("turn-degraded", "an earlier call of this turn was not answered");
  } else {
    try {
      const answer = await ask(turn, session, view, params, memory);
      runtime.servedBy = "engine";
      return answer;
    } catch (error) {
      failure = asFailure(error);
      turn.isDegraded = true;
      runtime.engineFailed("assemble", failure);
      if (failure.kind === "syncing") void syncLater(turn, session, view, params);
    }
  }
  runtime.servedBy = `this process (${failure.code})`;
  return substitute(turn, session, view, params, memory);
}

async function ask(
  turn: Turn,
  session: Session,
  view: List,
  params: AssembleParams,
  memory: string | undefined,
): Promise<AssembleAnswer> {
  const { runtime } = turn;
  const isIncluded = endsWithPrompt(params);
  let accepted: { runs: AnswerRun[]; messages: AssembledMessages; isOver: boolean } | undefined;
  await runtime.engine.stream<AssembleResult>("assemble", {
    ...callFacts(session, params, false, runtime.config.assembleDeadlineMs),
    idleMs: IDLE_MS,
    operation: "agent-run",
    start: (peer) => ({
      fields: startFields(turn, params, memory, isIncluded),
      upload: Upload.ofView(peer, siteOf(params) === AssembleSite.BEFORE_PROMPT ? "before-prompt" : "tool-loop", view, session.log.known),
    }),
    accept: (result) => {
      const { outcome } = result as AssembleResult;
      if (outcome.case !== "messages") throw new HookFailure("contract", "an answer without messages");
      const runs = readSegments(outcome.value.segments, view.length);
      judge(runs, view, isIncluded);
      const isOver = judgeSize(Number(outcome.value.estimatedTokens), params.tokenBudget);
      materialise(runs, params.messages);
      accepted = { runs, messages: outcome.value, isOver };
    },
  });
  if (accepted === undefined) throw new HookFailure("contract", "an answer without messages");
  const { runs, messages, isOver } = accepted;
  if (runtime.info().ownsCompaction) session.lastGood = lastGood(view, runs);
  session.lastAddition = messages.systemPromptAddition;
  return answerOf(runs, messages, isOver, params, withMemory(turn, messages.systemPromptAddition, memory));
}

function startFields(turn: Turn, params: AssembleParams, memory: string | undefined, isIncluded: boolean): object {
  const tools = params.availableTools;
  return {
    currentTurn: isIncluded ? CurrentTurn.INCLUDED : CurrentTurn.EXCLUDED,
    site: siteOf(params),
    ...given({
      runtimeSettings: runtimeSettings(params.runtimeSettings),
      runtimeContext: runtimeContext(params.runtimeContext, turn.runtime.config.runtimeContextKeys),
      tokenBudget: params.tokenBudget === undefined ? undefined : BigInt(Math.max(0, Math.floor(params.tokenBudget))),
      availableTools: tools === undefined ? undefined : { names: [...tools] },
      citationsMode: params.citationsMode,
      model: params.model,
      prompt: params.prompt,
      memoryPrompt: memory,
    }),
  };
}

/** The host compares by reference: what is unchanged is its own list, anything else a new one. */
function answerOf(
  runs: readonly AnswerRun[],
  messages: AssembledMessages,
  isOver: boolean,
  params: AssembleParams,
  addition: string | undefined,
): AssembleAnswer {
  const first = runs[0];
  const isAll = runs.length === 1 && first !== undefined && "keep" in first && first.keep.end - first.keep.start === params.messages.length;
  const isSame = isAll || (runs.length === 0 && params.messages.length === 0);
  const list = isSame ? params.messages : materialise(runs, params.messages);
  const estimated = Number(messages.estimatedTokens);
  const mayOverflow = isOver || messages.promptAuthority === PromptAuthority.PREASSEMBLY_MAY_OVERFLOW;
  const answer: AssembleAnswer = { messages: list, estimatedTokens: estimated > 0 ? estimated : estimateAll(list) };
  if (mayOverflow) answer.promptAuthority = "preassembly_may_overflow";
  if (addition !== undefined) answer.systemPromptAddition = addition;
  const projection = messages.contextProjection;
  if (projection !== undefined) {
    const mode = projection.mode === ProjectionMode.THREAD_BOOTSTRAP ? "thread_bootstrap" : "per_turn";
    answer.contextProjection = { mode, ...given({ epoch: projection.epoch, fingerprint: projection.fingerprint }) };
  }
  return answer;
}

/** The answer of this process (R7.13): always left to the host's own check, and never a projection. */
function substitute(turn: Turn, session: Session, view: List, params: AssembleParams, memory: string | undefined): AssembleAnswer {
  const { config } = turn.runtime;
  let messages: unknown[] | undefined;
  if (config.fallback === "last-good") {
    messages = session.lastGood === undefined ? undefined : join(session.lastGood, view);
    const budget = params.tokenBudget;
    if (budget !== undefined && estimateAll(messages ?? params.messages) > budget) messages = fit(messages ?? params.messages, budget);
  }
  const list = messages ?? [...params.messages];
  const answer: AssembleAnswer = {
    messages: list,
    estimatedTokens: estimateAll(list),
    promptAuthority: "preassembly_may_overflow",
  };
  const addition = withMemory(turn, session.lastAddition, memory);
  if (addition !== undefined) answer.systemPromptAddition = addition;
  return answer;
}

/** An engine that does not place the host's memory guidance must not make it vanish. */
function withMemory(turn: Turn, addition: string | undefined, memory: string | undefined): string | undefined {
  if (memory === undefined || turn.runtime.config.memoryPrompt === "engine") return addition;
  if (addition === undefined || addition === "") return memory;
  return addition.includes(memory) ? addition : `${addition}\n\n${memory}`;
}

/** Hands over a list in the background, so that the next call finds it there. */
async function syncLater(turn: Turn, session: Session, view: List, params: AssembleParams): Promise<void> {
  const { runtime } = turn;
  if (!runtime.keepsMirrors) {
    return runtime.warnOnce("too-large", "the conversation is too large for an engine that takes it whole each time; turns go on without the engine");
  }
  try {
    await runtime.engine.stream<AssembleResult>("assemble", {
      ...callFacts(session, params, false, SYNC_MS),
      idleMs: SYNC_MS,
      start: (peer) => ({
        fields: { currentTurn: CurrentTurn.EXCLUDED, site: AssembleSite.SYNC },
        upload: Upload.ofView(peer, "sync", view, session.log.known),
      }),
    });
  } catch (error) {
    runtime.engineFailed("assemble", asFailure(error));
  }
}

/** The prompt comes with the call before a turn's first model round, and with no other. */
function siteOf(params: AssembleParams): AssembleSite {
  return params.prompt === undefined ? AssembleSite.TOOL_LOOP : AssembleSite.BEFORE_PROMPT;
}

/** On fenced turns the list ends before the current user message; elsewhere the prompt is its last one. */
function endsWithPrompt({ messages, prompt }: AssembleParams): boolean {
  const last = messages.at(-1) as { role?: unknown; content?: unknown } | undefined;
  if (prompt === undefined || last?.role !== "user") return false;
  const blocks = Array.isArray(last.content) ? last.content : [{ text: last.content }];
  return blocks.some((block: { text?: unknown } | null) => block?.text === prompt);
}
