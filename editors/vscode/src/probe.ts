/** Asks a program who it is. */

import { execFile } from "node:child_process";

import type { Candidate } from "./command";
import { type Outcome, type Verdict, ofVersion } from "./verdict";

/** Milliseconds after which a program that does not answer counts as broken. */
const PATIENCE = 30_000;

/** Whether a candidate is this perflint; `directory` is where it is started. */
export async function probe(candidate: Candidate, directory: string): Promise<Verdict> {
  return ofVersion(await run(candidate.program, [...candidate.args, "--version"], directory));
}

function run(program: string, args: string[], directory: string): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: directory, timeout: PATIENCE, windowsHide: true }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : null;
      resolve({ code, stdout, stderr, failure: typeof error?.code === "string" ? error.code : undefined });
    });
  });
}
