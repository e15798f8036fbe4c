//! The report as text, for a terminal or a mail.

use std::io::{self, Write};

use ralph_core::run::TaskState;

use super::{
    FirstSubject, OutputStyle, RunReport,
    head::{end_colour, write_hints, write_problem, write_table, write_totals},
    sections::{DetailLevel, origin_in_words, sections},
};

/// Writes the whole report. `time` renders a moment, given in milliseconds since the Unix epoch.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_text(
    report: &RunReport,
    style: OutputStyle,
    time: impl Fn(u64) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    for line in origin_in_words(report, time) {
        writeln!(out, "{}", style.paint("2", &line))?;
    }
    write_first(report, style, out)?;
    write_problem(report, out)?;
    write_hints(report, style, out)?;
    writeln!(out)?;
    write_table(report, style, out)?;
    write_totals(report, out)?;
    for section in sections(report, DetailLevel::BesideTable) {
        writeln!(out, "\n{}", style.paint("1", section.title))?;
        if let (true, Some(text)) = (section.items.is_empty(), section.if_empty) {
            writeln!(out, "  {text}")?;
        }
        for item in section.items {
            match item.task {
                Some(state) => writeln!(out, "  {} {}", sign(state, style), item.text)?,
                None => writeln!(out, "  {}", item.text)?,
            }
            for detail in item.details {
                writeln!(out, "      {}", style.paint("2", &detail))?;
            }
        }
    }
    Ok(())
}

/// Writes what to read first.
///
/// # Errors
/// Errors of writing to `out`.
pub fn write_first(report: &RunReport, style: OutputStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut above = FirstSubject::Verdict;
    for line in &report.first {
        let label = if line.subject == above {
            ""
        } else {
            line.subject.label()
        };
        above = line.subject;
        match line.subject {
            FirstSubject::Verdict => writeln!(out, "{}", style.paint(end_colour(report), &line.text))?,
            _ => writeln!(out, "  {} {}", style.paint("1", &format!("{label:<13}")), line.text)?,
        }
    }
    Ok(())
}

fn sign(state: TaskState, style: OutputStyle) -> String {
    let (sign, ascii, code) = match state {
        TaskState::Done => ("✔", "x", "32"),
        TaskState::Open => ("○", "-", "2"),
        TaskState::Blocked => ("?", "?", "33"),
        TaskState::SetAside => ("○", "-", "33"),
        TaskState::Vanished => ("–", "~", "33"),
    };
    style.paint(code, if style.ascii { ascii } else { sign })
}
