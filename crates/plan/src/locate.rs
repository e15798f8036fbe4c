//! Finds the plan of a project, the mode it stands for, and further files that the agent should read.

use std::path::{Path, PathBuf};

use ralph_core::event::Mode;
use thiserror::Error;

/// ralph's own plan, which takes precedence over all others and stands for no mode.
const OWN_PLAN: &str = "PLAN.md";
/// The prompt file of simple loop tools, used as the plan if there is no other. It may have no tasks.
const DESCRIPTION: &str = "PROMPT.md";

/// The plans that are looked for if none is given, in this order, with the mode that each name stands for.
const DEFAULT_PLANS: [(&str, Option<Mode>); 10] = [
    (OWN_PLAN, None),
    ("prd.json", Some(Mode::Implementation)),
    ("scripts/ralph/prd.json", Some(Mode::Implementation)),
    ("IMPLEMENTATION_PLAN.md", Some(Mode::Implementation)),
    ("REFACTOR_PLAN.md", Some(Mode::Refactor)),
    ("@fix_plan.md", Some(Mode::Fix)),
    ("fix_plan.md", Some(Mode::Fix)),
    (".ralph/@fix_plan.md", Some(Mode::Fix)),
    (".ralph/fix_plan.md", Some(Mode::Fix)),
    (DESCRIPTION, None),
];

/// Files that an agent reads besides the plan if they exist, next to the plan or at the top of the project, and in
/// which modes.
const COMPANIONS: [(&str, &[Mode]); 11] = [
    ("PROMPT.md", &Mode::ALL),
    ("prompt.md", &[Mode::Implementation]),
    (".ralph-prompt.md", &[Mode::Implementation]),
    ("PRD.md", &[Mode::Implementation]),
    ("REFACTOR.md", &[Mode::Refactor]),
    ("specs", &Mode::ALL),
    ("@AGENT.md", &Mode::ALL),
    ("AGENT.md", &Mode::ALL),
    ("progress.txt", &Mode::ALL),
    (".ralph/agent/scratchpad.md", &Mode::ALL),
    (".agent/scratchpad.md", &Mode::ALL),
];

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenPlan {
    pub path: PathBuf,
    /// `None` if neither the plan's name nor the user gives a mode.
    pub mode: Option<Mode>,
    /// Further files for the agent, relative to the project; a directory ends in `/`.
    pub reads: Vec<String>,
    /// Other plans that exist, if none was given.
    pub other_plans: Vec<&'static str>,
}

