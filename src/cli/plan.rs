//! `ralph plan`: shows and checks a plan, and adds tasks to it.

use std::{
    fmt::Write as _,
    io,
    path::{Path, PathBuf},
};

use ralph_core::event::{PlanSnapshot, UnreadLine, UserCommand};
use ralph_plan::{AddError, AdviceSeverity, NamedTasks, ParsedPlan, PlanAdvice, PlanError, PlanKind, shortened};
use ralph_policy::settings::closest;
use ralph_state::store::journal::read_view;
use ralph_system::{
    files::{self, PLAN_CAP_BYTES},
    proc::Supervisor,
};
use ralph_text::{
    Position,
    console::{complain, print, print_coloured, print_json},
    one_line,
};
use ralph_ui::report::OutputStyle;
use ralph_words::counted;
use serde_json::json;

use crate::{
    app::{ProjectPlace, built_in_prompt, catalog, next_prompt, no_plan},
    config::{self, Config, Flag},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    args::{Args, PlanCommand},
    control,
    run::{place, sources},
    trust,
};

/// Attempts to add a task to a plan that changes at the same time.
const TRIES: usize = 16;

/// The plan of the project.
struct ProjectPlan {
    place: ProjectPlace,
    config: Config,
    path: PathBuf,
    /// The path as a user would type it.
    name: String,
    kind: PlanKind,
}

/// Carries out `ralph plan` for the plan `named`, by default the one that a run would take.
pub(super) fn run(
    args: &Args,
    named: Option<&Path>,
    (next, json): (bool, bool),
    command: Option<&PlanCommand>,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let plan = || ProjectPlan::locate(args, named);
    match command {
        None if next => plan()?.next(json),
        None => plan()?.show(json),
        Some(PlanCommand::SetAside { undo: false, task }) => set_aside(args, &task.join(" "), AsideChange::Aside),
        Some(PlanCommand::SetAside { undo: true, task }) => set_aside(args, &task.join(" "), AsideChange::Back),
        Some(PlanCommand::Prompt { built_in }) => {
            let ProjectPlan { place, config, .. } = &plan()?;
            print(&match built_in {
                true => built_in_prompt(place, config)?,
                false => next_prompt(place, config, supervisor)?,
            });
            Ok(0)
        }
        Some(PlanCommand::Check { json }) => plan()?.check(*json),
        Some(PlanCommand::Add { task, section }) => plan()?.add(&task.join(" "), section.as_deref()),
    }
}

/// Whether a task is set aside or taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AsideChange {
    Aside,
    Back,
}

/// Sets a task of the active run aside, or takes it back.
fn set_aside(args: &Args, name: &str, change: AsideChange) -> Result<u8, Failure> {
    let name = name.trim();
    let paths = place(args)?.paths;
    // The run knows best: without its journal, the text is sent as it is.
    let view = paths.latest_run().and_then(|run| read_view(&paths, &run).ok());
    let texts = view.map_or_else(Vec::new, |view| match change {
        AsideChange::Aside => {
            let open = view.plan.tasks.iter().filter(|task| !task.done);
            open.map(|task| task.text.clone()).collect()
        }
        AsideChange::Back => view.set_aside_by_user.clone(),
    });
    let task = match ralph_plan::tasks_named(&texts, name) {
        NamedTasks::One(task) => texts[task].clone(),
        NamedTasks::Nothing => name.to_owned(),
        NamedTasks::Several(first, second) => {
            let (first, second) = (shortened(&texts[first]), shortened(&texts[second]));
            let what = format!("`{}` begins several tasks: `{first}` and `{second}`", shortened(name));
            return Err(Failure::new(FailureKind::Usage, what).hint("write more of the text"));
        }
    };
    control::send(
        args,
        match change {
            AsideChange::Aside => UserCommand::SetTaskAside { task },
            AsideChange::Back => UserCommand::TakeTaskBack { task },
        },
    )
}

