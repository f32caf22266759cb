/** One run of `perflint server` and the client that talks with it. */

import type { Readable } from "node:stream";

import type { LogOutputChannel } from "vscode";
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
} from "vscode-languageclient/node";

import type { Candidate } from "./command";

/** Milliseconds after which a server that has not answered is ended. */
const PATIENCE = 60_000;

/** How many characters of standard error are kept, to say why a server has ended. */
const KEPT = 10_000;

/** A server that has ended before it could answer; `stderr` is what it wrote. */
export class NotStarted extends Error {
  constructor(readonly stderr: string) {
    super(stderr);
  }
}

/** Its own messages name no remedy; they go to the output, and those of this extension are shown. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

/** A running server.  `ended` is called if it ends without having been asked to. */
export class Server {
  private stderr = "";
  private isRunning = false;
  private readonly client: LanguageClient;

  private constructor(
    candidate: Candidate,
    directory: string,
    output: LogOutputChannel,
    private readonly ended: () => void,
  ) {
    const command: ServerOptions = {
      command: candidate.program,
      args: [...candidate.args, "server"],
      options: { cwd: directory },
    };
    this.client = new QuietClient("perflint", "perflint", command, this.options(output));
  }

  /**
   * Starts a server.
   *
   * @throws NotStarted if it ends, or gives no answer, before it is ready.
   */
  static async start(
    candidate: Candidate,
    directory: string,
    output: LogOutputChannel,
    ended: () => void,
  ): Promise<Server> {
    const server = new Server(candidate, directory, output, ended);
    const kill = () => server.client.serverProcess?.kill();
    const timer = setTimeout(kill, PATIENCE); // which makes `start` fail
    try {
      await server.client.start();
    } catch (error) {
      kill();
      throw new NotStarted(server.stderr || String(error));
    } finally {
      clearTimeout(timer);
    }
    server.isRunning = true;
    return server;
  }

  /** Stops it; a server that has ended already is left alone. */
  async stop(): Promise<void> {
    if (!this.isRunning) return;
    this.isRunning = false;
    try {
      await this.client.stop();
    } catch {
      this.client.serverProcess?.kill(); // it does not answer
    }
  }

  private options(output: LogOutputChannel): LanguageClientOptions {
    return {
      // Cells of notebooks have another scheme: perflint does not read notebooks.
      documentSelector: ["file", "untitled"].map((scheme) => ({ scheme, language: "python" })),
      outputChannel: output,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue, handled: true }),
        closed: () => {
          const wasRunning = this.isRunning;
          this.isRunning = false;
          if (wasRunning) this.ended();
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
      stdioOptions: { stdout: () => undefined, stderr: (stream) => this.listen(stream, output) },
    };
  }

  private listen(stream: Readable, output: LogOutputChannel): void {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      this.stderr = (this.stderr + text).slice(-KEPT);
      output.append(text);
    });
  }
}
