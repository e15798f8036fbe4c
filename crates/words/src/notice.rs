//! Notices in words: facts beyond the iterations that the user should know.

use std::path::Path;

use ralph_core::{
    event::{
        COMMENT_CAP_BYTES, ChoiceReason, CommandRefusal, Forbidden, LimitKind, MESSAGE_CAP_BYTES, Mode, Notice,
        OwnWork, PreparedTree, RestoreMoment, RunBy, Text,
    },
    limits::LimitUnit,
    machine::ClosedReason,
    run::RunView,
};
use ralph_text::one_line;

use super::{
    counted,
    hook::hook_failed,
    limit::{limit_word, raise_option, used_up_in_words},
    place::lacking_in_words,
    repository::{head_in_words, locks_in_words, stashes_in_words},
    review::{obstacle_in_words, role_in_words},
    short_duration, size_in_words,
};

/// The steps by which a work tree was prepared.
pub fn tree_in_words(tree: &PreparedTree) -> Vec<String> {
    let copied = (tree.copied_files > 0).then(|| {
        let files = counted(tree.copied_files, "file");
        format!("copied {files} ({})", size_in_words(tree.copied_bytes))
    });
    let linked = (!tree.linked.is_empty()).then(|| format!("linked {}", tree.linked.join(", ")));
    let commands = tree.commands.iter();
    let commands = commands.map(|ran| format!("ran `{}` ({})", ran.command, short_duration(ran.duration_ms)));
    let ports: Vec<String> = tree.ports.iter().map(u16::to_string).collect();
    let reserved = (!ports.is_empty()).then(|| format!("reserved ports {}", ports.join(", ")));
    let steps = copied.into_iter().chain(linked).chain(commands).chain(reserved);
    steps.collect()
}

