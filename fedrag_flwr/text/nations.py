"""Nations by their names and by the words for their people: "Danish" and "Denmark" are one."""

from __future__ import annotations

from collections.abc import Iterable

from fedrag_flwr.text.words import normalise_anchor

_FORMS = """
afghanistan afghan; albania albanian; algeria algerian; andorra andorran; angola angolan; argentina argentine
argentinian argentinean; armenia armenian; australia australian; austria austrian; azerbaijan azerbaijani; bahamas
bahamian; bahrain bahraini; bangladesh bangladeshi; barbados barbadian; belarus belarusian; belgium belgian; belize
belizean; benin beninese; bhutan bhutanese; bolivia bolivian; bosnia bosnian; botswana; brazil brazilian; brunei
bruneian; bulgaria bulgarian; burma burmese myanmar; burundi burundian; cambodia cambodian; cameroon cameroonian;
canada canadian; chad chadian; chile chilean; china chinese; colombia colombian; congo congolese; croatia croatian
croat; cuba cuban; cyprus cypriot; czech czechia czech_republic; czechoslovakia czechoslovak; denmark danish dane;
dominica; dominican_republic dominican; ecuador ecuadorian; egypt egyptian; england english uk british britain
great_britain united_kingdom scotland scottish wales welsh northern_ireland; eritrea eritrean; estonia estonian;
ethiopia ethiopian; fiji fijian; finland finnish finn; france french; gabon gabonese; gambia gambian; georgian;
germany german west_germany east_germany; ghana ghanaian; greece greek; grenada grenadian; guatemala guatemalan;
guyana guyanese; haiti haitian; honduras honduran; hungary hungarian; iceland icelandic icelander; india indian;
indonesia indonesian; iran iranian persian; iraq iraqi; ireland irish republic_of_ireland; israel israeli; italy
italian; jamaica jamaican; japan japanese; jordan jordanian; kazakhstan kazakh kazakhstani; kenya kenyan; kosovo
kosovar; kuwait kuwaiti; laos laotian lao; latvia latvian; lebanon lebanese; liberia liberian; libya libyan;
liechtenstein; lithuania lithuanian; luxembourg luxembourgish; macedonia macedonian north_macedonia; madagascar
malagasy; malawi malawian; malaysia malaysian; mali malian; malta maltese; mauritius mauritian; mexico mexican;
moldova moldovan; monaco monegasque; mongolia mongolian; montenegro montenegrin; morocco moroccan; mozambique
mozambican; namibia namibian; nepal nepalese nepali; netherlands dutch holland kingdom_of_the_netherlands; new_zealand
new_zealander; nicaragua nicaraguan; niger nigerien; nigeria nigerian; north_korea north_korean; norway norwegian;
oman omani; pakistan pakistani; palestine palestinian; panama panamanian; papua_new_guinea; paraguay paraguayan; peru
peruvian; philippines philippine filipino filipina; poland polish pole; portugal portuguese; puerto_rico puerto_rican;
qatar qatari; romania romanian; russia russian russian_empire russian_federation; rwanda rwandan; samoa samoan;
saudi_arabia saudi saudi_arabian; senegal senegalese; serbia serbian serb; sierra_leone; singapore singaporean;
slovakia slovak slovakian; slovenia slovenian slovene; somalia somali; south_africa south_african; south_korea
south_korean korean korea; soviet soviet_union ussr; spain spanish spaniard; sri_lanka sri_lankan; sudan sudanese;
suriname surinamese; sweden swedish swede; switzerland swiss; syria syrian; taiwan taiwanese; tanzania tanzanian;
thailand thai; togo togolese; tonga tongan; trinidad trinidadian trinidad_and_tobago; tunisia tunisian; turkey turkish
turk; uganda ugandan; ukraine ukrainian; united_arab_emirates emirati uae; united_states us usa america american
united_states_of_america; uruguay uruguayan; uzbekistan uzbek; venezuela venezuelan; vietnam vietnamese; yemen yemeni;
yugoslavia yugoslav; zambia zambian; zimbabwe zimbabwean
"""

_NATION_OF = {
    normalise_anchor(form.replace("_", " ")): forms.split()[0] for forms in _FORMS.split(";") for form in forms.split()
}


def nations(anchors: Iterable[str]) -> set[str]:
    """The nations among normalised anchors, each in one form; what names no nation is left out."""
    return {_NATION_OF[anchor] for anchor in anchors if anchor in _NATION_OF}
