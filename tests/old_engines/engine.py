"""An engine of an older minor, on grpcio and protobuf's own unknown fields.

    engine.py DESCRIPTORS ARRIVALS MINOR ANNOUNCED TEMPER NAMES

DESCRIPTORS is a file with the FileDescriptorSet of today. What is newer than MINOR is taken out of
it, by the `since` of each field and method, so that the messages are those of that time. TEMPER is
`tolerant`, `strict` (names unknown fields by their numbers, with details) or `throwing` (raises, as a
validator does). NAMES is `names` or `no-names`: whether it knows `must_understand`.

Says where it listens, and writes the hook of each request to the file ARRIVALS before it answers.
"""

import sys
import threading
from concurrent import futures

import grpc
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.unknown_fields import UnknownFieldSet
from google.rpc import error_details_pb2, status_pb2

PACKAGE = "contextengine.v1"
SERVICE = f"{PACKAGE}.ContextEngineService"
DOMAIN = "contextengine.v1"
SINCE = 50611
METHOD_SINCE = 50613
NAMES = ("must_understand", "honours_must_understand")
WRITING = threading.Lock()


def option(options, number):
    """The value of an option that this program has no declaration of."""
    found = [field.data for field in UnknownFieldSet(options) if field.field_number == number]
    return found[-1] if found else 0


def freeze_message(message, minor, gone):
    """Takes out the fields that are newer than the minor, and oneofs that nothing is left of."""
    kept = [
        field
        for field in message.field
        if option(field.options, SINCE) <= minor and field.name not in gone
    ]
    used = sorted({field.oneof_index for field in kept if field.HasField("oneof_index")})
    oneofs = [message.oneof_decl[index] for index in used]
    for field in kept:
        if field.HasField("oneof_index"):
            field.oneof_index = used.index(field.oneof_index)
    kept, oneofs = [list(map(copy_of, part)) for part in (kept, oneofs)]
    del message.field[:], message.oneof_decl[:]
    message.field.extend(kept)
    message.oneof_decl.extend(oneofs)
    for nested in message.nested_type:
        freeze_message(nested, minor, gone)


def copy_of(message):
    copied = type(message)()
    copied.CopyFrom(message)
    return copied


def frozen(path, minor, gone):
    """The methods of that time, each with its two messages, and a way to make any message."""
    with open(path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    methods = {}
    for file in files.file:
        for message in file.message_type:
            freeze_message(message, minor, gone)
        for service in file.service:
            for method in service.method:
                if option(method.options, METHOD_SINCE) <= minor:
                    methods[method.name] = method
        pool.Add(file)

    def of(name):
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(name.lstrip(".")))

    return methods, of


def unknown(message, path=""):
    """Paths of what the message holds beyond its descriptor."""
    paths = [f"{path}#{field.field_number}" for field in UnknownFieldSet(message)]
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        if not field.is_repeated:
            paths += unknown(value, f"{path}{field.name}.")
        elif not field.message_type.GetOptions().map_entry:
            for index, item in enumerate(value):
                paths += unknown(item, f"{path}{field.name}[{index}].")
    return paths


def refuse(context, paths):
    """Refuses as our own servers do."""
    info = error_details_pb2.ErrorInfo(domain=DOMAIN, reason="UNKNOWN_FIELD")
    bad = error_details_pb2.BadRequest()
    for path in paths:
        bad.field_violations.add(field=path, description="unknown field")
    status = status_pb2.Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0])
    for detail in (info, bad):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "unknown fields")


class Engine:
    def __init__(self, path, arrivals, minor, announced, temper, gone):
        self.arrivals = arrivals
        self.methods, self.of = frozen(path, minor, gone)
        self.announced, self.temper = announced, temper
        self.knows_names = not gone

    def take(self, name, request, context):
        """Notes a request, and refuses it where it is newer than this engine and the temper says so."""
        with WRITING, open(self.arrivals, "a", encoding="utf-8") as file:
            file.write(name + "\n")
        paths = unknown(request)
        if not paths or self.temper == "tolerant":
            return
        if self.temper == "throwing":
            named = ", ".join(f"'{path}'" for path in paths)
            raise ValueError(f"unknown fields {named}")
        refuse(context, paths)

    def describe(self, request, context):
        self.take("Describe", request, context)
        answer = self.of(f"{PACKAGE}.DescribeResponse")()
        answer.protocol.major, answer.protocol.minor = 1, self.announced
        engine = answer.engine
        engine.id, engine.name, engine.version = "python", "Python engine", "1.0.0"
        engine.methods.extend(["Describe", "Ingest", "Assemble", "Compact"])
        if self.knows_names:
            answer.honours_must_understand = True
        return answer

    def ingest(self, request, context):
        self.take("Ingest", request, context)
        return self.of(f"{PACKAGE}.IngestResponse")(ingested=True)

    def assemble(self, frames, context):
        start = next(frames).start
        self.take("Assemble", start, context)
        answer = self.of(f"{PACKAGE}.AssembleResponse")()
        segment = answer.result.messages.segments.add()
        segment.keep.start, segment.keep.count = 0, start.transcript.head.count
        yield answer

    def compact(self, frames, context):
        self.take("Compact", next(frames).start, context)
        answer = self.of(f"{PACKAGE}.CompactResponse")()
        answer.result.ok, answer.result.reason = True, "nothing to do"
        yield answer

    def handlers(self):
        """What gRPC calls, for the methods that there were."""
        streaming = {"Assemble": self.assemble, "Compact": self.compact}
        unary = {"Describe": self.describe, "Ingest": self.ingest}
        handlers = {}
        for kind, served in (
            (grpc.stream_stream_rpc_method_handler, streaming),
            (grpc.unary_unary_rpc_method_handler, unary),
        ):
            for name, serve in served.items():
                method = self.methods[name]
                handlers[name] = kind(
                    serve,
                    request_deserializer=self.of(method.input_type).FromString,
                    response_serializer=self.of(method.output_type).SerializeToString,
                )
        return grpc.method_handlers_generic_handler(SERVICE, handlers)


def main():
    path, arrivals, minor, announced, temper, names = sys.argv[1:]
    gone = NAMES if names == "no-names" else ()
    engine = Engine(path, arrivals, int(minor), int(announced), temper, gone)
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
    server.add_generic_rpc_handlers((engine.handlers(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    # The end of its input is the end of the test.
    sys.stdin.read()
    server.stop(None)


if __name__ == "__main__":
    main()
