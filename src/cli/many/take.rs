//! `ralph take`: makes plans from issues of the forge, and runs them as a batch.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use ralph_forge::{Forge, ForgeError, ISSUES, Issue, IssueFilter, issue_plan, issue_reference};
use ralph_plan::batch::{BatchChanges, LOCAL, Planned};
use ralph_system::{files::create_new, proc::Supervisor};
use ralph_text::console::{self, complain, print, print_coloured};
use ralph_ui::report::OutputStyle;
use ralph_words::counted;

use super::{
    change::planned,
    command::{own_screen, start_batch},
    flags::{ManyArgs, TakeArgs},
    last_batch::last,
};
use crate::cli::{
    args::Args,
    run::place,
    setting_flags::SettingFlags,
    table::{TableCell, table},
};
use ralph_many::{BatchPaths, ask_to_change};

use crate::{
    app::{self, ProjectPlace},
    begin,
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

/// Shortest and longest pause between two looks for new issues. It doubles while none comes.
const SHORTEST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(60);

/// Carries out `take`. `given` is the whole command line.
pub(super) fn run(args: &Args, take: &TakeArgs, given: &[OsString], supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = place(args)?;
    let forge = app::many::forge_of_project(&place, supervisor)?;
    let filter = IssueFilter {
        labels: take.label.clone(),
        assignee: take.assignee.clone(),
        milestone: take.milestone.clone(),
        query: take.query.clone(),
    };
    let is_chosen = !take.issues.is_empty() || filter != IssueFilter::default();
    if take.list || !is_chosen {
        return list(&forge.issues(&filter)?);
    }
    let watches = take.watch && (args.behind_screen || own_screen(args, take.headless, &place).is_none());
    let mut pause = SHORTEST;
    let issues = loop {
        let issues = match take.issues.is_empty() {
            true => ready(&forge, forge.issues(&filter)?, &BTreeSet::new(), &mut complain)?,
            false => named(&forge, &take.issues)?,
        };
        if !(watches && issues.is_empty()) {
            break issues;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    };
    if issues.is_empty() {
        print("no issue waits to be taken\n");
        return Ok(0);
    }
    app::many::leave_out_plans_of_issues(&place, supervisor)?;
    let plans = write_plans(&place.project, &issues)?;
    if take.plans_only {
        for plan in &plans {
            print(&format!("{}\n", plan.display()));
        }
        let names: Vec<String> = plans.iter().map(|plan| plan.display().to_string()).collect();
        complain(&format!("next: read them; `ralph many {}` runs them", names.join(" ")));
        return Ok(0);
    }
    let batch = ManyArgs {
        command: None,
        plans,
        each_section: None,
        jobs: take.jobs,
        engine: LOCAL.to_owned(),
        into: take.into.clone(),
        headless: take.headless,
        settings: SettingFlags {
            given: take.settings.given.clone(),
        },
    };
    if watches {
        let watch = IssueWatch { place, forge, filter };
        // Ends with the process: what it has asked for is in a file, and the batch takes it or not.
        let started = thread::Builder::new()
            .name("issues".to_owned())
            .spawn(move || watch.run());
        started.map_err(|error| Failure::new(FailureKind::Failed, format!("the issues cannot be watched: {error}")))?;
    }
    start_batch(args, &batch, take.watch, given, supervisor)
}

/// Looks for issues that come while a batch runs, and adds their plans to it.
struct IssueWatch {
    place: ProjectPlace,
    forge: Forge,
    filter: IssueFilter,
}

impl IssueWatch {
    fn run(&self) {
        let mut pause = SHORTEST;
        let mut told = String::new();
        loop {
            thread::sleep(pause);
            pause = match self.look() {
                Ok(true) => SHORTEST,
                Ok(false) => (pause * 2).min(LONGEST),
                // The next look may find the forge again.
                Err(failure) => {
                    let why = failure.to_string();
                    if why != told {
                        console::warn(&format!("new issues cannot be looked for at the moment: {why}"));
                        told = why;
                    }
                    (pause * 2).min(LONGEST)
                }
            };
        }
    }

    /// Asks the running batch to add what is new. Returns whether anything is.
    fn look(&self) -> Result<bool, Failure> {
        let Ok((id, batch)) = last(&self.place) else {
            return Ok(false);
        };
        if batch.end.is_some() || !batch.watches {
            return Ok(false);
        }
        let known: Vec<Planned> = batch.plans.iter().map(planned).collect();
        let taken: BTreeSet<u64> = known
            .iter()
            .filter_map(|plan| Some(issue_reference(plan.issue.as_deref()?)?.number))
            .collect();
        let mut issues = self.forge.issues(&self.filter)?;
        issues.retain(|issue| !taken.contains(&issue.number));
        let new = ready(&self.forge, issues, &taken, &mut |_| ())?;
        if new.is_empty() {
            return Ok(false);
        }
        let plans = write_plans(&self.place.project, &new)?;
        let changes = BatchChanges {
            added: app::many::added_to_batch(&self.place, &plans, &known)?,
            ..BatchChanges::default()
        };
        let asked = ask_to_change(&BatchPaths::new(&self.place.paths, &id), &changes);
        asked.map_err(|error| Failure::new(FailureKind::Failed, format!("the batch cannot be asked: {error}")))?;
        Ok(true)
    }
}

fn list(issues: &[Issue]) -> Result<u8, Failure> {
    if issues.is_empty() {
        print("no open issue\n");
        return Ok(0);
    }
    let style: OutputStyle = Presentation::for_stdout(OutputFormat::Text).style;
    let rows: Vec<[TableCell; 4]> = issues
        .iter()
        .map(|issue| {
            let waits: Vec<String> = issue.waits_for().iter().map(|number| format!("#{number}")).collect();
            [
                TableCell::new(issue.number.to_string()),
                TableCell::new(issue.labels.join(", ")),
                TableCell::new(waits.join(" ")),
                TableCell::new(&issue.title),
            ]
        })
        .collect();
    print_coloured(&table([" issue", "labels", "waits for", "title"], &rows, style));
    let count = counted(issues.len() as u64, "open issue");
    complain(&format!(
        "hint: {count}; `ralph take {}` takes the first",
        issues[0].number
    ));
    Ok(0)
}

/// An issue, and the taken ones that have to be merged before it.
struct TakenIssue {
    issue: Issue,
    after: Vec<u64>,
}

/// Reads the issues that the user named.
fn named(forge: &Forge, numbers: &[u64]) -> Result<Vec<TakenIssue>, Failure> {
    let numbers: BTreeSet<u64> = numbers.iter().copied().collect();
    let requests = forge.requests_of_issues()?;
    let mut taken = Vec::new();
    for number in &numbers {
        if let Some((_, request)) = requests.iter().find(|(issue, _)| issue == number) {
            let what = format!("issue {number} has a pull request of ralph already: {}", request.url);
            return Err(Failure::new(FailureKind::Usage, what)
                .hint("`ralph many resume` watches it again; once it is closed, the issue can be taken anew"));
        }
        let issue = forge.issue(*number)?;
        if !issue.is_open {
            return Err(Failure::new(FailureKind::Usage, format!("issue {number} is closed"))
                .hint("`ralph take` lists the open ones"));
        }
        let (after, missing) = waits(forge, &issue, &numbers)?;
        if let Some(first) = missing.first() {
            let all: BTreeSet<u64> = numbers.iter().chain(&missing).copied().collect();
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            let what = format!("issue {number} waits for issue {first}, which is open and not taken");
            return Err(Failure::new(FailureKind::Usage, what).hint(format!("ralph take {}", all.join(" "))));
        }
        taken.push(TakenIssue { issue, after });
    }
    Ok(taken)
}

/// Leaves out issues that have a pull request of ralph, and those that wait for others which are neither among them nor
/// `taken`.
fn ready(
    forge: &Forge,
    issues: Vec<Issue>,
    taken: &BTreeSet<u64>,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<TakenIssue>, Failure> {
    let mut left: BTreeMap<u64, Issue> = issues.into_iter().map(|issue| (issue.number, issue)).collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    for (number, request) in forge.requests_of_issues()? {
        if left.remove(&number).is_some() {
            tell(&format!(
                "issue {number} is left out: it has pull request {}",
                request.url
            ));
        }
    }
    loop {
        let numbers: BTreeSet<u64> = left.keys().chain(taken).copied().collect();
        let (mut found, mut waiting) = (Vec::new(), Vec::new());
        for issue in left.values() {
            let (after, missing) = waits(forge, issue, &numbers)?;
            match missing.first() {
                Some(first) => waiting.push((issue.number, *first)),
                None => found.push(TakenIssue {
                    issue: issue.clone(),
                    after,
                }),
            }
        }
        if waiting.is_empty() {
            return Ok(found);
        }
        for (number, first) in waiting {
            tell(&format!("issue {number} is left out: it waits for issue {first}"));
            left.remove(&number);
        }
    }
}

/// Returns what an issue waits for: issues among `numbers`, and other open ones.
fn waits(forge: &Forge, issue: &Issue, numbers: &BTreeSet<u64>) -> Result<(Vec<u64>, Vec<u64>), Failure> {
    let (after, others): (Vec<u64>, Vec<u64>) = issue
        .waits_for()
        .into_iter()
        .partition(|number| numbers.contains(number));
    let mut missing = Vec::new();
    for number in others {
        match forge.issue(number) {
            Ok(other) if other.is_open => missing.push(number),
            // A number in a text may be anything, such as a pull request.
            Ok(_) | Err(ForgeError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok((after, missing))
}

/// Writes the plan of each issue, in place of an earlier one. Returns their paths in the project.
fn write_plans(project: &Path, issues: &[TakenIssue]) -> Result<Vec<PathBuf>, Failure> {
    let failed = |path: &Path, error: &io::Error| {
        Failure::new(
            FailureKind::Failed,
            format!("{}: the plan cannot be written: {error}", path.display()),
        )
    };
    // An agent can have put a link there, by which ralph would write anywhere.
    for directory in [Path::new(ISSUES).parent().unwrap_or(Path::new("")), Path::new(ISSUES)] {
        if fs::symlink_metadata(project.join(directory)).is_ok_and(|found| !found.is_dir()) {
            let error = io::Error::from(io::ErrorKind::NotADirectory);
            return Err(failed(directory, &error).hint(format!("rm {}", directory.display())));
        }
    }
    let mut plans = Vec::new();
    for TakenIssue { issue, after } in issues {
        let requirements = begin::import(issue.body.as_bytes(), None, "").map(|found| found.requirements);
        let after: Vec<String> = after.iter().map(|number| plan_name(*number)).collect();
        let text = issue_plan(issue, &requirements.unwrap_or_default(), &after);
        let file = Path::new(ISSUES).join(format!("{}.md", plan_name(issue.number)));
        let path = project.join(&file);
        match fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&file, &error)),
        }
        create_new(&path, &text).map_err(|error| failed(&file, &error))?;
        plans.push(file);
    }
    Ok(plans)
}

fn plan_name(number: u64) -> String {
    format!("issue-{number}")
}
