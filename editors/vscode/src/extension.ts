/** What VS Code calls: starts perflint, and again whenever another one is asked for. */

import * as vscode from "vscode";

import * as python from "./python";
import { Session } from "./session";

let session: Session | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const output = vscode.window.createOutputChannel("perflint", { log: true });
  const running = new Session(output);
  session = running;
  context.subscriptions.push(
    output,
    running,
    vscode.commands.registerCommand("perflint.restart", () => running.restart()),
    vscode.commands.registerCommand("perflint.showOutput", () => output.show()),
    vscode.commands.registerCommand("perflint.fixAll", fixAll),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const names = ["perflint.path", "perflint.interpreter"];
      if (names.some((name) => event.affectsConfiguration(name))) void running.again();
    }),
  );
  const listener = await python.onChange(() => void running.again());
  if (listener !== undefined) context.subscriptions.push(listener);
  await running.again();
}

export async function deactivate(): Promise<void> {
  await session?.stop();
}

/** VS Code asks for the action, applies its edit, and says so where there is nothing to fix. */
async function fixAll(): Promise<void> {
  const action = { kind: "source.fixAll.perflint", apply: "first" };
  await vscode.commands.executeCommand("editor.action.sourceAction", action);
}
