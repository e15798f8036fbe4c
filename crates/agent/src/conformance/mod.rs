//! Tests a program of an adapter file against the obligations of an agent, as `docs/spec/agent.md` lists them.
//!
//! Each obligation is judged by what the program did in a turn: the tasks are given in words that a model follows as well
//! as a scripted agent, and the program is started, read and stopped by the code that does so in a run.

mod judge;
mod obligation;
mod observed_turn;
mod run;
mod task;

pub use judge::{Fulfilment, ObligationResult};
pub use obligation::{OBLIGATIONS, Obligation, RequirementLevel};
pub use run::{ConformanceReport, ConformanceRun};
pub use task::ConformanceTask;
