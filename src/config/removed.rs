//! Settings and commands that ralph had once, with what does their work now.

macro_rules! replaced {
    ($($name:literal: $instead:literal;)+) => { &[$(($name, $instead)),+] };
}

/// The removed settings, by their key or that of their section, with the replacement. Sorted.
pub(super) const REMOVED_SETTINGS: &[(&str, &str)] = replaced! {
    "background.atOnce": "three background tasks run at a time: `ralph tasks cancel N` ends one";
    "background.outputMiB": "the first and last 4 MiB of a task's output are kept: have it write more to a file";
    "backoff.jitter": "a delay is up to a tenth longer, at random";
    "deliverRounds": "failed checks and comments give the agent of a pull request three more tasks, then you are asked";
    "escalateAfter": "a task is handed on after two iterations without success";
    "forge": "nothing is posted for an agent: read its last message in `ralph report`, and use `gh issue create` or `gh issue comment`";
    "gate.mutants": "six changes are tried at a claim; `gate.bite` says what follows from them";
    "gate.rerun": "goals whose tests failed run once more";
    "gate.trial": "goals that pass with changed tests also run with the tests as they were";
    "handover": "a prompt quotes the end of the session before; `\"session\": \"resume\"` continues that instead";
    "limits.perDay.onLimit": "a run waits for midnight, or stops if `limits.maxTime` ends before it";
    "limits.warnAt": "you are told once when four fifths of a limit are used";
    "native.images": "ralph's own agent reads text only: run another agent where a model has to see a picture";
    "permissions.limits": "an iteration ends after 5 denials of one request, or 20 in a row: allow by a rule what the agent needs";
    "review.merges": "each plan's own run is reviewed, and the goals verify merges";
    "review.rounds": "findings of a reviewer send the author back twice";
    "screen.glyphs": "`--ascii` draws without Unicode, and so does a locale without it";
    "screen.mouse": "the palette (Ctrl-P) leaves the mouse to the terminal in all runs, `--no-mouse` in one";
    "tools.languageMemoryMiB": "each process of a language server may allocate 4 GiB";
    "tools.languages": "turn language servers off by name: \"languageServers\": {\"gopls\": {\"enabled\": false}}";
    "tools.proposals": "a task that an agent proposes is in no plan until you add it: `ralph plan add`";
    "tree.discardIgnored": "`ralph many clean` lists the ignored files that were kept, with the command that removes them";
    "tree.portRange": "ports of work trees are between 20000 and 29999";
    "tree.timeout": "a command of `tree.setup` or `tree.teardown` has 15 minutes";
};

/// The removed commands and flags, as they were typed behind `ralph`, with what to type instead. Sorted.
pub(crate) const REMOVED_COMMANDS: &[(&str, &str)] = replaced! {
    "adapters list": "`ralph adapters` lists them";
    "adapters list --registry": "`ralph adapters add NAME` lists the agents of the registry if it knows none of that name";
    "adapters test": "`ralph adapters check ID` runs a turn of the agent and says whether it works here";
    "bisect": "`ralph report` says after which iteration a goal failed; `git bisect run COMMAND` searches commits";
    "blame": "`git blame FILE` says which iteration wrote a line where iterations are committed: \"commit\": \"iteration\"";
    "comment --export": "`ralph comment --json` prints all comments, with the findings of a review that name a place";
    "config path": "`ralph config` lists the files, and the settings in effect";
    "config show": "`ralph config` prints them";
    "engines show": "`ralph engines ENGINE` shows one";
    "goals assay": "`ralph goals check` runs the goals, and names those that only an exit code backs";
    "goals list": "`ralph goals` lists them";
    "many pause": "`ralph pause` pauses the running batch";
    "many steer": "`ralph steer --to PLAN TEXT` sends the agent of a plan a message";
    "notify test": "`ralph notify` sends one";
    "permissions list": "`ralph permissions` lists the rules";
    "permissions mode": "`ralph continue --permission-mode MODE` sets the mode of the active run";
    "plan next": "`ralph plan --next` prints the next task";
    "plan show": "`ralph plan` shows it";
    "plan take-back": "`ralph plan set-aside --undo TASK` takes it back";
    "sandbox show": "`ralph sandbox` lists what may be used";
    "token --web --end": "the page of `ralph web` logs a browser out";
    "token --web --sessions": "the page of `ralph web` lists the browsers that are logged in";
    "withdraw": "`ralph steer --withdraw N` withdraws a message";
};

/// The names of the settings and sections that were removed.
pub(super) fn removed_settings() -> impl Iterator<Item = &'static str> {
    REMOVED_SETTINGS.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use ralph_policy::settings::SettingKeys;

    use super::*;
    use crate::config::{Config, testing::Files};

    #[test]
    fn a_removed_setting_is_told_what_to_do_instead_and_is_no_setting() {
        let keys = SettingKeys::for_record::<Config>();
        assert!(REMOVED_SETTINGS.is_sorted());
        for (name, instead) in REMOVED_SETTINGS {
            let files = Files::of_project(&format!("{{ \"{name}\": {{ \"x\": 1 }} }}"));
            let removed = format!("project.json:1:3: `{name}` was removed");
            assert_eq!(files.error(), [removed.as_str(), *instead]);
            let group = format!("{name}.");
            assert!(
                keys.iter().all(|(key, _)| key != *name && !key.starts_with(&group)),
                "{name}"
            );
        }
    }

    #[test]
    fn a_variable_of_a_removed_setting_is_told_so() {
        let notices = Files::new().env("RALPH_FORGE_ISSUES", "ask").load().notices;
        assert_eq!(
            notices,
            ["the variable `RALPH_FORGE_ISSUES` is of the setting `forge`, which was removed"]
        );
    }
}
