"""Function words and everyday words that are never part of a person's name by themselves."""

from __future__ import annotations

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
