"""Words a full stop follows without ending the sentence, by what must come next for it to go on.

English. What does not belong here: the rules that use them (`sentences.py`).
"""

from __future__ import annotations

from qagen_dagster.models.embedded.sentences import ABBREVIATIONS

# A name or another word always follows.
BEFORE_NAMES = frozenset(
    "mr mrs ms mx dr prof hon sgt lt col gen rep sen gov capt cmdr adm maj pvt cpl rev fr pres supt messrs mt ft vs v cf "
    "viz ca approx e.g i.e eg ie a.k.a incl esp resp".split()
)
# A number, a numeral or a single letter follows; before any other word the sentence is over.
BEFORE_NUMBERS = frozenset(
    "no nos art arts sec secs ch chap fig figs tab eq eqs eqn vol vols p pp par para cl app ed eds n nr c b d in "
    "jan feb mar apr jun jul aug sep sept oct nov dec ver".split()
)
# The sentence ends if a capital follows, unless that is a day, a month or a zone.
TIMES = frozenset(("a.m", "p.m"))
AFTER_TIMES = frozenset(
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August September "
    "October November December Eastern Pacific Central Mountain EST EDT CST CDT PST PDT MST MDT GMT UTC CET CEST BST".split()
)
# The sentence ends if one of OPENERS follows: it begins sentences and hardly ever names.
MAY_END = frozenset(word.lower() for word in ABBREVIATIONS) - BEFORE_NAMES - BEFORE_NUMBERS - {"id", "etc"} | frozenset(
    "llc plc gmbh ave blvd rd dept univ assn intl govt est min max avg est temp ref refs suppl tel ext wt sq cu mi yr yrs "
    "hr hrs mo mos wk oz tsp tbsp calif fla ariz colo ill ind minn okla ore penn tenn tex va wash wis mich".split()
)  # fmt: skip
OPENERS = frozenset(
    "The This That These Those A An It Its He She They We You I His Her Their Our My Your In On At By For From With Without "
    "As If When While After Before However Moreover Furthermore Although Though But And Or So Yet Also There Here What Who "
    "Why How Where Which Whether Both Each All Some Many Most Such Not Then Thus Therefore Hence Meanwhile During Since "
    "Because Despite According Another Other Overall Finally Additionally Instead Today Until Once Only To Its It's He's "
    "She's They're We're I'm Under Over Between Among Even Every Few Several Nevertheless Nonetheless Consequently".split()
)
# A line that stops after one of these goes on in the next.
CONNECTIVES = frozenset(
    "a an the of in on at by for from with to and or but as than that which who whose is are was were be been has have had "
    "will would can could may might must should not no into over under between per via its their his her our".split()
)
# `"Stop!" Mary said` is one sentence.
ATTRIBUTION = frozenset(
    "said says asked asks replied added cried shouted exclaimed wrote answered told whispered noted".split()
)
