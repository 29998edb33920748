"""Word lists of the recognisers: words that are no names, given names, clinical terms."""

from __future__ import annotations

import re

from fedrag_flwr.privacy.normalise import normal_name

_STOP_WORDS = """
'd 'll 'm 're 's 've a about above according account across added address adds admitted after afterwards again against
all almost alone along already also although always am among amongst amount an and another answer any anyhow anyone
anything anyway anywhere are aren't around as asked at back bad band bank be became because become becomes becoming
been before beforehand began begins behind being below beside besides best better between beyond block blocked book
born both bottom bought boy browse built but buys by ca call called calls came can can't cannot card child children
city closed closes comes company concert could country credit day dear december described describes despite did didn't
died dies directed discovered discovers do doctor does doesn't doing don't done down drives drove due during each
eight either eleven else elsewhere email empty enough even ever every everyone everything everywhere except february
few fifteen fifty finds first five flew flies for former formerly forty found four friday friend from front full
further gave get gets girl give gives go goes good got guest had has have he hello help hence her here here's
hereafter hereby herein hereupon hers herself hey hi him himself his hospital how however hundred i i'll i'm i've if
in indeed into invented invents is isn't issue issues it it's its itself january july june just keep keeps kept knew
knows last latter latterly leads least led less let's like likes list lives living lost made make makes man many march
married marries may me meanwhile men met might mine monday month more moreover most mostly move moved mr's much music
must my myself n't name namely names need needs neither never nevertheless new next nine no nobody none noone nor not
nothing novel november now nowhere number nurse october of off office often ok okay old on once one only onto opened
opens operated or order orders other others otherwise our ours ourselves out over own page paid part patient pays
people per perhaps person phone played plays please proposed put question questions quite ran rather re really
received receives regarding runs said same saturday saw say says second security see seem seemed seeming seems sees
sells send sent september serious several she should shouted shouts show side signed signs since sir's site six sixty
so social sold some somehow someone something sometime sometimes somewhere song songs speak speaks spoke stands
starring started starts stay staying still stood stopped story student studied such sued sues suggested sunday take
takes talk taught teacher teaches ten than thank thanks that that's the their them themselves then thence there
there's thereafter thereby therefore therein thereupon these they they're thinks third this those though thought three
through throughout thru thursday thus to today together told tomorrow too took top toward towards town treated treats
tried tries tuesday twelve twenty two under unless until up upon us used uses using various very via visited visits
walked walks want wants was we we're wears website wednesday week well went were what what's whatever when whence
whenever where whereafter whereas whereby wherein whereupon wherever whether which while whither who who's whoever
whole whom whose why will wins with within without woman women won won't wore work worked working works would wrote
year yes yesterday yet you you're your yours yourself yourselves
"""

STOP_WORDS = frozenset(_STOP_WORDS.split())
"""In lower case, with straight apostrophes."""


