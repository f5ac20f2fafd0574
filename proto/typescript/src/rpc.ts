// The methods of the services as a gRPC stack needs them: a path, and bytes to messages and back.

import { type DescMessage, type DescMethod, type MessageShape, fromBinary, toBinary } from "@bufbuild/protobuf";
import { EngineAdminService } from "../gen/contextengine/v1/admin_pb.js";
import { ContextEngineService } from "../gen/contextengine/v1/service_pb.js";

/** A method of the contract. */
export interface Rpc<I extends DescMessage, O extends DescMessage> {
  name: string;
  path: string;
  desc: DescMethod;
  input: I;
  output: O;
  encode(message: MessageShape<I>): Buffer;
  decode(bytes: Uint8Array): MessageShape<O>;
}

type Methods = (typeof ContextEngineService)["method"];
type AdminMethods = (typeof EngineAdminService)["method"];

/** A hook by its local name, `assemble` say. */
export function rpc<N extends keyof Methods>(name: N): Rpc<Methods[N]["input"], Methods[N]["output"]> {
  return rpcOf(ContextEngineService.method[name]);
}

/** A method of the operators' service by its local name, `eraseSession` say. */
export function adminRpc<N extends keyof AdminMethods>(name: N): Rpc<AdminMethods[N]["input"], AdminMethods[N]["output"]> {
  return rpcOf(EngineAdminService.method[name]);
}

function rpcOf<I extends DescMessage, O extends DescMessage>(desc: DescMethod): Rpc<I, O> {
  return {
    name: desc.name,
    path: `/${desc.parent.typeName}/${desc.name}`,
    desc,
    input: desc.input as I,
    output: desc.output as O,
    encode: (message) => asBuffer(toBinary(desc.input, message)),
    decode: (bytes) => fromBinary(desc.output, bytes) as MessageShape<O>,
  };
}

/** The same bytes as a `Buffer`, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
