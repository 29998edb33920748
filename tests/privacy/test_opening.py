"""Opening the export filter as settings ask: the partition fits, surrogates and spent budgets outlast store and run."""

import json
from pathlib import Path

import pytest

from fedrag_flwr.cli.simulate import _forget
from fedrag_flwr.demo import CORPUS, PARTITION, PARTITION_STRONG, PUBLIC_NAMES
from fedrag_flwr.errors import BudgetError, FedragError, SettingError, StoreCorruptError
from fedrag_flwr.memory.store import MemoryStore
from fedrag_flwr.models.base import Encoder
from fedrag_flwr.models.encoder import SentenceEncoder
from fedrag_flwr.privacy.export import ExportFilter, Released
from fedrag_flwr.privacy.ldp import SENSITIVE_TYPES
from fedrag_flwr.privacy.ledger import BudgetLedger
from fedrag_flwr.privacy.policy import open_export_filter, policy_digest, read_names, read_partition
from fedrag_flwr.privacy.randomised_response import entity_digest
from fedrag_flwr.privacy.vocabulary import EntityPartition, build_partition
from fedrag_flwr.records import MemoryItem
from fedrag_flwr.settings import PrivacySettings, Settings
from fedrag_flwr.text.pipeline import Pipeline
from tests.privacy.conftest import ItemMaker, Opaque

EPSILON = 0.01  # in a group of five the true name stays in 20.2 % of draws: of twelve names hardly all
# (a question's words around a public name, the name, the answer)
ASKED = [
    ("In which year was {} born?", "Neil Armstrong", "1930"),
    ("In which year did {} become the first human in space?", "Yuri Gagarin", "1961"),
    ("How old was {} at the discovery of Pluto?", "Clyde Tombaugh", "24"),
    ("How many children did {} have?", "Johannes Kepler", "twelve"),
    ("In which year was the telescope of {} finished?", "William Herschel", "1789"),
    ("In which year did {} publish the book on gravity?", "Isaac Newton", "1687"),
    ("When did {} return to the comet problem?", "Edmond Halley", "1705"),
    ("How many rockets did {} design?", "Wernher von Braun", "five"),
    ("In which year did {} measure the galaxies?", "Edwin Hubble", "1929"),
    ("When was the cosmic series of {} shown?", "Carl Sagan", "1980"),
    ("In which year did {} predict the solar wind?", "Eugene Parker", "1958"),
    ("In which year did {} find the first asteroid?", "Giuseppe Piazzi", "1801"),
]


@pytest.fixture(scope="session")
def items(item: ItemMaker) -> list[MemoryItem]:
    return [item(text.format(name), answer, id=f"item-{name}") for text, name, answer in ASKED]


class Opener:
    """Opens export filters of one device."""

    def __init__(self, encoder: Encoder, pipeline: Pipeline, opaque: Opaque) -> None:
        self.encoder, self.pipeline, self.opaque = encoder, pipeline, opaque

    def export(self, folder: Path, **changes: object) -> ExportFilter:
        given: dict[str, object] = {"export": "ldp", "epsilon": EPSILON, "budget": EPSILON} | changes
        settings = PrivacySettings.model_validate({key.replace("_", "-"): value for key, value in given.items()})
        return open_export_filter(settings, self.encoder, self.pipeline, self.opaque, "device-a", folder)


@pytest.fixture(scope="session")
def opener(encoder: Encoder, pipeline: Pipeline, opaque: Opaque) -> Opener:
    return Opener(encoder, pipeline, opaque)


def _texts(released: Released[MemoryItem]) -> list[tuple[str, str, str]]:
    return [(shown.id, shown.question, shown.answer) for shown in released.items]


def test_items_leave_with_names_of_their_group_only(opener: Opener, items: list[MemoryItem], tmp_path: Path) -> None:
    groups = read_partition(PrivacySettings())
    shown = {one.id: one for one in opener.export(tmp_path).release_items(items).items}
    drawn = []
    for (text, name, answer), own in zip(ASKED, items, strict=True):
        place = groups.find("PERSON", name)
        assert place is not None, name
        one = shown[opener.opaque(own.id)]
        allowed = {text.format(member): member for member in groups.groups[place[0]].members}
        assert one.question in allowed
        assert one.answer == answer
        drawn.append(allowed[one.question])
    assert drawn != [name for _, name, _ in ASKED]


def test_surrogates_stay_and_are_paid_once(opener: Opener, items: list[MemoryItem], tmp_path: Path) -> None:
    first = _texts(opener.export(tmp_path).release_items(items))
    again = [_texts(opener.export(tmp_path).release_items(items)) for _ in range(3)]
    assert len(first) == len(items)
    assert again == [first] * 3
    ledger = BudgetLedger(tmp_path / "budget.sqlite", 1.0)
    assert {ledger.spent(entity_digest(name)) for _, name, _ in ASKED} == {EPSILON}


@pytest.mark.parametrize(
    "changes", [{"epoch": 1}, {"epsilon": EPSILON / 2}, {"partition": "demo-strong"}], ids=lambda one: next(iter(one))
)
def test_no_item_beyond_the_budget(
    opener: Opener, items: list[MemoryItem], tmp_path: Path, changes: dict[str, object]
) -> None:
    opener.export(tmp_path).release_items(items)
    refused = opener.export(tmp_path, **changes).release_items(items)
    assert (refused.items, refused.withheld) == ((), {"budget-spent": len(items)})
    raised = opener.export(tmp_path, budget=2 * EPSILON, **changes).release_items(items)
    assert len(raised.items) == len(items)


