// The wire contract `contextengine.v1` for TypeScript: what a host and an engine share.

export * from "./age.ts";
export * from "./digest.ts";
export * from "./failure.ts";
export * from "./header.ts";
export * from "./limits.ts";
export * from "./rpc.ts";
