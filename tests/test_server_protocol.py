"""The server as a process: how it starts and ends, and what it writes where."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, TypeAlias

import pytest

from tests.server_sessions import SERVER

Stream: TypeAlias = IO[bytes] | io.BufferedRWPair
CHECKOUT = Path(__file__).resolve().parents[1]


def started(*arguments: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    command = [*SERVER[:-1], *arguments]
    env = {**os.environ, **(environment or {})}
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=CHECKOUT, env=env)


def sent(stream: Stream, method: str, params: Any, number: int | None = None) -> None:
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({"id": number} if number else {})
    body = json.dumps(message).encode()
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def answer(stream: Stream, number: int) -> Any:
    """The answer to a request; what is sent before it is passed over."""
    while True:
        length = 0
        while (line := stream.readline().strip()) or not length:
            assert line, "the server has ended"
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(stream.read(length))
        if message.get("id") == number:
            return message


def initialized(stdin: Stream, stdout: Stream) -> None:
    sent(stdin, "initialize", {"processId": None, "rootUri": None, "capabilities": {}}, 1)
    assert answer(stdout, 1)["result"]["serverInfo"]["name"] == "perflint"
    sent(stdin, "initialized", {})


@pytest.mark.parametrize(("shuts_down", "status"), [(True, 0), (False, 1)])
def test_exit_ends_the_server_although_its_input_stays_open(shuts_down: bool, status: int) -> None:
    with started("--stdio") as server:
        assert server.stdin is not None
        assert server.stdout is not None
        initialized(server.stdin, server.stdout)
        if shuts_down:
            sent(server.stdin, "shutdown", None, 2)
            assert answer(server.stdout, 2)["result"] is None
        sent(server.stdin, "exit", None)
        assert server.wait(30) == status
        assert server.stderr is not None
        assert server.stderr.read() == b""


def test_the_end_of_the_input_ends_the_server() -> None:
    with started() as server:
        assert server.stdin is not None
        assert server.stdout is not None
        initialized(server.stdin, server.stdout)
        sent(server.stdin, "textDocument/unknown", {}, 2)
        assert answer(server.stdout, 2)["error"]["code"] == -32601
        server.stdin.close()
        assert server.wait(30) == 0
        assert server.stdout.read() == b""


def test_a_port_of_this_machine_alone() -> None:
    with started("--tcp") as server:
        assert server.stderr is not None
        while b"Serving on" not in (line := server.stderr.readline()):
            assert line
        assert b"127.0.0.1" in line
        port = int(line.rstrip(b")\r\n").rsplit(b" ", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as connection, connection.makefile("rwb") as stream:
            initialized(stream, stream)
            sent(stream, "shutdown", None, 2)
            assert answer(stream, 2)["result"] is None
            sent(stream, "exit", None)
        assert server.wait(30) == 0


def test_ctrl_c_ends_a_server_that_nobody_speaks_to() -> None:
    with started() as server:
        assert server.stdin is not None
        assert server.stdout is not None
        initialized(server.stdin, server.stdout)
        server.send_signal(signal.SIGINT)
        assert server.wait(30) == 128 + signal.SIGINT


def test_a_port_that_cannot_be_used() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for port in (taken.getsockname()[1], 99999):
            with started("--tcp", str(port)) as server:
                assert server.wait(30) == 2
                assert server.stderr is not None
                assert f"--tcp {port}: the port cannot be used".encode() in server.stderr.read()


def test_without_pygls_it_says_how_to_install_it(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['pygls'] = None; from perflint.cli import main; sys.exit(main(['server']))"
    command = [sys.executable, "-c", hidden]
    result = subprocess.run(command, capture_output=True, check=False, cwd=CHECKOUT, input=b"", text=False)
    assert result.returncode == 2
    assert b'pip install "perflint-paddle[lsp]"' in result.stderr
    assert b"Traceback" not in result.stderr


def test_the_command_line_imports_nothing_of_the_server() -> None:
    names = "{name for name in sys.modules if name.split('.')[0] in ('pygls', 'lsprotocol', 'asyncio')}"
    code = f"import sys; from perflint.cli import main; main(['--version']); sys.exit(str({names} or ''))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, cwd=CHECKOUT)
    assert result.stderr.strip() == b""
