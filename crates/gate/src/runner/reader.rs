//! Reads an output line by line, for several runners at once.

use super::{
    ids::Ids,
    manifest::{CountSource, CountingPattern, OpenPattern, OutputForm, OutputPatterns, Runner},
    pattern::Bytes,
    report::TestReport,
    tally::{CountKind, Figures, Tally, number},
    tap::{self, Tap},
};

/// Longer lines are ignored; no runner writes such lines.
const LINE_BYTES: usize = 1024;

/// An output that is being read.
#[derive(Debug, Clone)]
pub struct OutputReader<'r> {
    outputs: Vec<RunnerOutput<'r>>,
}

impl<'r> OutputReader<'r> {
    pub(super) fn new(runners: impl IntoIterator<Item = &'r Runner>) -> OutputReader<'r> {
        let outputs = runners.into_iter().filter_map(|runner| {
            let lines = runner.output.as_ref()?;
            let state = match lines.form {
                None => OutputState::Lines(Box::new(OutputLines::new(lines))),
                Some(OutputForm::Tap) => OutputState::Tap(Box::default()),
            };
            Some(RunnerOutput { runner, state })
        });
        OutputReader {
            outputs: outputs.collect(),
        }
    }

    /// Reads whole lines, without escape sequences: at the speed of memory, if none of them can be a runner's.
    pub fn lines(&mut self, lines: &str) {
        if self.may_count(lines) {
            lines.lines().for_each(|line| self.line(line));
        }
    }

    /// Whether one of `lines` may be a runner's, by the bytes that occur in them.
    pub fn may_count(&self, lines: &str) -> bool {
        let bytes = Bytes::of(lines);
        self.outputs.iter().any(|output| output.may_have(bytes))
    }

    /// Reads the next line, without escape sequences.
    pub fn line(&mut self, line: &str) {
        let line = line.trim_end();
        // After a carriage return, a terminal shows only the last part.
        let line = line.rsplit('\r').next().unwrap_or(line);
        if line.is_empty() || line.len() > LINE_BYTES {
            return;
        }
        let bytes = Bytes::of(line);
        for output in self.outputs.iter_mut().filter(|output| output.may_have(bytes)) {
            match &mut output.state {
                OutputState::Lines(lines) => lines.line(line),
                OutputState::Tap(tap) => tap.line(line),
            }
        }
    }

    /// Ends the output and returns the tests that ran; `None` if no runner's output is recognised.
    pub fn finish(self) -> Option<TestReport> {
        let mut counted: Option<TestReport> = None;
        let mut none_found = None;
        let mut fallback = None;
        for output in self.outputs {
            let is_fallback = output.runner.fallback;
            match output.finish() {
                OutputResult::Counted(report) if is_fallback => fallback = fallback.or(Some(report)),
                OutputResult::Counted(report) => match &mut counted {
                    Some(sum) => sum.add(report),
                    None => counted = Some(report),
                },
                OutputResult::NoneFound(report) => none_found = none_found.or(Some(report)),
                OutputResult::Nothing => {}
            }
        }
        counted.or(fallback).or(none_found)
    }
}

/// The output as read for one runner.
#[derive(Debug, Clone)]
struct RunnerOutput<'r> {
    runner: &'r Runner,
    state: OutputState<'r>,
}

#[derive(Debug, Clone)]
enum OutputState<'r> {
    Lines(Box<OutputLines<'r>>),
    Tap(Box<Tap>),
}

enum OutputResult {
    Counted(TestReport),
    /// The runner reports that there are no tests.
    NoneFound(TestReport),
    Nothing,
}

impl RunnerOutput<'_> {
    /// Whether one of its patterns may match text of these bytes.
    fn may_have(&self, bytes: Bytes) -> bool {
        match self.state {
            OutputState::Lines(ref lines) => lines.lines.needs.iter().any(|needed| bytes.have(*needed)),
            OutputState::Tap(_) => tap::MARKS.iter().any(|mark| bytes.have(Bytes::of(mark))),
        }
    }

    fn finish(self) -> OutputResult {
        let id = &self.runner.id;
        match self.state {
            OutputState::Lines(lines) => lines.finish(id),
            OutputState::Tap(tap) if tap.is_recognised() => {
                OutputResult::Counted(TestReport::new(id, &tap.figures, &tap.ids, tap.inconsistent()))
            }
            OutputState::Tap(_) => OutputResult::Nothing,
        }
    }
}

