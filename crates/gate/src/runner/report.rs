//! Test reports, from an output or from files that runners write.

use ralph_core::event::TestCounts;
use thiserror::Error;

use super::{
    ids::Ids,
    junit,
    tally::{CountKind, Figures},
    tap::Tap,
};

/// Most bytes of a report.
const REPORT_BYTES: usize = 64 << 20;

/// The tests that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestReport {
    /// The runner is `a+b` if the outputs of two were recognised, and `junit` or `tap` for a file.
    pub counts: TestCounts,
    /// Ids of tests, each once, as far as the output names them: often only failed ones.
    pub passed: Vec<String>,
    pub failed: Vec<String>,
    pub skipped: Vec<String>,
    pub expected: Vec<String>,
    /// The reason why the output is no evidence, regardless of its counts.
    pub inconsistent: Option<String>,
}

impl TestReport {
    pub(super) fn new(runner: &str, figures: &Figures, ids: &Ids, inconsistent: Option<String>) -> TestReport {
        TestReport {
            counts: TestCounts {
                runner: runner.to_owned(),
                passed: figures.count(CountKind::Passed),
                failed: figures.count(CountKind::Failed),
                skipped: figures.count(CountKind::Skipped),
                expected_failures: figures.count(CountKind::Expected),
            },
            passed: ids.with_kind(CountKind::Passed),
            failed: ids.with_kind(CountKind::Failed),
            skipped: ids.with_kind(CountKind::Skipped),
            expected: ids.with_kind(CountKind::Expected),
            inconsistent,
        }
    }

    /// Adds the tests of another runner in the same goal.
    pub(super) fn add(&mut self, other: TestReport) {
        let counts = &mut self.counts;
        counts.runner = format!("{}+{}", counts.runner, other.counts.runner);
        for (sum, more) in [
            (&mut counts.passed, other.counts.passed),
            (&mut counts.failed, other.counts.failed),
            (&mut counts.skipped, other.counts.skipped),
            (&mut counts.expected_failures, other.counts.expected_failures),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.passed.extend(other.passed);
        self.failed.extend(other.failed);
        self.skipped.extend(other.skipped);
        self.expected.extend(other.expected);
        self.inconsistent = self.inconsistent.take().or(other.inconsistent);
    }
}

/// Parses a report that a runner wrote: JUnit XML or TAP, by its content.
///
/// # Errors
/// [`ReportError`] if it is neither, or cannot be trusted.
pub fn read_report(bytes: &[u8]) -> Result<TestReport, ReportError> {
    if bytes.len() > REPORT_BYTES {
        return Err(ReportError::TooLarge);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii_start().starts_with(b"<") {
        return junit::read(bytes);
    }
    let mut tap = Tap::default();
    for line in String::from_utf8_lossy(bytes).lines() {
        tap.line(line.trim_end());
    }
    if !tap.is_recognised() {
        return Err(ReportError::Unknown);
    }
    Ok(TestReport::new("tap", &tap.figures, &tap.ids, tap.inconsistent()))
}

/// The reason why a report cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ReportError {
    #[error("the report is larger than {} MiB", REPORT_BYTES >> 20)]
    TooLarge,
    #[error("the report is neither JUnit XML nor TAP with a plan (`1..N`)")]
    Unknown,
    /// The report declares entities, which no runner does.
    #[error("the report has a document type, which JUnit XML has not")]
    Entities,
    /// The report is nested deeper than any runner's.
    #[error("the report's elements are nested too deep for JUnit XML")]
    TooDeep,
    #[error("the report is not well-formed XML: {0}")]
    Xml(String),
}
