"""Closed word lists that several rules share."""

from __future__ import annotations

from qagen_dagster.english.words import word_set

# Nouns that name a property, so that "what is the <noun> of X" is idiomatic.
ATTRIBUTES = word_set(
    "accuracy address age altitude amount angle area authority balance budget capacity category cause clearance "
    "class code colour color condition cost count country coverage date day deposit depth description diameter direction "
    "distance drift duration effect energy fee flow footprint frequency function gain height identifier income interval "
    "language layer length level life limit location loss margin mass material maximum meaning minimum mode name "
    "number offset operator origin owner percentage period phone place population position power precision pressure price "
    "purpose range rank rate rating ratio reason region remark resolution result revenue role salinity score season "
    "sensitivity shape signal size source speed stage start status strength supply surface symbol symptom "
    "temperature threshold time title tolerance total type variance velocity version voltage "
    "volume wage warranty weight width yield thickness change share lifetime "
    "scale default description method family density"
)

# Nouns that head a table's first column; they are capitalised only as headings.
HEAD_NOUNS = word_set(
    "animal case category check class code component condition county course creature crop device disease element event "
    "experiment factor feature field gene group instrument item kind language layer level lot material measure method model "
    "module month offence option organism parameter part participant patient period person place plant plot point process "
    "product program property quantity region sample school season sensor service setting site source species stage state "
    "station step strain street subject substance summer system task team test tool town treatment tree trial type unit "
    "variable variant vehicle vessel village winter wire year zone alarm fault command version room ward week day dataset "
    "metric benchmark characteristic attribute"
)
