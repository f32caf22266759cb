/** Every sentence has its Chinese, and no translation is left over. */

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const json = (name: string) => JSON.parse(readFileSync(name, "utf8")) as Record<string, string>;
const holes = (text: string) => (text.match(/\{\d\}/g) ?? []).sort();

test("package.json", () => {
  const manifest = readFileSync("package.json", "utf8");
  const used = [...manifest.matchAll(/"%([\w.]+)%"/g)].map((match) => match[1]).sort();
  assert.ok(used.length > 5);
  assert.deepEqual(Object.keys(json("package.nls.json")).sort(), used);
  assert.deepEqual(Object.keys(json("package.nls.zh-cn.json")).sort(), used);
});

test("messages", () => {
  const sources = readdirSync("src").map((name) => readFileSync(`src/${name}`, "utf8"));
  const used = sources.flatMap((text) => [...text.matchAll(/l10n\.t\(\s*"([^"]+)"/g)].map((match) => match[1] ?? ""));
  const bundle = json("l10n/bundle.l10n.zh-cn.json");
  assert.ok(used.length > 5);
  assert.deepEqual(Object.keys(bundle).sort(), [...new Set(used)].sort());
  for (const [english, chinese] of Object.entries(bundle)) assert.deepEqual(holes(chinese), holes(english));
});
