// Starts code-server on a project, does what a person would do, and checks what is shown and what is on disk.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { open } from "./workbench.mjs";

const { PERFLINT_PLACE: place, PERFLINT_ROOT: root } = process.env;
const project = path.join(place, "project");
const script = path.join(project, "train.py");
const images = path.join(root, "docs", "images");
const python = (name) => path.join(place, name, "bin", "python");
const example = readFileSync(path.join(root, "examples", "cifar10.py"), "utf8");

const FIX_ON_SAVE = { "[python]": { "editor.codeActionsOnSave": { "source.fixAll.perflint": "explicit" } } };
const settings = (values) => writeFileSync(path.join(project, ".vscode", "settings.json"), JSON.stringify(values));

// Of examples/cifar10.py, as a person counts them there.
const PLACES = [
  ["PPF306", 55, 23],
  ["PPF306", 57, 21],
  ["PPF101", 91, 20],
  ["PPF201", 109, 27],
  ["PPF202", 110, 13],
];

const EDITOR = ".part.editor";

const areAll = (rows) => rows.filter((row) => row.includes("PPF")).length === PLACES.length;

async function main() {
  mkdirSync(path.join(project, ".vscode"), { recursive: true });
  writeFileSync(path.join(project, "perflint.toml"), "");
  writeFileSync(script, example);
  settings({ "stub.interpreter": python("none") });
  const server = await codeServer();
  const workbench = await open(server.url, project, "train.py");
  try {
    await withoutPerflint(workbench);
    await findings(workbench);
    await quickFix(workbench);
    await hover(workbench);
    await fixOnSave(workbench);
    await fixCommand(workbench);
    await killed(workbench);
    await installed(workbench);
  } catch (error) {
    await workbench.page.screenshot({ path: path.join(place, "failed.png") });
    console.error(`as it looked then: ${path.join(place, "failed.png")}`);
    throw error;
  } finally {
    await workbench.close();
    server.stop();
  }
}

async function withoutPerflint(workbench) {
  const seen = (part) => workbench.messages((messages) => messages.some((each) => each.includes(part)));
  await seen(
    `perflint is not installed for ${python("none")}. Run: ${python("none")} -m pip install "perflint-paddle[lsp]"`,
  );
  await shot(workbench, "vscode-missing", ".notifications-toasts");
  settings({ "stub.interpreter": python("bare") });
  await seen(`${python("bare")} -m perflint is installed without what its language server needs.`);
  settings({ "stub.interpreter": python("other") });
  await seen(
    `${python("other")} -m perflint is, or was overwritten by, PyPI's other perflint, which is a plugin of Pylint.`,
  );
  await workbench.command("Notifications: Clear All Notifications");
  console.log("ok: what is missing is said, also after another interpreter has been selected");
}

async function findings(workbench) {
  settings({ "stub.interpreter": python("full"), ...FIX_ON_SAVE });
  await workbench.command("Problems: Focus on Problems View");
  const rows = await workbench.problems(areAll);
  for (const [code, line, column] of PLACES) {
    assert.ok(
      rows.some((row) => row.includes(code) && row.includes(`[Ln ${line}, Col ${column}]`)),
      `${code} ${line}:${column} in ${rows}`,
    );
  }
  await workbench.command("View: Close Primary Side Bar");
  console.log("ok: all findings are in the Problems panel, each at its place");
}

async function quickFix(workbench) {
  await workbench.goTo(109, 30);
  await workbench.page.keyboard.press("Control+.");
  const titles = await workbench.until(
    () => workbench.page.locator(".action-widget .monaco-list-row.action").allInnerTexts(),
    (texts) => texts.some((text) => text.includes("keep the sum on the device")),
  );
  await workbench.page.keyboard.press("Escape");
  console.log(`ok: quick fixes: ${titles.join(" | ")}`);
}