/// Why no plan was found or chosen.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum NoPlan {
    #[error("there is no plan in {project}", project = .project.display())]
    Missing {
        project: PathBuf,
        /// The closest directory above with a plan, in the same repository.
        above: Option<PathBuf>,
    },
    #[error("there is no plan for mode `{}` in {project}", .mode.name(), project = .project.display())]
    MissingFor { project: PathBuf, mode: Mode },
    #[error("the project has plans for different kinds of work: {}", in_words(.plans))]
    Several { plans: Vec<(&'static str, Mode)> },
}

fn in_words(plans: &[(&'static str, Mode)]) -> String {
    let named: Vec<String> = plans
        .iter()
        .map(|(name, mode)| format!("{name} ({})", mode.name()))
        .collect();
    named.join(", ")
}

impl NoPlan {
    /// Suggested commands.
    pub fn hints(&self) -> [String; 2] {
        let listed = |names: Vec<&str>| names.join(", ");
        match self {
            NoPlan::Missing { .. } => [
                "`ralph init` creates one, with tasks as `- [ ] …`".to_owned(),
                "or name another file with `--plan FILE`, or give one task: ralph \"Write the parser\"".to_owned(),
            ],
            NoPlan::MissingFor { mode, .. } => [
                format!(
                    "its plans are {}, or {OWN_PLAN}, with tasks as `- [ ] …`",
                    listed(default_plans(*mode).collect())
                ),
                format!("or name the file: `--mode {} --plan FILE`", mode.name()),
            ],
            NoPlan::Several { plans } => {
                let (plan, mode) = plans[0];
                [
                    format!("say which kind of work to do: `--mode {}`", mode.name()),
                    format!("or which plan: `--plan {plan}`"),
                ]
            }
        }
    }
}

/// Returns the plan that is `named`, even if it is missing, or else the first default plan that `exists`.
///
/// # Errors
/// [`NoPlan`] if no plan is named and no default plan exists.
pub fn locate(project: &Path, named: Option<&Path>, exists: impl Fn(&Path) -> bool) -> Result<PathBuf, NoPlan> {
    let first = |directory: &Path| {
        let mut paths = DEFAULT_PLANS.iter().map(|(name, _)| directory.join(name));
        paths.find(|path| exists(path))
    };
    let above = || {
        let root = project.ancestors().find(|directory| exists(&directory.join(".git")))?;
        let mut between = project
            .ancestors()
            .skip(1)
            .take_while(|directory| directory.starts_with(root));
        between.find(|directory| first(directory).is_some()).map(Path::to_owned)
    };
    named
        .map(|named| project.join(named))
        .or_else(|| first(project))
        .ok_or_else(|| NoPlan::Missing {
            project: project.to_owned(),
            above: above(),
        })
}

/// Chooses the plan of a run: the one that is `named`, even if it is missing, or one for the requested `mode`, or the
/// only existing one.
///
/// # Errors
/// [`NoPlan`] if no plan is named and none exists, or if there are several for different modes.
pub fn choose(
    project: &Path,
    named: Option<&Path>,
    mode: Option<Mode>,
    exists: impl Fn(&Path) -> bool,
) -> Result<ChosenPlan, NoPlan> {
    let is_there = |name: &&str| exists(&project.join(name));
    let (path, of_name) = match (named, mode) {
        (Some(named), _) => (project.join(named), mode_of(named)),
        (None, Some(mode)) => {
            let own = default_plans(mode).chain([OWN_PLAN]).find(is_there);
            // With a plan for another mode present, `PROMPT.md` belongs to that plan.
            let alone = || locate(project, None, &exists).is_ok_and(|path| is_description(&path));
            let name = own.or_else(|| alone().then_some(DESCRIPTION));
            let name = name.ok_or_else(|| NoPlan::MissingFor {
                project: project.to_owned(),
                mode,
            })?;
            (project.join(name), Some(mode))
        }
        (None, None) => {
            let path = locate(project, None, &exists)?;
            let of_name = path.strip_prefix(project).ok().and_then(mode_of);
            (path, of_name)
        }
    };
    let relative = path.strip_prefix(project).unwrap_or(&path);
    // Only plans with a mode count: `PROMPT.md` beside another plan is read as a companion.
    let others = DEFAULT_PLANS
        .iter()
        .filter(|(name, of)| of.is_some() && relative != Path::new(name));
    let others: Vec<_> = others.filter(|(name, _)| is_there(name)).collect();
    if let (None, None, Some(chosen)) = (named, mode, of_name)
        && let Some((plan, _)) = DEFAULT_PLANS.iter().find(|(name, _)| relative == Path::new(name))
        && others.iter().any(|(_, other)| *other != Some(chosen))
    {
        let others = others.iter().filter_map(|(name, of)| Some((*name, (*of)?)));
        let plans = [(*plan, chosen)].into_iter().chain(others).collect();
        return Err(NoPlan::Several { plans });
    }
    let mode = mode.or(of_name);
    Ok(ChosenPlan {
        reads: companions(project, relative, mode, &exists),
        other_plans: match named {
            Some(_) => Vec::new(),
            None => others.into_iter().map(|(name, _)| *name).collect(),
        },
        mode,
        path,
    })
}

/// Whether a plan of this name may describe the work without listing tasks.
pub fn is_description(plan: &Path) -> bool {
    plan.file_name().is_some_and(|name| name == DESCRIPTION)
}

fn default_plans(mode: Mode) -> impl Iterator<Item = &'static str> {
    let plans = DEFAULT_PLANS.iter().filter(move |(_, of)| *of == Some(mode));
    plans.map(|(name, _)| *name)
}

/// The mode that the file name of a plan stands for, in any directory.
fn mode_of(plan: &Path) -> Option<Mode> {
    let name = plan.file_name()?;
    let found = DEFAULT_PLANS
        .iter()
        .find(|(known, _)| Path::new(known).file_name() == Some(name));
    found.and_then(|(_, mode)| *mode)
}

fn companions(project: &Path, plan: &Path, mode: Option<Mode>, exists: &impl Fn(&Path) -> bool) -> Vec<String> {
    if mode.is_none() && !is_description(plan) {
        return Vec::new();
    }
    let beside = plan.parent().filter(|beside| beside.is_relative());
    let mut found: Vec<PathBuf> = Vec::new();
    for (name, modes) in COMPANIONS {
        if mode.is_some_and(|mode| !modes.contains(&mode)) {
            continue;
        }
        let places = [beside.map(|beside| beside.join(name)), Some(PathBuf::from(name))];
        for path in places.into_iter().flatten() {
            // On a case-insensitive file system, `PROMPT.md` and `prompt.md` are the same file.
            let is_new = found.iter().map(PathBuf::as_path).chain([plan]);
            let is_new = !is_new
                .into_iter()
                .any(|known| known.as_os_str().eq_ignore_ascii_case(&path));
            if is_new && exists(&project.join(&path)) {
                found.push(path);
            }
        }
    }
    let named = found.iter().map(|path| match path.ends_with("specs") {
        true => format!("{}/", path.display()),
        false => path.display().to_string(),
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there<'a>(names: &'a [&str]) -> impl Fn(&Path) -> bool + 'a {
        |path| names.iter().any(|name| path == Path::new("/project").join(name))
    }

    fn located(named: Option<&str>, names: &[&str]) -> Option<PathBuf> {
        locate(Path::new("/project"), named.map(Path::new), there(names)).ok()
    }

    fn chosen(named: Option<&str>, mode: Option<Mode>, names: &[&str]) -> Result<ChosenPlan, NoPlan> {
        choose(Path::new("/project"), named.map(Path::new), mode, there(names))
    }

    /// The plan's name and mode.
    fn plan(chosen: ChosenPlan) -> (String, Option<Mode>) {
        let name = chosen.path.strip_prefix("/project").unwrap();
        (name.display().to_string(), chosen.mode)
    }

    #[test]
    fn the_first_default_plan_that_exists_is_the_plan() {
        let there = ["IMPLEMENTATION_PLAN.md", "prd.json", "README.md"];
        assert_eq!(located(None, &there), Some(PathBuf::from("/project/prd.json")));
        assert_eq!(located(None, &["README.md"]), None);
    }

    #[test]
    fn the_closest_plan_above_is_named_as_far_as_the_repository_goes() {
        let above = |names: &[&str]| {
            let names: Vec<PathBuf> = names.iter().map(|name| Path::new("/r").join(name)).collect();
            match locate(Path::new("/r/a/b"), None, |path| names.iter().any(|name| name == path)) {
                Err(NoPlan::Missing { above, .. }) => above,
                other => panic!("{other:?}"),
            }
        };
        let path = |name: &str| Some(Path::new("/r").join(name));
        assert_eq!(above(&[".git", "scripts/ralph/prd.json"]), path(""));
        assert_eq!(above(&[".git", "PLAN.md", "a/prd.json"]), path("a"));
        assert_eq!(above(&["PLAN.md"]), None);
        assert_eq!(above(&["PLAN.md", "a/.git"]), None);
        assert_eq!(above(&["PLAN.md", "a/b/.git"]), None);
    }

    #[test]
    fn a_plan_that_is_named_is_the_plan_even_if_it_is_missing() {
        let named = located(Some("docs/todo.md"), &["PLAN.md"]);
        assert_eq!(named, Some(PathBuf::from("/project/docs/todo.md")));
    }

    #[test]
    fn a_mode_is_found_by_the_plans_name_and_one_that_is_named_finds_its_plan() {
        let all = ["PLAN.md", "REFACTOR_PLAN.md", "@fix_plan.md"];
        for (named, mode, names, name, of) in [
            (None, None, &["PLAN.md"][..], "PLAN.md", None),
            (
                None,
                None,
                &["REFACTOR_PLAN.md"],
                "REFACTOR_PLAN.md",
                Some(Mode::Refactor),
            ),
            (
                None,
                None,
                &[".ralph/fix_plan.md"],
                ".ralph/fix_plan.md",
                Some(Mode::Fix),
            ),
            (
                None,
                None,
                &["prd.json", "IMPLEMENTATION_PLAN.md"],
                "prd.json",
                Some(Mode::Implementation),
            ),
            (None, None, &all, "PLAN.md", None),
            (None, Some(Mode::Fix), &all, "@fix_plan.md", Some(Mode::Fix)),
            (
                None,
                Some(Mode::Implementation),
                &all,
                "PLAN.md",
                Some(Mode::Implementation),
            ),
            (
                Some("REFACTOR_PLAN.md"),
                None,
                &all,
                "REFACTOR_PLAN.md",
                Some(Mode::Refactor),
            ),
            (Some("a/prd.json"), None, &all, "a/prd.json", Some(Mode::Implementation)),
            (
                Some("REFACTOR_PLAN.md"),
                Some(Mode::Fix),
                &all,
                "REFACTOR_PLAN.md",
                Some(Mode::Fix),
            ),
            (Some("todo.md"), None, &all, "todo.md", None),
            (None, None, &["PROMPT.md"], "PROMPT.md", None),
            (None, Some(Mode::Fix), &["PROMPT.md"], "PROMPT.md", Some(Mode::Fix)),
        ] {
            let found = plan(chosen(named, mode, names).unwrap());
            assert_eq!(found, (name.to_owned(), of), "{named:?} {mode:?} {names:?}");
        }
        assert_eq!(
            chosen(None, None, &all).unwrap().other_plans,
            ["REFACTOR_PLAN.md", "@fix_plan.md"]
        );
    }

    #[test]
    fn plans_for_different_kinds_of_work_are_not_chosen_among() {
        let error = chosen(None, None, &["@fix_plan.md", "prd.json", "REFACTOR_PLAN.md"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the project has plans for different kinds of work: prd.json (implementation), REFACTOR_PLAN.md (refactor), \
             @fix_plan.md (fix)"
        );
        assert!(error.hints()[0].contains("`--mode implementation`"));
        let error = chosen(None, Some(Mode::Fix), &["REFACTOR_PLAN.md", "PROMPT.md"]).unwrap_err();
        assert_eq!(error.to_string(), "there is no plan for mode `fix` in /project");
        assert!(error.hints()[0].contains("@fix_plan.md") && error.hints()[0].contains("PLAN.md"));
    }

    #[test]
    fn what_a_project_has_written_down_beside_its_plan_is_read_in_the_mode_that_it_is_for() {
        let reads = |names: &[&str]| chosen(None, None, names).unwrap().reads;
        let all = [
            "PROMPT.md",
            "PRD.md",
            "REFACTOR.md",
            "specs",
            "@AGENT.md",
            "progress.txt",
        ];
        let with = |plan| reads(&[&[plan], &all[..]].concat());
        assert_eq!(with("PLAN.md"), [""; 0]);
        assert_eq!(
            with("IMPLEMENTATION_PLAN.md"),
            ["PROMPT.md", "PRD.md", "specs/", "@AGENT.md", "progress.txt"]
        );
        assert_eq!(
            with("REFACTOR_PLAN.md"),
            ["PROMPT.md", "REFACTOR.md", "specs/", "@AGENT.md", "progress.txt"]
        );
        assert_eq!(
            reads(&[
                ".ralph/fix_plan.md",
                ".ralph/PROMPT.md",
                ".ralph/specs",
                "specs",
                "AGENT.md"
            ]),
            [".ralph/PROMPT.md", ".ralph/specs/", "specs/", "AGENT.md"]
        );
        assert_eq!(reads(&["PROMPT.md", "prompt.md", "specs"]), ["specs/"]);
    }
}
