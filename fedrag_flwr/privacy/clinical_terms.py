"""Clinical and common terms that recognisers take for persons, places or organisations, and that tell nothing."""

from __future__ import annotations

import re

from fedrag_flwr.privacy.given_names import TITLES
from fedrag_flwr.privacy.normalise import normal_name

_TERMS = """
a1c abg acei adhd adl aids als apgar ards asa bid bmi bnp bp bun cabg cad cardiology cbc chf ckd cns co2 copd covid
covid-19 cpap cpr crp csf ct cva cxr dexa dka dm dna dvt ecg echo ed eeg egfr ekg emergency department emg ems ent er
esr fev1 gcs gerd gfr gi gp gyn h1n1 hba1c hcg hcv hdl hiv hpi hpv hr htn ibd ibs icd icu inr iv ivf jvp ldl lft lmp
loc mcg mg mi mmhg mri mrsa msu nicu nsaid npo o2 ob obgyn od opd or ot oxygen pcp pcr pe pet pft po prn psa pt ptsd
qd qid ra rbc rna ros rr rsv sars sids sle sob spo2 std sti t3 t4 tb tbi tia tid tnf tpn tsh uti vte wbc aspirin
insulin ibuprofen metformin paracetamol penicillin warfarin vitamin vitamins today tomorrow yesterday tonight now
daily weekly monthly yearly annual hourly nightly overnight sir madam mom mum dad hi hello dear thanks amen god
internet web wifi sms pdf faq ok okay
"""
_PHRASES = (
    "emergency department",
    "intensive care",
    "physical therapy",
    "primary care",
    "customer service",
    "chest x-ray",
    "blood pressure",
    "vital signs",
)
_NAMED = (
    r"(?:'?s)?\s+(?:disease|syndrome|lymphoma|sarcoma|palsy|sign|reflex|test|catheter|ulcer|score|scale|index|method|"
    r"criteria|stain|fracture|tumou?r|chorea|ataxia|dementia|contracture|phenomenon|disorder|cells?|fever|virus|"
    r"an(?:a)?emia|procedure|man(?:o)?euvre|maneuver|classification|triad|law|formula|ultrasound|effect)\b"
)
_EPONYM = re.compile(_NAMED, re.IGNORECASE)
_TITLED = re.compile(rf"\b(?:{'|'.join(sorted(TITLES))})\b\.?\s+$", re.IGNORECASE)

ALLOWED = frozenset(map(normal_name, (*_TERMS.split(), *_PHRASES)))


def is_clinical(text: str, start: int, end: int) -> bool:
    """Tell whether a found name is a clinical or common term, or names a disease, sign or method ("Crohn's disease").

    Parameters
    ----------
    text
        The whole text.
    start, end
        Where the name stands.
    """
    name = normal_name(text[start:end])
    if not name or name in ALLOWED or all(word in ALLOWED for word in name.split()):
        return True
    return _EPONYM.match(text, end) is not None and _TITLED.search(text[:start]) is None
