//! Names of batches and plans, which are parts of branches and paths, and the order of plans.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Most characters of a plan's name.
const NAME_CHARACTERS: usize = 40;
/// Name of the batch's branch that belongs to no plan.
pub(super) const TARGET: &str = "target";

/// The id of a batch, which begins with its start time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct BatchId(pub String);

impl BatchId {
    /// Returns the branch that collects the plans if the user names no other.
    pub fn target(&self) -> String {
        format!("ralph/{}/{TARGET}", self.0)
    }

    /// Returns the branch of a plan.
    pub fn branch(&self, plan: &PlanName) -> String {
        format!("ralph/{}/{}", self.0, plan.0)
    }
}

impl fmt::Display for BatchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The name of a plan within its batch: lower-case letters of any script, digits and single dashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, crate::JsonSchema)]
#[serde(transparent)]
pub struct PlanName(pub String);

impl fmt::Display for PlanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A plan as the user gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    pub name: PlanName,
    /// Relative to the project.
    pub file: String,
    /// The section that is the plan; `None` for the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The plans that must be merged before this one begins.
    pub after: Vec<PlanName>,
    /// The address of the issue that the plan was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
}

/// An error in the plans of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    #[error("{file} is given twice")]
    Twice { file: String },
    #[error("{file}: `after` names `{name}`, which is no plan of this batch")]
    Unknown { file: String, name: String },
    #[error("plans wait for each other: {}", .circle.join(" → "))]
    Circle { circle: Vec<String> },
}

/// Derives names from the plans' paths: the file name if it is unique, otherwise the whole path.
///
/// # Errors
/// [`NameError::Twice`].
pub fn plan_names(files: &[String]) -> Result<Vec<PlanName>, NameError> {
    let mut seen = BTreeSet::new();
    if let Some(file) = files.iter().find(|file| !seen.insert(*file)) {
        return Err(NameError::Twice { file: file.clone() });
    }
    let short: Vec<String> = files.iter().map(|file| slug(stem(file))).collect();
    let names = files.iter().zip(&short).map(|(file, name)| {
        let is_alone = short.iter().filter(|other| *other == name).count() == 1 && name != TARGET;
        if is_alone { name.clone() } else { slug(file) }
    });
    Ok(numbered(names))
}

/// Names plans that are added to a batch which has the plans `known`; `after` has the names or files that each of the
/// added ones refers to.
///
/// # Errors
/// [`NameError`]; a file of a known plan is given twice.
pub fn added_plans(known: &[Planned], files: &[String], after: &[Vec<String>]) -> Result<Vec<Planned>, NameError> {
    let all: Vec<String> = known.iter().map(|plan| &plan.file).chain(files).cloned().collect();
    let names = plan_names(&all)?.split_off(known.len());
    let taken = known.iter().map(|plan| plan.name.0.clone());
    let unique = numbered(taken.chain(names.into_iter().map(|name| name.0))).split_off(known.len());
    let added = files.iter().zip(unique).map(|(file, name)| Planned {
        name,
        file: file.clone(),
        section: None,
        after: Vec::new(),
        issue: None,
    });
    // Known plans wait for what they waited for before.
    let of_known = known
        .iter()
        .map(|plan| plan.after.iter().map(|name| name.0.clone()).collect());
    let after: Vec<Vec<String>> = of_known.chain(after.iter().cloned()).collect();
    let ordered = with_order(known.iter().cloned().chain(added).collect(), &after)?;
    Ok(ordered.into_iter().skip(known.len()).collect())
}

/// Derives names from the titles of a plan's sections.
pub fn section_plan_names(titles: &[String]) -> Vec<PlanName> {
    numbered(titles.iter().map(|title| slug(title)))
}

/// Makes the names unique by appending numbers.
fn numbered(names: impl Iterator<Item = String>) -> Vec<PlanName> {
    let mut taken = BTreeSet::new();
    let names = names.map(|name| {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut free = [name.clone()].into_iter().chain(numbered);
        let name = free.find(|name| name != TARGET && taken.insert(name.clone()));
        PlanName(name.expect("there are more numbers than plans"))
    });
    names.collect()
}

impl PlanName {
    /// Whether this is the name of a section with this title, or of a link to one.
    pub fn is_of(&self, title: &str) -> bool {
        self.0 == slug(title)
    }
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars() {
        match character.is_alphanumeric() {
            true => slug.extend(character.to_lowercase()),
            false if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            false => {}
        }
    }
    let slug: String = slug.chars().take(NAME_CHARACTERS).collect();
    match slug.trim_end_matches('-') {
        "" => "plan".to_owned(),
        slug => slug.to_owned(),
    }
}

/// Adds the dependencies to the plans; `after` has the names or files that each plan refers to.
///
/// # Errors
/// [`NameError::Unknown`] and [`NameError::Circle`].
pub fn with_order(mut plans: Vec<Planned>, after: &[Vec<String>]) -> Result<Vec<Planned>, NameError> {
    let known: BTreeMap<String, PlanName> = plans
        .iter()
        .flat_map(|plan| [&plan.name.0, &plan.file].map(|key| (key.clone(), plan.name.clone())))
        .collect();
    for (plan, after) in plans.iter_mut().zip(after) {
        for name in after {
            let found = known.get(name).or_else(|| known.get(&slug(stem(name))));
            let found = found.ok_or_else(|| NameError::Unknown {
                file: plan.file.clone(),
                name: name.clone(),
            })?;
            if !plan.after.contains(found) {
                plan.after.push(found.clone());
            }
        }
    }
    match circle(&plans) {
        Some(circle) => Err(NameError::Circle { circle }),
        None => Ok(plans),
    }
}

