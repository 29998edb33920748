"""The small word lists on which question making rests: kinds of things, units, measures, prepositions."""

from __future__ import annotations


def words_of(text: str) -> frozenset[str]:
    """Split a line of words into a set."""
    return frozenset(text.split())


# nouns for people: what all are, what one is to another, and what one does
HUMANS = words_of("person human man woman boy girl child")
RELATIONS = words_of(
    "son daughter father mother brother sister wife husband cousin grandson granddaughter nephew niece successor "
    "predecessor colleague rival friend"
)
PROFESSIONS = words_of(
    "astronomer astrophysicist cosmologist physicist scientist engineer astronaut "
    "cosmonaut mathematician chemist biologist geologist inventor explorer pilot commander director producer writer "
    "author novelist poet playwright actor actress singer songwriter musician composer guitarist drummer rapper "
    "artist painter sculptor architect photographer journalist politician president minister chancellor senator "
    "governor mayor king queen prince princess emperor duke lawyer judge general admiral officer soldier "
    "businessman businesswoman entrepreneur executive footballer player coach manager cricketer boxer swimmer "
    "runner driver wrestler philosopher historian economist psychologist doctor physician nurse surgeon teacher "
    "professor researcher scholar student founder leader designer programmer developer comedian model dancer "
    "filmmaker screenwriter editor critic activist saint bishop pope priest monk administrator farmer amateur "
    "pioneer merchant clergyman pupil schoolgirl crew crewman nobleman lord baron count earl publisher illustrator "
    "translator diplomat ambassador secretary deputy assistant discoverer aviator balloonist naturalist botanist "
    "geographer surveyor mechanic optician glassmaker brewer organist"
)
PERSON_NOUNS = HUMANS | RELATIONS | PROFESSIONS
ORG_NOUNS = words_of(
    "agency company organisation organization corporation firm manufacturer contractor institute institution "
    "university college school laboratory lab consortium administration bureau department ministry committee council "
    "party team club band group orchestra label studio network publisher newspaper association federation union "
    "league foundation society government army navy force brand airline bank startup start-up"
)
PLACE_NOUNS = words_of(
    "city town village country nation state province county region district island islands continent site base port "
    "spaceport cosmodrome airport park lake river sea ocean mountain valley desert plain crater "
    "peninsula municipality suburb neighbourhood neighborhood capital location place area territory commune hill "
    "coast bay plateau building street bridge castle stadium museum hospital"
)
# nouns by which a text goes back to the same thing
RELATED_NOUNS = tuple(
    words_of(group)
    for group in (
        "spacecraft probe orbiter craft satellite mission vehicle lander rover capsule explorer robot spaceship ship",
        "telescope observatory instrument satellite spacecraft mission array interferometer facility",
        "rocket launcher vehicle booster launch-vehicle",
        "planet world body giant moon satellite asteroid comet object dwarf",
        "star system galaxy nebula cluster object pulsar",
        "station laboratory outpost complex",
        "agency organisation organization administration body institution",
        "company firm corporation manufacturer business maker brand",
        "film movie picture documentary",
        "book novel work story",
        "song single track",
        "album record",
        "band group duo trio quartet",
        "city town village settlement municipality capital",
        "university college school institution institute",
        "series show programme program sitcom",
        "game videogame",
        "team club side",
        "island country nation state kingdom republic",
        "programme program project mission missions",
        "ship vessel boat",
        "aircraft plane airliner aeroplane",
        "magazine newspaper journal publication",
        "river lake mountain peak",
        "disease disorder condition syndrome infection",
        "medicine drug",
        "battle war conflict campaign",
    )
)
ERAS = frozenset(("BC", "BCE", "B.C.", "AD", "A.D.", "CE"))
MONTHS = words_of(
    "january february march april may june july august september october november december jan feb mar apr jun jul "
    "aug sep sept oct nov dec"
)
COUNTRIES = frozenset(
    [
        "afghanistan",
        "albania",
        "algeria",
        "angola",
        "argentina",
        "armenia",
        "australia",
        "austria",
        "azerbaijan",
        "bahrain",
        "bangladesh",
        "belarus",
        "belgium",
        "bolivia",
        "bosnia",
        "botswana",
        "brazil",
        "bulgaria",
        "burma",
        "cambodia",
        "cameroon",
        "canada",
        "chad",
        "chile",
        "china",
        "colombia",
        "congo",
        "costa rica",
        "croatia",
        "cuba",
        "cyprus",
        "czechoslovakia",
        "denmark",
        "ecuador",
        "egypt",
        "england",
        "eritrea",
        "estonia",
        "ethiopia",
        "fiji",
        "finland",
        "france",
        "gabon",
        "georgia",
        "germany",
        "ghana",
        "greece",
        "guatemala",
        "guinea",
        "guyana",
        "haiti",
        "honduras",
        "hungary",
        "iceland",
        "india",
        "indonesia",
        "iran",
        "iraq",
        "ireland",
        "israel",
        "italy",
        "jamaica",
        "japan",
        "jordan",
        "kazakhstan",
        "kenya",
        "kuwait",
        "laos",
        "latvia",
        "lebanon",
        "liberia",
        "libya",
        "lithuania",
        "luxembourg",
        "madagascar",
        "malawi",
        "malaysia",
        "mali",
        "malta",
        "mauritius",
        "mexico",
        "moldova",
        "mongolia",
        "morocco",
        "mozambique",
        "myanmar",
        "namibia",
        "nepal",
        "netherlands",
        "new zealand",
        "nicaragua",
        "niger",
        "nigeria",
        "north korea",
        "norway",
        "oman",
        "pakistan",
        "panama",
        "paraguay",
        "peru",
        "philippines",
        "poland",
        "portugal",
        "qatar",
        "romania",
        "russia",
        "rwanda",
        "saudi arabia",
        "scotland",
        "senegal",
        "serbia",
        "singapore",
        "slovakia",
        "slovenia",
        "somalia",
        "south africa",
        "south korea",
        "soviet union",
        "spain",
        "sri lanka",
        "sudan",
        "sweden",
        "switzerland",
        "syria",
        "taiwan",
        "tanzania",
        "thailand",
        "tunisia",
        "turkey",
        "uganda",
        "ukraine",
        "united arab emirates",
        "united kingdom",
        "united states",
        "uruguay",
        "uzbekistan",
        "venezuela",
        "vietnam",
        "wales",
        "west germany",
        "east germany",
        "yemen",
        "zambia",
        "zimbabwe",
        "usa",
        "uk",
        "ussr",
    ]
)
# unit (singular) -> what it measures
UNITS: dict[str, str] = {
    unit: dimension
    for dimension, units in {
        "length": "metre meter kilometre kilometer km m mile centimetre centimeter cm mm millimetre millimeter inch "
        "foot yard light-year light-years parsec parsecs au nanometre micrometre micron nanometer micrometer",
        "mass": "kilogram kg kilogramme gram tonne ton pound lb t",
        "time": "year day hour minute second month week decade century millisecond sol",
        "speed": "km/s mph km/h kph knot m/s",
        "temperature": "degree °c kelvin k celsius c °f",
        "money": "dollar euro pound $ € £",
        "percent": "percent % per_cent",
        "power": "watt kilowatt megawatt w kw",
        "energy": "joule kilojoule volt electronvolt",
        "force": "newton kilonewton kn",
        "area": "hectare acre",
        "volume": "litre liter gallon",
        "data": "bit byte kilobyte megabyte gigabyte terabyte kilobit megabit megapixel pixel bps",
        "angle": "arcsecond arcminute arcseconds",
        "pressure": "bar pascal atmosphere",
        "frequency": "hertz megahertz gigahertz hz mhz ghz",
        "people": "inhabitant",
    }.items()
    for unit in units.split()
}
# noun of measure -> adjective of "how ..."
MEASURE_ADJECTIVES = {
    "diameter": "wide",
    "width": "wide",
    "height": "tall",
    "length": "long",
    "depth": "deep",
    "mass": "heavy",
    "weight": "heavy",
    "distance": "far",
    "speed": "fast",
    "velocity": "fast",
    "age": "old",
    "temperature": "hot",
    "thickness": "thick",
    "altitude": "high",
    "elevation": "high",
}
# adjective behind a measure -> noun of measure
ADJECTIVE_MEASURES = {
    "wide": "width",
    "across": "diameter",
    "tall": "height",
    "high": "height",
    "long": "length",
    "deep": "depth",
    "old": "age",
    "away": "distance",
    "thick": "thickness",
    "heavy": "mass",
}
DURATION_VERBS = words_of("take last spend require need endure run")
WEIGHT_VERBS = words_of("weigh")
COST_VERBS = words_of("cost")
PLACE_PREPOSITIONS = words_of(
    "in at on near from aboard to into onto over above off beneath under inside outside within towards toward"
)
SPLIT_PREPOSITIONS = words_of(
    "in on at from aboard during after before with using for until since by through into near via between within "
    "under around towards toward as over onto to"
)
KEPT_ADVERBS = words_of("first originally officially initially finally last formerly previously currently permanently")
HEDGES = words_of(
    "believe think suspect propose hypothesise hypothesize claim expect hope suggest doubt deny speculate wonder "
    "assume imagine want fear"
)
VAGUE_NOUNS = words_of(
    "thing things way ways part parts time times fact reason result results kind type sort number lot one ones "
    "example case use end start beginning rest undertaking attempt success failure step effort trial north south east "
    "west day days others other some many most all several both each name names idea point side"
)
NAMING_VERBS = words_of("name call dub know title nickname christen rename label entitle")
COMPLEX_NOUNS = words_of(
    "honour honor addition order case terms spite favour favor memory recognition charge front place light view "
    "accordance contrast total all fact part"
)
CONNECTIVES = words_of(
    "than rather because such like unlike besides despite except including according due instead as per regarding "
    "concerning"
)
LOCATIONS = words_of(
    "surface orbit crater pole poles floor ground desert mountain sea ocean lake river valley plain desert island "
    "coast city town village country region area hill centre center north south east west sky space hemisphere belt "
    "cloud clouds atmosphere equator horizon slope summit cave forest field canyon basin continent state province "
    "district county suburb neighbourhood house home hospital school university church cemetery museum factory "
    "laboratory observatory park building rim edge ring rings"
)
TIME_NOUNS = words_of(
    "year years day days month months week weeks century decade night morning moment period hours minutes hour"
)
APPROXIMATE = words_of("about around roughly approximately some only just")
DETERMINERS = words_of("the a an its his her their this these that those")
ADJUNCT_PREPOSITIONS = words_of("in on at during since until for near aboard within throughout")
