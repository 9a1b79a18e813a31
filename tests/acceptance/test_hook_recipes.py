"""The recipes of docs/hooks.md as they stand there, fed with what each runtime sends."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "hooks.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
THANKS, NEWS = "收到，感谢！", "没收到，附件是空的"


class Recipes:
    """The files of the page in a folder, and a desk where macro owes a confirmed."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.folder = folder
        for name, text in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "bin").mkdir()
        self.program("bin/ackd", f'exec "{sys.executable}" -m ackd "$@"')
        self.program("bin/post", 'cat > "$POSTED"')
        self.posted = folder / "posted"
        self.env = {
            **os.environ,
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUTF8": "1",
            "ACKD_DIR": str(tree),
            "ACKD_AGENT": "macro",
            "POSTED": str(self.posted),
        }

    def program(self, name: str, line: str) -> None:
        """Write a shell program."""
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, *words: str, stdin: str = "", **env: str) -> str:
        """Run a recipe, hold that it went well, and give its stdout."""
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def hook(self, event: dict[str, Any], **env: str) -> dict[str, Any] | None:
        """Give a runtime's event to the hook script."""
        common = {"session_id": "s1", "transcript_path": "/tmp/s1.jsonl", "cwd": "/", "permission_mode": "default"}
        out = self.run(sys.executable, "ackd-hook.py", stdin=json.dumps({**common, **event}), **env)
        return dict(json.loads(out)) if out else None


@pytest.fixture
def recipes(bench: Any, tmp_path: Path) -> Recipes:
    """Give the recipes, and a tree in which zoe has asked macro and trading."""
    bench.tree.request()
    bench.turn()
    (tmp_path / "recipes").mkdir()
    return Recipes(tmp_path / "recipes", bench.tree.path)


@pytest.mark.parametrize("more", [{}, {"turn_id": "t1", "model": "gpt-5"}], ids=["claude-code", "codex"])
def test_a_prompt_of_courtesy_is_blocked(recipes: Recipes, more: dict[str, str]) -> None:
    """Courtesy never reaches the model; all else does, and nothing is printed then."""
    event = {"hook_event_name": "UserPromptSubmit", **more}
    blocked = recipes.hook({**event, "prompt": THANKS})
    assert blocked is not None
    assert blocked["decision"] == "block"
    assert "courtesy" in blocked["reason"]
    assert recipes.hook({**event, "prompt": NEWS}) is None
    assert recipes.hook({**event, "prompt": ""}) is None, "a picture alone"


def test_a_stop_with_a_debt_goes_on_once(recipes: Recipes) -> None:
    """Who ends with a silent token while it owes a step is told which; the second time, or free of debt, it stops."""
    event = {"hook_event_name": "Stop", "stop_hook_active": False, "last_assistant_message": "NO_REPLY"}
    sent_back = recipes.hook(event, ACKD_ACK_ID="week-v1")
    assert sent_back is not None
    assert sent_back["decision"] == "block"
    assert "ackd confirm week-v1" in sent_back["reason"]
    assert recipes.hook({**event, "stop_hook_active": True}, ACKD_ACK_ID="week-v1") is None
    assert recipes.hook(event) is None
    assert recipes.hook({**event, "last_assistant_message": NEWS}, ACKD_ACK_ID="week-v1") is None


def test_a_hook_that_cannot_ask_lets_pass(recipes: Recipes) -> None:
    """An agent that is on no roster, or a tree that is not there, blocks nothing."""
    event = {"hook_event_name": "UserPromptSubmit", "prompt": THANKS}
    assert recipes.hook(event, ACKD_AGENT="nobody") is None
    assert recipes.hook(event, ACKD_DIR=str(recipes.folder / "none")) is None


@pytest.mark.parametrize(("text", "posted"), [(THANKS, False), ("**NO_REPLY**", False), (NEWS, True)])
def test_what_needs_no_saying_is_not_posted(recipes: Recipes, text: str, posted: bool) -> None:
    """Codex's notify, the shell wrapper and the Python lines say the same."""
    payload = {
        "type": "agent-turn-complete",
        "thread-id": "t",
        "turn-id": "1",
        "cwd": "/",
        "last-assistant-message": text,
    }
    recipes.run(sys.executable, "ackd-notify.py", "post", json.dumps(payload))
    assert recipes.posted.exists() == posted
    recipes.posted.unlink(missing_ok=True)
    recipes.run("sh", "say", "post", stdin=text)
    assert (recipes.posted.read_text(encoding="utf-8").strip() if recipes.posted.exists() else "") == text * posted
    assert recipes.run(sys.executable, "snippet.py", stdin=text).strip() == text * posted


def test_the_settings_are_whole(recipes: Recipes) -> None:
    """Both runtimes' files are JSON and call the script on the two events that it knows."""
    for name in ("settings.json", "hooks.json"):
        hooks = json.loads((recipes.folder / name).read_bytes())["hooks"]
        assert set(hooks) == {"UserPromptSubmit", "Stop"}
        commands = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
        assert commands == {"python3 ~/bin/ackd-hook.py"}
    manifests = [json.loads((recipes.folder / name).read_bytes()) for name in ("package.json", "openclaw.plugin.json")]
    assert manifests[0]["openclaw"]["extensions"] == ["./index.js"]
    assert manifests[1]["id"] == "ackd"


DRIVER = """
import plugin from "./index.js";
const on = {};
plugin.register({ on: (name, handler) => { on[name] = handler; } });
const [text, key] = process.argv.slice(2);
const ctx = { sessionKey: key };
const said = [await on.before_dispatch({ content: text }, ctx)];
said.push(await on.message_sending({ to: "c", content: text }, ctx));
console.log(JSON.stringify(said.map((one) => one ?? null)));
"""


@pytest.mark.needs_tools  # node, which OpenClaw brings
@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        (THANKS, "agent:macro:main", [{"handled": True}, {"cancel": True}]),
        ("HEARTBEAT_OK", "agent:macro:main", [{"handled": True}, {"cancel": True}]),
        (NEWS, "agent:macro:main", [None, None]),
        (THANKS, "agent:nobody:main", [None, None]),
        (THANKS, "", [{"handled": True}, {"cancel": True}]),
    ],
)
def test_the_plugin_claims_and_cancels(recipes: Recipes, text: str, key: str, said: list[Any]) -> None:
    """Courtesy is claimed before the model runs and cancelled before it is sent; a stranger is left alone."""
    kit = recipes.folder / "node_modules/openclaw"
    kit.mkdir(parents=True)
    (kit / "package.json").write_text('{"type": "module", "exports": {"./plugin-sdk/plugin-entry": "./entry.js"}}')
    (kit / "entry.js").write_text("export const definePluginEntry = (entry) => entry;")
    (recipes.folder / "driver.js").write_text(DRIVER, encoding="utf-8")
    assert json.loads(recipes.run("node", "driver.js", text, key)) == said