/// A notice as a sentence, without its level.
pub fn notice_in_words(notice: &Notice) -> String {
    match notice {
        Notice::AdapterChosen { adapter, why } => match why {
            ChoiceReason::ServerNamed => format!("using `{adapter}` because a server is set"),
            ChoiceReason::OpencodeInstalled => {
                format!("using `{adapter}` because opencode is installed")
            }
            ChoiceReason::Installed => format!("using `{adapter}` (installed)"),
            ChoiceReason::OnlyOneInstalled => {
                format!("using `{adapter}` (the only agent installed)")
            }
            ChoiceReason::OnlyOneLoggedIn => {
                format!("using `{adapter}` (the only agent logged in)")
            }
            ChoiceReason::FirstLoggedIn => format!(
                "using `{adapter}` (first agent logged in); `ralph adapters use ID` changes the default"
            ),
            ChoiceReason::NoneLoggedIn => {
                format!("using `{adapter}` (installed; no login was found)")
            }
        },
        Notice::SpendingReportedLate { adapter } => {
            format!("{adapter} reports usage only at the end of a turn: one turn may exceed a limit on tokens or cost")
        }
        Notice::TreePrepared { tree } => {
            let steps = tree_in_words(tree).join(", ");
            format!("work tree prepared in {}: {steps}", short_duration(tree.duration_ms))
        }
        Notice::ServersLeftOut { adapter, live: true } => format!(
            "{adapter} gets no MCP servers on its one-way channel, so those of `mcp` are left out: `--channel live` \
             passes them on"
        ),
        Notice::ServersLeftOut { adapter, live: false } => {
            format!("{adapter} does not support MCP servers, so those of `mcp` in the settings are left out")
        }
        Notice::PlanChosen {
            plan,
            mode,
            reads,
            own_prompt,
            beside,
        } => plan_in_words(plan, *mode, reads, *own_prompt, beside),
        Notice::TaskGiven { plan, has_goals: true } => format!("the plan of this task is {plan}"),
        Notice::TaskGiven { plan, has_goals: false } => format!(
            "the plan of this task is {plan}; without goals only the agent's claim shows that it is done (`--goal tests='COMMAND'`)"
        ),
        Notice::OtherLoop {
            file,
            of,
            flags,
            left_out,
        } => other_loop_in_words(file, of, flags, left_out),
        Notice::FallbackMissing { adapter } => format!("`{adapter}` of `fallback` is not installed and is left out"),
        Notice::TasksAskFor { adapter, tasks: 1 } => format!("1 task of the plan asks for {adapter}"),
        Notice::TasksAskFor { adapter, tasks } => format!("{tasks} tasks of the plan ask for {adapter}"),
        Notice::TaskAsksFor { adapter, model } => {
            format!("the task asks for {}", worker(adapter, model.as_deref()))
        }
        Notice::TaskHandedOn {
            adapter,
            model,
            attempts,
        } => format!(
            "{} made no progress on this task: handing it to {}",
            counted(u64::from(*attempts), "iteration"),
            worker(adapter, model.as_deref())
        ),
        Notice::ReviewerIsAuthor { adapter, model } => format!(
            "the reviewer is the author itself ({}): set `review.adapter` or `review.model`",
            worker(adapter, model.as_deref())
        ),
        Notice::ReviewOmitted { adapter, why } => format!("no review: {}", obstacle_in_words(adapter, *why)),
        Notice::ReviewerGivenUp { adapter, reviews } => format!(
            "{} by {adapter} failed in a row; reviews are off for the rest of this run",
            counted(u64::from(*reviews), "review")
        ),
        Notice::ReviewChangesUndone { iteration, files, more } => {
            let count = counted(files.len() as u64 + more, "file");
            let named = files[..files.len().min(5)].join(", ");
            let rest = if files.len() > 5 || *more > 0 { ", …" } else { "" };
            format!(
                "{count} changed during the review, by the reviewer or by you, and put back: {named}{rest}; `ralph diff {iteration}` \
                 shows the change, `ralph restore {iteration}` brings it back once the run is over"
            )
        }
        Notice::ReviewPlanUndone { kept } => match kept {
            Some(kept) => format!(
                "the plan changed during the review, by the reviewer or by you, and was restored; the changed version is {}",
                shown(kept)
            ),
            None => "the plan was missing after the review and was restored".to_owned(),
        },
        Notice::ReviewChangesStay { iteration, why } => {
            format!("the changes during the review, iteration {iteration}, could not be undone: {why}")
        }
        Notice::ReviewMovedHead { from, to } => {
            let id = |commit: &Option<String>| commit.as_deref().map_or("nothing", |commit| commit.get(..12).unwrap_or(commit)).to_owned();
            format!(
                "HEAD moved during the review from {} to {} and stays there; `git reset --soft {}` undoes that",
                id(from),
                id(to),
                id(from)
            )
        }
        Notice::HookFailed { hook, task, result } => hook_failed(*hook, task.as_deref(), result),
        Notice::TaskSettingsIgnored { line, column, why } => {
            format!("the plan, line {line}, column {column}: {why}")
        }
        Notice::LiveArgsUnchanged { adapter } => format!(
            "messages do not reach a running turn of `{adapter}`: `command.args` is changed and `live.args` is not"
        ),
        Notice::ProviderStripped {
            adapter,
            model,
            provider,
        } => format!("`{adapter}` gets the model as `{model}` (without the provider `{provider}`)"),
        Notice::ServerUnused { adapter } => format!("adapter `{adapter}` uses no server: `server` has no effect"),
        Notice::PasswordInClear { server } => {
            format!("{server}: the password is sent over the network unencrypted; a tunnel would protect it")
        }
        Notice::LimitNear { limit, task, percent } => near_limit(*limit, task.as_deref(), *percent),
        Notice::AdapterSwitched { adapter } => format!("continuing with {adapter}"),
        Notice::SessionLost => "the session to continue no longer exists: the next one starts fresh".to_owned(),
        Notice::SessionTooLong => "the session is too long for its model: the next one starts fresh".to_owned(),
        Notice::AgentLingers => "the agent has finished its turn but not exited: it is stopped".to_owned(),
        Notice::AgentIdle { quiet_ms, left_ms } => format!(
            "idle for {}; will be stopped in {}",
            short_duration(*quiet_ms),
            short_duration(*left_ms)
        ),
        Notice::AgentActive => "the agent is active again".to_owned(),
        Notice::AgentLeftBehind { iteration, after_ms } => format!(
            "ending iteration {iteration} took longer than {}: processes of it that still run are left behind",
            whole(*after_ms)
        ),
        Notice::TaskDropped { task } => {
            format!("the task \"{task}\" vanished from the plan in the last run and is not done")
        }
        Notice::GoalDropped { goal } => format!("goal `{goal}` from the previous run is not part of this one"),
        Notice::TasksRemoved { tasks, more } => {
            let tasks: Vec<String> = tasks.iter().map(|task| format!("\"{task}\"")).collect();
            let more = if *more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            format!(
                "removed from the plan since it was last read, presumably by you: {}{more}",
                tasks.join(", ")
            )
        }
        Notice::TasksMarked { tasks, marks } => format!(
            "{} with a mark that is no tick ({marks}) taken as open; `{{skip}}` at the end of a task leaves it out",
            match tasks {
                1 => "1 task".to_owned(),
                tasks => format!("{tasks} tasks"),
            }
        ),
        Notice::NothingToDo => "nothing to do: the plan has no open task".to_owned(),
        Notice::PlanUnreadable { why } => why.to_string(),
        Notice::GoalsChanged => {
            "the goals differ from those at the start of the run: the new ones count from now on".to_owned()
        }
        Notice::MessageOutstanding { message } => format!(
            "the work is done, but message {} has not reached the agent: one more iteration",
            message.0
        ),
        Notice::StaleDoneFile => {
            "`.ralph-done` was there before the iteration began: it is removed and does not count as a claim".to_owned()
        }
        Notice::DoneFileStuck { path, why } => {
            format!("{}: cannot be removed, so it does not count as a claim: {why}", shown(path))
        }
        Notice::NoRepository { why } => format!("no checkpoints, no statistics: {why}"),
        Notice::NoCheckpoint { iteration, moment, why } => match moment {
            RestoreMoment::Before => format!("no checkpoint before iteration {iteration}: {why}"),
            RestoreMoment::After => format!("no checkpoint after iteration {iteration}: {why}"),
        },
        Notice::ChangesUncounted { why } => format!("the changes cannot be counted: {why}"),
        Notice::ProcessesEnded { commands, more } => {
            let named: Vec<String> = commands.iter().map(|command| one_line(command)).collect();
            let count = match commands.len() as u64 + more {
                1 => "1 process".to_owned(),
                count => format!("{count} processes"),
            };
            let rest = if *more > 0 { ", …" } else { "" };
            format!(
                "ended {count} that the session left: {}{rest}; work that outlives a session is started as a background task \
                 (`ralph tasks start -- COMMAND`)",
                named.join(", ")
            )
        }
        Notice::LocksLeft { removed, kept } => locks_in_words(removed, kept),
        Notice::StashesChanged { made, gone, shared } => stashes_in_words(made, gone, *shared),
        Notice::PauseDuringSession => {
            "`.ralph-pause` appeared while the agent worked: if it is not yours, the agent made it; the run waits until you remove it \
             (`ralph resume`)"
                .to_owned()
        }
        Notice::PauseRefused => "the agent made `.ralph-pause`: removed, since only you pause a run".to_owned(),
        Notice::HeadPlaced { place } => head_in_words(place),
        Notice::ProgressUnknown { why } => {
            format!("only ticked tasks count as progress, not changes of files: {why}")
        }
        Notice::Listening { url } => format!("listening at {url}; `ralph token` prints its token"),
        Notice::SocketUnavailable { path, why } => {
            format!("no steering from other terminals: {}: {why}", shown(path))
        }
        Notice::LanguageServerStarted { server, root, after_ms } => {
            format!("{server} runs for the agent in {} (after {})", shown(root), short_duration(*after_ms))
        }
        Notice::LanguageServerEnded { server, why, again: true } => {
            format!("{server} ended ({why}) and is restarted once")
        }
        Notice::LanguageServerEnded { server, why, again: false } => {
            format!("{server} does not run ({why}): it is not available to the agent in this run")
        }
        Notice::RulesNotKept { why } => format!("the rules for this project apply to this run only: {why}"),
        Notice::NotKeptAwake { why } => format!("the machine may fall asleep in spite of `keepAwake`: {why}"),
        Notice::OldRunKept { why } => why.to_string(),
        Notice::JournalTorn { bytes } => {
            format!("the journal's last line was cut off by a crash and is left out ({bytes} bytes)")
        }
        Notice::RunSuperseded { run, plan } => format!(
            "run {run} of {} was not finished: it is closed, and a new run starts",
            shown(plan)
        ),
        Notice::OrphansEnded { count: 1, first_pid } => {
            format!("ended a process that an earlier run left behind (pid {first_pid})")
        }
        Notice::OrphansEnded { count, .. } => format!("ended {count} processes that an earlier run left behind"),
        Notice::StartsPaused => "`.ralph-pause` exists: the run starts paused; remove the file to resume".to_owned(),
        Notice::WorkOverdue { work } => {
            format!("{} did not end soon after the time limit of the run", own_work(*work))
        }
        Notice::SandboxOn { abi, hidden } => format!(
            "sandbox: on (Landlock {abi}); the agent writes to the project, its own state, caches and /tmp; {hidden} places hidden; network open"
        ),
        Notice::SandboxMissing => {
            "UNCONFINED: the agent can do whatever you can: this system has no Landlock".to_owned()
        }
        Notice::SandboxStrict { abi, hidden, hosts } => format!(
            "sandbox: strict (Landlock {abi}); the agent writes to the project, its own state and caches of its own; {hidden} places hidden; network: {}",
            if hosts.is_empty() { "to no host".to_owned() } else { format!("only to {}", hosts.join(", ")) }
        ),
        Notice::SandboxWeak { abi } => format!(
            "this kernel's Landlock {abi} cannot keep the agent from {}",
            lacking_in_words(*abi).join(", ")
        ),
        Notice::SandboxStateUnknown { adapter } => format!(
            "adapter `{adapter}` does not name the directory of its agent's state, so the sandbox does not allow writing it: set `adapters.{adapter}.sandbox.write`"
        ),
        Notice::SandboxOff => "UNCONFINED: the agent can do whatever you can (--sandbox off)".to_owned(),
        Notice::AgentUnconfined { adapter } => format!(
            "UNCONFINED: the agent can do whatever you can: adapter `{adapter}` does not name its state directory (`adapters.{adapter}.sandbox.write`). `--sandbox on` confines it"
        ),
        Notice::CommitsUnsigned { ssh: true } => "commits of the agent are not signed, since the sandbox hides keys; to have the ssh-agent sign them: \"sandbox\": { \"sockets\": [\"ssh-agent\"] }".to_owned(),
        Notice::CommitsUnsigned { ssh: false } => "commits of the agent are not signed, since the sandbox hides keys; to have them signed: \"sandbox\": { \"show\": [\"~/.gnupg\"], \"write\": [\"~/.gnupg\"], \"sockets\": [\"gpg-agent\"] }".to_owned(),
        Notice::SandboxDenied { path, hidden: Some(place) } => format!(
            "the sandbox hides {} from the agent, which wanted it; to show it: \"sandbox\": {{ \"show\": [\"{}\"] }}",
            shown(path),
            shown(place)
        ),
        Notice::SandboxDenied { path, hidden: None } => format!(
            "the sandbox kept the agent from writing {0}; to allow it: \"sandbox\": {{ \"write\": [\"{0}\"] }}",
            shown(path)
        ),
        Notice::SandboxForbids { what: Forbidden::UserNamespace } => "the sandbox lets no program make a sandbox or a container of its own (bwrap, podman, Chromium without --no-sandbox); to allow it: --sandbox off".to_owned(),
        Notice::SandboxForbids { what: Forbidden::GitConfiguration } => {
            "the sandbox lets no program change your own git configuration (git config --global); to allow it: --sandbox off".to_owned()
        }
        Notice::SandboxWriteMissing { path } => {
            format!("`sandbox.write` allows nothing at {}, which does not exist: create it before the run", shown(path))
        }
        Notice::SandboxForbids { what: Forbidden::Privileges } => {
            "the sandbox lets no program gain rights (sudo, ping, other setuid programs); to allow it: --sandbox off".to_owned()
        }
        Notice::ServerUnconfined { server } => {
            format!("{server} runs outside of the sandbox: its agent is not confined")
        }
        Notice::ConnectionRefused { host, port, address: None } => format!(
            "connection to {host}:{port} refused by the sandbox; to allow it: \"sandbox\": {{ \"hosts\": [\"{}\"] }}",
            listed_as(host, *port)
        ),
        Notice::ConnectionRefused { host, port, address: Some(address) } => format!(
            "connection to {host}:{port} refused by the sandbox, since it leads to {address}, which is not public; to allow it: \"sandbox\": {{ \"hosts\": [\"{}\"] }}",
            listed_as(address, *port)
        ),
        Notice::SocketRefused { path, name } => {
            let path = shown(path);
            format!(
                "the sandbox refused a connection to {path}; to allow it: \"sandbox\": {{ \"sockets\": [\"{}\"] }}",
                name.as_deref().unwrap_or(&path)
            )
        }
        Notice::ListeningRefused { address } => {
            format!("the sandbox refused to listen at {address}: only this machine may connect (127.0.0.1)")
        }
        Notice::SandboxSocketsOpen => {
            "this system cannot keep the agent from sockets of other programs (ssh-agent, docker, tmux): that needs Linux 5.19, and no other sandbox around ralph".to_owned()
        }
        Notice::SandboxExposes { path } => format!(
            "{} is not hidden from the agent, since it lies in a place that the agent writes to",
            shown(path)
        ),
        Notice::AgentCommand { command } => {
            format!("the agent ran `ralph {command}`: refused, since only you command a run")
        }
        Notice::AutorunChanged { path, by, gone } => autorun_in_words(path, *by, *gone),
        Notice::CommandRefused { refusal } => command_refusal_in_words(refusal),
        Notice::Text { text, .. } => text.to_string(),
    }
}

