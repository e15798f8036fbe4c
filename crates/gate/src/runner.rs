//! Test runners: what their output says of the tests that ran.
//!
//! A runner is data, a TOML file: how a command line that runs it looks, how its closing lines look, and which files decide what
//! its tests come to. Output comes from programs under test as well: a line that only looks like a closing line is not told from
//! a real one by its text. Where a runner announces its tests, what it announced and did not close makes the report inconsistent.

mod ids;
mod junit;
mod manifest;
mod pattern;
mod reader;
mod report;
mod runners;
mod tally;
mod tap;

pub use manifest::{Blocks, Runner, RunnerError};
pub use reader::OutputReader;
pub use report::{IdSource, ReportError, TestReport, read_report};
pub use runners::Runners;
