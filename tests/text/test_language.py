"""The language of a document, and that what is made for English leaves others alone."""

from pathlib import Path

import pytest

from fedrag_flwr.demo import CORPUS
from fedrag_flwr.sources.folder import FolderSource
from fedrag_flwr.text.language import is_english, language_of
from tests.device.test_building import Watched

TEXTS = {
    "de": "Der Vermieter muss die Heizung vom 1. Oktober bis zum 30. April in Betrieb halten. Die Kaution darf drei "
    "Monatsmieten nicht übersteigen. Tiere dürfen nur mit Zustimmung gehalten werden.",
    "fr": "Le bailleur remet un logement décent au locataire. Le dépôt de garantie est restitué dans un délai d'un "
    "mois. Les charges sont réglées chaque mois avec le loyer.",
    "es": "El arrendador entrega la vivienda en buen estado. La fianza se devuelve en el plazo de un mes.",
    "pl": "Wynajmujący oddaje lokal w dobrym stanie. Kaucja jest zwracana w ciągu miesiąca od opróżnienia lokalu.",
    "ru": "Арендодатель передаёт квартиру в исправном состоянии. Залог возвращается в течение месяца.",
    "ja": "貸主は住宅を良好な状態で引き渡す。敷金は一か月以内に返還される。",
    "en": "The landlord hands over the flat in good order. The deposit is returned within a month.",
}


@pytest.mark.parametrize("code", sorted(TEXTS))
def test_a_text_s_language(code: str) -> None:
    assert language_of(TEXTS[code]) == code


@pytest.mark.parametrize("text", ["", "Odile Varro", "BMW, SAP, Siemens", "312 m, 1924", "# Müller & Söhne"])
def test_a_text_of_which_nobody_can_tell_is_read_as_english(text: str) -> None:
    assert language_of(text) == "en"


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("When was Béla Bartók born?", True),
        ("opening hours of the Jardin des Plantes", True),
        ("Konstantin Ziolkowski", True),
        ("who directed Min datter Nelly", True),
        ("Wie hoch ist die Kaution?", False),
        ("Qui répare le toit ?", False),
        ("¿Cuándo se devuelve la fianza?", False),
    ],
)
def test_a_question_s_language(question: str, english: bool) -> None:
    assert is_english(question) is english


def test_no_document_of_the_demo_is_mistaken() -> None:
    read = [one for folder in CORPUS.iterdir() if folder.is_dir() for one in FolderSource(folder).read().documents]
    assert len(read) == 100
    assert {language_of(one.text) for one in read} == {"en"}


def test_a_document_in_another_language_is_read_and_gives_no_memory(tmp_path: Path) -> None:
    device = Watched(tmp_path)
    device.write(**{"bridge.txt": "Tarn Bridge was designed by Odile Varro. It opened in 1924."})
    device.write(**{"haus.txt": f"Tarn Bridge was designed by Odile Varro. {TEXTS['de']} {TEXTS['de']}"})
    report = device.build()
    assert [told for told in report.failed if "haus" in told] == ["haus: no memory, as it is not in English"]
    with device.open() as opened:
        supports = {unit for item in opened.store.items() for unit in item.support}
        assert supports
        assert not [unit for unit in supports if unit.startswith("haus")]
        assert any("Kaution" in one.text for one in opened.store.passages())
    again = device.build()
    assert [told for told in again.failed if "haus" in told] == ["haus: no memory, as it is not in English"]
    device.write(**{"haus.txt": "It is so."})
    assert [told for told in device.build().failed if "haus" in told] == ["haus: no memory"]
