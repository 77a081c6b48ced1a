"""Group `cases`: attacks that ordinary tests hold. One process of pytest runs them, and each attack is a row.

A test that no longer exists is a surprise; `tests/test_architecture.py` notices it earlier.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.attack.table import Row

ROOT = Path(__file__).resolve().parents[2]
SHORT = ("refused TeX", "JSON that")  # words in attacks of the short form


class Case(NamedTuple):
    """An attack, what happens now, and the tests that hold it: files under `tests/`, and functions of each."""

    attack: str
    now: str
    tests: str


CASES = (
    # 1: bodies of responses
    Case("gzip in three layers, as the full text of a document", "it is refused after a few bytes", "answering/test_full_text.py test_a_bomb_of_a_few_bytes_is_not_decoded test_one_layer_of_compression_is_read"),
    Case("gzip in layers, as the response of a model", "at most one layer is decoded", "models/wires/test_sdk_client.py test_at_most_one_layer_is_decoded"),
    Case("a response of a model without end", "it is refused at the limit", "models/wires/test_sdk_client.py test_a_body_beyond_the_limit_is_refused"),
    Case("a response that takes long to decode", "the attempt ends at its deadline", "models/wires/test_sdk_client.py test_decoding_ends_with_the_attempt"),
    # 2: replies that are not usable
    Case("a server that answers 200 with nothing usable", "the run fails, and asks again next time", "cli/questions/test_run.py test_a_server_with_nothing_usable_fails_the_run_and_is_asked_again"),
    Case("documents with nothing but malformed replies", "they fail by name until the server answers", "loop/questions/test_shard_faults.py test_a_server_with_nothing_usable_fails_its_documents_until_it_answers"),
    Case("a malformed response in the ledger", "it is never served, and is overwritten", "models/wires/test_sdk_client.py test_an_unusable_body_is_stored_asked_for_again_and_overwritten"),
    Case("malformed responses without end", "they use up the budget, and no more", "models/wires/test_sdk_client.py test_an_unusable_body_may_use_up_the_budget"),
    Case("a malformed response in a batch", "it is paid, and asked for directly", "models/test_batcher.py test_a_response_of_a_batch_that_cannot_be_used_is_paid_and_asked_for_directly"),
    Case("malformed embeddings", "they are asked for again, and never replayed", "models/wires/test_openai_embeddings.py test_a_malformed_answer_is_asked_for_again_and_never_replayed"),
    Case("an empty set over published questions", "it replaces them only on demand", "loop/questions/publication/test_publish.py test_an_empty_set_replaces_questions_only_on_demand"),
    Case("malformed responses and `qagen ledger prune`", "they are named, and can be removed", "loop/test_ledger.py test_entries_that_no_run_can_use_are_named_and_go"),
    Case("arrays as JSON text, encoded twice, in prose", "they are read", "models/test_structured_output.py test_arguments_in_another_shape_are_read test_no_guess_is_made_about_arguments"),
    Case("the same refused call again and again", "three of them end the agent's run", "agents/test_refusals.py test_a_refusal_that_goes_on_ends_the_run"),
    Case("documents without a reply of use", "they cost little, and are asked again", "loop/questions/test_unusable_replies.py test_a_document_without_a_reply_of_use_is_unfinished_and_cheap test_a_reply_that_the_server_could_not_finish_is_a_failed_request"),
    Case("prompts refused as too long, in any words", "a smaller part is shown; without one the document is unfinished", "loop/questions/test_unusable_replies.py test_a_long_prompt_that_is_refused_is_answered_with_a_smaller_part test_a_document_of_which_no_prompt_was_accepted_is_unfinished"),
    # 3: TeX
    Case("TeX that reads or writes a file, 50 ways", "refused TeX is not exported", "publishing/test_allowed_tex.py test_no_way_to_a_file_is_allowed test_what_is_refused_is_named"),
    Case("TeX that reads a file, before it is compiled", "it is not given to an engine", "loop/problems/test_bank.py test_only_allowed_items_are_compiled"),
    Case("TeX of 1 MB that is slow to judge", "it is judged in linear time", "publishing/test_allowed_tex.py test_long_texts_are_judged_in_linear_time"),
    Case("commands that read files, in a LaTeX project", "the item is left out by name", "publishing/problems/test_tex_project.py test_what_could_read_or_write_files_is_left_out_and_named"),
    Case("commands in formulae of an exam", "none reaches TeX", "publishing/exams/test_pages.py test_no_command_of_a_formula_reaches_tex_that_could_read_or_redefine"),
    # 4: damaged records
    Case("each file of a question set damaged", "it is made again, and nothing is paid twice", "cli/test_damaged.py test_each_damaged_file_is_made_again_and_nothing_is_paid_twice"),
    Case("a damaged journal of a document", "it is begun again from the ledger", "cli/test_damaged.py test_a_damaged_journal_costs_nothing"),
    Case("a damaged set.json", "other combinations are not affected", "cli/test_damaged.py test_a_damaged_set_does_not_stop_other_combinations"),
    Case("damaged evaluations", "they are made again, and nothing is paid twice", "cli/test_damaged.py test_damaged_evaluations_are_made_again_and_nothing_is_paid_twice"),
    Case("damaged documents", "they are parsed again", "ingest/test_parsing.py test_a_damaged_file_is_made_again test_a_damaged_list_of_visuals_is_made_again"),
    Case("a damaged search index, a damaged text", "it is made again; the text is not embedded", "loop/test_index.py test_a_damaged_index_is_made_again_and_nothing_is_paid_twice test_a_damaged_text_is_not_embedded"),
    Case("damaged results and journals of an exam", "they are made again from what is whole", "loop/exams/test_run_part.py test_a_damaged_result_is_made_again_from_its_journal test_the_designer_of_a_damaged_journal_is_asked_what_it_was_asked_before test_a_part_that_needs_no_run_is_one_when_its_set_is_damaged"),
    Case("a damaged result of a problem set", "only its task is done again", "loop/problems/test_run_set.py test_only_the_task_with_a_damaged_result_is_done_again"),
    Case("two processes that see the same damage", "one whole record is left", "test_store.py test_two_processes_that_see_the_same_damage_leave_one_whole_record test_what_another_process_has_repaired_is_left_alone"),
    Case("a ledger entry of deep JSON", "it is paid again, and never served", "models/test_ledger.py test_a_damaged_entry_is_paid_again_and_never_served test_a_deep_entry_leaves_room_for_finalizers"),
    Case("an entry of the ledger with other bytes", "`qagen doctor` names it", "cli/test_ledger.py test_the_doctor_names_a_corrupt_entry_and_fails"),
    # 5: tool calls
    Case("a model whose every tool call is broken", "the run ends with one line", "cli/questions/test_run.py test_a_model_with_broken_tool_calls_ends_the_run_with_one_line"),
    Case("turns with nothing but faulty calls", "five of them end the agent's run", "agents/test_runner.py test_turns_with_nothing_but_faulty_calls_end_the_run test_a_call_that_can_be_run_ends_a_row_of_faulty_turns"),
    Case("more tool calls than an agent may make", "the run ends before they are run", "agents/test_runner.py test_too_many_tool_calls_end_the_run_before_they_are_run"),
    Case("useless replies over many documents", "the model is stopped", "models/test_ledger.py test_a_row_of_useless_replies_stops_the_model"),
    Case("a page of JSON, deep or cut off, as a reply", "JSON that cannot be read is told to the model", "models/test_structured_output.py test_faults_say_what_is_wrong test_arguments_in_all_their_forms test_any_text_gives_an_object_or_a_value_error"),
    # 6: forged fields
    Case("a value that imitates a label of a prompt", "a forged line does not begin like a label", "agents/test_forgeries.py test_no_value_begins_a_line_like_a_label_or_closes_a_fence test_a_text_outside_of_tags_has_one_line"),
    Case("a problem that closes its tags", "forged tags stay inside", "agents/test_forgeries.py test_problems_cannot_close_their_tags_or_imitate_their_numbers"),
    Case("code that fills a prompt by itself", "an architecture test refuses it", "agents/test_forgeries.py test_only_the_agent_loop_fills_prompts_and_only_the_layout_makes_blocks"),
    Case("a generator that forges, a validator that agrees", "no false row that code can decide is accepted", "loop/questions/test_forged_rows.py test_no_false_row_that_code_can_decide_is_accepted test_a_label_that_the_document_has_not_is_refused"),
    Case("a question type that switches off a check", "no type does", "agents/questions/evidence/test_answer_support.py test_no_type_turns_off_the_check_of_numbers"),
    Case("control characters for a terminal", "they are shown, not sent", "cli/test_output.py test_lines_and_json_show_control_characters test_a_terminal_shows_them_in_text_and_tables_and_keeps_its_own_styles"),
    Case("images and links in Markdown of the UI", "a text has neither", "records/test_text.py test_markdown_of_a_text_has_no_link_and_no_image test_no_text_makes_a_link"),
    Case("markup in a preview of an exam", "the page is well-formed and stands alone", "publishing/exams/test_pages.py test_an_item_is_well_formed_whatever_it_says test_the_page_stands_alone"),
    Case("values that mean something to GIFT or Moodle", "they come back as they were", "publishing/exams/test_formats.py test_whatever_means_something_to_gift_comes_back"),
    # 7: files
    Case("a file that is larger than the limit", "it is not read", "ingest/test_hostile_files.py test_a_file_that_is_too_large_is_not_read"),
    Case("a file that becomes a link after it was found", "it is not read", "ingest/test_hostile_files.py test_a_file_that_becomes_a_link_after_it_was_found_is_not_read test_a_worker_does_not_follow_a_link_that_came_after_the_hash"),
    Case("documents/ that becomes a link to /etc", "it is not listed", "ingest/test_hostile_files.py test_documents_that_become_a_link_out_are_not_listed"),
    Case("Ctrl-C while large files are hashed or parsed", "the run ends within a second", "ingest/test_hostile_files.py test_an_interrupt_does_not_wait_for_other_files test_an_interrupt_ends_the_hashing_of_a_large_file"),
    Case("a FIFO, a device, 40 GB as configuration", "one line; other corpora are loaded", "configuration/test_yaml_files.py test_a_configuration_that_is_no_small_file_is_one_line test_a_problem_source_that_is_no_file_breaks_its_set_alone"),
    Case("documents/ or sources/ that are links", "they do not lead out", "configuration/test_yaml_files.py test_documents_and_sources_do_not_lead_out"),
    Case("a FIFO or a device on the command line", "one line instead of a hang", "cli/test_special_files.py test_what_is_no_regular_file_is_one_line test_an_enormous_file_is_refused_before_it_is_copied"),
    Case("a parser that crashes, hangs or eats memory", "its document has an outcome", "formats/test_parser_pool.py test_a_dead_parser_is_a_crashed_document test_memory_beyond_the_limit_is_out_of_memory test_a_hang_is_a_timeout test_what_a_hanging_parser_started_dies_with_it"),
    Case("YAML with aliases, deep nesting, Python objects", "one line names the file", "configuration/test_yaml_files.py test_what_is_no_configuration_at_all test_no_file_raises_anything_else"),
    # 8: banks
    Case("`exam run --items 2` after `--items 42`", "nothing is taken from the bank", "cli/exams/test_run.py test_a_smaller_goal_takes_nothing_and_replace_does"),
    Case("an exam run that fails", "it changes nothing", "cli/exams/test_run.py test_a_run_that_fails_changes_nothing"),
    Case("a run over a bank of problems", "it adds, and removes only when told", "cli/problems/test_process.py test_a_bank_is_added_to_and_only_replaced_when_told"),
    Case("a scan whose mark, letter and box disagree", "it is refused", "loop/problems/test_item_faults.py test_the_mark_the_letter_and_the_box_agree"),
    Case("an expression that is a program", "the item is rejected in five seconds", "loop/exams/test_planted_faults.py test_a_hostile_form_rejects_its_item_in_five_seconds_and_nothing_else_happens"),
    # 9: tools and the store
    Case("a phrase that is slow to search", "the search ends in seconds, and says where to go on", "toolkit/test_matching.py test_a_phrase_that_costs_too_much_ends_in_seconds test_a_phrase_search_out_of_time_says_where_to_go_on"),
    Case("a regular expression that is slow", "it ends", "toolkit/test_search_words.py test_expensive_patterns_end"),
    Case("a store root with `::` or `?`", "it is refused", "cli/test_main.py test_what_cannot_be_done_is_one_line"),
    # 11: seams
    Case("a missing API key", "it is told before any work", "loop/questions/test_plan.py test_a_profile_without_its_key_is_told_before_any_document_is_looked_at"),
    Case("a parser whose parent dies, or that dies idle", "it ends; the next document has a new one", "formats/test_parser_pool.py test_a_worker_whose_parent_dies_during_a_job_ends_after_its_time test_a_worker_that_died_while_idle_is_replaced"),
    Case("a forked child that keeps a lock", "others are served", "models/test_file_locks.py test_a_forked_child_keeps_no_place_and_no_turn"),
    Case("other processes of an exam's run", "they see what a part has paid", "loop/exams/test_run_part.py test_other_processes_of_a_run_see_what_a_part_has_paid"),
    # addresses that change
    Case("a name that changes its address after the check", "the connection goes to the checked address", "answering/test_full_text.py test_a_name_that_changes_its_address_between_check_and_connection_gains_nothing test_the_address_is_checked_again_at_the_connection"),
)  # fmt: skip


def named(case: Case) -> list[str]:
    """The ids of a case's tests, without parameters."""
    file, *functions = case.tests.split()
    return [f"tests/{file}::{function}" for function in functions]


