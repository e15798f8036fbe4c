//! One session: one task, from reading the plan to the commit.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ralph_core::event::PlanTask;
use ralph_plan::{PlanKind, parse_bytes};
use ralph_system::files::{self, PLAN_CAP_BYTES};

use super::{
    recipes::{self, REPAIR, Recipe},
    stage::DemoStage,
};

/// File that claims that all is done. The promise that the prompt asks for would work as well, but means nothing to a
/// viewer.
const DONE_FILE: &str = ".ralph-done";

/// First lines of the parts of a prompt about the previous session, and with messages of the user.
const ABOUT_LAST: &str = "From ralph, about the previous session:";
const MESSAGES: &str = "From the user, for this session:";

/// File for notes of messages.
const NOTES: &str = "demo-notes.md";
/// Directory for notes of tasks without a recipe. Each has its own file, since plans that run in parallel would
/// otherwise conflict.
const TASKS: &str = "demo-notes";

/// Works on the first open task of `plan` in `cwd`.
///
/// # Errors
/// The reason why the task was not finished; its box is not ticked then.
pub(super) fn work<W: Write>(stage: &mut DemoStage<W>, prompt: &str, plan: &Path, cwd: &Path) -> io::Result<()> {
    let plan = cwd.join(plan);
    let text = read(&plan)?;
    stage.note(&format!("prompt of {} bytes · plan {}", prompt.len(), name_of(&plan)))?;
    let Some(task) = current(&text, prompt) else {
        return set_right(stage, prompt, cwd);
    };
    stage.headline(&task.text)?;
    let heard = read_user_messages(stage, prompt, cwd)?;
    let done = match recipes::recipe_for(&task.text) {
        Some(recipe) => follow(stage, recipe, cwd)?,
        None => note_down(stage, &task, cwd)?,
    };

    // Read again, since the user may have edited the plan meanwhile.
    let text = read(&plan)?;
    let Some(task) = current(&text, prompt).filter(|now| now.text == task.text) else {
        return Err(io::Error::other(
            "the plan has changed under my hands; I leave it as it is",
        ));
    };
    let ticked = ticked(&text, &task).ok_or_else(|| io::Error::other("the task has no box"))?;
    stage.tool("edit", &name_of(&plan))?;
    stage.diff(&text, &ticked)?;
    fs::write(&plan, &ticked).map_err(|error| naming(&plan, &error))?;

    let mut paths = done.paths;
    paths.extend(heard);
    paths.extend(plan.starts_with(cwd).then(|| plan.clone()));
    commit(stage, &done.commit, &paths, cwd)?;
    stage.success("task done")?;
    stage.say(&done.message)?;
    match open(&ticked).len() {
        0 => claim(stage, cwd),
        1 => stage.say("One more task is open."),
        open => stage.say(&format!("{open} more tasks are open.")),
    }
}

/// The open task that is on a line of the prompt, else the first one. If it has open subtasks, the first of these: a
/// task is done when its parts are.
fn current(plan: &str, prompt: &str) -> Option<PlanTask> {
    let mut open = open(plan);
    let is_asked = |task: &PlanTask| prompt.lines().any(|line| line.trim() == task.text);
    open.drain(..open.iter().position(is_asked).unwrap_or(0));
    let parents = open.windows(2).take_while(|two| two[1].depth > two[0].depth).count();
    open.into_iter().nth(parents)
}

fn open(plan: &str) -> Vec<PlanTask> {
    let tasks = parse_bytes(PlanKind::Markdown, plan.as_bytes()).map_or_else(|_| Vec::new(), |plan| plan.tasks);
    tasks.into_iter().filter(|task| !task.done).collect()
}

/// The plan with the task's box ticked and every other byte unchanged.
fn ticked(plan: &str, task: &PlanTask) -> Option<String> {
    let before = usize::try_from(task.line).ok()?.checked_sub(1)?;
    let line: usize = plan.split_inclusive('\n').take(before).map(str::len).sum();
    let open = line + plan.get(line..)?.find('[')?;
    let close = open + plan[open..].find(']')?;
    Some(format!("{}x{}", &plan[..=open], &plan[close..]))
}

