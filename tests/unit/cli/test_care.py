"""The commands that put things right: rejected --accept, drop --repair, validate, config show, doctor."""

from __future__ import annotations

import json
from typing import Any

import pytest

FENCED = '```json\n{"state": "confirmed", "ack_id": "oil-v1", "from": "macro", "conclusion": "油价上行"}\n```\n'
MEANT = {"state": "confirmed", "ack_id": "oil-v1", "from": "macro", "conclusion": "油价上行"}


@pytest.fixture
def asked(ackd: Any) -> Any:
    """Give the command line on a tree with a request to macro."""
    ackd.ok("request", "macro", "--action", "Oil", "--ack-id", "oil-v1", "--from", "zoe")
    ackd.once()
    return ackd


class TestAccept:
    def refuse(self, ackd: Any) -> dict[str, Any]:
        """Let macro's answer be refused; give it as `rejected` shows it."""
        ackd.tree.drop("roundtable/oil-v1/answer.json", FENCED)
        ackd.once()
        (one,) = ackd.data("rejected")
        assert isinstance(one, dict)
        return one

    def test_the_repair_is_shown_and_accepted(self, asked: Any) -> None:
        """Without a daemon the drop waits; with the next pass the refusal is over and the file still there."""
        one = self.refuse(asked)
        assert one["envelope"] == MEANT
        assert (asked.tree.path / one["repaired"]).is_file()
        assert "repair: the code fence" in asked.ok("rejected")
        said = asked.data("rejected", "--accept", one["id"][:6], "--by", "macro")
        assert (said["refused"], said["path"]) == (one["path"], "roundtable/oil-v1/confirmed-macro.json")
        assert said["verdict"] is None
        asked.once()
        assert asked.data("rejected") == []
        assert asked.data("show", "oil-v1")["state"] == "confirmed"
        file = asked.data("log", "--file", one["path"])
        assert file["verdict"] == "refused"
        assert "taken in as roundtable/oil-v1/confirmed-macro.json" in file["because"]
        assert (asked.tree.path / one["path"]).read_text("utf-8") == FENCED

    def test_only_the_author_or_a_person_may(self, asked: Any) -> None:
        """Others exit 4, nobody exits 2; ACKD_AGENT speaks where --by is missing."""
        name = self.refuse(asked)["id"]
        assert asked.error("rejected", "--accept", name, "--by", "trading")[0] == 4
        assert asked.error("rejected", "--accept", name)[0] == 2
        assert asked.error("rejected", name, "--accept", name, "--by", "wen")[0] == 2
        assert asked("rejected", "--accept", name, env={"ACKD_AGENT": "wen"}).exit_code == 0

    def test_without_a_repair_there_is_nothing_to_accept(self, asked: Any) -> None:
        """The reason is said, here and in the list."""
        asked.tree.drop("x.json", '{"from": "macro"}{"from": "macro"}')
        asked.once()
        (one,) = asked.data("rejected")
        assert one["repaired"] is None
        assert one["why_no_repair"]
        code, error = asked.error("rejected", "--accept", one["id"], "--by", "macro")
        assert code == 1
        assert one["why_no_repair"] in error["message"]
        assert "no repair is certain" in asked.ok("rejected", one["id"])