impl ProjectPlan {
    fn locate(args: &Args, named: Option<&Path>) -> Result<Self, Failure> {
        let place = trust::place_to_look(args)?;
        let mut sources = sources(args, &place);
        if let Some(named) = named {
            let named = named.to_str().ok_or_else(|| super::mistake::not_utf8(&named.into()))?;
            sources.flags.push(Flag::new("--plan", "plan", named));
        }
        let config = config::load(&sources)?.config;
        let chosen = ralph_plan::choose(&place.project, config.plan.as_deref(), config.mode, Path::exists);
        let path = chosen.map_err(no_plan)?.path;
        let name = path.strip_prefix(&place.project).unwrap_or(&path).display().to_string();
        Ok(Self {
            kind: PlanKind::from_path(&path),
            name,
            path,
            place,
            config,
        })
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        files::read_bytes(&self.path, PLAN_CAP_BYTES).map_err(|error| {
            let failure = Failure::of(FailureKind::Configuration, &error);
            let why = match error.is_missing() {
                true => "there is no such plan".to_owned(),
                false => failure.message,
            };
            Failure::new(FailureKind::Configuration, format!("{}: {why}", self.name))
                .hint("`ralph init` creates one, `--plan FILE` names another")
        })
    }

    fn tasks(&self) -> Result<PlanSnapshot, Failure> {
        self.reading().map(|reading| reading.plan)
    }

    fn reading(&self) -> Result<ParsedPlan, Failure> {
        ralph_plan::read_bytes(self.kind, &self.bytes()?).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, error: &PlanError) -> Failure {
        Failure::new(FailureKind::Configuration, format!("{}: {error}", self.name)).hint(error.hint())
    }

    fn show(&self, json: bool) -> Result<u8, Failure> {
        let reading = self.reading()?;
        let tasks = &reading.plan;
        match json {
            true => print_value(&json!({
                "plan": self.path, "done": tasks.done(), "open": tasks.open(), "tasks": tasks.tasks,
                "current": tasks.current().map(|task| task.line), "unread": reading.unread,
            })),
            false => {
                let style = Presentation::for_stdout(OutputFormat::Text).style;
                print_coloured(&(listed(&self.name, tasks, style) + &unread_listed(&reading.unread, style)));
            }
        }
        Ok(0)
    }

    fn next(&self, json: bool) -> Result<u8, Failure> {
        let tasks = self.tasks()?;
        match (tasks.current(), json) {
            (task, true) => print_value(&json!({ "plan": self.path, "task": task })),
            (Some(task), false) => print_coloured(&format!("{}\n", one_line(&task.text))),
            (None, false) => complain(&format!("{}: every task is done", self.name)),
        }
        Ok(u8::from(tasks.current().is_none()))
    }

    /// Checks the plan. Returns exit code 2 if it has mistakes, else 0.
    fn check(&self, json: bool) -> Result<u8, Failure> {
        let bytes = self.bytes()?;
        let (reading, mut found) = match ralph_plan::read_bytes(self.kind, &bytes) {
            Ok(reading) => (reading, Vec::new()),
            Err(error) => (ParsedPlan::default(), vec![advice_of(&error)]),
        };
        let text = String::from_utf8_lossy(&bytes);
        found.extend(ralph_plan::advice(self.kind, &text, &reading));
        found.extend(self.unknown_adapters(&reading));
        found.sort_by_key(|advice| advice.position);
        let tasks = &reading.plan;
        match json {
            true => print_value(&self.check_json(tasks, &found)),
            false => print_coloured(&self.checked(tasks, &found, Presentation::for_stdout(OutputFormat::Text).style)),
        }
        let is_mistaken = found.iter().any(|advice| advice.severity == AdviceSeverity::Mistake);
        Ok(if is_mistaken { FailureKind::Usage.exit_code() } else { 0 })
    }

    /// Mistakes for open tasks that name an unknown adapter. Whether an adapter is installed depends on the machine of
    /// the run.
    fn unknown_adapters(&self, reading: &ParsedPlan) -> Vec<PlanAdvice> {
        let catalog = catalog(&self.place, &self.config);
        let asked = reading.places.iter().filter_map(|(task, position)| {
            let task = &reading.plan.tasks[*task];
            let adapter = task.settings.adapter.as_deref().filter(|_| !task.done)?;
            Some((adapter, *position))
        });
        let unknown = asked.filter(|(adapter, _)| !catalog.has(adapter));
        let advice = unknown.map(|(adapter, position)| {
            let near = closest(adapter, catalog.ids());
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            PlanAdvice {
                severity: AdviceSeverity::Mistake,
                position,
                rule: "adapter",
                text: format!("there is no adapter `{adapter}`{near}"),
                hint: "`ralph adapters` shows all adapters",
            }
        });
        advice.collect()
    }