/// Looks for the known mistake in a session in which all tasks are done.
fn set_right<W: Write>(stage: &mut DemoStage<W>, prompt: &str, cwd: &Path) -> io::Result<()> {
    stage.headline("No task is open.")?;
    for line in section(prompt, ABOUT_LAST) {
        stage.note(line)?;
    }
    if let Some(notes) = read_user_messages(stage, prompt, cwd)? {
        commit(stage, "Note down a message", &[notes], cwd)?;
    }
    let path = cwd.join(REPAIR.path);
    if read(&path).is_ok_and(|content| content == REPAIR.broken) {
        stage.say(REPAIR.thought)?;
        write_file(stage, &path, REPAIR.sound)?;
        run(stage, REPAIR.command, cwd)?;
        commit(stage, REPAIR.commit, &[path], cwd)?;
        stage.success("fixed")?;
        stage.say(REPAIR.done)?;
    }
    claim(stage, cwd)
}

/// Notes down the messages in the prompt, which is all that is possible without a model. Returns the file with the
/// notes.
fn read_user_messages<W: Write>(stage: &mut DemoStage<W>, prompt: &str, cwd: &Path) -> io::Result<Option<PathBuf>> {
    let messages: Vec<&str> = section(prompt, MESSAGES).collect();
    if messages.is_empty() {
        return Ok(None);
    }
    stage.say("You have sent a message. I have no model, so I note it down for an agent that has.")?;
    let path = cwd.join(NOTES);
    write_file(stage, &path, &format!("{}{}\n", notes(&path), messages.join("\n")))?;
    Ok(Some(path))
}

/// The existing notes, or the heading of a new file.
fn notes(path: &Path) -> String {
    read(path).unwrap_or_else(|_| "# What the demo agent was asked to do\n\n".to_owned())
}

/// The lines of a part of the prompt.
fn section<'a>(prompt: &'a str, heading: &str) -> impl Iterator<Item = &'a str> {
    let lines = prompt.lines().skip_while(move |line| *line != heading);
    lines.skip(1).take_while(|line| !line.is_empty())
}

/// The result of a task.
struct TaskResult {
    paths: Vec<PathBuf>,
    commit: String,
    message: String,
}

fn follow<W: Write>(stage: &mut DemoStage<W>, recipe: &Recipe, cwd: &Path) -> io::Result<TaskResult> {
    stage.say(recipe.thought)?;
    let mut paths = Vec::new();
    for (name, content) in recipe.files {
        let path = cwd.join(name);
        write_file(stage, &path, content)?;
        paths.push(path);
    }
    if let Some(command) = recipe.command {
        run(stage, command, cwd)?;
    }
    Ok(TaskResult {
        paths,
        commit: recipe.commit.to_owned(),
        message: recipe.done.to_owned(),
    })
}

/// The file name for a task: its first words.
fn file_of(task: &str) -> String {
    let words = task
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let name: Vec<_> = words.take(6).map(str::to_lowercase).collect();
    match &name.join("-")[..] {
        "" => "task.md".to_owned(),
        name => format!("{}.md", name.chars().take(40).collect::<String>()),
    }
}

/// Notes down a task without a recipe in a file, which is all that is possible without a model.
fn note_down<W: Write>(stage: &mut DemoStage<W>, task: &PlanTask, cwd: &Path) -> io::Result<TaskResult> {
    stage.say("I am only the demo agent and have no model: I note this task down and call it done.")?;
    let path = cwd.join(TASKS).join(file_of(&task.text));
    write_file(stage, &path, &format!("{}- {}\n", notes(&path), task.text))?;
    let message = format!("I wrote the task down in {TASKS}; a real agent would have done it.");
    Ok(TaskResult {
        paths: vec![path],
        commit: format!("Note down: {}", task.text),
        message,
    })
}

fn write_file<W: Write>(stage: &mut DemoStage<W>, path: &Path, content: &str) -> io::Result<()> {
    let before = read(path).ok();
    stage.tool(if before.is_some() { "edit" } else { "write" }, &name_of(path))?;
    stage.diff(before.as_deref().unwrap_or_default(), content)?;
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, content))
        .map_err(|error| naming(path, &error))
}

