/** Finds a perflint, keeps its server running, and shows in the status bar how that went. */

import * as os from "node:os";

import * as vscode from "vscode";

import { type Candidate, type Wishes, candidates, shown } from "./command";
import { type Problem, sentence, tell } from "./messages";
import { probe } from "./probe";
import * as python from "./python";
import { NotStarted, Server } from "./server";
import { ofServer } from "./verdict";

/** A server that ends by itself so often in so many milliseconds is not started again. */
const ATTEMPTS = 3;
const PERIOD = 180_000;

/**
 * The directory that perflint is started in: `python -m` puts it in front of the search path, and a directory
 * `perflint` of the project must not be taken for perflint.
 */
const DIRECTORY = os.homedir();

export class Session implements vscode.Disposable {
  private server: Server | undefined;
  private tried = "";
  private work: Promise<void> = Promise.resolve();
  private crashes: number[] = [];
  private told = "";
  private readonly status: vscode.LanguageStatusItem;

  constructor(private readonly output: vscode.LogOutputChannel) {
    this.status = vscode.languages.createLanguageStatusItem("perflint", { language: "python" });
    this.status.name = "perflint";
    this.status.command = { command: "perflint.showOutput", title: vscode.l10n.t("Show Output") };
    this.show("perflint", vscode.LanguageStatusSeverity.Information);
  }

  /** Stops the server, if there is one, and starts what the settings now ask for.  One call is worked off at a time. */
  restart(): Promise<void> {
    this.crashes = [];
    this.tried = "";
    this.told = ""; // whoever asks again wants to hear again
    return this.again();
  }

  /** As `restart`, unless the right server is running, and without a second word about a problem that has been told. */
  again(): Promise<void> {
    this.work = this.work.then(() => this.begin()).catch((error: unknown) => this.output.error(String(error)));
    return this.work;
  }

  /** Stops the server for good. */
  async stop(): Promise<void> {
    await this.work;
    await this.end();
  }

  dispose(): void {
    this.status.dispose();
  }

  private async begin(): Promise<void> {
    const wanted = await this.candidates();
    const wish = JSON.stringify(wanted);
    if (this.server !== undefined && wish === this.tried) return;
    this.tried = wish;
    await this.end();
    let first: Problem | undefined;
    for (const candidate of wanted) {
      const problem = await this.attempt(candidate);
      if (problem === undefined) return;
      this.output.warn(`${sentence(problem)} ${problem.detail}`);
      first ??= problem;
    }
    if (first !== undefined) this.report(first);
  }

  /** Starts one candidate; what is wrong with it if that fails. */
  private async attempt(candidate: Candidate): Promise<Problem | undefined> {
    const verdict = await probe(candidate, DIRECTORY);
    if (!verdict.ok) return { candidate, trouble: verdict.trouble, detail: verdict.detail };
    try {
      this.server = await Server.start(candidate, DIRECTORY, this.output, () => this.crashed());
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      const found = ofServer(error.stderr);
      return found.ok ? undefined : { candidate, trouble: found.trouble, detail: found.detail };
    }
    this.output.info(`perflint ${verdict.version}: ${shown(candidate)} server`);
    this.show(`perflint ${verdict.version}`, vscode.LanguageStatusSeverity.Information, shown(candidate));
    return undefined;
  }

  private async candidates(): Promise<Candidate[]> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const settings = vscode.workspace.getConfiguration("perflint", folder);
    const wishes: Wishes = {
      path: settings.get<string[]>("path", []),
      interpreter: settings.get<string>("interpreter", ""),
      selected: await python.selected(folder),
    };
    return candidates(wishes, { folder: folder?.fsPath, home: os.homedir(), env: process.env });
  }

  private async end(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    await server?.stop();
  }

  private crashed(): void {
    this.server = undefined;
    const now = Date.now();
    this.crashes = [...this.crashes.filter((time) => now - time < PERIOD), now];
    this.output.error(`The server has ended (${this.crashes.length}/${ATTEMPTS}).`);
    if (this.crashes.length < ATTEMPTS) {
      void this.again();
      return;
    }
    const text = vscode.l10n.t("perflint has stopped working; its output says why.");
    this.show(text, vscode.LanguageStatusSeverity.Error);
    const button = vscode.l10n.t("Show Output");
    void vscode.window.showErrorMessage(text, button).then((choice) => choice && this.output.show());
  }

  private report(problem: Problem): void {
    const text = sentence(problem);
    this.show(text, vscode.LanguageStatusSeverity.Warning);
    if (text === this.told) return;
    this.told = text;
    void tell(problem, { restart: () => void this.restart(), showOutput: () => this.output.show() });
  }

  private show(text: string, severity: vscode.LanguageStatusSeverity, detail = ""): void {
    this.status.text = text;
    this.status.severity = severity;
    this.status.detail = detail;
  }
}
