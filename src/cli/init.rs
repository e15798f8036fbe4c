//! `ralph init`: writes a plan and goals for a project without them.

use std::path::{Path, PathBuf};

use ralph_core::event::Goal;
use ralph_gate::guard::INSTRUCTIONS;
use ralph_plan::{NoPlan, PlanKind};
use ralph_state::control::UserOnlyAction;
use ralph_system::{
    files::{self, PLAN_CAP_BYTES, create_new},
    proc::{Supervisor, is_below_a_run},
};
use ralph_text::{
    console::{self, complain, print},
    one_line,
};
use serde_json::{Map, Value};

use crate::{
    app::{self, ProjectPlace},
    begin::{self, CommandSuggestion, PLANS},
    config::{self, Flag},
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, FormatArg, InitArgs},
    choice,
    confirm::{answer, is_agreed},
    goals::{self, GOALS},
    init_checks::{NAMED, ProvenGoals, adds, prove},
    init_with_agent,
    run::sources,
    target::sample,
    trust,
};

/// A file to be created.
struct NewFile {
    path: PathBuf,
    text: String,
}

pub(super) fn run(args: &Args, wish: &InitArgs, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    trust::refuse_agent(&place.paths, UserOnlyAction::Trust)?;
    refuse_home(&place.project)?;
    check_tasks(&wish.tasks)?;
    let wish = &wish.with_first_task(has_plan(&place.project))?;
    if wish.with_agent {
        check_agent_can_write(&place.project, wish.yes)?;
    }
    let root = git_root(&place.project);
    match &root {
        Some(root) if *root != place.project => complain(&format!(
            "note: this is below the repository {}; ralph works in the directory in which it starts",
            root.display()
        )),
        Some(_) => {}
        None => complain("note: no git repository: changes cannot be shown or restored; `git init` creates one"),
    }
    if !begin(args, &place, wish, supervisor)? {
        return Ok(0);
    }
    let code = match wish.with_agent {
        true => {
            let commands = suggestions(&place)?;
            init_with_agent::run(args, INSTRUCTIONS[0], &commands, wish.yes, supervisor)?
        }
        false => 0,
    };
    next(&place.project, &wish.tasks);
    Ok(code)
}

/// Refuses before the agent's session, which costs money, if its result could not be used.
fn check_agent_can_write(project: &Path, yes: bool) -> Result<(), Failure> {
    if let Some(there) = instructions_there(project) {
        let why = format!("{there} exists already, and nothing is overwritten");
        let task = format!("`ralph \"Improve {there}: …\"` lets the agent improve it");
        return Err(Failure::new(FailureKind::Usage, why).hint(task));
    }
    if !yes && !console::is_answered() {
        let why = "not a terminal, so the result cannot be confirmed";
        return Err(Failure::new(FailureKind::Usage, why).hint("`--yes` accepts it without confirmation"));
    }
    Ok(())
}

/// The first existing file with instructions for agents.
fn instructions_there(project: &Path) -> Option<&'static str> {
    let mut names = INSTRUCTIONS.into_iter();
    names.find(|name| project.join(name).symlink_metadata().is_ok())
}

/// Asks for the first task before a run in a project without a plan, if somebody is there to answer.
///
/// # Errors
/// As [`begin`].
pub(super) fn begin_if_new(args: &Args, supervisor: &Supervisor) -> Result<(), Failure> {
    let is_with_questions = !args.show.headless && args.show.format == FormatArg::Text && !args.behind_screen;
    if !is_with_questions || !console::is_answered() || is_below_a_run() {
        return Ok(());
    }
    let place = trust::place_to_look(args)?;
    // With a mistake in the settings no run starts.
    let is_chosen = config::load(&sources(args, &place)).map_or(true, |loaded| loaded.config.plan.is_some());
    if is_chosen || has_plan(&place.project) {
        return Ok(());
    }
    refuse_home(&place.project)?;
    if let Err(NoPlan::Missing { above: Some(_), .. }) = ralph_plan::locate(&place.project, None, Path::exists) {
        return Ok(());
    }
    complain("There is no plan in this project yet.");
    if let Some(hint) = app::import_hint(&place.project) {
        complain(&hint);
    }
    let task = answer("What should the agent do first? (Enter: nothing) ")?;
    if task.trim().is_empty() {
        return Ok(());
    }
    let wish = InitArgs {
        tasks: vec![task.trim().to_owned()],
        ..InitArgs::default()
    };
    check_tasks(&wish.tasks)?;
    begin(args, &place, &wish, supervisor).map(drop)
}

