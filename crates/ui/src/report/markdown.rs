//! The report as Markdown, for a pull request or an issue.

use std::fmt::Write as _;

use ralph_core::run::TaskState;
use ralph_text::one_line;
use ralph_words::{changes_in_words, cost_in_words, short_duration};

use super::{
    FirstSubject, RunReport,
    head::{end_in_words, iteration_runs, outcome_cell, row_task, totals_in_words, waits_in_words},
    sections::{DetailLevel, origin_in_words, sections},
};

/// Renders the whole report. `time` renders a moment, given in milliseconds since the Unix epoch.
pub fn markdown(report: &RunReport, time: impl Fn(u64) -> String) -> String {
    let mut text = format!("# ralph: {}\n\n", escaped(&end_in_words(report)));
    let mut line = |line: String| writeln!(text, "{line}").expect("a string takes every write");
    for first in report
        .first
        .iter()
        .filter(|first| first.subject != FirstSubject::Verdict)
    {
        line(format!("- **{}**: {}", first.subject.label(), escaped(&first.text)));
    }
    if report.first.len() > 1 {
        line(String::new());
    }
    line(totals_in_words(report).join(" · ") + "\n");
    for origin in origin_in_words(report, time).into_iter().chain(waits_in_words(report)) {
        line(format!("- {}", escaped(&origin)));
    }
    if report.iterations().len() > 0 {
        line("\n| # | task | outcome | time | changes | cost |\n|--:|---|---|--:|---|--:|".to_owned());
    }
    for run in iteration_runs(report, 0) {
        let iteration = run.last;
        let cells = [
            run.numbers(),
            escaped(&row_task(iteration)),
            outcome_cell(report, iteration).to_owned(),
            short_duration(run.duration_ms),
            iteration
                .changes
                .as_ref()
                .map_or_else(|| "unknown".to_owned(), changes_in_words),
            cost_in_words(&run.usage).unwrap_or_else(|| "unknown".to_owned()),
        ];
        line(format!("| {} |", cells.join(" | ")));
    }
    for section in sections(report, DetailLevel::BesideTable) {
        line(format!("\n## {}\n", section.title));
        if let (true, Some(text)) = (section.items.is_empty(), section.if_empty) {
            line(text.to_owned());
        }
        for item in section.items {
            let check_box = match item.task {
                Some(TaskState::Done) => "[x] ",
                Some(TaskState::Open | TaskState::Blocked | TaskState::SetAside) => "[ ] ",
                Some(TaskState::Vanished) | None => "",
            };
            line(format!("- {check_box}{}", escaped(&item.text)));
            for detail in item.details {
                line(format!("  - {}", escaped(&detail)));
            }
        }
    }
    text
}

/// Escapes Markdown: an agent's words must not become links or HTML.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if matches!(
            character,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '~'
        ) {
            out.push('\\');
        }
        out.push(character);
        if character == '@' {
            // A zero-width space keeps a name from becoming a mention, which would notify that user.
            out.push('\u{200b}');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_an_agent_stay_words() {
        assert_eq!(
            escaped("| <img src=x> [a](b) @all `x`\n# y"),
            "\\| \\<img src=x\\> \\[a\\](b) @\u{200b}all \\`x\\` \\# y"
        );
    }
}
