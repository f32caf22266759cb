// A client that pulls, on Microsoft's own protocol library: what it is told, as JSON in the file $PERFLINT_ANSWERS.
// Usage: node client.mjs URI ENCODING...     (the encodings of positions to offer, the favourite first)
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import {
  StreamMessageReader,
  StreamMessageWriter,
  createProtocolConnection,
} from "vscode-languageserver-protocol/node";

const [uri, ...encodings] = process.argv.slice(2);
const path = fileURLToPath(uri);
const root = new URL(".", uri).href.replace(/\/$/, "");
const text = readFileSync(path, "utf8");
const answers = { messages: [] };
const server = spawn("perflint", ["server", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => server.on("exit", resolve));
const connection = createProtocolConnection(
  new StreamMessageReader(server.stdout),
  new StreamMessageWriter(server.stdin),
);

let settings = { ignore: ["PPF405"] };
let refreshed = () => {};
connection.onRequest("workspace/configuration", ({ items }) => items.map(() => settings));
connection.onRequest("workspace/diagnostic/refresh", () => refreshed());
connection.onRequest("client/registerCapability", () => null);
connection.onNotification("textDocument/publishDiagnostics", () => answers.messages.push("pushed"));
connection.onNotification("window/showMessage", ({ message }) => answers.messages.push(message));
connection.listen();

const row = ({ range: { start, end }, code }) => [start.line, start.character, end.line, end.character, code];
const pull = async () => {
  const report = await connection.sendRequest("textDocument/diagnostic", { textDocument: { uri } });
  return report.items;
};
let version = 1;
const change = (whole) => {
  version += 1;
  const contentChanges = [{ text: whole }];
  return connection.sendNotification("textDocument/didChange", { textDocument: { uri, version }, contentChanges });
};
const actions = (diagnostics, only) => {
  const range = diagnostics[0]?.range ?? { start: { line: 0, character: 0 }, end: { line: 0, character: 0 } };
  const context = only === undefined ? { diagnostics } : { diagnostics, only };
  return connection.sendRequest("textDocument/codeAction", { textDocument: { uri }, range, context });
};

const { capabilities } = await connection.sendRequest("initialize", {
  processId: process.pid,
  rootUri: root,
  workspaceFolders: [{ uri: root, name: "project" }],
  capabilities: {
    general: { positionEncodings: encodings },
    workspace: { configuration: true, diagnostics: { refreshSupport: true }, workspaceEdit: { documentChanges: true } },
    textDocument: {
      diagnostic: { dynamicRegistration: false },
      publishDiagnostics: { dataSupport: true, codeDescriptionSupport: true },
      hover: { contentFormat: ["markdown", "plaintext"] },
      codeAction: {
        dataSupport: true,
        codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source", "source.fixAll"] } },
      },
    },
  },
});
answers.encoding = capabilities.positionEncoding;
await connection.sendNotification("initialized", {});
const textDocument = { uri, languageId: "python", version, text };
await connection.sendNotification("textDocument/didOpen", { textDocument });

let first = await pull();
while (first.some(({ code }) => code === "PPF405")) {
  first = await pull(); // what the settings leave out is there until they have reached the server
}
answers.first = first.map(row);
answers.links = first.map((each) => each.codeDescription?.href ?? "");
answers.quickfixes = (await actions([first[1]], ["quickfix"])).map(({ title }) => title);
answers.fixAll = (await actions([], ["source.fixAll.perflint"])).map(({ kind, edit }) => ({ kind, edit }));
const hover = await connection.sendRequest("textDocument/hover", {
  textDocument: { uri },
  position: first[0].range.start,
});
answers.hover = hover.contents.value;

await change(text + process.env.PERFLINT_BREAK);
answers.broken = (await pull()).map(row);
await change(text);
answers.mended = (await pull()).map(row);

const refresh = new Promise((resolve) => (refreshed = resolve));
settings = { ignore: ["PPF405", "PPF204"] };
await connection.sendNotification("workspace/didChangeConfiguration", { settings: null });
await refresh;
answers.ignored = (await pull()).map(row);

await connection.sendRequest("shutdown");
await connection.sendNotification("exit");
answers.exit = await ended;
writeFileSync(process.env.PERFLINT_ANSWERS, JSON.stringify(answers));
connection.dispose();