class TestDropRepaired:
    def test_the_repair_is_printed_and_not_taken(self, asked: Any) -> None:
        """Exit 1, the repaired envelope alone on stdout, what was changed on stderr, and nothing laid down."""
        done = asked("drop", "-", stdin=FENCED)
        assert done.exit_code == 1
        assert json.loads(done.stdout) == MEANT
        assert "repair: the code fence" in done.stderr
        assert "ackd drop --repair -" in done.stderr
        assert not (asked.tree.path / "roundtable/oil-v1/confirmed-macro.json").exists()

    def test_json_has_it_beside_the_error(self, asked: Any) -> None:
        """One object, as ever."""
        done = asked("drop", "-", "--json", stdin=json.dumps(MEANT).replace("ack_id", "ackId"))
        error = json.loads(done.stdout)["error"]
        assert (done.exit_code, error["code"], error["repaired"]) == (1, "invalid", MEANT)
        assert len(error["changes"]) == 1

    def test_repair_drops_it(self, asked: Any) -> None:
        """What lies there is the repaired envelope."""
        done = asked("drop", "-", "--repair", stdin=FENCED)
        assert done.exit_code == 0, done.output
        path = asked.tree.path / "roundtable/oil-v1/confirmed-macro.json"
        assert json.loads(path.read_bytes()) == MEANT

    def test_repair_of_what_is_well_drops_it_as_it_is(self, asked: Any) -> None:
        """The bytes are the author's own."""
        text = json.dumps(MEANT, indent=7)
        asked.ok("drop", "-", "--repair", stdin=text)
        assert (asked.tree.path / "roundtable/oil-v1/confirmed-macro.json").read_text("utf-8") == text

    def test_repair_of_what_is_uncertain_says_why(self, asked: Any) -> None:
        """Nothing is guessed."""
        done = asked("drop", "-", "--repair", "--json", stdin='{"from": "macro"}{"from": "macro"}')
        assert done.exit_code == 1
        assert "is certain" in json.loads(done.stdout)["error"]["message"]


def test_validate_names_the_repair(ackd: Any) -> None:
    """As text and in --json; a finding without one has none; annotations stay one line each."""
    path = ackd.tree.drop("roundtable/oil-v1/answer.json", FENCED)
    done = ackd("validate", str(path))
    assert done.exit_code == 1
    assert "  repair: the code fence" in done.stdout
    assert f"ackd drop --repair {path}" in done.stdout
    (finding,) = json.loads(ackd("validate", str(path), "--json").stdout)["data"]["findings"]
    assert len(finding["repair"]) == 1
    assert ackd("validate", str(path), "--format", "github").stdout.count("\n") == 1
    other = ackd.tree.drop("x.json", '{"from": "macro"}')
    assert "  repair:" not in ackd("validate", str(other)).stdout


class TestConfigShow:
    def origins(self, ackd: Any, *words: str) -> dict[str, tuple[Any, str]]:
        """Give value and origin by key."""
        return {one["key"]: (one["value"], one["origin"]) for one in ackd.data("config", "show", *words)}

    def test_each_value_says_where_it_comes_from(self, ackd: Any, tmp_path: Any, monkeypatch: Any) -> None:
        """Variables, the node's own file, team.yaml, the default, and --dir."""
        config = tmp_path / "node.yaml"
        config.write_text("node: from-file\ndurability: paranoid\n", "utf-8")
        monkeypatch.setenv("ACKD_CONFIG", str(config))
        ackd.tree.team(
            timeouts={"reminder": "90s"}, depth_limit=3, agents={"macro": {"timeouts": {"reminder": "1h"}}, "zoe": {}}
        )
        found = self.origins(ackd)
        assert found["node"] == ("lap", "ACKD_NODE")
        assert found["config"] == (str(config), "ACKD_CONFIG")
        assert found["durability"] == ("paranoid", str(config))
        assert found["tree"] == (str(ackd.tree.path), "ACKD_DIR")
        assert found["state"][1] == "ACKD_STATE"
        assert found["agent"] == (None, "default")
        assert found["timeouts.reminder"] == (90_000, "team.yaml")
        assert found["timeouts.escalation"] == (600_000, "default")
        assert found["depth_limit"] == (3, "team.yaml")
        assert found["default_home"] == (None, "default")
        assert found["arbiters"] == (["zoe"], "team.yaml")
        assert found["people"] == (["wen"], "team.yaml")
        assert found["agents.macro.timeouts.reminder"] == (3_600_000, "team.yaml")
        assert "agents.macro.timeouts.escalation" not in found
        monkeypatch.delenv("ACKD_NODE")
        assert self.origins(ackd)["node"] == ("from-file", str(config))
        assert self.origins(ackd, "--dir", str(ackd.tree.path))["tree"][1] == "--dir"

    def test_all_timeouts_are_there(self, ackd: Any) -> None:
        """Every one that team.yaml may set is shown, with a time that it would take."""
        from ackd.protocol.policy import Timeouts

        assert {f"timeouts.{name}" for name in Timeouts.__struct_fields__} <= set(self.origins(ackd))
        said = ackd.ok("config", "show")
        assert [one.split()[1:] for one in said.splitlines() if one.startswith("timeouts.complete")] == [
            ["30m", "team.yaml"]
        ]

    def test_a_team_file_that_cannot_be_used_is_said(self, ackd: Any) -> None:
        """It exits 1 with the place."""
        ackd.tree.drop("team.yaml", "agents: [\n")
        assert ackd.error("config", "show")[0] == 1