/// Writes the files that the project lacks, and asks which agent to use if there is a choice. Returns whether the
/// project has all of them now.
///
/// # Errors
/// A [`Failure`] if a file cannot be written or a question cannot be asked.
pub(super) fn begin(
    args: &Args,
    place: &ProjectPlace,
    wish: &InitArgs,
    supervisor: &Supervisor,
) -> Result<bool, Failure> {
    let config = place.project.join(".ralph").join("config.json");
    let named = named_goals(args, wish)?;
    let goals = match (config.exists(), named.first()) {
        (true, Some(goal)) => return Err(config_is_there(goal)),
        (true, None) => Vec::new(),
        (false, _) => {
            let mut found = suggestions(place)?;
            found.retain(|found| !named.iter().any(|goal| goal.name == found.name));
            [named, found].concat()
        }
    };
    let mut proven = ProvenGoals { goals, forgives: false };
    let goals = &proven.goals;
    if goals.is_empty() && !config.exists() && !wish.is_new {
        let why = match begin::place_of_tests(&place.project) {
            Some(tests) => format!("no command was found that runs the tests in `{}`", one_line(&tests)),
            None => "no tests found".to_owned(),
        };
        complain(&format!("note: {why}, so runs of this project will end unverified"));
        complain("hint: `ralph init --goal tests='COMMAND'` adds them");
        if let Some(root) = git_root(&place.project).filter(|root| *root != place.project) {
            complain(&format!(
                "hint: this is a part of {}; `ralph init` there sets up all of it",
                one_line(&root.display().to_string())
            ));
        }
    }
    // Only a repository has work trees.
    let tree = git_root(&place.project).map(|_| begin::tree_settings(&place.project));
    let tree = tree.unwrap_or_default();
    let mut files = new_files(&place.project, &config, (&proven, &tree), &wish.tasks)?;
    let can_check = !wish.no_check && !wish.dry_run && !goals.is_empty();
    let asks = wish.asks();
    if asks && !files.is_empty() && !agreed(&files, &place.project, can_check.then_some(&goals[..]), wish)? {
        print("nothing was written\n");
        return Ok(false);
    }
    if can_check && (asks || wish.yes) {
        proven = prove(args, place, proven.goals, asks, supervisor)?;
        files = new_files(&place.project, &config, (&proven, &tree), &wish.tasks)?;
    }
    let goals = &proven.goals;
    let mut instructions = instructions(place, goals, wish)?;
    if wish.agents_md {
        files.extend(instructions.take());
    }
    if files.is_empty() {
        let there = match config.exists() {
            true => "the plan and .ralph/config.json exist",
            false => "the plan exists, and no checks were found",
        };
        print(&format!("nothing to do: {there}\n"));
        ask(args, place, wish)?;
        return Ok(true);
    }
    if !asks {
        for new in &files {
            print(&format!(
                "{}:\n{}\n",
                shown(&place.project, &new.path),
                indented(&new.text)
            ));
        }
    }
    if wish.dry_run {
        print("nothing was written (--dry-run)\n");
        return Ok(false);
    }
    if !wish.yes && !asks {
        return Err(unconfirmed(&place.project, wish.is_new));
    }
    write(place, &config, &files)?;
    if !goals.is_empty()
        && let Some(note) = git_root(&place.project).and_then(|_| begin::services_note(&place.project))
    {
        complain(&note);
    }
    if instructions.is_some() && asks && !wish.with_agent {
        print("`ralph init --agents-md` writes an AGENTS.md that tells agents these commands\n");
    }
    ask(args, place, wish)?;
    Ok(true)
}

/// The goals named on the command line, before or after `init`.
fn named_goals(args: &Args, wish: &InitArgs) -> Result<Vec<CommandSuggestion>, Failure> {
    let before = args.settings.given.iter().filter(|flag| flag.key == GOALS).cloned();
    let behind = wish.goals.iter().map(|goal| Flag::new(NAMED, GOALS, goal.as_str()));
    let goals = goals::named(before.chain(behind))?.into_iter();
    let suggestion = |goal: Goal| CommandSuggestion {
        name: goal.name,
        command: goal.command,
        from: NAMED.to_owned(),
        others: Vec::new(),
    };
    Ok(goals.map(suggestion).collect())
}

