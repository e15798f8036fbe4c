//! Runs the loop: takes inputs, steps the machine, records and publishes its events, performs its effects.
//!
//! One task owns everything. This module does not decide: the machine interprets inputs, and other modules do the work
//! of effects, whose results come back as inputs.

#![deny(unreachable_pub)]

mod after_work;
mod agent_commands;
mod autorun;
mod awake;
mod background;
mod background_calls;
mod boxes;
mod calls;
mod clock;
mod comment_lines;
mod comments;
mod commits;
mod config;
mod earlier;
mod early;
mod early_checks;
mod edit_checks;
mod edits;
mod ending;
mod goals;
mod handle;
mod handover;
mod hooks;
pub mod hub;
mod job_facts;
mod jobs;
mod languages;
mod log;
mod open;
mod packages;
mod parts;
mod perform;
mod places;
mod plan_file;
mod plan_look;
mod preview;
mod pricing;
mod prompt_context;
mod reports;
mod reruns;
mod review;
mod room;
mod room_caches;
mod room_layers;
mod room_packages;
mod ruling;
mod run;
mod run_room;
mod scopes;
mod sealed;
mod session;
#[cfg(test)]
mod simulation;
mod status;
mod test_gate;
mod timers;
mod tools;
mod usage_throttle;

pub use clock::{ClockReading, RunClock, batch_time};
pub use comments::{CommentOutcome, change_comments, with_lines};
pub use config::{AvailableAgent, DenialScanner, PermissionDecider, RunConfig};
pub use ending::{DeferredMessage, LeaveOutcome, TestsQuestion, leave, scope_question, tests_question, withdraw};
pub use goals::{ExecutionContext, check_goals};
pub use handle::{LoopBusy, LoopHandle};
pub use hooks::HookStarter;
pub use open::{BreakerReset, OpenError, OpenRun, RunChoice, forget_rule, hold, reset_circuit};
pub use packages::{PackagesRecord, installers, room_setup};
pub use plan_file::Taskless;
pub use plan_file::read_plan;
pub use preview::{Preview, next_prompt};
pub use run::{Driver, DriverError};
pub use sealed::{SealedPlace, note_hidden, read_earlier, sweep_copies};
pub use status::{status_of, whole_status};
pub use test_gate::check_merged;
