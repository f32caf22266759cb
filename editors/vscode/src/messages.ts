/** What a person is told when perflint cannot be used, and what they can do about it with one click. */

import * as vscode from "vscode";

import { type Candidate, interpreterOf, shown } from "./command";
import * as python from "./python";
import { type Trouble, remedy, typed } from "./verdict";

/** What is wrong with a candidate. */
export interface Problem {
  readonly candidate: Candidate;
  readonly trouble: Trouble;
  readonly detail: string;
}

/** What the buttons of a message do. */
export interface Deeds {
  restart(): void;
  showOutput(): void;
}

/** One sentence on what is wrong, without the remedy. */
export function sentence(problem: Problem): string {
  const command = shown(problem.candidate);
  switch (problem.trouble) {
    case "missing":
      return problem.candidate.origin === "search"
        ? vscode.l10n.t("perflint was not found: no Python interpreter is selected, and no perflint is on PATH.")
        : vscode.l10n.t("{0} was not found.", problem.candidate.program);
    case "absent":
      return vscode.l10n.t("perflint is not installed for {0}.", problem.candidate.program);
    case "pylint":
      return vscode.l10n.t(
        "{0} is, or was overwritten by, PyPI's other perflint, which is a plugin of Pylint.",
        command,
      );
    case "extra":
      return vscode.l10n.t("{0} is installed without what its language server needs.", command);
    case "old":
      return vscode.l10n.t("{0} is too old to have a language server.", command);
    case "broken":
      return vscode.l10n.t("{0} could not be started: {1}", command, problem.detail);
  }
}

/** Shows the problem; the buttons repair it, hand over the command, or lead to another interpreter. */
export async function tell(problem: Problem, deeds: Deeds): Promise<void> {
  const isNowhere = problem.candidate.origin === "search" && problem.trouble === "missing";
  const commands = remedy(isNowhere ? "absent" : problem.trouble);
  const interpreter = interpreterOf(problem.candidate);
  const line = typed(interpreter ?? "python", commands);
  const install = vscode.l10n.t("Install");
  const copy = vscode.l10n.t("Copy Command");
  const select = vscode.l10n.t("Select Interpreter");
  const output = vscode.l10n.t("Show Output");
  const buttons = [
    ...(commands.length > 0 && interpreter !== undefined ? [install] : []),
    ...(commands.length > 0 ? [copy] : []),
    ...(python.canSelect() ? [select] : []),
    ...(commands.length === 0 ? [output] : []),
  ];
  const advice = commands.length > 0 ? ` ${vscode.l10n.t("Run: {0}", line.replace("\n", " ; "))}` : "";
  const choice = await vscode.window.showWarningMessage(sentence(problem) + advice, ...buttons);
  if (choice === install && interpreter !== undefined) await pip(interpreter, commands, deeds);
  else if (choice === copy) await vscode.env.clipboard.writeText(line);
  else if (choice === select) await python.select();
  else if (choice === output) deeds.showOutput();
}

/** Runs pip where the person sees it, and starts perflint if it has succeeded. */
async function pip(interpreter: string, commands: readonly string[][], deeds: Deeds): Promise<void> {
  for (const args of commands) {
    if ((await task(interpreter, ["-m", "pip", ...args])) !== 0) return; // pip has said why in the terminal
  }
  deeds.restart();
}

async function task(program: string, args: string[]): Promise<number | undefined> {
  const run = new vscode.Task(
    { type: "perflint" },
    vscode.TaskScope.Workspace,
    "pip",
    "perflint",
    new vscode.ProcessExecution(program, args),
  );
  const execution = await vscode.tasks.executeTask(run);
  return new Promise((resolve) => {
    const listener = vscode.tasks.onDidEndTaskProcess((event) => {
      if (event.execution !== execution) return;
      listener.dispose();
      resolve(event.exitCode);
    });
  });
}
