// What an engine of an older protocol is sent: no field that it does not know (PROTOCOL 5).

import { type DescField, type DescMessage, type DescMethod, getOption, isFieldSet, clearField } from "@bufbuild/protobuf";
import { reflect, type ReflectMessage } from "@bufbuild/protobuf/reflect";
import type { Message } from "@bufbuild/protobuf";
import { method_since, since } from "../gen/contextengine/v1/options_pb.js";

interface Ages {
  own: { field: DescField; minor: number }[];
  nested: DescField[];
}

const known = new Map<string, Ages>();

/** Clears every field that an engine of protocol minor `minor` does not know, nested ones included. */
export function ageTo(schema: DescMessage, message: Message, minor: number): void {
  const ages = agesOf(schema);
  for (const { field, minor: introduced } of ages.own) {
    if (introduced > minor && isFieldSet(message, field)) clearField(message, field);
  }
  if (ages.nested.length > 0) ageNested(reflect(schema, message, false), ages.nested, minor);
}

/** The protocol minor that a method came with. */
export function methodSince(method: DescMethod): number {
  return getOption(method, method_since);
}

function ageNested(message: ReflectMessage, fields: DescField[], minor: number): void {
  for (const field of fields) {
    if (!message.isSet(field)) continue;
    if (field.fieldKind === "message") {
      const inner = message.get(field);
      ageTo(inner.desc, inner.message, minor);
    } else if (field.fieldKind === "list" && field.listKind === "message") {
      for (const item of message.get(field)) {
        const inner = item as ReflectMessage;
        ageTo(inner.desc, inner.message, minor);
      }
    }
  }
}

function agesOf(schema: DescMessage): Ages {
  let ages = known.get(schema.typeName);
  if (ages === undefined) {
    const own = schema.fields.map((field) => ({ field, minor: getOption(field, since) }));
    const nested = schema.fields.filter(
      (field) => field.fieldKind === "message" || (field.fieldKind === "list" && field.listKind === "message"),
    );
    ages = { own, nested };
    known.set(schema.typeName, ages);
  }
  return ages;
}
