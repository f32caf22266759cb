/** Which commands may start perflint, in the order in which they are tried.  Knows nothing of VS Code. */

import * as path from "node:path";

/** Where a command comes from: two settings, the Python extension, the search path. */
export type Origin = "path" | "interpreter" | "selected" | "search";

/** One way to start perflint: `program`, then `args`, then what perflint is told (`server`). */
export interface Candidate {
  readonly program: string;
  readonly args: readonly string[];
  readonly origin: Origin;
}

/** What the settings and VS Code say.  Empty strings and lists count as not set. */
export interface Wishes {
  readonly path: readonly string[];
  readonly interpreter: string;
  readonly selected: string | undefined;
}

/** What stands for the variables of a setting. */
export interface Surroundings {
  readonly folder: string | undefined;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The commands to try.  A command that a setting names is the only one: whoever names it wants no other.  Without one,
 * the selected interpreter comes first, because its environment is the one that the project is run with.
 */
export function candidates(wishes: Wishes, around: Surroundings): Candidate[] {
  const [program, ...args] = wishes.path.map((part) => expand(part, around));
  if (program !== undefined && program !== "") {
    return [{ program: absolute(program, around), args, origin: "path" }];
  }
  if (wishes.interpreter !== "") {
    return [module(absolute(expand(wishes.interpreter, around), around), "interpreter")];
  }
  const search: Candidate = { program: "perflint", args: [], origin: "search" };
  return wishes.selected === undefined ? [search] : [module(wishes.selected, "selected"), search];
}

/** A candidate as a person would type it. */
export function shown(candidate: Candidate): string {
  return [candidate.program, ...candidate.args].map((part) => (/\s/.test(part) ? `"${part}"` : part)).join(" ");
}

/** The interpreter of a candidate that is `<interpreter> -m perflint`. */
export function interpreterOf(candidate: Candidate): string | undefined {
  return candidate.origin === "interpreter" || candidate.origin === "selected" ? candidate.program : undefined;
}

function module(interpreter: string, origin: Origin): Candidate {
  return { program: interpreter, args: ["-m", "perflint"], origin };
}

/** The variables that VS Code has in its own settings; an unknown one stays as it is. */
function expand(text: string, around: Surroundings): string {
  const home = text === "~" || /^~[\\/]/.test(text) ? around.home + text.slice(1) : text;
  return home.replace(/\$\{(?:(workspaceFolder)|(userHome)|env:([^}]+))\}/g, (whole, folder, user, name) => {
    if (folder) return around.folder ?? whole;
    return user ? around.home : (around.env[name] ?? "");
  });
}

/** A program with a directory in it is taken from the workspace folder; a bare name is looked up in the search path. */
function absolute(program: string, around: Surroundings): string {
  const bare = !/[\\/]/.test(program);
  return bare || around.folder === undefined || path.isAbsolute(program) ? program : path.join(around.folder, program);
}
