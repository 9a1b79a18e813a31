"""The node: this machine's name, and where it keeps what it remembers of each tree; all outside the tree."""

from __future__ import annotations

import os
import re
import secrets
import socket
from pathlib import Path

import msgspec

from ackd.errors import InvalidError, NotAllowedError
from ackd.fs.lock import exclusively
from ackd.protocol.ids import clean_name

CONFIG_NAME = "config.yaml"
INDEX_NAME = "trees.json"
LOCK_NAME = "trees.lock"
TREE_ID_FILE = ".ackd/tree-id"


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One daemon's machine and state directory.

    Attributes:
        name: The node's name: `node:` of its configuration, else the host's name.
        tree_id: Random id of the tree on this machine.
        state: The state directory of that tree.
        durability: `normal` (only the ledger is flushed) or `paranoid`.
        notes: What was found out while looking it up (a tree that moved, or was copied), one sentence each.
    """

    name: str
    tree_id: str
    state: Path
    durability: str = "normal"
    notes: tuple[str, ...] = ()


class NodeSetting(msgspec.Struct, frozen=True):
    """A value of the node's own configuration, and where it comes from: a variable, the file, or `default`."""

    value: str
    origin: str


class _Place(msgspec.Struct, frozen=True):
    path: str
    dev: int
    ino: int


def state_home() -> Path:
    """Give the folder of all state directories: `ACKD_STATE`, else the platform's place for user state."""
    override = os.environ.get("ACKD_STATE")
    if override:
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_state_dir("ackd", appauthor=False))


def config_file() -> Path:
    """Give the node's own configuration file: `ACKD_CONFIG`, else the platform's place for user configuration."""
    override = os.environ.get("ACKD_CONFIG")
    if override:
        return Path(override)
    import platformdirs

    return Path(platformdirs.user_config_dir("ackd", appauthor=False)) / CONFIG_NAME


def load_node(tree: Path, *, create: bool = True) -> Node | None:
    """Find this machine's memory of a tree.

    The tree's id lies in its scratch folder, which may be deleted at any time; an index beside the state directories
    maps path and dev:ino back to it. A tree that was copied has the id of the other one and gets a new one.

    Args:
        tree: The tree.
        create: Make state directory, id and index where they are missing; False only looks.

    Returns:
        The node, or None where nothing is remembered of the tree and `create` is False.

    Raises:
        InvalidError: The node's configuration cannot be used.
        NotAllowedError: The state directory belongs to somebody else, or anybody may write in it.
    """
    home = state_home()
    settings = {key: one.value for key, one in node_settings().items()}
    there = tree.stat()
    here = _Place(str(tree.resolve()), there.st_dev, there.st_ino)
    if create:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        with exclusively(home / LOCK_NAME):
            tree_id, notes = _settle(tree, here, home)
    else:
        tree_id, notes = _identify(tree, here, _read_index(home))
        if not tree_id or not (home / tree_id).is_dir():
            return None
    state = home / tree_id
    return Node(
        name=settings["node"], tree_id=tree_id, state=state, durability=settings["durability"], notes=tuple(notes)
    )


def _settle(tree: Path, here: _Place, home: Path) -> tuple[str, list[str]]:
    """Give the tree's id, made and written down where it has none; for one process at a time."""
    index = _read_index(home)
    tree_id, notes = _identify(tree, here, index)
    tree_id = tree_id or secrets.token_hex(8)
    _make_private(home / tree_id)
    if index.get(tree_id) != here:
        _write_index(home, {**index, tree_id: here})
    _write_id(tree, tree_id)
    return tree_id, notes


