//! Sections of a plan that can be worked on separately.

use std::{collections::HashSet, ops::Range};

use pulldown_cmark::{Event, Options, Parser, Tag};
use ralph_core::event::PlanTask;
use ralph_text::{LineIndex, Position};

use super::{
    error::PlanError,
    group::shortened,
    headings::{below, end_of},
    kind::PlanKind,
    markdown::headings,
    reading::{ParsedPlan, TaskMistake},
};

/// A part of a plan with its own heading and with tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSection {
    pub title: String,
    /// Line of the heading, from 1.
    pub line: u32,
    /// Byte range below the heading.
    pub body: Range<usize>,
    pub open: usize,
    /// The targets of its links within the plan, without the `#`.
    pub links: Vec<String>,
}

/// A plan divided into sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanSections {
    /// The sections of the topmost level on which at least two have tasks; fewer than two if there is no such level.
    pub all: Vec<PlanSection>,
    /// Line of the first open task outside of all sections.
    pub outside: Option<u32>,
}

/// Divides a Markdown plan with the given `tasks` by its headings.
pub fn sections(text: &str, tasks: &[PlanTask]) -> PlanSections {
    let (headings, lines) = (headings(text), LineIndex::new(text));
    let within = |task: &&PlanTask, range: &Range<usize>| range.contains(&lines.start_of(task.line));
    let of_level = |level: usize| -> Vec<PlanSection> {
        let of_level = headings
            .iter()
            .enumerate()
            .filter(|(_, heading)| heading.level == level);
        let sections = of_level.filter_map(|(at, heading)| {
            let body = heading.end..end_of(&headings, at, text.len());
            let tasks: Vec<&PlanTask> = tasks.iter().filter(|task| within(task, &body)).collect();
            (!tasks.is_empty()).then(|| PlanSection {
                title: heading.text.clone(),
                line: lines.line_of(heading.start),
                open: tasks.iter().filter(|task| !task.done).count(),
                links: links(&text[body.clone()]),
                body,
            })
        });
        sections.collect()
    };
    let levels: Vec<Vec<PlanSection>> = (1..=6).map(of_level).collect();
    let dividing = levels.iter().find(|sections| sections.len() > 1);
    let all = dividing.or_else(|| levels.iter().find(|sections| !sections.is_empty()));
    let all = all.cloned().unwrap_or_default();
    let is_outside = |task: &&PlanTask| !task.done && !all.iter().any(|section| within(task, &section.body));
    PlanSections {
        outside: tasks.iter().find(is_outside).map(|task| task.line),
        all,
    }
}

fn links(text: &str) -> Vec<String> {
    let links = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. }) => dest_url.strip_prefix('#').map(str::to_owned),
        _ => None,
    });
    links.collect()
}

/// Reduces a parsed plan to the tasks of the section `title`.
///
/// # Errors
/// [`PlanError::NoSection`] if there is no such heading, or no task below it.
pub fn only_section(kind: PlanKind, bytes: &[u8], reading: ParsedPlan, title: &str) -> Result<ParsedPlan, PlanError> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let body = match kind {
        PlanKind::Markdown => below(&headings(text), title, text.len()),
        PlanKind::Prd => None,
    };
    let lines = LineIndex::new(text);
    let is_within = |task: &PlanTask| {
        body.as_ref()
            .is_some_and(|body| body.contains(&lines.start_of(task.line)))
    };
    // The tasks of a section are consecutive.
    let first = reading.plan.tasks.iter().position(is_within);
    let first = first.ok_or_else(|| PlanError::NoSection {
        section: title.to_owned(),
    })?;
    let ParsedPlan {
        mut plan,
        mut mistakes,
        mut places,
        mut unread,
        ..
    } = reading;
    let before = plan.tasks.drain(..first).collect::<Vec<_>>();
    let within = plan.tasks.iter().take_while(|task| is_within(task)).count();
    let behind = plan.tasks.split_off(within);
    let outside = before.iter().chain(&behind).filter(|task| !task.done);
    let outside: HashSet<&str> = outside.map(|task| task.text.as_str()).collect();
    let kept = first..first + plan.tasks.len();
    for (task, found) in plan.tasks.iter().enumerate() {
        let open = found.settings.after.iter().find(|text| outside.contains(text.as_str()));
        mistakes.extend(open.map(|text| TaskMistake {
            task: first + task,
            position: Position {
                line: found.line,
                column: 1,
            },
            what: format!(
                "it waits for a task outside of the section, which is open: `{}`",
                shortened(text)
            ),
        }));
    }
    mistakes.retain_mut(|mistake| moved(&mut mistake.task, &kept));
    places.retain_mut(|(task, _)| moved(task, &kept));
    unread.retain(|unread| {
        let start = lines.start_of(unread.line);
        body.as_ref().is_some_and(|body| body.contains(&start))
    });
    Ok(ParsedPlan {
        plan,
        mistakes,
        places,
        unread,
        ..ParsedPlan::default()
    })
}