    fn check_json(&self, tasks: &PlanSnapshot, found: &[PlanAdvice]) -> serde_json::Value {
        let findings: Vec<_> = found
            .iter()
            .map(|advice| {
                json!({
                    "severity": severity_word(advice.severity), "rule": advice.rule, "line": advice.position.line,
                    "column": advice.position.column, "text": advice.text, "hint": advice.hint,
                })
            })
            .collect();
        json!({ "plan": self.path, "done": tasks.done(), "open": tasks.open(), "findings": findings })
    }

    fn checked(&self, tasks: &PlanSnapshot, found: &[PlanAdvice], style: OutputStyle) -> String {
        let mut text = String::new();
        for advice in found {
            let colour = match advice.severity {
                AdviceSeverity::Mistake => "31;1",
                AdviceSeverity::Warning => "33;1",
            };
            let Position { line, column } = advice.position;
            let word = style.paint(colour, &format!("{}:", severity_word(advice.severity)));
            writeln!(text, "{}:{line}:{column}: {word} {}", self.name, one_line(&advice.text))
                .expect("a string takes every write");
            writeln!(text, "  {} {}", style.paint("36", "hint:"), advice.hint).expect("a string takes every write");
        }
        let count = |severity| found.iter().filter(|advice| advice.severity == severity).count() as u64;
        let all = tasks.tasks.len() as u64;
        writeln!(
            text,
            "{}: {}, {} open · {} · {}",
            self.name,
            counted(all, "task"),
            tasks.open(),
            counted(count(AdviceSeverity::Mistake), "mistake"),
            counted(count(AdviceSeverity::Warning), "warning")
        )
        .expect("a string takes every write");
        text
    }

    /// Adds a task to the plan as it is at the moment of writing: a run may be working on it.
    fn add(&self, task: &str, section: Option<&str>) -> Result<u8, Failure> {
        let task = task.trim();
        let task = task.strip_prefix("- [ ]").unwrap_or(task).trim();
        if task.is_empty() || task.contains(['\n', '\r']) {
            return Err(Failure::new(FailureKind::Usage, "a task is one line with words in it")
                .hint("ralph plan add \"Write the parser; a broken file is refused with line and column\""));
        }
        for _ in 0..TRIES {
            let bytes = self.bytes()?;
            let added = ralph_plan::add(self.kind, &bytes, task, section).map_err(|error| self.not_added(&error))?;
            if files::replace_unless_changed(&self.path, Some(&bytes), &added, PLAN_CAP_BYTES)
                .map_err(|error| self.not_written(&error))?
            {
                complain(&format!("added to {}: {}", self.name, one_line(task)));
                return Ok(0);
            }
        }
        Err(
            Failure::new(FailureKind::Failed, format!("{}: the file keeps changing", self.name))
                .hint("try again when the agent is not writing it"),
        )
    }

    fn not_added(&self, error: &AddError) -> Failure {
        match error {
            AddError::Plan(error) => self.wrong(error),
            AddError::NoSections => {
                Failure::new(FailureKind::Usage, format!("{}: {error}", self.name)).hint("leave out `--section`")
            }
            AddError::Mistake(_) => Failure::new(FailureKind::Usage, error.to_string()),
            AddError::NoPlace => Failure::new(FailureKind::Configuration, format!("{}: {error}", self.name))
                .hint("write it with an editor, as a line `- [ ] …`; `ralph plan check` says what is wrong"),
        }
    }

    fn not_written(&self, error: &io::Error) -> Failure {
        Failure::new(
            FailureKind::Failed,
            format!("{}: cannot be written: {error}", self.name),
        )
        .hint("the plan is unchanged")
    }
}

