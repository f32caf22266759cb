import assert from "node:assert/strict";
import { test } from "node:test";

import { type Outcome, ofServer, ofVersion, remedy, typed } from "../src/verdict";

const said = (outcome: Partial<Outcome>) => ofVersion({ code: 1, stdout: "", stderr: "", ...outcome });

test("this perflint says its version", () => {
  assert.deepEqual(said({ code: 0, stdout: "perflint 0.1.0\n" }), { ok: true, version: "0.1.0" });
  assert.deepEqual(said({ code: 0, stdout: "perflint 0.1.0\r\n" }), { ok: true, version: "0.1.0" });
});

test("a module or a program that is not there", () => {
  const module = said({ stderr: "/usr/bin/python3: No module named perflint\n" });
  assert.deepEqual(module, { ok: false, trouble: "absent", detail: "/usr/bin/python3: No module named perflint" });
  const program = said({ code: null, failure: "ENOENT" });
  assert.deepEqual(program, { ok: false, trouble: "missing", detail: "ENOENT" });
});

test("the plugin of Pylint, alone or beside this one, with or without its Pylint", () => {
  const speaks = said({ code: 0, stdout: "pylint 3.3.9\nastroid 3.3.11\nPython 3.11.2\n" });
  assert.equal(!speaks.ok && speaks.trouble, "pylint");
  const dies = said({ stderr: "ModuleNotFoundError: No module named 'astroid'\n" });
  assert.equal(!dies.ok && dies.trouble, "pylint");
  const both = said({
    code: 2,
    stderr: 'perflint: another distribution named "perflint" (0.8.1, the Pylint plugin) is installed\n',
  });
  assert.equal(!both.ok && both.trouble, "pylint");
});

test("anything else is broken, and its last row says why", () => {
  const verdict = said({ stderr: "Traceback (most recent call last):\nImportError: libcst\n\n" });
  assert.deepEqual(verdict, { ok: false, trouble: "broken", detail: "ImportError: libcst" });
  assert.deepEqual(said({ code: 3 }), { ok: false, trouble: "broken", detail: "exit status 3" });
  const foreign = said({ code: 0, stdout: "perflint\n" });
  assert.deepEqual(foreign, { ok: false, trouble: "broken", detail: "perflint" });
});

test("why a server has ended", () => {
  const trouble = (stderr: string) => {
    const verdict = ofServer(stderr);
    return verdict.ok ? undefined : verdict.trouble;
  };
  assert.equal(trouble('perflint: run python -m pip install "perflint-paddle[lsp]"\n'), "extra");
  assert.equal(trouble("ModuleNotFoundError: No module named 'pygls'\n"), "extra");
  assert.equal(trouble("perflint: error: argument COMMAND: invalid choice: 'server' (choose from check)\n"), "old");
  assert.equal(trouble("Killed\n"), "broken");
});

test("the remedy as it is typed", () => {
  assert.equal(typed("python", remedy("extra")), 'python -m pip install "perflint-paddle[lsp]"');
  assert.equal(
    typed("/my venv/bin/python", remedy("old")),
    '"/my venv/bin/python" -m pip install --upgrade "perflint-paddle[lsp]"',
  );
  assert.equal(
    typed("python", remedy("pylint")),
    'python -m pip uninstall -y perflint perflint-paddle\npython -m pip install "perflint-paddle[lsp]"',
  );
  assert.deepEqual(remedy("broken"), []);
  assert.deepEqual(remedy("missing"), []);
});