class TestPurge:
    def test_a_person_removes_a_message(self, asked: Any) -> None:
        """It says what was removed, what is left to delete, and that git may still have it."""
        asked.ok("confirm", "oil-v1", "the password is 交易-hunter2", "--from", "macro")
        asked.once()
        path = "roundtable/oil-v1/confirmed-macro.json"
        done = asked("purge", path, "--by", "wen", "--yes")
        assert done.exit_code == 0, done.output
        assert "removed from 1 entries" in done.stdout
        assert f"still in {path}: yours to delete" in done.stderr
        (one,) = [one for one in asked.data("show", "oil-v1")["messages"] if one["type"] == "confirmed"]
        assert one["envelope"]["conclusion"] == "removed by a person"
        assert "hunter2" not in asked.ok("show", "oil-v1")

    def test_what_it_needs(self, asked: Any) -> None:
        """--yes and a name exit 2, an agent 4, an unknown name 1; nothing is removed by any of them."""
        path = "roundtable/oil-v1/request-zoe.json"
        assert asked.error("purge", path, "--by", "wen")[0] == 2
        assert asked.error("purge", path, "--yes")[0] == 2
        assert asked.error("purge", path, "--by", "zoe", "--yes")[0] == 4
        assert asked.error("purge", "nothing", "--by", "wen", "--yes")[0] == 1
        assert asked.data("show", "oil-v1")["action"] == "Oil"
        said = asked.data("purge", "oil-v1", "--by", "wen", "--yes")
        assert said["left"] == [path]
        assert asked.data("show", "oil-v1")["action"] == "removed by a person"


class TestDoctor:
    def test_all_is_well(self, ackd: Any) -> None:
        """Warnings alone exit 0; every line begins with its level, or goes on below it, within 80 columns."""
        ackd.once()
        said = ackd.ok("doctor").splitlines()
        assert {one.split()[0] for one in said if not one.startswith(" ")} <= {"ok", "warning"}
        assert all(one.startswith(" " * 19) for one in said if one.startswith(" "))
        assert max(len(one) for one in said) <= 80
        assert {one["level"] for one in ackd.data("doctor")} == {"ok", "warning"}

    def test_problems_exit_1_until_they_are_fixed(self, ackd: Any) -> None:
        """A sealed file that vanished is put back from the memory."""
        ackd.ask()
        ackd.once()
        for path in (ackd.tree.path / "ledger").rglob("*.jsonl"):
            path.unlink()
        state = ackd.tree.node().state
        state.chmod(0o777)
        done = ackd("doctor")
        assert done.exit_code == 1
        assert "ackd doctor --fix" in done.stdout
        assert ackd("doctor", "--fix").exit_code == 0
        assert ackd("doctor").exit_code == 0
        assert state.stat().st_mode & 0o077 == 0

    def test_without_a_tree_the_machine_is_looked_at(self, ackd: Any, tmp_path: Any) -> None:
        """It exits 3, as everything does, and still says how the machine is."""
        done = ackd("doctor", "--json", "--dir", str(tmp_path / "none"))
        assert done.exit_code == 3
        checks = {one["name"]: one["level"] for one in json.loads(done.stdout)["data"]}
        assert (checks["tree"], checks["python"]) == ("problem", "ok")

    def test_a_tree_without_its_team_file_gets_it_back(self, ackd: Any) -> None:
        """The template's; the people's own stays in git."""
        ackd.tree.remove("team.yaml")
        assert ackd("doctor").exit_code == 1
        assert ackd("doctor", "--fix").exit_code == 0
        assert ackd("doctor").exit_code == 0
