"""English verb forms that questions need: past, participle and third person."""

from __future__ import annotations

from fedrag_flwr.text.lexicon import words

# lemma past participle; verbs whose past and participle agree name it once
_TABLE = """
arise arose arisen|be was been|bear bore born|beat beat beaten|become became become|begin began begun|bend bent
bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred|bring brought|build built
burn burned|burst burst|buy bought|cast cast|catch caught|choose chose chosen|cling clung|come came come
cost cost|creep crept|cut cut|deal dealt|dig dug|do did done|draw drew drawn|drink drank drunk
drive drove driven|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought|find found|flee fled
fling flung|fly flew flown|forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven
freeze froze frozen|get got|give gave given|go went gone|grind ground|grow grew grown|hang hung|have had
hear heard|hide hid hidden|hit hit|hold held|hurt hurt|keep kept|know knew known|lay laid|lead led|leave left
lend lent|let let|lie lay lain|light lit|lose lost|make made|mean meant|meet met|overcome overcame overcome
oversee oversaw overseen|overtake overtook overtaken|pay paid|put put|quit quit|read read|rebuild rebuilt
ride rode ridden|ring rang rung|rise rose risen|run ran run|say said|see saw seen|seek sought|sell sold
send sent|set set|shake shook shaken|shed shed|shine shone|shoot shot|show showed shown|shrink shrank shrunk
shut shut|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid|speak spoke spoken|speed sped|spend spent
spin spun|split split|spread spread|spring sprang sprung|stand stood|steal stole stolen|stick stuck
strike struck|swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught
tear tore torn|tell told|think thought|throw threw thrown|undergo underwent undergone|understand understood
undertake undertook undertaken|upset upset|wake woke woken|wear wore worn|weave wove woven|win won|wind wound
withdraw withdrew withdrawn|withstand withstood|write wrote written|outlive outlived|rewrite rewrote rewritten
"""
_IRREGULAR: dict[str, tuple[str, str]] = {}
for _row in _TABLE.replace("\n", "|").split("|"):
    _forms = _row.split()
    if _forms:
        _IRREGULAR[_forms[0]] = (_forms[1], _forms[-1])
_DOUBLING = words(
    "skim swim strip knit chip clip flip wrap hop chop plug stir beg plan stop map ship drop trap tap tip step grab "
    "equip control patrol refer transfer permit commit submit admit occur omit compel propel expel fit ban scan "
    "spot dub rub tag log plot star span skip trim slam drag top cap pin win rob"
)
_VOWELS = "aeiou"


def past(lemma: str) -> str:
    """Inflect a verb's lemma to its simple past ("launch" -> "launched")."""
    if lemma in _IRREGULAR:
        return _IRREGULAR[lemma][0]
    if lemma.endswith("e"):
        return lemma + "d"
    if lemma.endswith("y") and lemma[-2:-1] not in _VOWELS:
        return lemma[:-1] + "ied"
    if lemma in _DOUBLING:
        return lemma + lemma[-1] + "ed"
    if lemma.endswith("ic"):
        return lemma + "ked"
    return lemma + "ed"


def past_of_participle(word: str, lemma: str) -> str:
    """Give the simple past for a participle as it stands in a text ("written" -> "wrote", "built" -> "built")."""
    return _IRREGULAR[lemma][0] if lemma in _IRREGULAR else word


def participle_of_past(word: str, lemma: str) -> str:
    """Give the participle for a simple past as it stands in a text ("wrote" -> "written")."""
    return _IRREGULAR[lemma][1] if lemma in _IRREGULAR else word


def third_person(lemma: str) -> str:
    """Inflect a verb's lemma to the third person singular ("carry" -> "carries")."""
    if lemma == "be":
        return "is"
    if lemma == "have":
        return "has"
    if lemma.endswith("y") and lemma[-2:-1] not in _VOWELS:
        return lemma[:-1] + "ies"
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")) and not lemma.endswith("io"):
        return lemma + "es"
    return lemma + "s"


def inflections(lemma: str) -> frozenset[str]:
    """Give a word with its past, its participle and its third person, which is a noun's plural, too."""
    done = past(lemma)
    return frozenset((lemma, third_person(lemma), done, participle_of_past(done, lemma)))


_PARTICIPLES = frozenset(forms[1] for forms in _IRREGULAR.values())


def is_participle(word: str) -> bool:
    """Whether a lower-case word looks like a past participle."""
    return word.islower() and (word in _PARTICIPLES or (word.endswith("ed") and len(word) > 4))