fn plan_in_words(plan: &str, mode: Option<Mode>, reads: &[String], own_prompt: bool, beside: &[String]) -> String {
    let mut text = match mode {
        Some(mode) => format!("mode {} ({plan})", mode.name()),
        None => format!("the plan is {plan}"),
    };
    if own_prompt {
        text += ", with your own prompt";
    } else if !reads.is_empty() {
        text += &format!("; the agent also reads {}", reads.join(", "));
    }
    if !beside.is_empty() {
        let others = beside.join(", ");
        text += &format!("; not worked on: {others} (`--plan FILE` names another)");
    }
    text
}

fn other_loop_in_words(file: &str, of: &str, flags: &[Text], left_out: &[Text]) -> String {
    let mut text = format!("{file} is {of}'s configuration and sets nothing here");
    if !flags.is_empty() {
        text += &format!("; the same for ralph: `ralph {}`", flags.join(" "));
    }
    if !left_out.is_empty() {
        text += &format!("; without an equivalent: {}", left_out.join(", "));
    }
    text
}

fn autorun_in_words(path: &Path, by: RunBy, gone: bool) -> String {
    let what = if gone { "was deleted" } else { "was changed" };
    let then = match by {
        RunBy::Git => "your next `git` here uses it",
        RunBy::Shell => "a shell that you start here may run it",
        RunBy::Editor => "your editor may run it when it opens the project",
        RunBy::Ralph => "the next `ralph` here asks before it uses it",
        RunBy::Trust => "it records which files you trust; if it was not you, `ralph trust --revoke`",
    };
    format!("{} {what}: {then}", shown(path))
}