fn run<W: Write>(stage: &mut DemoStage<W>, command: &str, cwd: &Path) -> io::Result<()> {
    stage.tool("shell", command)?;
    let output = Command::new("sh")
        .arg("-c")
        .arg(command)
        .current_dir(cwd)
        .stdin(Stdio::null())
        .output()?;
    for line in String::from_utf8_lossy(&output.stdout)
        .lines()
        .chain(String::from_utf8_lossy(&output.stderr).lines())
    {
        stage.note(line)?;
    }
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("`{command}` ended with {}", output.status)))
}

fn commit<W: Write>(stage: &mut DemoStage<W>, message: &str, paths: &[PathBuf], cwd: &Path) -> io::Result<()> {
    if !git(cwd)
        .args(["rev-parse", "--is-inside-work-tree"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return stage.note("no git repository here: nothing is committed");
    }
    stage.tool("git", &format!("commit -m \"{message}\""))?;
    checked(git(cwd).arg("add").arg("--").args(paths))?;
    let mut commit = git(cwd);
    if !git(cwd).args(["config", "user.email"]).output()?.status.success() {
        commit.args(["-c", "user.name=Demo Agent", "-c", "user.email=demo@localhost"]);
    }
    let said = checked(commit.args(["commit", "--quiet", "-m", message, "--"]).args(paths))?;
    for line in said.lines() {
        stage.note(line)?;
    }
    let stat = checked(git(cwd).args(["show", "--stat=72", "--format=%h %s", "HEAD"]))?;
    for line in stat.lines().filter(|line| !line.trim().is_empty()) {
        stage.note(line)?;
    }
    Ok(())
}

fn git(cwd: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(cwd).stdin(Stdio::null()).env("GIT_PAGER", "cat");
    command
}

fn checked(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(io::Error::other(format!("git ended with {}: {why}", output.status)))
}

/// Claims that all is done.
fn claim<W: Write>(stage: &mut DemoStage<W>, cwd: &Path) -> io::Result<()> {
    stage.say("All tasks are done.")?;
    write_file(stage, &cwd.join(DONE_FILE), "")
}

fn name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path) -> io::Result<String> {
    let text = files::read_text(path, PLAN_CAP_BYTES);
    text.map_err(|error| io::Error::other(format!("{}: {error}", path.display())))
}

fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(cwd: &Path, prompt: &str) -> io::Result<String> {
        let mut out = Vec::new();
        work(
            &mut DemoStage::new(&mut out, 0.0, 80),
            prompt,
            Path::new("PLAN.md"),
            cwd,
        )?;
        Ok(String::from_utf8(out).expect("UTF-8"))
    }

    fn scratch(plan: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("PLAN.md"), plan).expect("a plan");
        dir
    }

    fn repository(plan: &str) -> tempfile::TempDir {
        let dir = scratch(plan);
        checked(git(dir.path()).args(["init", "--quiet"])).expect("a repository");
        dir
    }

    const PROMPT: &str = "Work on the plan.\nWhen all is done, end with <promise>n-1</promise> on a line of its own.\n";

    /// Removes the claim, as ralph does, and returns whether there was one.
    fn claimed(dir: &Path) -> bool {
        fs::remove_file(dir.join(DONE_FILE)).is_ok()
    }

    fn tests_pass(dir: &Path) -> bool {
        let tests = Command::new("sh").arg("test.sh").current_dir(dir).output();
        tests.expect("the tests").status.success()
    }

    const PLAN: &str = "# Plan\r\n\r\n- [x] done\r\n```\n- [ ] an example\n```\n* [ ] parent\n  1. [X] one\n  2) [ ] two ü\n+ [ ] last\n";

    #[test]
    fn the_first_open_task_is_found_below_its_parent() {
        let task = current(PLAN, "").expect("a task");
        assert_eq!(task.text, "two ü");
        assert_eq!(open(PLAN).len(), 3);
        let asked = current("- [ ] one\n- [ ] run `two`\n", "Do:\n\n  run two\n").expect("a task");
        assert_eq!(asked.text, "run two", "of a section, say");
    }

    #[test]
    fn ticking_changes_one_byte() {
        let mut plan = PLAN.to_owned();
        let mut done = Vec::new();
        while let Some(task) = current(&plan, "") {
            let after = ticked(&plan, &task).expect("a box");
            assert_eq!(
                after
                    .bytes()
                    .zip(plan.bytes())
                    .filter(|(after, before)| after != before)
                    .count(),
                1
            );
            plan = after;
            done.push(task.text);
        }
        assert_eq!(done, ["two ü", "parent", "last"]);
    }

    #[test]
    fn the_scratch_plan_takes_four_sessions_and_another_for_a_claim_that_the_tests_refuse() {
        let dir = repository(super::super::scratch_plan());
        for number in 1..=4 {
            session(dir.path(), PROMPT).expect("a session");
            assert_eq!(claimed(dir.path()), number == 4, "session {number}");
        }
        let plan = fs::read_to_string(dir.path().join("PLAN.md")).expect("the plan");
        assert_eq!(plan, super::super::scratch_plan().replace("[ ]", "[x]"));
        assert!(!tests_pass(dir.path()));

        let refused = format!("{PROMPT}\n{ABOUT_LAST}\n- goal `tests` did not pass. It ended with:\n  failed: HELLO\n");
        let shown = session(dir.path(), &refused).expect("a session");
        assert!(
            shown.contains("failed: HELLO") && shown.contains("+     shift"),
            "{shown}"
        );
        assert!(claimed(dir.path()) && tests_pass(dir.path()));
        let commits = checked(git(dir.path()).args(["rev-list", "--count", "HEAD"])).expect("a count");
        assert_eq!(commits.trim(), "5");
        let left = checked(git(dir.path()).args(["status", "--porcelain"])).expect("a status");
        assert_eq!(left, "");
    }

    #[test]
    fn a_message_is_noted_down_and_committed_with_the_task() {
        let dir = repository(super::super::scratch_plan());
        let prompt = format!("{PROMPT}\n{MESSAGES}\n- Greet in two languages,\n  at least\n");
        let shown = session(dir.path(), &prompt).expect("a session");
        assert!(shown.contains("You have sent a message"), "{shown}");
        let notes = checked(git(dir.path()).args(["show", "HEAD:demo-notes.md"])).expect("committed notes");
        assert!(notes.ends_with("- Greet in two languages,\n  at least\n"), "{notes}");
    }

    #[test]
    fn a_task_nobody_scripted_is_noted_down_without_pretending() {
        let dir = repository("- [ ] Prove the Riemann hypothesis\n");
        let shown = session(dir.path(), PROMPT).expect("a session");
        assert!(shown.contains("only the demo agent"));
        let notes = dir.path().join("demo-notes/prove-the-riemann-hypothesis.md");
        let notes = fs::read_to_string(notes).expect("notes");
        assert!(notes.ends_with("- Prove the Riemann hypothesis\n"));
        assert_eq!(file_of("`rm -rf /`: ../../etc, a b c"), "rm-rf-etc-a-b-c.md");
        assert_eq!(file_of("../.."), "task.md");
    }

    #[test]
    fn without_a_repository_it_works_and_commits_nothing() {
        let dir = scratch("- [ ] one\n- [ ] two\n");
        assert!(
            session(dir.path(), "")
                .expect("a session")
                .contains("nothing is committed")
        );
        assert_eq!(
            fs::read_to_string(dir.path().join("PLAN.md")).expect("the plan"),
            "- [x] one\n- [ ] two\n"
        );
    }

    #[test]
    fn with_nothing_to_do_it_says_so_and_claims_the_end_again() {
        let dir = scratch("- [x] one\n");
        let shown = session(dir.path(), PROMPT).expect("a session");
        assert!(shown.contains("No task is open"));
        assert!(claimed(dir.path()));
    }

    #[test]
    fn what_fails_leaves_the_box_open() {
        let dir = scratch("- [ ] Write `test.sh`\n");
        let error = session(dir.path(), PROMPT).expect_err("there is nothing to test");
        assert!(error.to_string().contains("sh test.sh"), "{error}");
        assert!(
            fs::read_to_string(dir.path().join("PLAN.md"))
                .expect("the plan")
                .contains("[ ]")
        );
    }

    #[test]
    fn a_plan_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().expect("a directory");
        let error = session(dir.path(), PROMPT).expect_err("no plan");
        assert!(error.to_string().contains("PLAN.md"), "{error}");
    }
}
