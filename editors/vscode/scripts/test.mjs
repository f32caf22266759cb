// Bundles each test file, because Node does not run TypeScript, and hands them to `node --test`.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";

import { build } from "esbuild";

const outdir = mkdtempSync(path.join(os.tmpdir(), "perflint-vscode-"));
const entryPoints = readdirSync("test").map((name) => path.join("test", name));
await build({
  entryPoints,
  outdir,
  bundle: true,
  platform: "node",
  format: "cjs",
  sourcemap: "inline",
  logLevel: "warning",
});
const files = readdirSync(outdir).map((name) => path.join(outdir, name));
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], { stdio: "inherit" });
rmSync(outdir, { recursive: true });
process.exitCode = run.status ?? 1;
