// The methods of the service as a gRPC stack needs them: a path, and bytes to messages and back.

import { type DescMessage, type DescMethod, type MessageShape, fromBinary, toBinary } from "@bufbuild/protobuf";
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

/** A method by its local name, `assemble` say. */
export function rpc<N extends keyof Methods>(name: N): Rpc<Methods[N]["input"], Methods[N]["output"]> {
  const desc: DescMethod = ContextEngineService.method[name];
  return {
    name: desc.name,
    path: `/${desc.parent.typeName}/${desc.name}`,
    desc,
    input: desc.input as Methods[N]["input"],
    output: desc.output as Methods[N]["output"],
    encode: (message) => asBuffer(toBinary(desc.input, message)),
    decode: (bytes) => fromBinary(desc.output, bytes) as MessageShape<Methods[N]["output"]>,
  };
}

/** The same bytes as a `Buffer`, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