_GIVEN_NAMES = """
aaron abdul abdullah abel abigail abraham adam adela adele adrian adriana agnes agnieszka ahmed aisha akira alan
albert alberto alejandra alejandro aleksandr aleksandra alessandro alex alexander alexandra alexandre alexei alexis
alfonso alfred ali alice alicia alina alison allison alma alvaro amalia amanda amber amelia amina amir amit amy ana
anastasia andrea andreas andrei andres andrew andrzej angel angela angelica angelo anil anita anja ann anna anne
annette annie anthony antoine anton antonia antonio anuj arjun arlene armando arnold arthur arturo asha ashley astrid
audrey aurora ayesha barbara bartosz beatrice beatriz becky belinda ben benjamin bernadette bernard bernardo bernd
beth bethany betty beverly bianca bjorn blanca bob bobby bogdan bonnie boris brad bradley brandon brenda brendan brent
brett brian bridget bruce bruno bryan caitlin camila camille carl carla carlo carlos carmen carol carole caroline
carolyn catalina catherine cathy cecilia cedric celeste celia cesar chandra charles charlie cheryl chiara chloe chris
christa christian christina christine christoph christopher cindy claire clara clarence claude claudia claudio clement
colin colleen connie connor conrad corey cornelia courtney craig cristina crystal curtis cynthia dagmar daisuke dale
damian damien dan dana daniel daniela danielle danny daria darius darlene darrell darren dave david dean deborah debra
deepak denis denise dennis derek derrick desmond diana diane diego dieter dimitri dirk dmitri dmitry dolores dominic
dominik dominique donald donna doris dorothea dorothy douglas duncan dwayne dylan edgar edith edmund edna eduardo
edward edwin eileen ekaterina elaine eleanor elena eleni eli elias elisa elisabeth elise eliza elizabeth ella ellen
elsa emil emilia emilio emily emma emmanuel enrico enrique eric erica erich erik erika erin ernest ernesto erwin
esteban esther eugene eva evan eve evelyn ewa fabian fabio farah fatima federico felicia felipe felix fernanda
fernando filip fiona florian frances francesca francesco francis francisco franck francois frank franz fred freddie
frederic frederick frederik frida friedrich fritz gabriel gabriela gabriele gareth gary gavin geoffrey georg george
georges gerald gerard gerhard gertrude giacomo gianni gilbert gina giorgio giovanni gisela giulia giuseppe glen glenn
gloria gonzalo gordon graham greg gregor gregory greta guadalupe guido guillaume guillermo gunther gustav gustavo guy
gwen hamza hanna hannah hannes hans harald harold harriet harry harvey hasan hassan heather hector heidi heinrich
heinz helen helena helene helga henri henrik henry herbert herman hermann hilda hiroshi holger howard hubert hugh hugo
ian ibrahim ida ignacio igor ilona ilse imran ines inga inge ingrid irene irina irma isaac isabel isabella isabelle
ismael ivan ivana jack jackie jacob jacqueline jacques jaime jakob jakub james jamie jan jana jane janet janice
jasmine jason javier jean jeanette jeanne jeff jeffrey jennifer jenny jens jeremy jerome jerry jesse jessica jesus
jill jim jimmy joachim joan joanna joanne joao joaquin jochen jodi joe joel johan johann johanna johannes john johnny
jon jonas jonathan jorge jose josef joseph josephine josh joshua josiane joyce juan juana juanita judith judy julia
julian juliana julie juliette julio jun jurgen justin justine kamil karen karin karina karl karla katarzyna kate
katharina katherine kathleen kathryn kathy katie katja katrin kay keith kelly kelvin ken kenji kenneth kenny kerstin
kevin khadija khalid kim kimberly kirk kirsten klaus konrad konstantin krista kristen kristian kristina kristine
kristopher krzysztof kurt kyle lakshmi lance larry lars latisha laura lauren laurence laurent laurie lawrence lea leah
lech leila lena leo leon leonard leonardo leonie leroy leslie lester liam lidia lillian linda lisa lloyd lois lola
lorenzo loretta lori lorraine louis louise luc luca lucas lucia lucy ludwig luigi luis luisa lukas luke lutz lydia
lynn maciej magdalena mahmoud malcolm manfred manon manuel manuela marc marcel marcella marcelo marcia marcin marco
marcos marcus margaret margarita margit maria mariam marian mariana marianne marie marilyn marina mario marion marisa
marjorie markus marlene marsha marta martha martin martina marvin mary maryam massimo mateo mathias mathieu mathilde
matteo matthew matthias maureen maurice mauro maxime maximilian megan melanie melinda melissa melvin mercedes meredith
micah michael michal michel michele michelle miguel mihai mikael mike mikhail milan mildred miriam mitchell mohamed
mohammad mohammed moira moises monica monika monique muhammad mustafa myra nadia nadine nancy naomi natalia natalie
natasha nathan nathaniel neil nele nelson nicholas nick nicola nicolas nicole niels nigel nikita nikolai nils nina
noah noel nora norbert norma norman olaf ole oleg olga oliver olivia olivier omar oscar oskar otto pablo pamela paola
paolo pascal patricia patrick paul paula paulina pauline paulo pavel pedro peggy penelope per percy peter petra phil
philip philipp philippe phillip phyllis pierre pilar piotr priya rachel rafael rainer raj rajesh ralf ralph ramon
randall randy raquel rashid raul ravi raymond rebecca regina reinhard renata renate rene ricardo riccardo richard rita
rob robert roberta roberto rodney rodrigo roger roland rolf romain roman ron ronald ronnie rosa rosalind rosario
rosemary ross roy ruben rudolf rupert russell ruth ryan sabine sabrina sally salvatore sam samantha samir samuel
sandra sandrine sanjay sara sarah saul scott sean sebastian serena serge sergei sergey sergio seth shane shannon
sharon sheila shelley sherry shirley sigrid silke silvia simon simone sofia sonia sophia sophie stacey stanislav
stanley stefan stefania stefanie stella stephan stephanie stephen steve steven stewart stuart sunil susan susana
susanne suzanne sven svetlana sylvia tamara tania tanja tanya tara tatiana ted teresa terry thelma theodore theresa
therese thierry thomas tiffany tim timothy tina tobias todd tom tomas tomasz tommy toni tony tracy travis trevor tyler
ulrich ulrike umberto ursula ute uwe valentina valeria valerie vanessa vera verena vernon veronica veronika vicente
vicki vicky victor vijay vikram viktor vincent vincenzo vivian viviane vladimir waldemar walter wanda wayne wendy
werner wilhelm william willie winifred wolfgang xavier yasmin yolanda yosef yuki yuri yusuf yvette yvonne zachary
zainab zoe zofia
"""
_ALSO_WORDS = """
amber angel april ash august aurora autumn baker ball banks barber basil bell best bill bishop black bond book brook
brooks brown bush butler case celeste chandra chase chuck church clay cliff cook cross crystal daisy dale dance dawn
day dean drew duke earl eve faith field fields fish fisher forest fox frank gates gene gold good grace grant gray
green grey guy hall hand hands harmony hazel heath hill holly hood hope house hunt hunter iris ivy jack jasmine jay
jet jewel joy judge june kay king knight lamb lance land laurel law lily little long lord love major marina mark mars
marsh mason max may mercedes mercury milan miles mill mills moon moss nation noble norm olive pace page paine park
parks pat pearl penny phoenix pilar poole pope post potter power powers pratt price prince quick ray read reed regina
rice rich rivers robin rock rod roman root rosa rosario rose ruby rush rusty sage sand sandy savage scout sears sharp
shore short silver singer skip sky small snow sonny sparks spring star sterling stone street strong summer sunny sweet
swift temple thorn tower towers train trip victory violet wade walker wall ward waters wave webb wells west white will
willow wing winter winters wise wolf wood woods wren young
"""
_TITLES = """
dame doctor dr madam miss mr mrs ms mx nurse prof professor rev reverend sir
"""
_PARTICLES = """
al ap bin bint bsc da dal das de del della den der di do dos du el esq ibn ii iii iv jr la las le los mac mba md msc
of phd rn san sr st te ten ter und van vom von y zu zum zur
"""