fn print_value(value: &serde_json::Value) {
    print_json(&format!("{value:#}\n"));
}

fn severity_word(severity: AdviceSeverity) -> &'static str {
    match severity {
        AdviceSeverity::Mistake => "error",
        AdviceSeverity::Warning => "warning",
    }
}

/// The mistake for a plan that cannot be read at all.
fn advice_of(error: &PlanError) -> PlanAdvice {
    let position = error.position().unwrap_or(Position { line: 1, column: 1 });
    let text = error.to_string();
    let place = format!("{position}: ");
    PlanAdvice {
        severity: AdviceSeverity::Mistake,
        position,
        rule: "unreadable",
        text: text.strip_prefix(&place).unwrap_or(&text).to_owned(),
        hint: error.hint(),
    }
}

/// The tasks below their headings, each with its state. The current task is marked.
fn listed(name: &str, tasks: &PlanSnapshot, style: OutputStyle) -> String {
    let current = tasks.current();
    let (done, open, next) = match style.ascii {
        true => ("x", " ", ">"),
        false => ("✔", "○", "▸"),
    };
    let mut text = String::new();
    for task in &tasks.tasks {
        if let Some(heading) = &task.heading {
            let gap = if text.is_empty() { "" } else { "\n" };
            writeln!(text, "{gap}{}", style.paint("1", &one_line(heading))).expect("a string takes every write");
        }
        let is_current = current.is_some_and(|current| std::ptr::eq(current, task));
        let (sign, colour) = match (task.done, is_current) {
            (true, _) => (done, "32"),
            (false, true) => (next, "36;1"),
            (false, false) => (open, "2"),
        };
        let mark = task
            .mark
            .as_deref()
            .map(|mark| format!("[{mark}] "))
            .unwrap_or_default();
        let steps = match task.steps.len() {
            0 => String::new(),
            all => format!(
                " ({} of {all} steps)",
                task.steps.iter().filter(|step| step.done).count()
            ),
        };
        let words = one_line(&format!("{mark}{}{steps}", task.text));
        let words = match (task.done, is_current) {
            (true, _) => style.paint("2", &words),
            (false, true) => style.paint("1", &words),
            (false, false) => words,
        };
        let indent = "  ".repeat(task.depth.into());
        writeln!(text, "{indent}{} {words}", style.paint(colour, sign)).expect("a string takes every write");
    }
    let all = counted(tasks.tasks.len() as u64, "task");
    writeln!(text, "\n{}: {} of {all} done", one_line(name), tasks.done()).expect("a string takes every write");
    text
}

/// The lines that may be meant as tasks.
fn unread_listed(unread: &[UnreadLine], style: OutputStyle) -> String {
    let unread: Vec<&UnreadLine> = unread.iter().filter(|unread| !unread.why.is_chosen()).collect();
    if unread.is_empty() {
        return String::new();
    }
    let not_read = match unread.len() {
        1 => "1 line not read as a task".to_owned(),
        count => format!("{count} lines not read as tasks"),
    };
    let mut text = format!("{not_read}; `ralph plan check` says why:\n");
    for unread in unread {
        let line = style.paint("33", &format!("{:>5}", unread.line));
        writeln!(text, "{line}  {}", one_line(&unread.text)).expect("a string takes every write");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_listed_below_their_headings_with_their_state() {
        let text = "# Plan\n- [x] one\n- [ ] two\n  - [ ] part\n## End\n- [ ] three\n";
        let tasks = ralph_plan::parse_bytes(PlanKind::Markdown, text.as_bytes()).unwrap();
        assert_eq!(
            listed("PLAN.md", &tasks, OutputStyle::PLAIN),
            "Plan\n✔ one\n○ two\n  ▸ part\n\nEnd\n○ three\n\nPLAN.md: 1 of 4 tasks done\n"
        );
        let coloured = OutputStyle {
            colour: true,
            ..OutputStyle::PLAIN
        };
        assert!(listed("PLAN.md", &tasks, coloured).contains("\x1b[36;1m▸\x1b[0m \x1b[1mpart\x1b[0m"));
    }
}