async function hover(workbench) {
  await workbench.command("View: Toggle Panel Visibility"); // which makes room for it
  await workbench.goTo(109, 30);
  await workbench.command("Show or Focus Hover");
  const shown = workbench.page.locator(".monaco-hover:visible", { hasText: "host-sync-in-step" }).first();
  await shown.waitFor();
  await shot(workbench, "vscode-hover", EDITOR);
  await workbench.page.keyboard.press("Escape");
  await workbench.command("Problems: Focus on Problems View");
  await workbench.goTo(109, 30);
  console.log("ok: hover shows the page of the rule");
}

async function fixOnSave(workbench) {
  const expected = fixedByCommand();
  assert.notEqual(expected, example);
  await workbench.page.keyboard.press("Control+s");
  await workbench.until(
    () => readFileSync(script, "utf8"),
    (text) => text === expected,
  );
  console.log("ok: saving makes all safe fixes, as perflint check --fix does");
}

async function fixCommand(workbench) {
  settings({ "stub.interpreter": python("none"), "perflint.interpreter": python("full") });
  await workbench.page.waitForTimeout(2000);
  const [before] = servers();
  await workbench.command("perflint: Restart server");
  await replaced(workbench, before);
  writeFileSync(script, example); // VS Code takes the change of an unmodified file over
  await workbench.problems(areAll);
  await workbench.goTo(1, 1);
  await workbench.command("perflint: Fix all safe findings in this file");
  await workbench.problems((rows) => rows.length > 0 && !rows.some((row) => row.includes("PPF202")));
  await workbench.page.keyboard.press("Control+s");
  await workbench.until(
    () => readFileSync(script, "utf8"),
    (text) => text === fixedByCommand(),
  );
  console.log("ok: a setting names the interpreter, and the command makes the same fixes");
}

async function killed(workbench) {
  const [before] = servers();
  process.kill(before, "SIGKILL");
  await replaced(workbench, before);
  writeFileSync(script, example);
  await workbench.problems(areAll);
  console.log("ok: a server that is killed is started again");
}

async function installed(workbench) {
  await workbench.command("Notifications: Clear All Notifications");
  settings({ "stub.interpreter": python("none") });
  await workbench.page.locator(".notifications-toasts .monaco-button", { hasText: "Install" }).click();
  await workbench.until(
    () => servers("none"),
    (found) => found.length === 1,
  );
  await workbench.command("Problems: Focus on Problems View");
  await workbench.problems(areAll);
  console.log("ok: a click installs perflint, and its server is started");
}

/** The process ids of the servers. */
function servers(name = "full") {
  const rows = spawnSync("ps", ["-ww", "-eo", "pid=,args="], { encoding: "utf8" }).stdout.split("\n");
  return rows.filter((row) => row.includes(`${python(name)} -m perflint server`)).map((row) => Number.parseInt(row));
}

/** Waits until one other server is there in place of one. */
async function replaced(workbench, before) {
  await workbench.until(servers, (found) => found.length === 1 && found[0] !== before);
}

function fixedByCommand() {
  const copy = path.join(place, "copy.py");
  writeFileSync(copy, example);
  spawnSync(python("full"), ["-m", "perflint", "check", "--isolated", "--fix", "--quiet", copy]);
  return readFileSync(copy, "utf8");
}

/** A picture of the window, or of one part of it. */
async function shot(workbench, name, part = ".monaco-workbench") {
  await workbench.page.waitForTimeout(1000); // for what moves to have come to rest
  mkdirSync(images, { recursive: true });
  await workbench.page
    .locator(part)
    .first()
    .screenshot({ path: path.join(images, `${name}.png`) });
}

async function codeServer() {
  const args = ["--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check"];
  const directories = ["--user-data-dir", path.join(place, "user"), "--extensions-dir", path.join(place, "extensions")];
  const program = path.join(place, "npm", "node_modules", ".bin", "code-server");
  const child = spawn(program, [...args, ...directories, "--disable-workspace-trust"], { detached: true });
  const url = await new Promise((resolve, reject) => {
    child.stdout.on("data", (text) => {
      const found = /listening on (http:\S+?)\/?\s/.exec(String(text));
      if (found !== null) resolve(found[1]);
    });
    child.on("exit", (code) => reject(new Error(`code-server has ended with ${code}`)));
  });
  return { url, stop: () => process.kill(-child.pid) };
}

await main();
