// Makes dist/extension.js, and dist/NOTICES.txt with the licences of the packages that are in it.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node20", // of VS Code 1.91
  format: "cjs",
  external: ["vscode"],
  metafile: true,
});
const directories = Object.keys(metafile.inputs).map((name) => name.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0]);
const notices = [...new Set(directories)]
  .filter((name) => name !== undefined)
  .sort()
  .map(notice);
writeFileSync("dist/NOTICES.txt", notices.join("\n\n"));

function notice(directory) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(directory, "package.json"), "utf8"));
  const file = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each));
  if (file === undefined) throw new Error(`${name} has no licence file`);
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(directory, file), "utf8").trim()}\n`;
}