/// A host in the format of `sandbox.hosts`.
fn listed_as(host: &str, port: u16) -> String {
    match (host.contains(':'), port) {
        (_, 80 | 443) => host.to_owned(),
        (false, _) => format!("{host}:{port}"),
        (true, _) => format!("[{host}]:{port}"),
    }
}

/// Why a command is refused, as a clause.
pub fn command_refusal_in_words(refusal: &CommandRefusal) -> String {
    match refusal {
        CommandRefusal::CommentTooLong { bytes } => format!(
            "the comment has {bytes} bytes; the maximum is {COMMENT_CAP_BYTES}: shorten it, or send it as a message"
        ),
        CommandRefusal::MessageEmpty => "the message is empty".to_owned(),
        CommandRefusal::CommentEmpty => "the comment is empty: write what is to change".to_owned(),
        CommandRefusal::NoCommentedLines => {
            "the commented line is not known: name a line that the file has, as FILE:LINE".to_owned()
        }
        CommandRefusal::MessageTooLong { bytes } => format!(
            "the message has {} KiB; the maximum is {}: put the rest into a file and name it",
            bytes.div_ceil(1024),
            MESSAGE_CAP_BYTES / 1024
        ),
        CommandRefusal::Uncounted { adapter, limit } => format!(
            "{adapter} does not report its {}, so a {} limit would not end the run",
            match limit.row().unit {
                LimitUnit::Tokens => "tokens",
                LimitUnit::Count | LimitUnit::Milliseconds | LimitUnit::Dollars => "cost",
            },
            limit_word(*limit)
        ),
        CommandRefusal::AdapterMissing { adapter } => format!(
            "the run was started without adapter `{adapter}`; `ralph stop`, then `ralph continue --adapter {adapter}`"
        ),
        CommandRefusal::Model { why } => why.to_string(),
        CommandRefusal::Rule { ask, why } => format!("question {ask} is still open: {why}"),
    }
}

