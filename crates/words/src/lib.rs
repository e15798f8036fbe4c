//! Facts in words: all sentences that ralph makes from the journal. Pure.
//!
//! Events carry data. Sentences about them for users are made here, the same for every user interface; only notices
//! bring their sentence along. Text for an agent's next prompt is made in `prompt`: user and agent are told different
//! things about the same fact.

#![deny(unreachable_pub)]

mod background;
mod batch;
mod channel;
mod claim;
mod comment;
mod delivery;
mod end;
mod error_line;
mod figures;
mod hint;
mod hook;
mod iteration;
mod late_answer;
mod limit;
mod line;
mod merge;
mod permission;
mod phase;
mod place;
mod problem;
pub mod prompt;
mod refusal;
mod repository;
mod review;
mod sealed;
mod subagents;
mod tests_run;
mod tone;
pub mod tools;
mod tree;

#[cfg(not(feature = "testing"))]
use ralph_core::json::NoSchema as JsonSchema;
#[cfg(feature = "testing")]
use schemars::JsonSchema;

pub use background::background_in_prompt;
pub use background::{
    background_progress_in_words, background_refusal_in_words, background_state_in_words, background_went_well,
    command_in_words,
};
pub use batch::{
    batch_hints, batch_line, batch_usage_in_words, budget_in_words, conflict_in_words, held_in_words, kept_in_words,
    log_command, merge_hint, merge_in_words, merged_plans_in_words, plan_commit_message, plan_phase_in_words,
    plan_phase_word, plan_state_in_words, repair_in_words, repository_change_in_words, repository_within,
    target_commit_message, target_lost, target_merge_message, trouble_in_words, trouble_task, user_hint,
};
pub use channel::agent_with_channel;
pub use claim::{
    broken_in_words, claim_in_words, confidence_in_words, goal_failure_in_words, goal_in_words, missing_in_words,
    status_in_words,
};
pub use comment::{
    comment_author_in_words, comment_state_in_words, comment_written_in_words, comments_in_prompt,
    comments_sent_in_words,
};
pub use end::{left_in_words, refusal_in_words, stop_in_words};
pub use error_line::error_line;
pub use figures::{
    all_changes_in_words, changes_in_words, cost_in_words, date_ahead, listed, short_count, ticking, usage_in_words,
};
pub use hint::{hint_for, hint_in_words};
pub use iteration::{
    breaker_cause_in_words, breaker_in_words, breaker_state_word, commit_in_words, iteration_commit_message,
    outcome_in_words, outcome_word, run_in_words, wait_cause_in_words, worker_in_words, worker_name,
};
pub use late_answer::{late_answer_in_words, place_of_decision, queued_message_in_words, unanswered_in_words};
pub use limit::{LimitRaise, higher_limits, limit_raise, limit_use_in_words, limits_in_words, new_limits_in_words};
pub use limit::{
    spent_in_words, sufficient_raise, task_at_limit_in_words, task_set_aside_in_words, task_taken_back_in_words,
    used_up_in_words, window_in_words,
};
pub use line::{EventLine, narrate};
pub use merge::{proof_word, test_trouble_in_words, too_little_proof, untried_tests};
pub use permission::decision_in_words;
pub use permission::{DenialAdvice, denial, message_in_prompt, no_answer};
pub use permission::{
    answer_command, answers_in_words, asked_in_words, decider_in_words, mode_in_words, mode_word, no_answer_in_words,
    not_an_answer_in_words, scope_in_words,
};
pub use phase::{phase_headline, phase_in_words, phase_word, run_phase_word, tool_in_words};
pub use place::lacking_in_words;
pub use problem::reported_problem;
pub use problem::{problem_in_words, problem_kind_in_words};
pub use ralph_core::notices::{
    background_end_in_words, counted, exceeded_in_words, exit_in_words, limit_word, low_disk_in_words, raise_option,
    role_in_words, short_duration, size_in_words, worker_with_model,
};
pub use refusal::{agent_command_in_words, closed_in_words, command_refusal_in_words};
pub use repository::{
    head_in_words, locks_in_words, lost_repository_in_words, stash_left_in_words, stashes_in_words, way_back_in_words,
};
pub use review::{findings_in_words, review_in_words, review_word, task_in_words};
pub use sealed::{
    doubt_of_sealed, passed_of_all, sealed_goal_failed, sealed_not_started, sealed_output_in_words,
    sealed_read_attempt, sealed_was_readable, sealed_without_sandbox,
};
pub use subagents::{subagent_tree, subagents_in_words};
pub use tests_run::{
    changed_tests_are_cut, confirmed_in_words, guarded_change_in_words, guarded_changes_in_words, mutant_in_words,
    mutants_in_words, noticed_mutants, tests_in_words, trial_in_words, trial_result_in_words, without_work,
};
pub use tone::Tone;
pub use tools::{ToolRefusal, tool_refusal_in_words};
pub use tree::tree_in_words;
