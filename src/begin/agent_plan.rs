//! A plan that an agent makes from requirements: the assignment, and the check of the result. Pure.
//!
//! The requirements that structure alone finds are numbered. Each number has to be in the plan, with a task or with a
//! reason why it has no task, so that an agent cannot lose a requirement silently.

use std::collections::BTreeSet;

use ralph_core::notices::first_named;
use thiserror::Error;

use super::Imported;

/// The heading below which an agent lists what it has left out.
const LEFT_OUT: &str = "Left out";
/// Maximum number of requirements named in an error.
const NAMED: usize = 20;

/// Why an agent's plan is refused.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum PlanRefusal {
    #[error("missing from the plan: {}", named(.0))]
    Lost(Vec<String>),
}

fn named(lost: &[String]) -> String {
    first_named(lost.iter().map(|one| format!("\"{one}\"")), NAMED, ", ")
}

/// The task of the agent, as a plan. `plan` is the file that it writes, `spec` the file with the requirements, and
/// `found` the requirements that structure alone finds.
pub(crate) fn assignment(plan: &str, spec: &str, project: &str, found: Option<&Imported>) -> String {
    let mut text = format!(
        "# A plan out of requirements\n\n- [ ] Write {plan}: a plan for what {spec} asks for\n\n\
         The requirements are in {spec}. The project that they are for is in {project}: read there what is built already, and change \
         nothing in it. Write {plan} here, in Markdown:\n\n\
         * a task for each step, in the order of the work, as a list item with an empty box: a hyphen, a blank, `[` `]`, a blank, and what to do\n\
         * each small enough for one session of a coding agent, with how to tell that it is done\n\
         * headings where there are parts; notes to a task as items nested below it, without boxes\n"
    );
    let requirements = found.map_or(&[][..], |found| &found.requirements);
    if !requirements.is_empty() {
        text += &format!(
            "* at the end of each task, in parentheses, the numbers below that it carries out: (R1) or (R2, R3)\n\
             * what is not to be done has a line below the heading `## {LEFT_OUT}`, without a box: its number, a colon, and why\n\n\
             No number may be missing:\n\n"
        );
        for (at, requirement) in requirements.iter().enumerate() {
            text += &format!("* R{}: {requirement}\n", at + 1);
        }
    }
    text
}

/// Checks that a plan has every requirement, by its number or by its words. `tasks` are the texts of its tasks.
///
/// # Errors
/// [`PlanRefusal`], with the requirements that are missing.
pub(crate) fn check(plan: &str, tasks: &[&str], found: Option<&Imported>) -> Result<(), PlanRefusal> {
    let mut said: BTreeSet<usize> = tasks.iter().flat_map(|task| numbers(task)).collect();
    let mut words: BTreeSet<String> = tasks.iter().map(|task| letters(without_numbers(task))).collect();
    let left_out = plan
        .lines()
        .skip_while(|line| line.trim_start_matches('#').trim() != LEFT_OUT || !line.starts_with('#'))
        .skip(1)
        .take_while(|line| !line.starts_with('#'));
    for line in left_out {
        // A number without a text is not a reason.
        if let Some((before, _)) = line.split_once(':').filter(|(_, why)| !why.trim().is_empty()) {
            said.extend(numbers(before));
            words.insert(letters(before));
        }
    }
    let requirements = found.map_or(&[][..], |found| &found.requirements);
    let lost = requirements
        .iter()
        .enumerate()
        .filter(|(at, requirement)| !said.contains(&(at + 1)) && !words.contains(&letters(requirement)))
        .map(|(_, requirement)| requirement.clone());
    let lost: Vec<String> = lost.collect();
    match lost.is_empty() {
        true => Ok(()),
        false => Err(PlanRefusal::Lost(lost)),
    }
}

/// The letters and digits of a text, by which equal texts are known.
fn letters(text: &str) -> String {
    text.to_lowercase()
        .chars()
        .filter(|sign| sign.is_alphanumeric())
        .collect()
}

/// A task without the numbers at its end.
fn without_numbers(task: &str) -> &str {
    let numbered = task.trim_end().strip_suffix(')').and_then(|task| task.rsplit_once('('));
    numbered.map_or(
        task,
        |(text, end)| if numbers(end).next().is_some() { text } else { task },
    )
}

/// The numbers of requirements in a text: `R12` as a separate word.
fn numbers(text: &str) -> impl Iterator<Item = usize> {
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    words.filter_map(|word| word.strip_prefix('R')?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::{super::import, *};

    #[test]
    fn each_requirement_has_a_task_or_a_reason() {
        let found = import(b"- Log in\n- Log out\n- Dark mode\n", None, "Plan").unwrap();
        let asked = assignment("PLAN.md", "spec.md", "/project", Some(&found));
        assert!(
            asked.contains("* R3: Dark mode\n") && asked.contains("/project"),
            "{asked}"
        );
        let whole = "- [ ] Sessions (R1, R2)\n\n## Left out\n\n- R3: it is there already\n";
        assert_eq!(check(whole, &["Sessions (R1, R2)"], Some(&found)), Ok(()));
        for plan in [
            "- [ ] Sessions (R1, R2)\n",
            "- [ ] Sessions (R1, R2)\n\n## Left out\n\n- R3\n",
            "- [ ] Sessions (R1, R2)\n\n## Left out\n\n- Dark mode\n",
            "- [ ] Sessions (R1, R2)\n\n## Left out\n\n- R3:\n## Next\n- R3: why\n",
            "R3: why\n- [ ] Sessions (R1, R2)\n",
        ] {
            let refused = check(plan, &["Sessions (R1, R2)"], Some(&found)).unwrap_err();
            assert_eq!(refused.to_string(), "missing from the plan: \"Dark mode\"", "{plan}");
        }
        let words = "- [ ] Log in\n- [ ] log out! (R7)\n\n## Left out\n\n* Dark mode: there already\n";
        assert_eq!(check(words, &["Log in", "log out! (R7)"], Some(&found)), Ok(()));
        assert_eq!(check("- [ ] Anything\n", &["Anything"], None), Ok(()));
        let many: Vec<String> = (0..22).map(|n| n.to_string()).collect();
        assert!(PlanRefusal::Lost(many).to_string().ends_with("\"19\" and 2 more"));
    }
}