/// Why a command called by an agent is refused, as told to the agent.
pub fn agent_command_in_words(command: &str) -> String {
    format!(
        "`ralph {command}` was called from within the run; agents may not call this: say in your report what you need"
    )
}

/// Why a finished run accepts no message, and what to do instead.
pub fn closed_in_words(closed: ClosedReason, view: &RunView) -> String {
    match closed {
        ClosedReason::Superseded => "the run was followed by another one".to_owned(),
        ClosedReason::UsedUp { limit } => used_up_in_words(limit, view),
    }
}

/// How much of a limit is used, and how to raise it while the run goes on.
fn near_limit(limit: LimitKind, task: Option<&str>, percent: u8) -> String {
    let of = task.map(|task| format!(" for: {task}")).unwrap_or_default();
    let raise = match limit.row().can_be_changed() {
        true => format!("; `ralph continue {}` raises it", raise_option(limit)),
        false => String::new(),
    };
    format!("{percent}% of the {} limit is used{of}{raise}", limit_word(limit))
}

/// Ralph's own work that took too long, as a subject of a sentence.
pub(super) fn own_work(work: OwnWork) -> String {
    match work {
        OwnWork::Preparing { iteration, role } => match role_in_words(role) {
            None => format!("preparing iteration {iteration}, its checkpoint, plan or prompt,"),
            Some(review) => format!("preparing iteration {iteration} ({review}), its checkpoint, patch or prompt,"),
        },
        OwnWork::Settling { iteration, role } => match role_in_words(role) {
            None => format!("examining the result of iteration {iteration}, its checkpoint or plan,"),
            Some(review) => {
                format!(
                    "examining the result of iteration {iteration} ({review}), its checkpoint or the files it changed,"
                )
            }
        },
        OwnWork::Verifying => "checking the goals".to_owned(),
    }
}

