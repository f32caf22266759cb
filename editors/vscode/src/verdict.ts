/** What the output of a program says about it: this perflint, another one, or none.  Knows nothing of VS Code. */

/** How a program ended.  `code` is null if it could not be started or was stopped. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Node's name for the reason why it could not be started, such as `ENOENT`. */
  readonly failure?: string | undefined;
}

/**
 * Why perflint cannot be used.  `missing`: there is no such program; `absent`: the interpreter has no perflint;
 * `pylint`: PyPI's other perflint, a plugin of Pylint; `extra`: the packages of perflint-paddle[lsp] are not there.
 */
export type Trouble = "missing" | "absent" | "pylint" | "extra" | "old" | "broken";

export type Verdict =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly trouble: Trouble; readonly detail: string };

/** What `perflint --version` has said. */
export function ofVersion(outcome: Outcome): Verdict {
  const version = /^perflint (\d\S*)\s*$/m.exec(outcome.stdout)?.[1];
  if (outcome.code === 0 && version !== undefined) return { ok: true, version };
  return { ok: false, trouble: troubleOfVersion(outcome), detail: detail(outcome) };
}

/** Why `perflint server` has ended before it could answer, given what it wrote on standard error. */
export function ofServer(stderr: string): Verdict {
  const outcome = { code: null, stdout: "", stderr };
  return { ok: false, trouble: troubleOfServer(stderr), detail: detail(outcome) };
}

/** What pip has to be told, one command after the other, to repair a trouble; empty where pip is not the remedy. */
export function remedy(trouble: Trouble): string[][] {
  const install = ["install", "perflint-paddle[lsp]"];
  if (trouble === "absent" || trouble === "extra") return [install];
  if (trouble === "old") return [["install", "--upgrade", "perflint-paddle[lsp]"]];
  // Each of the two has overwritten files of the other: both have to go first.
  return trouble === "pylint" ? [["uninstall", "-y", "perflint", "perflint-paddle"], install] : [];
}

/** The commands of a remedy as a person types them. */
export function typed(python: string, commands: readonly string[][]): string {
  const quoted = (part: string) => (/[\s[\]]/.test(part) ? `"${part}"` : part);
  return commands.map((args) => [python, "-m", "pip", ...args].map(quoted).join(" ")).join("\n");
}

function troubleOfVersion(outcome: Outcome): Trouble {
  if (outcome.failure === "ENOENT") return "missing";
  if (/No module named '?perflint'?\s*$/m.test(outcome.stderr)) return "absent";
  // The Pylint plugin runs Pylint, or dies on the import of Pylint or astroid.
  const isPlugin =
    /^pylint\b/im.test(outcome.stdout) || /another distribution named|astroid|pylint/i.test(outcome.stderr);
  return isPlugin ? "pylint" : "broken";
}

function troubleOfServer(stderr: string): Trouble {
  if (/perflint-paddle\[lsp\]|No module named '?(?:pygls|lsprotocol)/.test(stderr)) return "extra";
  return /invalid choice: '?server/.test(stderr) ? "old" : "broken";
}

/** The last row that says something: of a traceback, the exception. */
function detail(outcome: Outcome): string {
  const rows = `${outcome.stdout}\n${outcome.stderr}`.split(/\r?\n/).filter((row) => row.trim() !== "");
  return rows.at(-1)?.trim() ?? outcome.failure ?? `exit status ${outcome.code}`;
}
