/** The interpreter that is selected in the Python extension (ms-python.python), where that extension is there. */

import * as vscode from "vscode";

const PYTHON = "ms-python.python";

/**
 * The part of its interface that is used here:
 * https://github.com/microsoft/vscode-python/blob/main/src/client/api/types.ts
 */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly id: string; readonly path: string };
    resolveEnvironment(environment: {
      readonly id: string;
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri: vscode.Uri | undefined } } | undefined>;
    readonly onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Whether an interpreter can be selected at all. */
export function canSelect(): boolean {
  return vscode.extensions.getExtension(PYTHON) !== undefined;
}

/** Lets a person select an interpreter. */
export async function select(): Promise<void> {
  await vscode.commands.executeCommand("python.setInterpreter");
}

/** The path of the interpreter that is selected for a folder, if there is one. */
export async function selected(folder: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = (await api())?.environments;
  if (environments === undefined) return undefined;
  const active = environments.getActiveEnvironmentPath(folder);
  const found = await environments.resolveEnvironment(active);
  // An environment may be named by its directory; one that cannot be resolved has no interpreter to start.
  return found?.executable.uri?.fsPath;
}

/** Calls `listener` whenever another interpreter has been selected. */
export async function onChange(listener: () => void): Promise<vscode.Disposable | undefined> {
  return (await api())?.environments.onDidChangeActiveEnvironmentPath(listener);
}

async function api(): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi | undefined>(PYTHON);
  const exported = await extension?.activate();
  return exported?.environments === undefined ? undefined : exported;
}
