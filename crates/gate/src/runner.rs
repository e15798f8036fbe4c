//! Test runners: parses their output for the tests that ran.
//!
//! A runner is data, a TOML file: patterns of command lines that run it, patterns of its closing lines, and the files
//! that decide the results of its tests. Programs under test write to the same output, so a fake closing line cannot
//! be told from a real one by its text. If a runner announces its tests, an announcement without a matching closing
//! line makes the report inconsistent.

mod ids;
mod junit;
mod manifest;
mod pattern;
mod reader;
mod report;
mod runners;
mod tally;
mod tap;

pub use manifest::{InlineTests, Runner, RunnerError, StartCommand};
pub use reader::OutputReader;
pub use report::{ReportError, TestReport, read_report};
pub use runners::Runners;
