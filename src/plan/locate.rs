//! Which file of a project is its plan.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// The plans that are looked for when none is named, in this order.
const DEFAULT_PLANS: [&str; 5] = [
    "PLAN.md",
    "prd.json",
    "IMPLEMENTATION_PLAN.md",
    "REFACTOR_PLAN.md",
    "@fix_plan.md",
];

#[derive(Debug, Error)]
#[error("there is no plan in {project}", project = project.display())]
pub(crate) struct NoPlan {
    project: PathBuf,
}

impl NoPlan {
    /// What to type.
    pub(crate) fn hints(&self) -> [String; 2] {
        [
            format!("write one of {}, with tasks as `- [ ] …`", DEFAULT_PLANS.join(", ")),
            "or name another file with `--plan FILE`".to_owned(),
        ]
    }
}

/// Returns the plan that is `named`, which may be missing, or else the first of the default ones that `exists`.
///
/// # Errors
/// [`NoPlan`] if none is named and there is none of those.
pub(crate) fn locate(project: &Path, named: Option<&Path>, exists: impl Fn(&Path) -> bool) -> Result<PathBuf, NoPlan> {
    if let Some(named) = named {
        return Ok(project.join(named));
    }
    DEFAULT_PLANS
        .iter()
        .map(|name| project.join(name))
        .find(|path| exists(path))
        .ok_or_else(|| NoPlan {
            project: project.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn located(named: Option<&str>, there: &[&str]) -> Option<PathBuf> {
        let exists = |path: &Path| there.iter().any(|name| path == Path::new("/project").join(name));
        locate(Path::new("/project"), named.map(Path::new), exists).ok()
    }

    #[test]
    fn the_first_default_plan_that_exists_is_the_plan() {
        let there = ["IMPLEMENTATION_PLAN.md", "prd.json", "README.md"];
        assert_eq!(located(None, &there), Some(PathBuf::from("/project/prd.json")));
        assert_eq!(located(None, &["README.md"]), None);
    }

    #[test]
    fn a_plan_that_is_named_is_the_plan_even_if_it_is_missing() {
        let named = located(Some("docs/todo.md"), &["PLAN.md"]);
        assert_eq!(named, Some(PathBuf::from("/project/docs/todo.md")));
    }
}
