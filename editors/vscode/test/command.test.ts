import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";

import { type Surroundings, type Wishes, candidates, interpreterOf, shown } from "../src/command";

const NOTHING: Wishes = { path: [], interpreter: "", selected: undefined };
const AROUND: Surroundings = {
  folder: path.resolve("/code"),
  home: path.resolve("/home/me"),
  env: { VENV: "/venvs/a" },
};
const PYTHON = path.resolve("/venvs/a/bin/python");

const asked = (wishes: Partial<Wishes>, around = AROUND) =>
  candidates({ ...NOTHING, ...wishes }, around).map(({ program, args, origin }) => [origin, program, ...args]);

test("without any setting and interpreter perflint is looked up", () => {
  assert.deepEqual(asked({}), [["search", "perflint"]]);
});

test("the selected interpreter comes before the search path", () => {
  assert.deepEqual(asked({ selected: PYTHON }), [
    ["selected", PYTHON, "-m", "perflint"],
    ["search", "perflint"],
  ]);
});

test("an interpreter that a setting names is the only one", () => {
  assert.deepEqual(asked({ interpreter: PYTHON, selected: "/usr/bin/python3" }), [
    ["interpreter", PYTHON, "-m", "perflint"],
  ]);
});

test("a command that a setting names goes before an interpreter that one names", () => {
  assert.deepEqual(asked({ path: ["uv", "run", "perflint"], interpreter: PYTHON }), [
    ["path", "uv", "run", "perflint"],
  ]);
});

test("an empty command is none", () => {
  assert.deepEqual(asked({ path: [""] }), [["search", "perflint"]]);
});

test("variables stand for what VS Code has them stand for", () => {
  assert.deepEqual(asked({ path: ["${workspaceFolder}/tools/perflint"] }), [
    ["path", path.resolve("/code/tools/perflint")],
  ]);
  assert.deepEqual(asked({ path: ["~/bin/perflint"] }), [["path", path.resolve("/home/me/bin/perflint")]]);
  assert.deepEqual(asked({ path: ["${userHome}/bin/perflint"] }), [["path", path.resolve("/home/me/bin/perflint")]]);
  assert.deepEqual(asked({ path: ["${env:VENV}/bin/perflint"] }), [["path", "/venvs/a/bin/perflint"]]);
  assert.deepEqual(asked({ path: ["perflint", "${unknown}"] }), [["path", "perflint", "${unknown}"]]);
});

test("a relative program is taken from the workspace folder, and not without one", () => {
  assert.deepEqual(asked({ interpreter: ".venv/bin/python" }), [
    ["interpreter", path.resolve("/code/.venv/bin/python"), "-m", "perflint"],
  ]);
  const nowhere = { ...AROUND, folder: undefined };
  assert.deepEqual(asked({ path: ["./perflint"] }, nowhere), [["path", "./perflint"]]);
});

test("a program with a space is shown in quotes", () => {
  assert.equal(shown({ program: "/my tools/perflint", args: ["-v"], origin: "path" }), '"/my tools/perflint" -v');
});

test("only an interpreter can be told to install", () => {
  const [first, second] = candidates({ ...NOTHING, selected: PYTHON }, AROUND);
  assert.equal(first && interpreterOf(first), PYTHON);
  assert.equal(second && interpreterOf(second), undefined);
});