/// The lines of a runner so far.
#[derive(Debug, Clone)]
struct OutputLines<'r> {
    lines: &'r OutputPatterns,
    tally: Tally,
    block: Option<ClosingBlock>,
    none_found: bool,
    ids: Ids,
}

/// A block of closing lines that is not complete yet.
#[derive(Debug, Clone)]
struct ClosingBlock {
    figures: Figures,
    /// Marks the patterns of parts that have matched; each matches at most one line.
    seen: Vec<bool>,
}

impl<'r> OutputLines<'r> {
    fn new(lines: &'r OutputPatterns) -> OutputLines<'r> {
        OutputLines {
            lines,
            tally: Tally::default(),
            block: None,
            none_found: false,
            ids: Ids::default(),
        }
    }

    fn line(&mut self, line: &str) {
        if self.closes(line) {
            return;
        }
        let lines = self.lines;
        if let Some(captures) = lines
            .open
            .iter()
            .find_map(|OpenPattern(pattern)| pattern.captures(line))
        {
            let planned = captures.name("planned").and_then(|text| number(text.as_str()));
            self.end_block();
            self.tally.open(planned);
        } else if lines.none.iter().any(|pattern| pattern.is_match(line)) {
            self.none_found = true;
        } else if let Some((kind, captures)) = lines.test(line) {
            self.ids.add(captures.name("id").map_or("", |id| id.as_str()), kind);
        }
    }

    /// Reads the line if it is a closing line; returns whether it is.
    fn closes(&mut self, line: &str) -> bool {
        let lines = self.lines;
        let mut figures = Figures::default();
        let mut counts = |counting: &CountingPattern| figures.add_line(counting, line, lines);
        if lines.line.iter().any(&mut counts) {
            self.tally.close(figures);
            return true;
        }
        if lines.first.iter().any(counts) {
            self.end_block();
            let seen = vec![false; lines.part.len()];
            self.block = Some(ClosingBlock { figures, seen });
            return true;
        }
        let Some(ClosingBlock { figures, seen }) = &mut self.block else {
            return false;
        };
        for (counting, seen) in lines.part.iter().zip(seen) {
            if !*seen && figures.add_line(counting, line, lines) {
                *seen = true;
                return true;
            }
        }
        let is_last = lines
            .last
            .iter()
            .any(|counting| figures.add_line(counting, line, lines));
        if is_last {
            self.tally.close(*figures);
            self.block = None;
        }
        is_last
    }

    /// Ends a block without a pattern for its last line; other blocks are discarded without that line.
    fn end_block(&mut self) {
        if let Some(block) = self.block.take()
            && self.lines.last.is_empty()
        {
            self.tally.close(block.figures);
        }
    }

    /// Returns the counts of lines of single tests. If only failures have such lines, the counts of closing lines,
    /// with at least as many failures as lines.
    fn counted_by_tests(&self, closing: Option<Figures>) -> Option<Figures> {
        let mut figures = Figures::default();
        if self.ids.line_count(CountKind::Passed) > 0 {
            for kind in [
                CountKind::Passed,
                CountKind::Failed,
                CountKind::Skipped,
                CountKind::Expected,
            ] {
                figures.add(kind, self.ids.line_count(kind));
            }
            return Some(figures);
        }
        let closing = closing?;
        figures.add_all(&closing);
        let missing = self
            .ids
            .line_count(CountKind::Failed)
            .saturating_sub(closing.count(CountKind::Failed));
        figures.add(CountKind::Failed, missing);
        Some(figures)
    }

    fn finish(mut self, id: &str) -> OutputResult {
        self.end_block();
        let (figures, inconsistent) = std::mem::take(&mut self.tally).finish();
        let figures = match self.lines.count {
            CountSource::Closing => figures,
            CountSource::Tests => self.counted_by_tests(figures),
        };
        let report = |figures| TestReport::new(id, &figures, &self.ids, inconsistent.clone());
        match figures {
            Some(figures) => OutputResult::Counted(report(figures)),
            None if inconsistent.is_some() => OutputResult::Counted(report(Figures::default())),
            None if self.none_found => OutputResult::NoneFound(report(Figures::default())),
            None => OutputResult::Nothing,
        }
    }
}
