//! Formats a checkup for people: aligned, and coloured on a terminal.

use ralph_text::one_line;
use ralph_ui::report::OutputStyle;
use ralph_words::counted;
use unicode_width::UnicodeWidthStr;

use super::{Checkup, DoctorFinding, FindingState};

const GOOD: &str = "32";
const WEAK: &str = "33";
const FATAL: &str = "31";
const DIM: &str = "2";
const STRONG: &str = "1";

/// Formats the parts of a checkup as text. Every line ends with a line break.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CheckupText {
    /// Width of the longest name, in columns.
    pub(crate) width: usize,
    pub(crate) style: OutputStyle,
}

impl CheckupText {
    pub(crate) fn head(self, checkup: &Checkup) -> String {
        format!("ralph {} in {}\n", checkup.version, one_line(&checkup.project))
    }

    pub(crate) fn title(self, title: &str) -> String {
        format!("\n{}\n", self.style.paint(STRONG, title))
    }

    pub(crate) fn row(self, finding: &DoctorFinding) -> String {
        let Self { width, style } = self;
        let (sign, code) = match finding.state {
            FindingState::Good => ("✔", GOOD),
            FindingState::Absent => ("·", DIM),
            FindingState::Weak => ("!", WEAK),
            FindingState::Fatal(_) => ("✖", FATAL),
        };
        let pad = " ".repeat(width.saturating_sub(finding.name.width()));
        let said = one_line(&finding.text);
        let said = match finding.state {
            FindingState::Absent => style.paint(DIM, &said),
            FindingState::Good | FindingState::Weak | FindingState::Fatal(_) => said,
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

fn verdict(checkup: &Checkup, style: OutputStyle) -> String {
    let count =
        |wanted: fn(FindingState) -> bool| checkup.findings().filter(|finding| wanted(finding.state)).count() as u64;
    let fatal = count(|state| matches!(state, FindingState::Fatal(_)));
    let weak = count(|state| state == FindingState::Weak);
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
    use crate::cli::doctor::model::{DoctorSection, Fatal};

    fn in_words(checkup: &Checkup, style: OutputStyle) -> String {
        let names = checkup.findings().map(|finding| finding.name.width());
        let width = names.max().unwrap_or_default();
        let text = CheckupText { width, style };
        let mut all = text.head(checkup);
        for section in &checkup.sections {
            all += &text.title(section.title);
            all.extend(section.findings.iter().map(|finding| text.row(finding)));
        }
        all + &text.verdict(checkup)
    }

    fn checkup() -> Checkup {
        let findings = vec![
            DoctorFinding::new("claude", FindingState::Good, "Claude Code 2.1.197"),
            DoctorFinding::new("gemini", FindingState::Absent, "not installed")
                .todo("npm install -g @google/gemini-cli"),
        ];
        let machine = vec![DoctorFinding::new("git", FindingState::Weak, "not installed\x1b[31m").todo("install git")];
        let section = |title, findings| DoctorSection { title, findings };
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
        assert_eq!(in_words(&checkup(), OutputStyle::PLAIN), expected);
    }

    #[test]
    fn what_is_fatal_is_the_last_word() {
        let mut checkup = checkup();
        checkup.sections[1].findings[0].state = FindingState::Fatal(Fatal::Machine);
        let text = in_words(&checkup, OutputStyle::PLAIN);
        assert!(
            text.ends_with("\nralph cannot run here: 1 problem to fix\n") && text.contains("✖ git"),
            "{text}"
        );
    }

    #[test]
    fn colours_are_only_there_when_wanted() {
        let coloured = OutputStyle {
            colour: true,
            ..OutputStyle::PLAIN
        };
        assert!(in_words(&checkup(), coloured).contains("\x1b[32m✔\x1b[0m"));
        assert!(!in_words(&checkup(), OutputStyle::PLAIN).contains('\x1b'));
    }
}