def _identify(tree: Path, here: _Place, index: dict[str, _Place]) -> tuple[str, list[str]]:
    """Give the tree's id, or an empty string, and what is worth telling."""
    written = _read_id(tree)
    by_place = [name for name, place in index.items() if (place.dev, place.ino) == (here.dev, here.ino)]
    if written and written not in index:
        return written, []
    if written:
        place = index[written]
        if (place.dev, place.ino) == (here.dev, here.ino):
            note = [] if place.path == here.path else [f"the tree moved here from {place.path}"]
            return written, note
        if place.path != here.path and _is_there(place):
            return (by_place[0] if by_place else ""), [
                f"the tree is a copy of {place.path}; it gets a memory of its own"
            ]
        return written, []
    if by_place:
        return by_place[0], []
    by_path = [name for name, place in index.items() if place.path == here.path]
    if by_path and _has_ledger(tree):
        return by_path[0], ["another folder lies at this path now; its ledger says that it is the same tree"]
    return "", []


def _has_ledger(tree: Path) -> bool:
    """Tell whether a tree holds anybody's ledger: a fresh clone of ours does, one that was laid down anew does not."""
    try:
        return any(one.is_dir() for one in (tree / "ledger").iterdir())
    except OSError:
        return False


def _is_there(place: _Place) -> bool:
    try:
        found = os.stat(place.path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (place.dev, place.ino)


def _read_id(tree: Path) -> str:
    try:
        handle = os.open(tree / TREE_ID_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            text = os.read(handle, 64).decode("ascii", "replace").strip()
        finally:
            os.close(handle)
    except OSError:
        return ""
    return text if re.fullmatch(r"[0-9a-f]{16}", text) else ""


def _write_id(tree: Path, tree_id: str) -> None:
    if _read_id(tree) == tree_id:
        return
    scratch = tree / ".ackd"
    if scratch.is_symlink():
        raise NotAllowedError(f"{scratch} is a link", hint=f"remove it: rm {scratch}")
    scratch.mkdir(exist_ok=True)
    temporary = scratch / f"tree-id.{os.getpid()}"
    # The tree may hold anything, a link under this very name too: write into a file of our own making.
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(tree_id.encode("ascii") + b"\n")
    os.replace(temporary, tree / TREE_ID_FILE)


def _read_index(home: Path) -> dict[str, _Place]:
    try:
        return msgspec.json.decode((home / INDEX_NAME).read_bytes(), type=dict[str, _Place])
    except (OSError, msgspec.MsgspecError):
        return {}


def _write_index(home: Path, index: dict[str, _Place]) -> None:
    temporary = home / f"{INDEX_NAME}.{os.getpid()}"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")
    os.replace(temporary, home / INDEX_NAME)


def _make_private(state: Path) -> None:
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = state.stat()
    if found.st_uid != os.geteuid():
        raise NotAllowedError(f"the state directory {state} belongs to uid {found.st_uid}", hint="set ACKD_STATE")
    if found.st_mode & 0o022:
        raise NotAllowedError(f"others may write in the state directory {state}", hint=f"chmod 700 {state}")


def node_settings() -> dict[str, NodeSetting]:
    """Give the node's own configuration, `node` and `durability`, each with its origin.

    Raises:
        InvalidError: It cannot be used; the message names file and key.
    """
    from ackd.config.yaml_file import read_yaml

    settings = {"node": NodeSetting(_host_name(), "default"), "durability": NodeSetting("normal", "default")}
    path = config_file()
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    document = read_yaml(data, name=str(path)) if data else {}
    if document is not None and not isinstance(document, dict):
        raise InvalidError(f"{path} is no mapping", hint="write `node: my-laptop`")
    for key in settings:
        value = (document or {}).get(key)
        if value is not None:
            settings[key] = NodeSetting(str(value), str(path))
    override = os.environ.get("ACKD_NODE")
    if override:
        settings["node"] = NodeSetting(override, "ACKD_NODE")
    node = settings["node"]
    settings["node"] = NodeSetting(clean_name(node.value, what="node"), node.origin)
    if settings["durability"].value not in ("normal", "paranoid"):
        raise InvalidError(f"{path} durability: {settings['durability'].value!r:.40}", hint="use normal or paranoid")
    return settings


def _host_name() -> str:
    """Give the host's name in the form of a name."""
    name = re.sub(r"[^a-z0-9-]+", "-", socket.gethostname().split(".")[0].lower()).strip("-")[:40]
    return name or "node"
