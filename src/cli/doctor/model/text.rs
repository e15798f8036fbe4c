//! Formats a checkup for people: aligned, and coloured on a terminal.

use ralph_text::one_line;
use ralph_words::counted;
use unicode_width::UnicodeWidthStr;

use crate::ui::report::Style;

use super::{Checkup, Finding, State};

const GOOD: &str = "32";
const WEAK: &str = "33";
const FATAL: &str = "31";
const DIM: &str = "2";
const STRONG: &str = "1";

/// Formats the parts of a checkup as text. Every line ends with a line break.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text {
    /// Width of the longest name, in columns.
    pub(crate) width: usize,
    pub(crate) style: Style,
}

impl Text {
    pub(crate) fn head(self, checkup: &Checkup) -> String {
        format!("ralph {} in {}\n", checkup.version, one_line(&checkup.project))
    }

    pub(crate) fn title(self, title: &str) -> String {
        format!("\n{}\n", self.style.paint(STRONG, title))
    }

    pub(crate) fn row(self, finding: &Finding) -> String {
        let Self { width, style } = self;
        let (sign, code) = match finding.state {
            State::Good => ("✔", GOOD),
            State::Absent => ("·", DIM),
            State::Weak => ("!", WEAK),
            State::Fatal(_) => ("✖", FATAL),
        };
        let pad = " ".repeat(width.saturating_sub(finding.name.width()));
        let said = one_line(&finding.text);
        let said = match finding.state {
            State::Absent => style.paint(DIM, &said),
            State::Good | State::Weak | State::Fatal(_) => said,
        };
        let mut text = format!("  {} {}{pad}  {said}\n", style.paint(code, sign), finding.name);
        for todo in &finding.todo {
            let arrow = style.paint(DIM, "→");
            text += &format!("    {}  {arrow} {}\n", " ".repeat(width), one_line(todo));
        }
        text
    }

    pub(crate) fn verdict(self, checkup: &Checkup) -> String {
        format!("\n{}\n", verdict(checkup, self.style))
    }
}

fn verdict(checkup: &Checkup, style: Style) -> String {
    let count = |wanted: fn(State) -> bool| checkup.findings().filter(|finding| wanted(finding.state)).count() as u64;
    let fatal = count(|state| matches!(state, State::Fatal(_)));
    let weak = count(|state| state == State::Weak);
    match (fatal, weak) {
        (0, 0) => style.paint(GOOD, "ralph can run here"),
        (0, weak) => format!(
            "{}; {} to look at",
            style.paint(GOOD, "ralph can run here"),
            counted(weak, "thing")
        ),
        (fatal, _) => style.paint(
            FATAL,
            &format!("ralph cannot run here: {} to fix", counted(fatal, "problem")),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::model::{Fatal, Section};

    fn in_words(checkup: &Checkup, style: Style) -> String {
        let names = checkup.findings().map(|finding| finding.name.width());
        let width = names.max().unwrap_or_default();
        let text = Text { width, style };
        let mut all = text.head(checkup);
        for section in &checkup.sections {
            all += &text.title(section.title);
            all.extend(section.findings.iter().map(|finding| text.row(finding)));
        }
        all + &text.verdict(checkup)
    }

    fn checkup() -> Checkup {
        let findings = vec![
            Finding::new("claude", State::Good, "Claude Code 2.1.197"),
            Finding::new("gemini", State::Absent, "not installed").todo("npm install -g @google/gemini-cli"),
        ];
        let machine = vec![Finding::new("git", State::Weak, "not installed\x1b[31m").todo("install git")];
        let section = |title, findings| Section { title, findings };
        Checkup {
            version: "0.1.0",
            project: "/p".to_owned(),
            sections: vec![section("agents", findings), section("machine", machine)],
        }
    }

    #[test]
    fn findings_are_aligned_and_say_what_to_type() {
        let expected = "\
ralph 0.1.0 in /p

agents
  ✔ claude  Claude Code 2.1.197
  · gemini  not installed
            → npm install -g @google/gemini-cli

machine
  ! git     not installed
            → install git

ralph can run here; 1 thing to look at
";
        assert_eq!(in_words(&checkup(), Style::PLAIN), expected);
    }

    #[test]
    fn what_is_fatal_is_the_last_word() {
        let mut checkup = checkup();
        checkup.sections[1].findings[0].state = State::Fatal(Fatal::Machine);
        let text = in_words(&checkup, Style::PLAIN);
        assert!(
            text.ends_with("\nralph cannot run here: 1 problem to fix\n") && text.contains("✖ git"),
            "{text}"
        );
    }

    #[test]
    fn colours_are_only_there_when_wanted() {
        let coloured = Style {
            colour: true,
            ..Style::PLAIN
        };
        assert!(in_words(&checkup(), coloured).contains("\x1b[32m✔\x1b[0m"));
        assert!(!in_words(&checkup(), Style::PLAIN).contains('\x1b'));
    }
}