/// Converts the index of a task in the plan to one in `kept`. Returns false if it is not in that range.
fn moved(task: &mut usize, kept: &Range<usize>) -> bool {
    let is_kept = kept.contains(task);
    *task = task.saturating_sub(kept.start);
    is_kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;

    const PLAN: &str = "# Shop\n\nWords for all.\n\n## Notes\n\nNo task.\n\n## API\n\n- [ ] One {model=x}\n  - [x] Part\n\n### Errors\n\n- [ ] Two\n\n\
                        ## UI\n\nSee [the API](#api) and [a page](https://example.org/#api).\n\n> ## Quoted\n\n- [x] Three\n- [ ] Four {adapter=y}\n";

    fn divided(text: &str) -> PlanSections {
        let reading = read_bytes(PlanKind::Markdown, text.as_bytes()).unwrap();
        sections(text, &reading.plan.tasks)
    }

    fn titles(text: &str) -> Vec<String> {
        divided(text).all.into_iter().map(|section| section.title).collect()
    }

    #[test]
    fn a_plan_is_divided_at_the_topmost_level_at_which_two_sections_have_tasks() {
        let found = divided(PLAN);
        assert_eq!(found.outside, None);
        let all: Vec<_> = found
            .all
            .iter()
            .map(|one| (&*one.title, one.line, one.open, one.links.len()))
            .collect();
        assert_eq!(all, [("API", 9, 2, 0), ("UI", 18, 1, 1)]);
        assert_eq!(titles("# A\n- [ ] a\n# B\n- [ ] b\n"), ["A", "B"]);
        assert_eq!(
            titles("# T\n## Why\n## Tasks\n### A\n- [ ] a\n### B\n- [ ] b\n"),
            ["A", "B"]
        );
        assert_eq!(titles("# Only\n- [ ] a\n## Empty\n"), ["Only"]);
        assert_eq!(titles("- [ ] a\n"), [] as [&str; 0]);
        let outside = divided("- [x] done\n- [ ] early\n# A\n- [ ] a\n# B\n- [ ] b\n");
        assert_eq!(outside.outside, Some(2));
    }

    #[test]
    fn only_the_tasks_of_a_section_are_left_with_what_is_said_of_them() {
        let only = |title: &str| {
            let reading = read_bytes(PlanKind::Markdown, PLAN.as_bytes()).unwrap();
            only_section(PlanKind::Markdown, PLAN.as_bytes(), reading, title)
        };
        let texts =
            |reading: &ParsedPlan| -> Vec<String> { reading.plan.tasks.iter().map(|task| task.text.clone()).collect() };
        let api = only("API").unwrap();
        assert_eq!(texts(&api), ["One", "Part", "Two"]);
        assert_eq!(api.places.iter().map(|(task, _)| *task).collect::<Vec<_>>(), [0]);
        let ui = only(" ui ").unwrap();
        assert_eq!(texts(&ui), ["Three", "Four"]);
        assert_eq!(ui.places.iter().map(|(task, _)| *task).collect::<Vec<_>>(), [1]);
        assert_eq!(
            only("Notes").unwrap_err().to_string(),
            "it has no section `Notes` with tasks"
        );
        assert!(only("Quoted").is_err());
        let text = "# One\n- [ ] a\n- [x] b\n# Two\n- [ ] c {after=b}\n- [ ] d {after=a}\n";
        let reading = read_bytes(PlanKind::Markdown, text.as_bytes()).unwrap();
        let two = only_section(PlanKind::Markdown, text.as_bytes(), reading, "Two").unwrap();
        let told: Vec<_> = two.mistakes.iter().map(|it| (it.task, it.position.line)).collect();
        assert_eq!(told, [(1, 6)]);
        let reading = read_bytes(PlanKind::Prd, br#"[{"title":"a"}]"#).unwrap();
        assert!(only_section(PlanKind::Prd, b"[]", reading, "a").is_err());
    }
}
