// A socket between the plugin and the engine that keeps every byte that goes to the engine.

import { type Server, type Socket, connect, createServer } from "node:net";
import { rmSync } from "node:fs";

/** The relay. */
export class Relay {
  readonly socket: string;
  private readonly engine: string;
  private readonly chunks: Buffer[] = [];
  private readonly open = new Set<Socket>();
  private readonly server: Server;

  constructor(socket: string, engine: string) {
    this.socket = socket;
    this.engine = engine;
    this.server = createServer((host) => this.join(host));
  }

  async listen(): Promise<void> {
    rmSync(this.socket, { force: true });
    await new Promise<void>((resolve) => this.server.listen(this.socket, resolve));
  }

  /** Everything that the engine was sent. */
  get bytes(): Buffer {
    return Buffer.concat(this.chunks);
  }

  close(): void {
    for (const socket of this.open) socket.destroy();
    this.server.close();
  }

  private join(host: Socket): void {
    const engine = connect(this.engine);
    for (const socket of [host, engine]) {
      this.open.add(socket);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        this.open.delete(socket);
        (socket === host ? engine : host).destroy();
      });
    }
    host.on("data", (chunk: Buffer) => {
      this.chunks.push(chunk);
      engine.write(chunk);
    });
    engine.on("data", (chunk) => host.write(chunk));
  }
}
