"""`team.yaml`: who takes part and by which rules; what is wrong in it is said with the place and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackd.config.team import Team, load_team, parse_team
from ackd.errors import InvalidError
from ackd.fs.beneath import Root
from ackd.protocol.policy import Timeouts
from ackd.resources import template_dir


def team(text: str) -> Team:
    """Read a team.yaml of this text."""
    return parse_team(text.encode())


def refused(text: str) -> InvalidError:
    """Give the error with which a team.yaml of this text is refused."""
    with pytest.raises(InvalidError) as caught:
        team(text)
    assert caught.value.message.startswith("team.yaml")
    return caught.value


def test_the_example_that_is_laid_down() -> None:
    """The template's team can be used as it is, and gives the defaults of the protocol."""
    with Root(template_dir()) as root:
        found = load_team(root)
    roster = found.policy.roster
    assert [one.name for one in roster.members.values()] == ["zoe", "macro", "trading", "wen"]
    assert roster.people == ("wen",)
    assert roster.arbiters == ("zoe",)
    assert roster.expand(["desk"]).members == ("macro", "trading")
    assert roster.expand(["all"]).members == ("zoe", "macro", "trading")
    assert found.policy.timeouts == Timeouts()
    assert (found.zone_name, found.default_home, found.findings) == ("UTC", "", ())
    assert (found.policy.depth_limit, found.policy.trust_edits, found.policy.version) == (5, True, "V1")


def test_without_a_file_the_next_step_is_named(tmp_path: Path) -> None:
    """A tree without team.yaml is told how to get one."""
    with Root(tmp_path) as root, pytest.raises(InvalidError, match=r"team\.yaml cannot be read") as caught:
        load_team(root)
    assert "ackd init" in caught.value.hint


@pytest.mark.parametrize("people", ["[wen, 李雷]", "{wen: , 李雷: {}}", "\n  - wen\n  - 李雷"])
def test_people_are_a_list_or_a_mapping(people: str) -> None:
    """Both forms give the same people; they rank first, and `all` leaves them out."""
    roster = team(f"agents: {{macro: }}\npeople: {people}").policy.roster
    assert roster.people == ("wen", "李雷")
    assert roster.rank("李雷") == 0
    assert roster.expand(["all"]).members == ("macro",)


@pytest.mark.parametrize("text", ["", "# nothing", "people: [wen]", "agents: [macro]", "[]", "macro", "agents: 3"])
def test_agents_are_needed_as_a_mapping(text: str) -> None:
    """A file without a mapping of agents is refused with the place and what to do."""
    error = refused(text)
    assert "agents" in error.message or "/" in error.message
    assert error.hint == "correct team.yaml and save it"


def test_an_agent_keeps_what_the_team_says_of_it() -> None:
    """Type, home and channel are taken over; left out, they are empty."""
    found = team("agents:\n  交易员: {type: trader, home: desk-2, channel: chat}\n  macro:\ndefault_home: lap")
    trader, macro = found.policy.roster.members.values()
    assert (trader.name, trader.type, trader.home, trader.channel) == ("交易员", "trader", "desk-2", "chat")
    assert (macro.type, macro.home, macro.channel, macro.timeouts) == ("", "", "", None)
    assert found.default_home == "lap"


def test_a_person_may_have_a_channel() -> None:
    """A person is told over a live channel as an agent is; its name has one spelling, however it was typed."""
    found = team("agents: {macro: {channel: cafe\u0301}}\npeople: {wen: {channel: phone}, 李雷: }")
    macro, wen, other = found.policy.roster.members.values()
    assert (macro.channel, macro.is_person) == ("caf\u00e9", False)
    assert (wen.channel, wen.is_person) == ("phone", True)
    assert (other.channel, other.is_person) == ("", True)


@pytest.mark.parametrize("part", ["agents", "people"])
def test_a_channel_is_a_name(part: str) -> None:
    """What could not name a channel is refused with its place: team.yaml holds no command and no address."""
    member = "macro" if part == "agents" else "wen"
    for written in ("5", "[chat]", "https://example.org/x", "run it"):
        base = {"agents": "{macro: }", "people": "{wen: }", part: f"{{{member}: {{channel: {written}}}}}"}
        error = refused("\n".join(f"{key}: {value}" for key, value in base.items()))
        assert f"/{part}/{member}/channel" in error.message