def test_a_lost_memo_stops_what_would_be_drawn_anew(opener: Opener, items: list[MemoryItem], tmp_path: Path) -> None:
    opener.export(tmp_path).release_items(items)
    for file in tmp_path.glob("surrogates.sqlite*"):
        file.unlink()
    with pytest.raises(BudgetError, match=r"surrogates\.sqlite: .* are gone"):
        opener.export(tmp_path).release_items(items)
    assert len(opener.export(tmp_path, budget=2 * EPSILON).release_items(items).items) == len(items)
    ledger = BudgetLedger(tmp_path / "budget.sqlite", 1.0)
    assert {ledger.spent(entity_digest(name)) for _, name, _ in ASKED} == {2 * EPSILON}


def test_no_new_store_or_simulation_resets_a_budget(opener: Opener, items: list[MemoryItem], tmp_path: Path) -> None:
    settings = Settings.from_config({"home": str(tmp_path)})
    root, folder = tmp_path / "devices" / settings.data_key / "device-a", tmp_path / "privacy" / "device-a"
    MemoryStore.open(root, {"device": "device-a", "dimension": "384"}).close()
    first = _texts(opener.export(folder).release_items(items))
    MemoryStore.erase(root)
    _forget(settings, tmp_path)
    assert not root.exists()
    assert _texts(opener.export(folder).release_items(items)) == first
    assert opener.export(folder, epoch=1).release_items(items).withheld == {"budget-spent": len(items)}


@pytest.mark.parametrize("export", ["none", "type-masking"])
def test_other_modes_keep_no_ledger(opener: Opener, items: list[MemoryItem], tmp_path: Path, export: str) -> None:
    opener.export(tmp_path / "kept", export=export, partition="nowhere").release_items(items)
    assert not (tmp_path / "kept").exists()


def _file(tmp_path: Path, text: str) -> str:
    (tmp_path / "groups.jsonl").write_text(text, encoding="utf-8")
    return str(tmp_path / "groups.jsonl")


@pytest.mark.parametrize(
    ("partition", "size", "error", "said"),
    [
        ("demo", 6, SettingError, r"group of 5 names, privacy\.group-size asks for 6.*demo-strong"),
        ("demo-strong", 40, SettingError, r"group of \d\d names, privacy\.group-size asks for 40"),
        ("{tmp}/none.jsonl", 5, SettingError, r"^privacy\.partition: there is no such file"),
        ("{tmp}", 5, SettingError, "cannot be read"),
        ("{torn}", 5, StoreCorruptError, "differs from its digest"),
    ],
)
def test_a_partition_that_does_not_fit_is_refused(
    opener: Opener, tmp_path: Path, partition: str, size: int, error: type[FedragError], said: str
) -> None:
    torn = _file(tmp_path, PARTITION.read_text(encoding="utf-8").replace("Yuri Gagarin", "Yuri Gagarine"))
    named = partition.format(tmp=tmp_path, torn=torn)
    with pytest.raises(error, match=said) as refused:
        opener.export(tmp_path / "kept", partition=named, group_size=size)
    assert not any(part in refused.value.abroad for part in (tmp_path.name, "none.jsonl", "groups.jsonl"))
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("partition", "size"), [("demo", 2), ("demo", 5), ("demo-strong", 26), (str(PARTITION_STRONG), 6)]
)
def test_a_partition_that_fits_is_read(partition: str, size: int) -> None:
    read = read_partition(PrivacySettings.model_validate({"partition": partition, "group-size": size}))
    assert all(len(group.members) >= size for group in read.groups)
    assert read.types == set(SENSITIVE_TYPES)


@pytest.mark.parametrize("name", ["demo", "demo-strong"])
def test_the_shipped_partitions_hold_public_names_and_can_be_made_again(name: str) -> None:
    shipped = read_partition(PrivacySettings(partition=name))
    pairs = [(group.type, member) for group in shipped.groups for member in group.members]
    corpus = " ".join(path.read_text(encoding="utf-8") for path in sorted(CORPUS.rglob("*.md")))
    public = set(read_names("demo"))
    assert [member for _, member in pairs if member not in public and member not in corpus] == []
    again = build_partition(reversed(pairs), SentenceEncoder(exact=True), shipped.minimum, shipped.seed)
    assert again.digest == shipped.digest


def test_the_shipped_partitions_hold_the_same_names() -> None:
    demo, strong = (read_partition(PrivacySettings(partition=name)) for name in ("demo", "demo-strong"))
    assert _names(demo) == _names(strong)
    assert len(_names(demo)) > 400


def _names(partition: EntityPartition) -> set[tuple[str, str]]:
    return {(group.type, member) for group in partition.groups for member in group.members}


def test_a_policy_is_known_by_all_that_decides_what_passes(tmp_path: Path) -> None:
    names, groups = tmp_path / "names.json", tmp_path / "groups.jsonl"
    names.write_text(PUBLIC_NAMES.read_text(encoding="utf-8"), encoding="utf-8")
    groups.write_bytes(PARTITION.read_bytes())
    settings = PrivacySettings.model_validate({"export": "ldp", "public-names": str(names), "partition": str(groups)})
    seen = [policy_digest(settings), policy_digest(settings.model_copy(update={"epoch": 1}))]
    names.write_text(json.dumps(["Ada Morrow"]), encoding="utf-8")
    seen.append(policy_digest(settings))
    groups.write_bytes(PARTITION_STRONG.read_bytes())
    seen.append(policy_digest(settings))
    assert len(set(seen)) == 4
    assert policy_digest(settings) == seen[-1]
