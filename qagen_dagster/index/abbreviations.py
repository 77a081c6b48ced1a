"""English abbreviations after which a full stop may not end the sentence, grouped by what must follow.

`sentences.py` has the rules that use them.
"""

from __future__ import annotations

from qagen_dagster.models.embedded.text.sentences import ABBREVIATIONS


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The sentence always continues: a name or another word follows.
BEFORE_NAMES = _words(
    "mr mrs ms mx dr prof hon sgt lt col gen rep sen gov capt cmdr adm maj pvt cpl rev fr pres supt messrs mt ft vs v cf "
    "viz ca approx e.g i.e eg ie a.k.a incl esp resp"
)
# The sentence continues before a number, a numeral or a single letter, and ends before any other word.
BEFORE_NUMBERS = _words(
    "no nos art arts sec secs ch chap fig figs tab eq eqs eqn vol vols p pp par para cl app ed eds n nr c b d in n° "
    "jan feb mar apr jun jul aug sep sept oct nov dec ver"
)
# The sentence ends if a capital follows, unless that begins a day, a month or a time zone.
TIMES = frozenset(("a.m", "p.m"))
AFTER_TIMES = _words(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
    "October November December Eastern Pacific Central Mountain EST EDT CST CDT PST PDT MST MDT GMT UTC CET CEST BST"
)
# The sentence ends if one of OPENERS follows: these words begin sentences, but hardly ever names.
MAY_END = _words(ABBREVIATIONS.lower().replace("|", " ")) - BEFORE_NAMES - BEFORE_NUMBERS - {"id", "etc"} | _words(
    "llc plc gmbh ave blvd rd dept univ assn intl govt est min max avg temp ref refs suppl tel ext wt sq cu mi yr yrs "
    "hr hrs mo mos wk oz tsp tbsp calif fla ariz colo ill ind minn okla ore penn tenn tex va wash wis mich"
)  # fmt: skip
OPENERS = _words(
    "The This That These Those A An It Its He She They We You I His Her Their Our My Your In On At By For From With Without "
    "As If When While After Before However Moreover Furthermore Although Though But And Or So Yet Also There Here What Who "
    "Why How Where Which Whether Both Each All Some Many Most Such Not Then Thus Therefore Hence Meanwhile During Since "
    "Because Despite According Another Other Overall Finally Additionally Instead Today Until Once Only To Its It's He's "
    "She's They're We're I'm Under Over Between Among Even Every Few Several Did Do Does Is Are Was Were Can Could Would Should Has Have Had Nevertheless Nonetheless Consequently"
)
# A line that ends with one of these continues in the next line.
CONNECTIVES = _words(
    "a an the of in on at by for from with to and or but as than that which who whose is are was were be been has have had "
    "will would can could may might must should not no into over under between per via its their his her our"
)
# A quotation followed by one of these does not end the sentence: `"Stop!" Mary said`.
ATTRIBUTION = _words(
    "said says asked asks replied added cried shouted exclaimed wrote answered told whispered noted"
)
