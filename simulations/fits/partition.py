"""Which names hide among which: the demo's public partitions for `privacy.export = "ldp"`.

Persons, organisations and places come from the demo corpus as the text pipeline types them, and from the demo's list of
public names; what the pipeline mistook is mended by the table below. It writes ``partition.jsonl`` (groups of at least
5, which `privacy.partition = "demo"` names) and ``partition_strong.jsonl`` (groups of at least 26, "demo-strong"). The
same corpus and models give the same files. Another federation builds its own from names that it holds to be public.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import pandas as pd

from fedrag_flwr.demo import CORPUS, PARTITION, PARTITION_STRONG
from fedrag_flwr.loaded_models import load_models
from fedrag_flwr.models import SentenceEncoder
from fedrag_flwr.privacy import SENSITIVE_TYPES, build_partition
from fedrag_flwr.privacy.normalise import normal_name
from fedrag_flwr.privacy.policy import read_names
from fedrag_flwr.records import Fact
from fedrag_flwr.settings import fedrag_home
from fedrag_flwr.sources import FolderSource
from fedrag_flwr.text.base import Pipeline
from simulations.bench.frame import Bench

SIZES = {PARTITION.name: 5, PARTITION_STRONG.name: 26}
SEED = 7

# What the pipeline took for something else; names under "" are no person, organisation or place, or only a part of one.
MENDED = {
    "PERSON": "Caroline, Hideo Itokawa, Lassell, Le Verrier, Parker, Reinhard Genzel, Stanton Peale, Ulf Merbold, "
    "Venetia Burney, Walt Disney, Wernher von Braun",
    "ORG": "JAXA, Lockheed Martin, Martin Marietta",
    "GPE": "Alexandria, Arbergen, Chennai, Chōfu, Engels, Flagstaff, Gzhatsk, Hanford, Klushino, Kolyma, Korolyov, "
    "Kourou, Las Cruces, Lyubertsy, Madras, New South Wales, Noordwijk, Pisa, Plesetsk, Saratov, Socorro, "
    "Soviet Union, Thumba, Tyuratam, Waimea, Weil der Stadt",
    "LOC": "Aeolis Mons, Ahuna Mons, Andromeda, Arrokoth, Baikonur Cosmodrome, Betelgeuse, Cabeus, Ceres, Cerro "
    "Paranal, Charon, Conamara Chaos, Dactyl, Deimos, Didymos, Dimorphos, Divalia Fossa, Fort Bliss, Gale "
    "Crater, Gaspra, Great Red Spot, Guiana Space Centre, Hydra, Hyperion, Ida, Io, Ishtar Terra, Itokawa, "
    "Kitt Peak, Kraken Mare, Kyushu, Ligeia Mare, Loki Patera, Lutetia, Mauna Kea, Maxwell Montes, Mercury, "
    "Moon, Neptune, Nix, Olympus Mons, Phobos, Phoebe, Pwyll, Rheasilvia, Ryugu, Solar System, Sputnik "
    "Planitia, Sun, Syr Darya, Titan, Titania, Tolstoj, Tombaugh Regio, Tsukuba Space Center, Ursa Major, "
    "Valles Marineris, Vandenberg, Vega, Venus, Verona Rupes, Vesta",
    "": "3.6 Earth years, 6.4 Earth days, Air Force Titan, ALMA, antennas, Apollo, Apollo 11, Arcetri, Ariane, "
    "Ariel and Umbriel, Array, Aryabhata, Astronomia nova of 1609, Astrophysical Journal, Atabaque, Atacama "
    "Large Millimeter, Bayeux Tapestry, Benben, BepiColombo, Big Bang, Block L, Bodhran, Bradbury, Bradbury "
    "Landing, Carl Friedrich, Cassiopeia A, Centaur, Challenger, Chandrasekhar, Columbia, Commander Moonikin "
    "Campos, Commander Neil Armstrong, cooperatives, Copernicus, Cosimo II de, Cosmonauts, COSTAR, Curiosity, "
    "Cygnus, DART, Deep Space Network, Delta IV Heavy, Devil, Discourses, Double Asteroid Redirection Test, "
    "Dragonfly, Eagle, Eta Aquariids, European Ariane, Event Horizon Telescope, First Man, Fowler, Fregat, "
    "Friedrich Gauss, Friedrich Wilhelm, Gagarin, Gaia-Enceladus, Galle, George Ellery, Georgium Sidus, "
    "GoldenEye, GSLV Mark III, Guiana, H3, Halley, Happy Jack, Harmonices Mundi of, HED, Hera, Herschel and "
    "Planck, Hipparcos, HL Tauri, Hofwijck, Hooker, Hope, James Clerk, John Couch, Kaguya, Katharina, Keck, "
    "Keck II, Kedr, Kibo, Korolev, Kueyen, Kuiper, Launch Complex, Launch Complex 17, LCROSS, Leninsk, "
    "Liberté, LIGO, Lincoln Near-Earth Asteroid Research, LINEAR, Lowell, Luna 3, LVM3, M13, Mangalyaan, "
    "Marius, MASCOT, Maxwell, Melipal, Molniya-M, Momotarō, moon inward, Moonikin Campos, Multi-Mirror, "
    "Murriyang, new Academy of Sciences, New Horizons, Newton, Nightingale, Octagon Chapel, Ohsumi, Orionids, "
    "OSIRIS-APEX, Otohime, Otto and Lore, Pale Blue Dot, Paramore, Pele, Pencil, Philae, Pi Mensae, "
    "Principia, Pyrex, R-7 Semyorka, RNA, Rohini, Rohini RS-1, Rudolphine Tables, Santa Croce, science "
    "institute ISAS, Scott, Semyorka, Shangri-La., Shiv Shakti Point, Sidereus Nuncius, Skylab, SLS, SLV-3, "
    "Sons, Soyuz, Starfield, Starliner, Supernova, TESS, The Moon, Theia, Titan IVB, TOI-1338 b., Tupolev, "
    "Urashima Tarō, V-2, Vikas, Vikram, Vostok-K, Vulcain, Véronique, W. M. Keck, Wilhelm Bessel, William "
    "Gordon of Cornell University, Wiradjuri, XMM, XMM-Newton, Yepun, Yoshinobu Launch Complex, Zohar",
}


def run(bench: Bench) -> None:
    """Build both partitions into the folder of results, and say what they hold."""
    models = load_models(bench.settings.models, fedrag_home())
    encoder = SentenceEncoder(bench.settings.models.encoder or None, exact=True)
    entities = public_entities(models.pipeline, bench.sized(None, 12))
    counts = Counter(kind for kind, _ in entities)
    lines = []
    for name, size in SIZES.items():
        size = bench.sized(size, 2)
        partition = build_partition([entity for entity in entities if counts[entity[0]] >= size], encoder, size, SEED)
        partition.save(bench.out / name)
        lines.append(
            {"file": name, "groups": len(partition.groups), "least": size, **counts, "digest": partition.digest}
        )
    bench.table("partitions", pd.DataFrame(lines))


def public_entities(pipeline: Pipeline, most: int | None = None) -> list[tuple[str, str]]:
    """The (type, name) pairs of the demo, sorted: each name once, under the type that it is given most often;
    of the first documents alone where `most` says so."""
    types: dict[str, Counter[str]] = defaultdict(Counter)
    spelt: dict[str, Counter[str]] = defaultdict(Counter)
    for fact in _facts(pipeline, most):
        types[normal_name(fact.text)][fact.type] += 1
        spelt[normal_name(fact.text)][fact.text] += 1
    mended = {normal_name(name): kind for kind, names in MENDED.items() for name in names.split(", ")}
    found = []
    for name, seen in types.items():
        kind = mended.get(name, min(seen, key=lambda one: (-seen[one], one)))
        if kind in SENSITIVE_TYPES:
            forms = spelt[name]
            found.append((kind, min(forms, key=lambda form: (-forms[form], form))))
    return sorted(found)


def _facts(pipeline: Pipeline, most: int | None) -> Iterator[Fact]:
    for parsed in pipeline.parse(FolderSource(CORPUS).read().documents[:most]):
        for part in parsed:
            yield from part.passage.facts
    names = read_names("demo")
    for name, facts in zip(names, pipeline.facts(names), strict=True):
        yield from (fact for fact in facts if fact.text == name)