class TestNames:
    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("agents: {trading: }\narbiters: [tradng]", "did you mean trading?"),
            ("agents: {macro: }\npeople: [wendy]\narbiters: [wendi]", "did you mean wendy?"),
            ("agents: {macro: }\narbiters: [李雷]", "add it under agents: or people:"),
        ],
    )
    def test_an_arbiter_is_on_the_roster(self, text: str, hint: str) -> None:
        """An unknown arbiter is refused; what is near is offered."""
        error = refused(text)
        assert "arbiters" in error.message
        assert "not on the roster" in error.message
        assert error.hint == hint

    def test_an_arbiter_gets_the_rosters_spelling(self) -> None:
        """Another case in `arbiters` is the same agent."""
        assert team("agents: {Zoe: }\narbiters: [zoe]").policy.roster.arbiters == ("Zoe",)

    @pytest.mark.parametrize("name", ["all", "All", "ALL", "\uff41ll"])
    @pytest.mark.parametrize("form", ["agents: {{{}: }}", "agents: {{macro: }}\npeople: [{}]"])
    def test_all_is_no_name(self, name: str, form: str) -> None:
        """No member may be called what means every agent, in any spelling."""
        assert "means every agent" in refused(form.format(name)).message

    @pytest.mark.parametrize(
        ("one", "other"),
        [("macro", "Macro"), ("straße", "STRASSE"), ("trader1", "trader\uff11"), ("caf\u00e9", "CAFE\u0301")],
    )
    def test_two_spellings_of_one_name_clash(self, one: str, other: str) -> None:
        """Names that compare the same are refused, among agents, with people, and among groups."""
        for text in (
            f"agents: {{{one}: , {other}: }}",
            f"agents: {{{one}: }}\npeople: [{other}]",
            f"agents: {{zoe: }}\ngroups: {{{one}: [zoe], {other}: [zoe]}}",
        ):
            error = refused(text)
            assert "as the same name" in error.message
            assert error.hint == "rename one of them"

    @pytest.mark.parametrize("group", ["macro", "MACRO", "wen"])
    def test_a_group_has_a_name_of_its_own(self, group: str) -> None:
        """A group that is called like a member is refused."""
        error = refused(f"agents: {{macro: }}\npeople: [wen]\ngroups: {{{group}: [macro]}}")
        assert "is a group and an agent" in error.message
        assert error.hint == "rename the group"

    @pytest.mark.parametrize("name", ["-x", "a.", "con", "a*b", "a\u3164"])
    def test_names_follow_the_rules_of_names(self, name: str) -> None:
        """A name that could not name an inbox is refused."""
        with pytest.raises(InvalidError, match=r"agent|group"):
            team(f"agents: {{'{name}': }}")
        with pytest.raises(InvalidError, match=r"agent|group"):
            team(f"agents: {{macro: }}\ngroups: {{'{name}': [macro]}}")

    def test_a_stranger_in_a_group_is_a_finding(self) -> None:
        """The group counts without the name that nobody has."""
        found = team("agents: {macro: , 王: }\ngroups: {desk: [macro, ghost, 王]}")
        assert found.findings == ("ghost in group desk is not on the roster",)
        assert found.policy.roster.expand(["desk"]).members == ("macro", "王")

    def test_a_group_may_be_left_empty(self) -> None:
        """A group without members is a group, and reaches nobody."""
        expansion = team("agents: {macro: }\ngroups: {desk: }").policy.roster.expand(["desk"])
        assert (expansion.members, expansion.unknown) == ((), ())


@pytest.mark.parametrize(
    ("key", "finding"),
    [
        ("arbiter", 'team.yaml: the key "arbiter" is unknown; did you mean arbiters?'),
        ("timezon", 'team.yaml: the key "timezon" is unknown; did you mean timezone?'),
        ("颜色", 'team.yaml: the key "颜色" is unknown'),
    ],
)
def test_an_unknown_key_is_a_finding(key: str, finding: str) -> None:
    """A key that nothing reads does no harm and is said, with what is near."""
    assert team(f"agents: {{macro: }}\n{key}: 1").findings == (finding,)


