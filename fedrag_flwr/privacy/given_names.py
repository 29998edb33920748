"""Common given names and everyday words that are also names, for texts in which a parser finds no person."""

from __future__ import annotations

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