/// A time limit in whole seconds or minutes.
pub(super) fn whole(duration_ms: u64) -> String {
    match duration_ms {
        0..60_000 => format!("{} s", duration_ms.div_ceil(1000)),
        60_000.. => format!("{} min", duration_ms.div_ceil(60_000)),
    }
}

/// An agent and its model: `codex/gpt-5.4`.
pub(super) fn worker(adapter: &str, model: Option<&str>) -> String {
    match model {
        Some(model) => format!("{adapter}/{model}"),
        None => adapter.to_owned(),
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::event::SteeringId;

    #[test]
    fn tasks_that_were_removed_are_named_and_those_left_out_counted() {
        let tasks = vec!["One".to_owned(), "Two".to_owned()].into();
        let said = notice_in_words(&Notice::TasksRemoved { tasks, more: 3 });
        assert!(said.ends_with(": \"One\", \"Two\" and 3 more"), "{said}");
    }

    #[test]
    fn the_plan_of_a_task_is_named_and_what_will_tell_that_it_is_done() {
        let said = |has_goals| {
            let plan = ".ralph/plans/build-x.md".to_owned();
            notice_in_words(&Notice::TaskGiven { plan, has_goals })
        };
        assert_eq!(said(true), "the plan of this task is .ralph/plans/build-x.md");
        assert!(
            said(false)
                .ends_with("; without goals only the agent's claim shows that it is done (`--goal tests='COMMAND'`)")
        );
    }

    #[test]
    fn a_message_that_outlasts_the_work_is_named() {
        let message = SteeringId(4);
        let said = notice_in_words(&Notice::MessageOutstanding { message });
        assert!(said.contains("message 4 has not reached the agent"), "{said}");
    }

    #[test]
    fn a_text_is_said_as_it_is() {
        assert_eq!(notice_in_words(&Notice::warning("as it was")), "as it was");
    }
}
