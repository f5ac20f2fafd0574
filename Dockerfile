# One engine service on a Unix socket.
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package contextwire

FROM debian:bookworm-slim
# The folders of the socket and of the store belong to the user and to nobody else: the engine answers
# only its own user id.
RUN useradd --system --uid 10001 --no-create-home contextwire \
    && install --directory --owner contextwire --mode 0700 /run/contextwire /var/lib/contextwire
COPY --from=build /src/target/release/contextwire /usr/local/bin/contextwire
USER contextwire
VOLUME /run/contextwire /var/lib/contextwire
ENTRYPOINT ["contextwire"]
CMD ["serve", "--socket", "/run/contextwire/engine.sock", "--store", "/var/lib/contextwire/lossless.sqlite3"]
