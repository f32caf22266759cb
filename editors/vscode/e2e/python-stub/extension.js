// The part of the Python extension's interface that perflint asks, answered by the setting stub.interpreter.
const vscode = require("vscode");

const interpreter = () => vscode.workspace.getConfiguration("stub").get("interpreter");

exports.activate = (context) => {
  const changed = new vscode.EventEmitter();
  const select = () => vscode.window.showInformationMessage("stub: select an interpreter");
  context.subscriptions.push(
    vscode.commands.registerCommand("python.setInterpreter", select),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("stub")) changed.fire({ id: interpreter(), path: interpreter() });
    }),
  );
  const environments = {
    getActiveEnvironmentPath: () => ({ id: interpreter(), path: interpreter() }),
    resolveEnvironment: async ({ path }) => (path === "" ? undefined : { executable: { uri: vscode.Uri.file(path) } }),
    onDidChangeActiveEnvironmentPath: changed.event,
  };
  return { environments };
};