class TestTimeouts:
    @pytest.mark.parametrize(
        ("written", "length"),
        [("5m", 300_000), ("90s", 90_000), ("1h30m", 5_400_000), ("90", 90_000), ("1.5", 1_500), ("'2h'", 7_200_000)],
    )
    def test_forms(self, written: str, length: int) -> None:
        """A duration is words or a number of seconds."""
        assert team(f"agents: {{macro: }}\ntimeouts: {{reminder: {written}}}").policy.timeouts.reminder == length

    @pytest.mark.parametrize(
        "written", ["0", "0.0001", "-5", "soon", "12:30", "5 apples", "0s", "true", "[5m]", "40000000", "'٥m'"]
    )
    def test_what_is_no_duration_is_refused(self, written: str) -> None:
        """Nothing, less than nothing, clock times and other words are refused with the place."""
        assert "timeouts/reminder" in refused(f"agents: {{macro: }}\ntimeouts: {{reminder: {written}}}").message

    def test_what_is_left_empty_keeps_its_value(self) -> None:
        """A timeout without a value is the default."""
        assert team("agents: {macro: }\ntimeouts:\n  reminder:\n").policy.timeouts == Timeouts()

    def test_a_name_that_is_no_timeout_is_refused(self) -> None:
        """A misspelt step would leave a rule out of force unseen: it is refused, with the names that are known."""
        error = refused("agents: {macro: }\ntimeouts: {remindr: 5m}")
        assert "remindr is no timeout" in error.message
        assert "reminder, escalation" in error.hint

    def test_an_agent_has_its_own_over_the_teams(self) -> None:
        """An agent's own times change only what they name; what they do not name is the team's, not the default."""
        policy = team(
            "agents:\n  macro: {timeouts: {reminder: 10m}}\n  trading:\ntimeouts: {reminder: 3m, complete: 1h}"
        ).policy
        own = policy.times("macro")
        assert (own.reminder, own.complete, own.clarify) == (600_000, 3_600_000, Timeouts().clarify)
        assert policy.times("trading") == policy.timeouts
        assert policy.timeouts.reminder == 180_000

    def test_an_agents_bad_one_is_named(self) -> None:
        """The place says whose it is."""
        error = refused("agents: {王: {timeouts: {reminder: soon}}}")
        assert "王" in error.message
        assert "timeouts/reminder" in error.message


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "UTC"])
def test_time_zones(zone: str) -> None:
    """The team's zone is one of IANA's names."""
    found = team(f"agents: {{macro: }}\ntimezone: {zone}")
    assert (str(found.policy.zone), found.zone_name) == (zone, zone)


@pytest.mark.parametrize("zone", ["Asia/Shangai", "Beijing", "America", "../etc/passwd", "/etc/localtime", "上海", "8"])
def test_a_time_zone_that_nobody_knows_is_refused(zone: str) -> None:
    """Wrong names, folders of names and paths are no zones."""
    assert "timezone" in refused(f"agents: {{macro: }}\ntimezone: '{zone}'").message


@pytest.mark.parametrize(("written", "limit"), [("1", 1), ("20", 20), ("", 5)])
def test_depth_limit(written: str, limit: int) -> None:
    """How often a matter may be passed on is the team's, 5 where it says nothing."""
    assert team(f"agents: {{macro: }}\ndepth_limit: {written}").policy.depth_limit == limit


@pytest.mark.parametrize("written", ["0", "21", "1.5", "'5'", "many", "true"])
def test_a_depth_limit_out_of_range_is_refused(written: str) -> None:
    """It is a whole number from 1 to 20."""
    assert "/depth_limit" in refused(f"agents: {{macro: }}\ndepth_limit: {written}").message


@pytest.mark.parametrize(("line", "trusted"), [("trust_edits: false", False), ("trust_edits: true", True), ("", True)])
def test_trust_edits(line: str, trusted: bool) -> None:
    """Edits count without proof unless the team says false."""
    assert team(f"agents: {{macro: }}\n{line}").policy.trust_edits is trusted


def test_trust_edits_is_true_or_false() -> None:
    """`no` is a word, not false: it is refused rather than taken for the opposite of what was meant."""
    assert "/trust_edits" in refused("agents: {macro: }\ntrust_edits: no").message


@pytest.mark.parametrize(("written", "version"), [("{version: V2}", "V2"), ("{version: 3}", "3"), ("", "V1")])
def test_the_name_of_the_rules(written: str, version: str) -> None:
    """It is recorded with each verdict, V1 where the team says nothing."""
    assert team(f"agents: {{macro: }}\nprotocol: {written}").policy.version == version


def test_the_size_is_capped(tmp_path: Path) -> None:
    """A team.yaml of more than 64 KiB is refused, from the tree and as bytes."""
    large = b"agents: {macro: }\n#" + b"x" * 65_536
    (tmp_path / "team.yaml").write_bytes(large)
    with pytest.raises(InvalidError, match=r"team\.yaml has \d+ bytes"):
        parse_team(large)
    with Root(tmp_path) as root, pytest.raises(InvalidError, match=r"team\.yaml has \d+ bytes"):
        load_team(root)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A team.yaml that is a link to somewhere else is not read."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "other.yaml").write_text("agents: {macro: }", encoding="utf-8")
    (tmp_path / "tree" / "team.yaml").symlink_to(tmp_path / "other.yaml")
    with Root(tmp_path / "tree") as root, pytest.raises(InvalidError, match="cannot be read"):
        load_team(root)


def test_all_is_no_group_of_ones_own() -> None:
    """`all` means every agent; a group of that name would silently reach others."""
    with pytest.raises(InvalidError, match="every agent"):
        parse_team(b"agents: {macro: {}}\ngroups: {All: []}\n")
