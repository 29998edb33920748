"""Function words and everyday words that are never part of a person's name by themselves."""

from __future__ import annotations

_STOP_WORDS = """
'd 'll 'm 're 's 've a about above account across address after afterwards again against all almost alone along
already also although always am among amongst amount an and another answer any anyhow anyone anything anyway anywhere
are aren't around as asked at back bad band bank be became because become becomes becoming been before beforehand
behind being below beside besides best better between beyond block blocked book born both bottom boy browse but by ca
call called calls can can't cannot card child children city company concert could country credit day dear december did
didn't died do doctor does doesn't doing don't done down due during each eight either eleven else elsewhere email
empty enough even ever every everyone everything everywhere except february few fifteen fifty first five for former
formerly forty four friday friend from front full further get girl give go good guest had has have he hello help hence
her here here's hereafter hereby herein hereupon hers herself hey hi him himself his hospital how however hundred i
i'll i'm i've if in indeed into is isn't issue issues it it's its itself january july june just keep last latter
latterly least less let's like likes list lives living lost made make man many march may me meanwhile men met might
mine monday month more moreover most mostly move moved mr's much music must my myself n't name namely names need needs
neither never nevertheless new next nine no nobody none noone nor not nothing novel november now nowhere number nurse
october of off office often ok okay old on once one only onto or order orders other others otherwise our ours
ourselves out over own page part patient people per perhaps person phone please put question questions quite rather re
really regarding said same saturday say says second security see seem seemed seeming seems send sent september serious
several she should show side since sir's site six sixty so social some somehow someone something sometime sometimes
somewhere song songs speak stay staying still story student such sunday take talk teacher ten than thank thanks that
that's the their them themselves then thence there there's thereafter thereby therefore therein thereupon these they
they're third this those though three through throughout thru thursday thus to today together told tomorrow too top
toward towards town tuesday twelve twenty two under unless until up upon us used using various very via visited want
wants was we we're website wednesday week well were what what's whatever when whence whenever where whereafter whereas
whereby wherein whereupon wherever whether which while whither who who's whoever whole whom whose why will with within
without woman women won't work worked working works would wrote year yes yesterday yet you you're your yours yourself
yourselves
"""

STOP_WORDS = frozenset(_STOP_WORDS.split())
"""In lower case, with straight apostrophes."""