_THING_WORDS = """
abbey academy agency agreement airport arena array association authority avenue award bakery basin bay beach belt
brewery bridge brigade building cafe café canal canyon cathedral center centre church cinema city clinic club coast
college comet commission committee company constant convention corporation council county court craft crater creek
crescent cup dam day department distribution docks effect equation expedition experiment explorer falls family
federation ferry festival formation foundation framework fund gallery gap gardens group hall harbor harbour high hills
hospice hospital hotel house inc inn institute institution island islands jetty lab laboratory lagoon lake lander law
laws league library limit ltd marina medal memorial method ministry mission mountain mountains museum nebula number
nursery observatory office orbiter park particle pavilion peak pharmacy pier planetarium point practice prize probe
process program programme project quarry quay radiation railway ratio reserve reservoir restaurant river road route
rover satellite scale scheme school sea sequence series society spacecraft sphere square stadium station store street
studio surgery symphony telescope terrace test theater theatre theorem theory tower track trail trophy trust tunnel
union unit university valley viaduct village vineyard war weir wharf workshop zoo
"""

THINGS = frozenset(_THING_WORDS.split())
"""Words that end names of things, such as "the James Webb Space Telescope"."""

_THINGS_OR_SURNAMES = """
bank castle chapel dock farm forest garden lane lock mill pool port
"""
THINGS_OR_SURNAMES = frozenset(_THINGS_OR_SURNAMES.split())
"""Words that end names of things, but for one that begins with a given name: "Ashby Lock", not "Sarah Lock"."""

GIVEN_NAMES = frozenset(_GIVEN_NAMES.split())
"""Common given names of many languages, in lower case."""

ALSO_WORDS = frozenset(_ALSO_WORDS.split())
"""Names that stand for something else as often: persons only beside another name or where the parser says so."""

TITLES = frozenset(_TITLES.split())
"""Words before a name."""

SHORT_TITLES = frozenset({"dr", "mr", "mrs", "ms", "mx", "prof"})
"""Those of them that are written before a name alone, so that any word with a capital after them is one."""

PARTICLES = frozenset(_PARTICLES.split())
"""Words inside names that are no names by themselves."""


_TERMS = """
a1c abg acei adhd adl aids als apgar ards asa bid bmi bnp bp bun cabg cad cardiology cbc chf ckd cns co2 copd covid
covid-19 cpap cpr crp csf ct cva cxr dexa dka dm dna dvt ecg echo ed eeg egfr ekg emergency department emg ems ent er
esr fev1 gcs gerd gfr gi gp gyn h1n1 hba1c hcg hcv hdl hiv hpi hpv hr htn ibd ibs icd icu inr iv ivf jvp ldl lft lmp
loc mcg mg mi mmhg mri mrsa msu nicu nsaid npo o2 ob obgyn od opd or ot oxygen pcp pcr pe pet pft po prn psa pt ptsd
qd qid ra rbc rna ros rr rsv sars sids sle sob spo2 std sti t3 t4 tb tbi tia tid tnf tpn tsh uti vte wbc aspirin
insulin ibuprofen metformin paracetamol penicillin warfarin vitamin vitamins today tomorrow yesterday tonight now
daily weekly monthly yearly annual hourly nightly overnight sir madam mom mum dad hi hello dear thanks amen god
internet web wifi sms pdf faq ok okay mon tue tues wed thu thur thurs fri sat feb apr aug sep sept oct nov dec
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


def is_ordinary(word: str) -> bool:
    """Tell whether a lower-case word is an everyday word rather than a name."""
    return word.casefold() in STOP_WORDS or word.casefold() in ALSO_WORDS


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