/// Returns a circle of plans that wait for each other, with the first one repeated at the end.
fn circle(plans: &[Planned]) -> Option<Vec<String>> {
    let mut open: BTreeMap<&PlanName, &[PlanName]> = plans.iter().map(|plan| (&plan.name, &plan.after[..])).collect();
    // A plan with no open dependency is not part of a circle.
    while let Some(free) = open
        .iter()
        .find(|(_, after)| after.iter().all(|name| !open.contains_key(name)))
        .map(|(name, _)| *name)
    {
        open.remove(free);
    }
    let mut way = vec![*open.keys().next()?];
    loop {
        let next = open[way[way.len() - 1]].iter().find(|name| open.contains_key(name))?;
        if let Some(at) = way.iter().position(|name| *name == next) {
            let circle = way[at..].iter().chain([&next]);
            return Some(circle.map(|name| name.0.clone()).collect());
        }
        way.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(files: &[&str]) -> Vec<String> {
        let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
        plan_names(&files).unwrap().into_iter().map(|name| name.0).collect()
    }

    #[test]
    fn an_added_plan_gets_a_name_that_no_other_has_and_may_wait_for_known_ones() {
        let plan = |name: &str, file: &str| Planned {
            name: PlanName(name.to_owned()),
            file: file.to_owned(),
            section: None,
            after: Vec::new(),
            issue: None,
        };
        let known = [plan("api", "api.md"), plan("ui", "old/ui.md")];
        let files = ["ui.md".to_owned(), "docs.md".to_owned()];
        let after = [Vec::new(), vec!["api".to_owned()]];
        let added = added_plans(&known, &files, &after).unwrap();
        let names: Vec<&str> = added.iter().map(|plan| plan.name.0.as_str()).collect();
        assert_eq!(names, ["ui-md", "docs"]);
        assert_eq!(added[1].after, [PlanName("api".to_owned())]);
        let unknown = added_plans(&known, &files, &[Vec::new(), vec!["shop".to_owned()]]);
        assert!(matches!(unknown, Err(NameError::Unknown { .. })), "{unknown:?}");
        assert!(added_plans(&known, &["api.md".to_owned()], &[Vec::new()]).is_err());
    }

    #[test]
    fn a_plan_is_named_after_its_file_and_with_its_directories_where_that_is_not_enough() {
        assert_eq!(named(&["api.md", "docs/UI plan.md"]), ["api", "ui-plan"]);
        assert_eq!(
            named(&["a/plan.md", "b/plan.md", "c.md"]),
            ["a-plan-md", "b-plan-md", "c"]
        );
        assert_eq!(named(&["a/b.md", "a-b.md"]), ["b", "a-b"]);
        assert_eq!(
            named(&["a/b.md", "a/b.json", "a-b.md"])[..],
            ["a-b-md", "a-b-json", "a-b"]
        );
        assert_eq!(named(&["a b.md", "a-b.md"]), ["a-b-md", "a-b-md-2"]);
    }

    #[test]
    fn no_plan_has_the_name_of_the_target_or_one_that_is_no_branch() {
        assert_eq!(named(&["target.md"]), ["target-md"]);
        assert_eq!(named(&["target"]), ["target-2"]);
        assert_eq!(named(&["..lock.md", "!.md", "-.md"]), ["lock", "md", "md-2"]);
        assert_eq!(
            named(&["Übersicht für API.md", "日本語 の 計画.md"]),
            ["übersicht-für-api", "日本語-の-計画"]
        );
        let long = named(&[&"x".repeat(300)]);
        assert_eq!(long[0].len(), NAME_CHARACTERS);
    }

    #[test]
    fn a_plan_that_is_given_twice_is_refused() {
        let files = ["a.md".to_owned(), "a.md".to_owned()];
        let error = plan_names(&files).unwrap_err();
        assert_eq!(error.to_string(), "a.md is given twice");
    }

    fn ordered(after: &[(&str, &[&str])]) -> Result<Vec<Vec<String>>, String> {
        let files: Vec<String> = after.iter().map(|(file, _)| (*file).to_owned()).collect();
        let names = plan_names(&files).unwrap();
        let plans = files.into_iter().zip(names).map(|(file, name)| Planned {
            name,
            file,
            section: None,
            after: Vec::new(),
            issue: None,
        });
        let said: Vec<Vec<String>> = after
            .iter()
            .map(|(_, after)| after.iter().map(|name| (*name).to_owned()).collect())
            .collect();
        let plans = with_order(plans.collect(), &said).map_err(|error| error.to_string())?;
        let after = plans.into_iter().map(|plan| plan.after);
        Ok(after
            .map(|after| after.into_iter().map(|name| name.0).collect())
            .collect())
    }

    #[test]
    fn plans_wait_for_others_by_name_or_file_and_never_for_each_other() {
        let after = ordered(&[("api.md", &[]), ("ui.md", &["api", "api.md"]), ("docs.md", &["ui.md"])]).unwrap();
        assert_eq!(after, [vec![], vec!["api".to_owned()], vec!["ui".to_owned()]]);
        assert_eq!(
            ordered(&[("ui.md", &["apo"])]).unwrap_err(),
            "ui.md: `after` names `apo`, which is no plan of this batch"
        );
        assert_eq!(
            ordered(&[("x.md", &["a"]), ("a.md", &["b"]), ("b.md", &["a"])]).unwrap_err(),
            "plans wait for each other: a → b → a"
        );
        assert_eq!(
            ordered(&[("a.md", &["a"])]).unwrap_err(),
            "plans wait for each other: a → a"
        );
    }
}