def missing(case: Case) -> list[str]:
    """The ids of a case's tests that do not exist."""
    return [test for test in named(case) if not _exists(*test.split("::"))]


def cases(folder: Path, short: bool) -> Iterator[Row]:
    """One row for each case; a test counts with all its parameters."""
    chosen = [
        case for case in CASES if not short or any(word in f"{case.attack} {case.now}" for word in SHORT)
    ]
    wanted = sorted({test for case in chosen for test in named(case) if test not in missing(case)})
    outcomes = _run(wanted, folder / "results.xml")
    for case in chosen:
        found = Counter[str]()
        for test in named(case):
            found += outcomes.get(test, Counter(missing=1))
        held = not missing(case) and set(found) == {"passed"}
        bad = ", ".join(
            f"{count} {outcome}" for outcome, count in sorted(found.items()) if outcome != "passed"
        )
        yield Row(case.attack, case.now, case.now if held else bad, held)


def _run(tests: list[str], results: Path) -> dict[str, Counter[str]]:
    """How often each test passed, failed or was skipped."""
    command = [sys.executable, "-m", "pytest", "-n", "0", f"--junit-xml={results}", *tests]
    subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found: dict[str, Counter[str]] = {}
    if results.exists():
        for one in ElementTree.parse(results).iter("testcase"):
            file = one.attrib["classname"].replace(".", "/") + ".py"
            test = f"{file}::{one.attrib['name'].split('[')[0]}"
            bad = [child.tag for child in one if child.tag in ("failure", "error", "skipped")]
            found.setdefault(test, Counter())[bad[0] if bad else "passed"] += 1
    return found


def _exists(file: str, function: str) -> bool:
    return function in _functions(file)


@cache
def _functions(file: str) -> frozenset[str]:
    path = ROOT / file
    tree = ast.parse(path.read_bytes()) if path.exists() else ast.Module(body=[], type_ignores=[])
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))
