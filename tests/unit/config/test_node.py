"""The node: its name, where its memory lies, and which memory belongs to which tree."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from ackd.config.node import (
    INDEX_NAME,
    TREE_ID_FILE,
    Node,
    config_file,
    load_node,
    node_settings,
    state_home,
)
from ackd.errors import InvalidError, NotAllowedError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give this machine a state home and a configuration of its own."""
    monkeypatch.setenv("ACKD_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("ACKD_CONFIG", str(tmp_path / "config.yaml"))
    monkeypatch.delenv("ACKD_NODE", raising=False)
    return tmp_path / "state"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give an empty tree."""
    path = tmp_path / "树"
    path.mkdir()
    return path


def load(tree: Path) -> Node:
    """Give the node of a tree, made where it is missing."""
    node = load_node(tree)
    assert node is not None
    return node


class TestPlaces:
    def test_variables_come_first(self, home: Path, tmp_path: Path) -> None:
        """`ACKD_STATE` and `ACKD_CONFIG` say where state and configuration lie."""
        assert state_home() == home
        assert config_file() == tmp_path / "config.yaml"

    def test_without_variables_they_are_the_platforms(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Else both lie where the platform keeps such things, in folders of ackd's own."""
        for name in ("ACKD_STATE", "ACKD_CONFIG"):
            monkeypatch.setenv(name, "")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.delenv("XDG_STATE_HOME", raising=False)
        monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
        assert state_home().name == "ackd"
        assert state_home().is_relative_to(tmp_path)
        assert config_file().parent.name == "ackd"
        assert config_file().name == "config.yaml"

    def test_the_memory_lies_outside_the_tree_and_is_private(self, home: Path, place: Path) -> None:
        """Only the id lies in the tree; nobody else may look into the state."""
        node = load(place)
        assert node.state == home / node.tree_id
        assert node.state.stat().st_mode & 0o777 == 0o700
        assert [str(one.relative_to(place)) for one in place.rglob("*") if one.is_file()] == [TREE_ID_FILE]

    @pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
    def test_a_state_directory_that_others_may_write_is_refused(self, place: Path, mode: int) -> None:
        """The message names it, and the hint is the command that makes it private."""
        state = load(place).state
        state.chmod(mode)
        with pytest.raises(NotAllowedError, match="others may write") as caught:
            load_node(place)
        assert caught.value.hint == f"chmod 700 {state}"
        state.chmod(0o700)
        assert load(place).state == state

    def test_a_state_directory_of_somebody_else_is_refused(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A memory that another user owns is not trusted."""
        load(place)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        with pytest.raises(NotAllowedError, match="belongs to uid"):
            load_node(place)

    def test_looking_makes_nothing(self, home: Path, place: Path) -> None:
        """Without `create` an unknown tree stays unknown, and nothing is written."""
        assert load_node(place, create=False) is None
        assert not home.exists()
        assert list(place.iterdir()) == []
        node = load(place)
        assert load_node(place, create=False) == node


class TestWhichMemory:
    def test_a_second_start_finds_the_same(self, place: Path) -> None:
        """The id stays, and nothing is noted."""
        first = load(place)
        assert load(place) == first
        assert first.notes == ()

    def test_two_trees_have_two(self, place: Path, tmp_path: Path) -> None:
        """Each tree has a memory of its own."""
        (tmp_path / "other").mkdir()
        assert load(place).tree_id != load(tmp_path / "other").tree_id

    def test_a_tree_that_moved_keeps_it(self, place: Path, tmp_path: Path) -> None:
        """A renamed tree keeps its memory; that it moved is said once."""
        before = load(place)
        moved = place.rename(tmp_path / "moved")
        after = load(moved)
        assert after.tree_id == before.tree_id
        assert after.notes == (f"the tree moved here from {place}",)
        assert load(moved).notes == ()

    def test_a_tree_that_moved_without_its_scratch_keeps_it(self, place: Path, tmp_path: Path) -> None:
        """The folder itself is recognised even with a new path and no id in it."""
        before = load(place)
        shutil.rmtree(place / ".ackd")
        assert load(place.rename(tmp_path / "moved")).tree_id == before.tree_id

    def test_a_deleted_scratch_folder_costs_nothing(self, place: Path) -> None:
        """The id is found by the place, and laid down again."""
        before = load(place)
        shutil.rmtree(place / ".ackd")
        assert load(place) == before
        assert (place / TREE_ID_FILE).read_text(encoding="ascii").strip() == before.tree_id

    def test_a_copy_gets_its_own(self, place: Path, tmp_path: Path) -> None:
        """A copy that lies beside its original shares no memory with it, today and tomorrow."""
        original = load(place)
        shutil.copytree(place, tmp_path / "copy")
        copy = load(tmp_path / "copy")
        assert copy.tree_id != original.tree_id
        assert copy.notes == (f"the tree is a copy of {place}; it gets a memory of its own",)
        again = load(tmp_path / "copy")
        assert (again.tree_id, again.notes) == (copy.tree_id, ())
        assert load(place) == original

    def test_a_copy_whose_id_was_copied_over_again_keeps_its_own(self, place: Path, tmp_path: Path) -> None:
        """The original's id laid over a copy that is known already brings no third memory."""
        original = load(place)
        shutil.copytree(place, tmp_path / "copy")
        copy = load(tmp_path / "copy")
        shutil.copy(place / TREE_ID_FILE, tmp_path / "copy" / TREE_ID_FILE)
        assert load(tmp_path / "copy").tree_id == copy.tree_id
        assert load(place).tree_id == original.tree_id

    def test_a_fresh_tree_at_an_old_path_gets_a_new_one(self, place: Path, tmp_path: Path) -> None:
        """A tree laid down anew where another one was remembers nothing of it."""
        before = load(place)
        place.rename(tmp_path / "kept-so-that-its-inode-is-not-used-again")
        place.mkdir()
        (place / "ledger").mkdir()
        assert load(place).tree_id != before.tree_id

    def test_a_fresh_clone_with_a_ledger_keeps_it(self, place: Path, tmp_path: Path) -> None:
        """The same tree cloned anew at its path is known by the ledger that came with it, and that is said."""
        before = load(place)
        place.rename(tmp_path / "kept-so-that-its-inode-is-not-used-again")
        (place / "ledger" / "lap-0a1b2c3d").mkdir(parents=True)
        after = load(place)
        assert after.tree_id == before.tree_id
        assert after.notes == ("another folder lies at this path now; its ledger says that it is the same tree",)

    def test_a_tree_restored_with_its_id_keeps_it(self, place: Path, tmp_path: Path) -> None:
        """A tree that a backup put back, id and all, is the same tree where the old folder is gone."""
        before = load(place)
        shutil.copytree(place, tmp_path / "backup")
        shutil.rmtree(place)
        restored = (tmp_path / "backup").rename(place)
        assert load(restored).tree_id == before.tree_id

    def test_an_id_that_this_machine_does_not_know_is_taken(self, place: Path) -> None:
        """A lost index is made again from the tree's own id."""
        before = load(place)
        (before.state.parent / INDEX_NAME).unlink()
        assert load(place) == before

    @pytest.mark.parametrize("index", [b"", b"{", b"[]", b'{"a": 1}', b"\xff", b'{"a": {"path": "\xff"}}'])
    def test_a_broken_index_is_made_again(self, place: Path, index: bytes) -> None:
        """An index that cannot be read loses no tree that has its id."""
        before = load(place)
        (before.state.parent / INDEX_NAME).write_bytes(index)
        assert load(place) == before
        shutil.rmtree(place / ".ackd")
        assert load(place).tree_id == before.tree_id

    @pytest.mark.parametrize("written", [b"", b"../../etc", b"0123456789ABCDEF", b"0123", b"\xff" * 16, b"0" * 4000])
    def test_an_id_of_another_form_is_none(self, place: Path, written: bytes) -> None:
        """What somebody wrote in its place leads nowhere; the tree is found by its place."""
        before = load(place)
        (place / TREE_ID_FILE).write_bytes(written)
        assert load(place) == before
        assert (place / TREE_ID_FILE).read_bytes() == before.tree_id.encode() + b"\n"

    def test_a_pipe_or_a_link_in_its_place_is_not_read(self, place: Path, tmp_path: Path) -> None:
        """Nothing waits at a pipe, and no link is followed; the id is laid down again as a file."""
        before = load(place)
        (tmp_path / "elsewhere").write_bytes(b"0" * 16)
        for obstacle in ("pipe", "link"):
            (place / TREE_ID_FILE).unlink()
            if obstacle == "pipe":
                os.mkfifo(place / TREE_ID_FILE)
            else:
                (place / TREE_ID_FILE).symlink_to(tmp_path / "elsewhere")
            assert load(place) == before
            assert not (place / TREE_ID_FILE).is_symlink()
            assert (place / TREE_ID_FILE).is_file()
        assert (tmp_path / "elsewhere").read_bytes() == b"0" * 16

    def test_a_link_under_the_temporary_name_is_not_written_through(self, place: Path, tmp_path: Path) -> None:
        """What a tree brings along cannot make the id land in a file outside of it."""
        (tmp_path / "elsewhere").write_bytes(b"mine")
        (place / ".ackd").mkdir()
        (place / f"{TREE_ID_FILE}.{os.getpid()}").symlink_to(tmp_path / "elsewhere")
        node = load(place)
        assert (tmp_path / "elsewhere").read_bytes() == b"mine"
        assert (place / TREE_ID_FILE).read_bytes() == node.tree_id.encode() + b"\n"

    def test_a_scratch_folder_that_is_a_link_is_refused(self, place: Path, tmp_path: Path) -> None:
        """Nothing is written where a link leads."""
        (tmp_path / "elsewhere").mkdir()
        (place / ".ackd").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(NotAllowedError, match="is a link"):
            load_node(place)
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_first_starts_at_once_agree(self, place: Path, home: Path) -> None:
        """However many look at a new tree at the same instant, it gets one id."""
        for _ in range(5):
            ready, found = threading.Barrier(4), set[str]()

            def start(ready: threading.Barrier = ready, found: set[str] = found) -> None:
                ready.wait()
                found.add(load(place).tree_id)

            threads = [threading.Thread(target=start) for _ in range(4)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
            assert len(found) == 1
            assert [one.name for one in home.iterdir() if one.is_dir()] == list(found)
            shutil.rmtree(home)
            shutil.rmtree(place / ".ackd")


class TestSettings:
    @pytest.mark.parametrize(
        ("host", "name"),
        [
            ("Lap-7.example.org", "lap-7"),
            ("my_desk", "my-desk"),
            ("机房", "node"),
            ("", "node"),
            ("--", "node"),
            ("x" * 63, "x" * 40),
        ],
    )
    def test_the_hosts_name_is_the_default(self, host: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """A host's name is brought into the form of names."""
        monkeypatch.setattr("socket.gethostname", lambda: host)
        found = node_settings()["node"]
        assert (found.value, found.origin) == (name, "default")

    def test_file_before_host_and_variable_before_file(
        self, tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each setting says where it comes from."""
        path = tmp_path / "config.yaml"
        path.write_text("node: 书房\ndurability: paranoid\n", encoding="utf-8")
        assert (node_settings()["node"].value, node_settings()["node"].origin) == ("书房", str(path))
        assert (load(place).name, load(place).durability) == ("书房", "paranoid")
        monkeypatch.setenv("ACKD_NODE", "desk-2")
        assert (node_settings()["node"].value, node_settings()["node"].origin) == ("desk-2", "ACKD_NODE")
        assert node_settings()["durability"].origin == str(path)

    @pytest.mark.parametrize("name", ["a/b", "..", "-x", "con", "a b", "a\u3164", "x" * 65, "a."])
    def test_a_nodes_name_follows_the_rules_of_names(
        self, name: str, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It becomes the name of a folder in every tree: what is no name is refused."""
        monkeypatch.setenv("ACKD_NODE", name)
        with pytest.raises(InvalidError, match="node"):
            load_node(place)

    @pytest.mark.parametrize(
        ("text", "says"),
        [("- a", "is no mapping"), ("lap", "is no mapping"), ("durability: fast", "durability"), ("node: [", "line 2")],
    )
    def test_a_configuration_that_cannot_be_used_is_named(self, text: str, says: str, tmp_path: Path) -> None:
        """The message has its path and what is wrong."""
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidError, match=says) as caught:
            node_settings()
        assert str(tmp_path / "config.yaml") in caught.value.message

    @pytest.mark.parametrize("text", ["", "# nothing\n", "node:\n"])
    def test_an_empty_configuration_is_the_default(self, text: str, tmp_path: Path) -> None:
        """What is left out has its default."""
        (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
        assert {one.origin for one in node_settings().values()} == {"default"}