fn config_is_there(goal: &CommandSuggestion) -> Failure {
    let why = ".ralph/config.json exists already, and nothing is overwritten";
    Failure::new(FailureKind::Usage, why).hint(format!("`{}` adds the goal", adds(goal)))
}

/// Returns instructions for agents made of the commands that were found, or `None` if the project has its own.
fn instructions(
    place: &ProjectPlace,
    goals: &[CommandSuggestion],
    wish: &InitArgs,
) -> Result<Option<NewFile>, Failure> {
    let project = &place.project;
    let found = match goals.is_empty() && wish.agents_md {
        // The commands that already verify the project.
        true => suggestions(place)?,
        false => goals.to_vec(),
    };
    let why_not = match instructions_there(project) {
        Some(there) => Some(format!("{there} exists already")),
        None if found.is_empty() => Some("no commands were found".to_owned()),
        None => None,
    };
    if let Some(why) = why_not {
        if wish.agents_md {
            complain(&format!("note: no AGENTS.md is written: {why}"));
        }
        return Ok(None);
    }
    Ok(Some(NewFile {
        path: project.join(INSTRUCTIONS[0]),
        text: begin::instructions(&found),
    }))
}

fn suggestions(place: &ProjectPlace) -> Result<Vec<CommandSuggestion>, Failure> {
    Ok(begin::suggestions(&place.project, &app::runners(place, true)?))
}

/// Asks which agent to use, unless questions are turned off.
fn ask(args: &Args, place: &ProjectPlace, wish: &InitArgs) -> Result<(), Failure> {
    if wish.yes || wish.dry_run {
        return Ok(());
    }
    choice::ask_once(&sources(args, place), place)
}

/// Refuses texts that cannot be a task of a plan.
pub(super) fn check_tasks(tasks: &[String]) -> Result<(), Failure> {
    let odd = tasks
        .iter()
        .find(|task| task.trim().is_empty() || task.contains(['\n', '\r']));
    let Some(odd) = odd else { return Ok(()) };
    let why = format!("a task is one line with words in it, not `{}`", one_line(odd));
    Err(Failure::new(FailureKind::Usage, why).hint("ralph init \"Write the parser\" \"Test it with broken input\""))
}

impl InitArgs {
    /// Whether there is a question, and somebody to answer it.
    fn asks(&self) -> bool {
        !self.yes && !self.dry_run && console::is_answered()
    }

    /// Asks for the first task of a new plan, unless tasks are given.
    ///
    /// # Errors
    /// A [`Failure`] if the answer cannot be read, or is no task.
    pub(super) fn with_first_task(&self, has_plan: bool) -> Result<Self, Failure> {
        let mut wish = self.clone();
        if wish.tasks.is_empty() && !has_plan && wish.asks() {
            let task = answer("First task? (Enter: none yet) ")?;
            wish.tasks
                .extend(Some(task.trim().to_owned()).filter(|task| !task.is_empty()));
            check_tasks(&wish.tasks)?;
        }
        Ok(wish)
    }
}

fn has_plan(project: &Path) -> bool {
    ralph_plan::locate(project, None, Path::exists).is_ok()
}

/// Refuses a home directory and the root directory, which are not projects.
fn refuse_home(project: &Path) -> Result<(), Failure> {
    let home = dirs::home_dir().and_then(|home| home.canonicalize().ok());
    let what = match project.parent() {
        _ if home.as_deref() == Some(project) => "your home directory",
        None => "the whole machine",
        Some(_) => return Ok(()),
    };
    let why = format!(
        "{} is {what}, not a project: agents would have access to all of it",
        project.display()
    );
    Err(Failure::new(FailureKind::Usage, why).hint("change to the directory of your project, and try again"))
}

/// The closest ancestor directory that has a git repository.
pub(super) fn git_root(project: &Path) -> Option<PathBuf> {
    let mut above = project.ancestors();
    above
        .find(|directory| directory.join(".git").exists())
        .map(Path::to_owned)
}

