"""The word lists behind the rules of names, sentences and questions."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    """Split a list of words into a set."""
    return frozenset(text.split())


def by_word(lists: dict[str, str]) -> dict[str, str]:
    """Turn lists of words by label into the label of each word."""
    return {word: label for label, listed in lists.items() for word in listed.split()}


ROLES = words(
    "chief deputy vice "
    "dr dr. mr mr. mrs mrs. ms ms. prof prof. professor president king queen prince princess emperor empress "
    "sir lord lady dame pope saint senator governor chancellor minister captain general colonel major admiral "
    "lieutenant sergeant director actor actress singer astronomer physicist chemist engineer astronaut author "
    "writer archbishop bishop father brother sister rabbi coach judge justice chairman secretary ambassador "
    "count baron duke earl sultan"
)

MONTHS = words(
    "january february march april may june july august september october november december jan feb mar apr "
    "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday"
)

POSSESSED = words("comet college cathedral hospital castle palace law theorem day")

CONNECTORS = words("of de la le du des von van der den di da del della dos al el bin ibn y")

DOUBTING = words(  # adverbs by which a sentence states only that something may be so
    "reportedly allegedly supposedly possibly perhaps maybe probably presumably likely unlikely apparently seemingly "
    "potentially conceivably"
)

SHORT_STOP = words("new old north south east west great little big united saint first national")

APPROXIMATORS = words(
    "about over under around nearly almost roughly approximately some more less than only up to at least most just"
)

HEAD_TYPE = by_word(
    {
        "ORG": (
            "university college school academy institute company corporation inc agency administration association "
            "society foundation council committee commission ministry department records club fc orchestra quartet "
            "party union laboratory laboratories ltd industries airlines museum library hospital times"
        ),
        "FAC": ("bridge airport stadium tower cathedral castle palace station hall arena abbey"),
        "LOC": (
            "river lake sea ocean island islands mountain mountains peninsula valley desert bay gulf strait glacier"
        ),
        "GPE": ("county township"),
        "EVENT": ("war battle olympics championship championships festival revolution conference siege"),
        "NAME": (
            "telescope spacecraft probe rover rocket satellite lander orbiter observatory mission programme program "
            "prize award medal comet asteroid nebula galaxy trilogy album"
        ),
    }
)

ABBREVIATIONS = words(
    "dr mr mrs ms prof st sts mt ft fr rev hon gen col lt capt cpt sgt maj adm cmdr gov sen rep pres supt "
    "messrs mme mlle no nos vol vols ch fig figs eq eqs sec pp p ed eds op vs v cf ca c approx est b d r fl "
    "e.g i.e viz al dept univ jan feb mar apr jun jul aug sep sept oct nov dec ave blvd rd"
)

CLOSING_ABBREVIATIONS = words("jr sr inc ltd co corp bros llc plc etc esq ph.d m.d b.a m.a m.sc b.sc a.m p.m")

AUXILIARIES = words(
    "is are was were am do does did has have had can could will would should shall may might must isn't "
    "aren't wasn't weren't doesn't didn't don't"
)

GENERIC = words(
    "name year kind type sort date day month time number amount person people man woman thing place part way "
    "one following answer question title other both total century decade example fact case"
)

MEASURES = words(
    "tall far heavy fast long deep wide high big large hot cold thick close bright massive broad old small "
    "strong dense powerful short near"
)

MONEY_UNITS = words("dollar euro pound money yen")

MONEY_VERBS = words("cost pay earn charge spend sell raise invest worth price award")

WH = words("who whom whose which what when where why how")

FUNCTION_WORDS = (
    WH
    | AUXILIARIES
    | words(
        "a an the this that these those there here it its he him his she her hers they them their we us our you your "
        "i me my be been being having done not no nor and or but if than then so as of in on at by for from with "
        "within without to into onto upon over under about between among through during after before since until "
        "against per via off up down out s also both either neither each any some all such same other another one "
        "name named called known"
    )
)

HEAD_ANSWERS = by_word(
    {
        "YEAR": ("year"),
        "DATE": ("date day month century decade birthday birthdate deathdate"),
        "PERSON": (
            "person actor actress author writer director singer king queen emperor president player composer engineer "
            "astronaut cosmonaut man woman people father mother son daughter brother sister wife husband spouse "
            "grandfather grandmother founder ceo inventor discoverer explorer leader minister coach manager musician "
            "rapper poet painter architect philosopher politician general officer judge lawyer doctor professor "
            "teacher star drummer guitarist producer performer host creator designer mathematician child uncle aunt "
            "successor predecessor owner commander pilot character chemist footballer wrestler boxer dancer senator "
            "governor mayor monarch ruler boy girl researcher chairman chairperson secretary captain comedian "
            "lyricist songwriter screenwriter novelist filmmaker"
        ),
        "ORG": (
            "agency company organisation organization university college band team club school manufacturer publisher "
            "label party institute institution studio network airline group corporation firm agencies contractor "
            "builder employer franchise association bank brand operator department laboratory lab orchestra"
        ),
        "GPE": (
            "city country state town village county capital nation province municipality district borough birthplace "
            "hometown suburb kingdom republic"
        ),
        "LOC": (
            "river mountain lake ocean sea island continent desert region site place location launchpad area "
            "peninsula range valley bay"
        ),
        "QUANTITY": (
            "mass weight height length width diameter radius distance speed temperature depth altitude volume size "
            "frequency wavelength elevation thrust power capacity duration period age velocity circumference density "
            "thickness resolution aperture orbit_period lifespan lifetime"
        ),
        "CARDINAL": ("number count population score total"),
        "MONEY": ("price cost budget salary revenue fee income"),
        "PERCENT": ("percentage percent proportion share fraction"),
        "NAME": (
            "rocket engine telescope spacecraft probe mission rover satellite moon planet comet asteroid film "
            "movie book novel song album show series game ship aircraft instrument award prize vehicle lander "
            "orbiter launcher observatory galaxy constellation magazine newspaper play opera programme program "
            "project event war battle station car train language dwarf craft booster camera spectrometer detector "
            "festival tournament competition stadium bridge building museum hospital airport tower church poem "
            "painting single"
        ),
    }
)

# What follows turns a question, in all inflections: where one such word stands for another, something else is asked.
# Words by which things begin, and those by which they end.
EVENTS = (
    ("born birth birthday birthdate birthplace", "die dead dying death"),
    (
        "start starting begin beginning commence initiate onset open opening",
        "stop stopping end ending finish cease halt terminate discontinue withdraw close closing closure",
    ),
    ("founded founder founding establish", "dissolve abolish"),
    ("admit admission", "discharge"),
)
# Words of one sense, and those of the opposite; "left" is both a side and a leave.
OPPOSED = (
    *EVENTS,
    ("arrive enter join admit admission", "leave depart quit discharge"),
    ("appoint elect hire", "resign retire dismiss"),
    ("marry marriage wedding", "divorce"),
    ("first earliest earlier", "last latest later recent"),
    ("before previous predecessor precede", "after next successor succeed"),
    ("last latest past", "next coming upcoming"),
    ("since", "until till"),
    ("older oldest elder eldest", "younger youngest"),
    (
        "most more greater greatest larger largest bigger biggest higher highest taller tallest longer longest maximum",
        "least less fewer fewest smaller smallest lower lowest shorter shortest minimum",
    ),
    ("increase rise raise grow gain", "decrease fall drop reduce shrink lose"),
    ("win winner", "lose loser"),
    ("buy purchase acquire", "sell"),
    ("import", "export"),
    ("cause", "prevent cure treat treatment relieve"),
    ("accept approve confirm report", "refuse reject deny"),
    ("positive", "negative"),
    ("benign", "malignant"),
    ("man men male boy", "woman women female girl"),
    ("left", "right"),
    ("upper", "lower"),
    ("above over", "below under"),
    ("inside", "outside"),
    ("north northern", "south southern"),
    ("east eastern", "west western"),
)
# Kin, those of one sense together.
KIN = (
    "mother mum mom",
    "father dad",
    "stepmother",
    "stepfather",
    "parent",
    "brother",
    "sister",
    "sibling",
    "twin",
    "son",
    "daughter",
    "child children",
    "wife wives husband spouse widow widower marry marriage wedding",
    "aunt",
    "uncle",
    "cousin",
    "nephew",
    "niece",
    "grandmother",
    "grandfather",
    "grandparent",
    "grandson",
    "granddaughter",
    "grandchild grandchildren",
)

PERSON_SUFFIX = re.compile(r"[a-z]{3,}(?:ist|ician|grapher|onomer)$")


def is_person(noun: str) -> bool:
    """Whether a noun stands for a person: "engineer", "astronomer"."""
    return HEAD_ANSWERS.get(noun) == "PERSON" or PERSON_SUFFIX.match(noun) is not None
