//! A plan whose sections are the plans of a batch: determines the sections and their order.

use std::path::Path;

use ralph_git::Branches;
use ralph_plan::{
    PlanKind, PlanSections,
    batch::{PlanName, Planned, after_heading, section_plan_names},
    sections,
};

use super::{
    super::ProjectPlace,
    plans::{configuration, plan_bytes, usable, with_order_of},
};
use crate::error::{Failure, FailureKind};

/// The hint for plans without sections.
const DIVIDE: &str = "a heading above each group of tasks divides a plan: `## API`, and the tasks below it";

/// The sections of a plan that have open tasks.
///
/// # Errors
/// A [`Failure`] that says why the sections cannot be worked on in parallel.
pub(super) fn sections_of(place: &ProjectPlace, path: &Path) -> Result<Vec<Planned>, Failure> {
    let (file, bytes) = plan_bytes(place, path)?;
    let wrong = |what: String| configuration(format!("{file}: {what}"));
    if PlanKind::from_path(Path::new(&file)) == PlanKind::Prd {
        return Err(wrong("a prd.json has no sections".to_owned()).hint(format!("ralph many {file}")));
    }
    let reading = usable(&file, &bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let PlanSections { all, outside } = sections(text, &reading.plan.tasks);
    match &all[..] {
        [] => return Err(wrong("it has no sections, so there is nothing to run side by side".to_owned()).hint(DIVIDE)),
        [only] => {
            let what = format!(
                "only its section `{}` has tasks, so there is nothing to run side by side",
                only.title
            );
            return Err(wrong(what)
                .hint(DIVIDE)
                .hint(format!("`ralph {file}` works through it")));
        }
        _ => {}
    }
    if let Some(line) = outside {
        let what = format!("line {line}: the task is outside of all sections, so no run would work on it");
        return Err(wrong(what).hint("move it below the heading that it belongs to, or tick it"));
    }
    let titles: Vec<String> = all.iter().map(|section| section.title.clone()).collect();
    let names = section_plan_names(&titles);
    // A run finds its section by the words of the heading, so these must be unique.
    let mut headings = titles.iter().map(|title| title.to_lowercase()).collect::<Vec<_>>();
    headings.sort_unstable();
    if let Some(twice) = headings.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(format!("two sections are named `{}`", twice[0])).hint("rename one of them"));
    }
    let (mut plans, mut orders) = (Vec::new(), Vec::new());
    for (section, name) in all.iter().zip(&names).filter(|(section, _)| section.open > 0) {
        let body = &text[section.body.clone()];
        let said = after_heading(body, section.line as usize + 1);
        let said = said.map_err(|error| wrong(error.to_string()).hint("as in `after: API, UI`"))?;
        let mut after: Vec<PlanName> = Vec::new();
        for title in said {
            let found = names.iter().find(|known| known.is_of(&title)).cloned();
            after.push(found.ok_or_else(|| {
                wrong(format!(
                    "`{}` waits for `{title}`, which is not a section of the plan",
                    section.title
                ))
                .hint(format!("its sections are {}", titles.join(", ")))
            })?);
        }
        let linked = names
            .iter()
            .filter(|known| section.links.iter().any(|link| known.is_of(link)));
        after.extend(linked.filter(|known| *known != name).cloned());
        // Sections that are done are not waited for.
        let is_open = |name: &PlanName| {
            all.iter()
                .zip(&names)
                .any(|(section, known)| known == name && section.open > 0)
        };
        orders.push(after.into_iter().filter(is_open).map(|name| name.0).collect());
        plans.push(Planned {
            name: name.clone(),
            file: file.clone(),
            section: Some(section.title.clone()),
            after: Vec::new(),
            issue: None,
        });
    }
    with_order_of(
        plans,
        &orders,
        "a section waits for those that its line `after: …` names and that it links to",
    )
}

/// Checks that the plan is committed. Each run ticks boxes in its own copy, and merging them needs a common commit.
///
/// # Errors
/// A [`Failure`] if the plan has uncommitted changes.
pub(super) fn check_divided(branches: &Branches, plans: &[Planned]) -> Result<(), Failure> {
    let Some(plan) = plans.first() else { return Ok(()) };
    match branches.is_committed(Path::new(&plan.file))? {
        true => Ok(()),
        false => Err(Failure::new(
            FailureKind::Failed,
            format!(
                "{} is not committed as it is, and the runs of its sections each tick boxes of it",
                plan.file
            ),
        )
        .hint(format!("git add {0} && git commit -m Plan {0}", plan.file))),
    }
}
