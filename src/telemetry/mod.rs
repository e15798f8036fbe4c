//! Tells OpenTelemetry what a run does: spans of the run, its iterations, their tools and goals, tokens and cost as metrics.
//!
//! Everything follows from the records of the journal, also the ids: a run that is resumed, or exported twice, has the same
//! spans. Prompts, answers, arguments and output of programs are in none of them.

mod exporter;
mod otlp;
mod spans;

pub(crate) use exporter::{Exporter, RunTelemetry, TelemetryTarget, write_run};