fn new_files(
    project: &Path,
    config: &Path,
    (proven, tree): (&ProvenGoals, &Map<String, Value>),
    tasks: &[String],
) -> Result<Vec<NewFile>, Failure> {
    let mut files = Vec::new();
    match ralph_plan::locate(project, None, Path::exists) {
        Ok(plan) if !tasks.is_empty() => {
            let why = format!("a plan exists already: {}", shown(project, &plan));
            let add = |task: &String| format!("`ralph plan add \"{}\"` adds it", sample(task));
            return Err(Failure::new(FailureKind::Usage, why).hints(tasks.iter().map(add)));
        }
        Ok(plan) if !plan.is_file() => {
            let why = format!("{}: not a file, but in the place of a plan", shown(project, &plan));
            return Err(Failure::new(FailureKind::Configuration, why).hint("move it away, and try again"));
        }
        Ok(_) => {}
        Err(_) => files.push(NewFile {
            path: project.join("PLAN.md"),
            text: begin::plan(tasks),
        }),
    }
    if !proven.goals.is_empty() {
        files.push(NewFile {
            path: config.to_owned(),
            text: begin::config(&proven.goals, proven.forgives, tree.clone()),
        });
    }
    Ok(files)
}

/// Shows what was found, and asks whether to run `checks` and to write the files.
fn agreed(
    files: &[NewFile],
    project: &Path,
    checks: Option<&[CommandSuggestion]>,
    wish: &InitArgs,
) -> Result<bool, Failure> {
    let mut names: Vec<String> = files.iter().map(|new| shown(project, &new.path)).collect();
    if wish.agents_md && instructions_there(project).is_none() {
        names.push(INSTRUCTIONS[0].to_owned());
    }
    let names = names.join(" and ");
    let Some(checks) = checks else {
        return is_agreed(&format!("Write {names}?"));
    };
    complain("Found these checks:");
    let widest = checks.iter().map(|goal| goal.name.chars().count()).max();
    let widest = widest.unwrap_or_default();
    for goal in checks {
        complain(&format!("  {:<widest$}  {}   ({})", goal.name, goal.command, goal.from));
    }
    is_agreed(&format!("Run each once, then write {names}?"))
}

fn unconfirmed(project: &Path, is_new: bool) -> Failure {
    let name = project.file_name().unwrap_or_default().to_string_lossy();
    let command = if is_new {
        format!("setup {name}")
    } else {
        "init".to_owned()
    };
    Failure::new(FailureKind::Usage, "not a terminal, so the result cannot be confirmed").hint(format!(
        "`ralph {command} --yes` writes this, `ralph {command} --dry-run` only shows it"
    ))
}

/// Writes the new files. A project without files for ralph before trusts those that it gets now.
fn write(place: &ProjectPlace, config: &Path, files: &[NewFile]) -> Result<(), Failure> {
    let had_own = has_own(&place.project);
    for new in files {
        create(&place.project, new)?;
    }
    if !had_own && config.exists() {
        trust::trust_as_written(place)?;
    }
    Ok(())
}

fn create(project: &Path, new: &NewFile) -> Result<(), Failure> {
    let name = shown(project, &new.path);
    create_new(&new.path, &new.text).map_err(|error| {
        let what = format!("{name}: cannot be written: {error}");
        Failure::new(FailureKind::Failed, what).hint("files written before are kept; nothing is overwritten")
    })?;
    print(&format!("wrote {name}\n"));
    Ok(())
}

/// Whether the project has files for ralph other than the plans of single tasks.
fn has_own(project: &Path) -> bool {
    let own = Path::new(PLANS).parent().map(|own| project.join(own));
    let entries = own.and_then(|own| own.read_dir().ok());
    let mut entries = entries.into_iter().flatten().flatten();
    entries.any(|entry| Path::new(PLANS).file_name() != Some(&entry.file_name()))
}

fn next(project: &Path, tasks: &[String]) {
    let plan = ralph_plan::locate(project, None, Path::exists);
    let plan = plan.map_or_else(|_| "PLAN.md".to_owned(), |plan| shown(project, &plan));
    let first = match tasks {
        [] if !has_open_task(&project.join(&plan)) => match app::import_hint(project) {
            Some(hint) => format!("{hint}, or add tasks to {plan}, one per line as `- [ ] …`; "),
            None => format!("add tasks to {plan}, one per line as `- [ ] …`; "),
        },
        _ => String::new(),
    };
    print(&format!(
        "next: {first}`ralph` starts the run; `ralph doctor` lists the installed agents\n"
    ));
}

fn has_open_task(plan: &Path) -> bool {
    let bytes = files::read_bytes(plan, PLAN_CAP_BYTES).ok();
    let tasks = bytes.and_then(|bytes| ralph_plan::parse_bytes(PlanKind::from_path(plan), &bytes).ok());
    tasks.is_some_and(|tasks| tasks.current().is_some())
}

fn shown(project: &Path, path: &Path) -> String {
    path.strip_prefix(project).unwrap_or(path).display().to_string()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}
